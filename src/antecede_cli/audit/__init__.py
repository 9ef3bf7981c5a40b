"""Subcommands for traces and event logs."""
