"""Between packets and the network: the fault model, and a reliable link for those who need one."""

from antecede.link.faults import CutLink, Faults, FaultyNetwork, Partition, SlowLink
from antecede.link.keyed_random import KeyedRandom
from antecede.link.latency import (
    Constant,
    Empirical,
    Exponential,
    Geography,
    Latency,
    Lognormal,
    Pareto,
    Uniform,
)
from antecede.link.reliable import over_lossy

__all__ = [
    "Constant",
    "CutLink",
    "Empirical",
    "Exponential",
    "Faults",
    "FaultyNetwork",
    "Geography",
    "KeyedRandom",
    "Latency",
    "Lognormal",
    "Pareto",
    "Partition",
    "SlowLink",
    "Uniform",
    "over_lossy",
]
