"""The live runtime: causal messaging over UDP, and what it takes to try it on a bad network."""
