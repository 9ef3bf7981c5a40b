"""A group chat that shows what causal order means to people."""
