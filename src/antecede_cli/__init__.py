"""The command line: one file per subcommand, each with a click command called `command`."""
