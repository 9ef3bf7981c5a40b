"""One file per library, each in the ways its users use it."""
