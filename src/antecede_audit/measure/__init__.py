"""What a run cost, from its event log: stages for Spark, whatever the log's origin."""
