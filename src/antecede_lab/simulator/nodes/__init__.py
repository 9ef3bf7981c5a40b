"""Whole nodes in the simulator: with journals, faults, expulsion policies and adversaries."""
