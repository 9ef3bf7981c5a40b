"""The causal audit on Spark: which messages came before their causes, in logs of any size."""
