"""Commands for event logs and traces."""
