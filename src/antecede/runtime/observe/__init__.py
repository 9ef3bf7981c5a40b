"""What a node says of itself: figures, explanations, metrics, its event log."""
