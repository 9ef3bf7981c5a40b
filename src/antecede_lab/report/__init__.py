"""What the laboratory adds to a report."""
