"""Subcommands that need messaging alone: nodes, keys, journals."""
