"""The algorithms of the literature: one per file, named as the literature names it."""
