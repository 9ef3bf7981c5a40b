"""What a workload is like: who talks to whom, how wide, how deep, how often, how much at once."""
