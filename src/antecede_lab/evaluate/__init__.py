"""The evaluation: from traces to tables and plots, every step in one command."""
