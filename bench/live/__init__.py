"""Measures nodes on this machine against other messaging libraries."""
