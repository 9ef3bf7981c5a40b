"""The product's own protocol: its rule, its state, its permits, its records."""
