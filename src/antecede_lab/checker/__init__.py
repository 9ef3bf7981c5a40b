"""The model checker: every interleaving of a small program, over the real protocol objects."""
