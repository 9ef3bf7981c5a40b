"""See it all at work."""
