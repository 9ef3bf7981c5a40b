"""Between packets and the network: the fault model, and a reliable link for those who need one."""

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
