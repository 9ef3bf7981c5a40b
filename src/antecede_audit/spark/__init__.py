"""The same steps on any number of machines, with Spark."""
