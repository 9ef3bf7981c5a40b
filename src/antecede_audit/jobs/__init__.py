"""Jobs on this machine: they read, run the steps in this process, and write."""
