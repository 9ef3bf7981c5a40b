"""The laboratory: protocols to compare with, simulator, model checker, comparisons, sweeps."""
