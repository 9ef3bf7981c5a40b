"""Commands of a plain install."""
