"""Commands on one machine: they read files, run the steps in this process, and write tables."""
