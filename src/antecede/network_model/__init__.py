"""Networks in memory: faults, latencies, endpoints joined by them; for tests and the simulator."""

from antecede.network_model.faults import CutLink, Faults, FaultyNetwork, Partition, SlowLink
from antecede.network_model.keyed_random import KeyedRandom
from antecede.network_model.latency import Constant, Exponential, Latency, Lognormal, Uniform

__all__ = [
    "Constant",
    "CutLink",
    "Exponential",
    "Faults",
    "FaultyNetwork",
    "KeyedRandom",
    "Latency",
    "Lognormal",
    "Partition",
    "SlowLink",
    "Uniform",
]
