"""Nodes under attack from one seed: killed, paused, cut off, expelled; then judged."""
