"""What a run cost, from its event log, whatever wrote it."""
