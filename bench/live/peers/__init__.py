"""One file per library, each used in the ways its users use it."""
