"""`hybrid-facts`: messages that say what they depend on, within a budget."""
