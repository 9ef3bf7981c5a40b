"""Judges event logs while they grow, with Structured Streaming."""
