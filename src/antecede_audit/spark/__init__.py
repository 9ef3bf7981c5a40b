"""The steps of ingest, audit and measures on any number of machines, with Spark."""
