"""Makes a recorded workload larger, and says which part of the result is real."""
