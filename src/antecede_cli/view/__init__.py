"""A cluster as people see it: nodes are asked how they stand, and shown."""
