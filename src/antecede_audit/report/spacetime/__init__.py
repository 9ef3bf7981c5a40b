"""An event log as a diagram sees it: copies and packets in columns, lanes, witnesses, bytes."""
