"""Sweeps: protocol x scenario x network x processes x seed, one simulation per Spark task."""
