"""Columns under everything: Arrow and numpy, and nothing else of this package."""
