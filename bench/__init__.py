"""Benchmarks: every figure compares with a peer in the same run, and says so."""
