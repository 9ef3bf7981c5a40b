"""One algorithm per file, named as the literature names it."""
