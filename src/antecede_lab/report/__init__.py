"""The laboratory's sections of a report: comparison, growth, sweeps, scenarios."""
