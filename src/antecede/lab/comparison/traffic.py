"""What all protocols are given to carry, and the networks that carry it.

Open-loop traffic: when what is sent does not depend on the protocol, so two protocols with one seed
get the same messages at the same times, and the network's chance is keyed by the message, so the
first copy of each meets the same delay. Protocols that can only broadcast get broadcasts, those
that need FIFO channels get them.
"""

from typing import Final

from antecede.core.catalogue import ProtocolInfo
from antecede.link.faults import Faults
from antecede.link.latency import Uniform
from antecede.sim.workloads.broadcast import Broadcast
from antecede.sim.workloads.poisson import Poisson
from antecede.sim.workloads.workload import Workload

ONE_WAY_NS: Final = 1_000_000
"""The mean one-way delay."""

SHORTEST_NS: Final = ONE_WAY_NS // 2
LONGEST_NS: Final = 3 * ONE_WAY_NS // 2
MEAN_RTT_NS: Final = 2 * ONE_WAY_NS
GREATEST_RTT_NS: Final = 2 * LONGEST_NS

CALM_INTERVAL_NS: Final = 5 * ONE_WAY_NS
"""Between two messages of a process where buffers should stay short whatever the protocol."""

UNIFORM: Final = "uniform"
NEIGHBOURS: Final = "neighbours"
BROADCASTS: Final = "broadcast"
"""Situations: to anybody, to the next few only, to everybody at once."""

NEIGHBOUR_COUNT: Final = 4


def situations_of(info: ProtocolInfo) -> tuple[str, ...]:
    """The traffic that a protocol can carry."""
    return (BROADCASTS,) if info.broadcast_only else (UNIFORM, NEIGHBOURS)


def dense_situation(info: ProtocolInfo) -> str:
    """The traffic in which everybody talks to everybody."""
    return BROADCASTS if info.broadcast_only else UNIFORM


def traffic(situation: str, processes: int, messages: int, interval_ns: int, seed: int) -> Workload:
    """Messages without payload, each process sending one per interval on average."""
    if situation == BROADCASTS:
        return Broadcast(
            processes, messages=messages, interval_ns=interval_ns, seed=seed, payload_bytes=0
        )
    return Poisson(
        processes,
        messages=messages,
        interval_ns=interval_ns,
        seed=seed,
        payload_bytes=0,
        favourites=NEIGHBOUR_COUNT if situation == NEIGHBOURS else 0,
    )


def fault_free(info: ProtocolInfo) -> Faults:
    """The network that a protocol asks for: nothing is lost; FIFO where that is needed."""
    return Faults(latency=Uniform(SHORTEST_NS, LONGEST_NS), fifo=info.network == "fifo")
