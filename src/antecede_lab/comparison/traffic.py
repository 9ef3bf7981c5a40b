"""What all protocols are given to carry, and the networks that carry it.

Open-loop traffic: when what is sent does not depend on the protocol, so two protocols with one seed
get the same messages at the same times, and the network's chance is keyed by the message, so the
first copy of each meets the same delay. Protocols that can only broadcast get broadcasts, those
that need FIFO channels get them.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import Create, Network, ProtocolInfo
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_lab.simulator.workloads.open_loop import Broadcast, OpenLoop, Poisson
from antecede_lab.simulator.workloads.workload import Workload, check_share

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


MULTICAST_MIN: Final = 2


@final
class MixedCasts(OpenLoop):
    """Poisson traffic to uniform peers, of which a share goes to many at once."""

    def __init__(
        self, processes: int, *, messages: int, interval_ns: int, share: float, seed: int
    ) -> None:
        super().__init__(
            processes,
            messages=messages,
            interval_ns=interval_ns,
            seed=seed,
            payload_bytes=0,
        )
        check_share("the multicast share", share)
        self._share: Final = share

    @property
    def multicasts(self) -> bool:
        return self._share > 0

    def targets(self, process: i64) -> list[int]:
        """So many others, any set of them equally likely (a shuffle that stops early)."""
        self._key_targets(process)
        count: i64 = 1
        if self.processes > MULTICAST_MIN + 1 and self._chance.unit() < self._share:
            count = MULTICAST_MIN + self._chance.below(self.processes - MULTICAST_MIN)
        others = [other for other in range(self.processes) if other != process]
        place: i64 = 0
        while place < count:
            chosen = place + self._chance.below(len(others) - place)
            others[place], others[chosen] = others[chosen], others[place]
            place += 1
        return others[:count]


def variant(info: ProtocolInfo, create: Create, network: Network) -> ProtocolInfo:
    """The same protocol, with processes made by `create` and said to need this network."""
    return ProtocolInfo(
        info.name,
        create,
        ordering=info.ordering,
        multicast=info.multicast,
        broadcast_only=info.broadcast_only,
        network=network,
        needs_membership=info.needs_membership,
        paper=info.paper,
        codec=info.codec,
    )
