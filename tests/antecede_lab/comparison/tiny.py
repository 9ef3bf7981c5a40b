"""An effort so small that a test can afford it."""

from dataclasses import replace

from antecede_lab.comparison.effort import QUICK

TINY = replace(
    QUICK,
    sizes=(3, 6),
    messages_each=6,
    messages_max=80,
    copies_max=200,
    step_sizes=(3, 6),
    latency_processes=4,
    latency_messages_each=12,
    distances_ms=(1, 8),
    stream_messages=100,
    dag_requests=20,
    turns=(4, 8),
    trials=2,
    trial_messages=10,
)
