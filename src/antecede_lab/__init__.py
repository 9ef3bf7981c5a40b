"""The laboratory: protocols measured side by side, and runs told as stories."""
