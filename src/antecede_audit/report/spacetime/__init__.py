"""An event log as a spacetime diagram needs it: copies, packets, lanes, witnesses."""
