"""The shop of `antecede demo`: real processes on a bad network."""
