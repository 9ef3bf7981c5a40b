"""What runs on Spark: ingesting traces, growing them, sweeps of simulations, the causal audit.

A stage is a function from DataFrames to DataFrames; jobs join stages and own all reading and
writing. Only this layer imports pyspark, and nothing here does so before it is used.
"""
