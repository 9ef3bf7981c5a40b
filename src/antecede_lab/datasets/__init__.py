"""The public traces that results rest on: which, where from, and that they are what they were."""
