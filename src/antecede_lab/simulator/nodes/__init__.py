"""Whole nodes in the simulator."""
