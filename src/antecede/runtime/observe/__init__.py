"""What a node reports of itself: statistics, metrics, explanations, its event log."""
