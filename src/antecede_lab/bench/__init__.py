"""Measuring the live runtime on the machine at hand, against other messaging libraries."""
