"""Subcommands of the laboratory: demo, simulations, comparison, sweeps, chaos, benchmarks."""
