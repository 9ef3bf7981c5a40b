"""The product's own algorithm: one rule, its state, its permits, its records."""
