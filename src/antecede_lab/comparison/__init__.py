"""The paper's comparison table, measured: its claims, the runs that test them, and the verdicts."""
