"""For an application's own tests: nodes on a network in memory, with faults and without waiting.

async with TestNetwork(Faults(loss=0.1), seed=7) as network:
    alice = await network.open_node("alice")
    bob = await network.open_node("bob")
    await alice.send("bob", b"hello")
    assert (await bob.receive()).payload == b"hello"
"""

from antecede.network_model.faults import Faults, Partition, SlowLink
from antecede.network_model.latency import Constant, Exponential, Lognormal, Uniform
from antecede.runtime.test_network import TestNetwork

__all__ = [
    "Constant",
    "Exponential",
    "Faults",
    "Lognormal",
    "Partition",
    "SlowLink",
    "TestNetwork",
    "Uniform",
]
