"""What a protocol puts into packets and keeps in processes, against the number of processes.

The state of a process is measured in integers, as papers do, and in a way that works for compiled
and for users' own protocols alike: by the integers written in its `fingerprint`, which by contract
tells all states apart and so must say everything that the process knows. Payloads are empty here,
so they add nothing. The first half of every run is left out: knowledge has to spread first.

Then the number of processes stays the same, and what a process holds of one sort grows: messages
buffered, permits missing, unacknowledged ones. One peer is so far away that nothing which is sent
to it arrives during a run. A process whose oldest message is for that peer has everything behind it
acknowledged and, if its state is what it should be, keeps nothing of that.
"""

import re
from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Message, Packet
from antecede.network_model.faults import Faults, SlowLink
from antecede.network_model.latency import Constant
from antecede_lab.comparison.effort import Effort
from antecede_lab.comparison.traffic import (
    BROADCASTS,
    CALM_INTERVAL_NS,
    NEIGHBOURS,
    UNIFORM,
    fault_free,
    traffic,
)
from antecede_lab.simulator.engine import Host, Simulation
from antecede_lab.simulator.observer import MetadataSize, Observer
from antecede_lab.simulator.workloads.workload import Agenda, Workload

WEIGHED: Final = 2_000
"""Packets of one run that are encoded, spread evenly: a matrix takes its time."""

SAMPLED: Final = 100
"""Looks at the state of a process in one run."""

DATAGRAM_BYTES: Final = 65_507
"""The largest payload of a UDP datagram over IPv4."""

NUMBER: Final = re.compile(rb"\d+")


@final
@dataclass(frozen=True, kw_only=True)
class Footprint:
    """What one run showed."""

    integers: float
    integers_max: int
    bytes: float
    bytes_max: int
    state: float
    state_max: int
    control: dict[str, float]
    """By kind: packets without a message, for one message."""


@final
class PacketWeigher(Observer):
    """Weighs the packets that carry messages, once `warm` of those have gone by."""

    def __init__(self, metadata_size: MetadataSize, warm: int, stride: int) -> None:
        self._metadata_size: Final = metadata_size
        self._warm: Final[i64] = warm
        self._stride: Final[i64] = stride
        self.messages: i64 = 0
        self.carrying: i64 = 0
        self.counted: i64 = 0
        self.integers: i64 = 0
        self.integers_max: i64 = 0
        self.weighed: i64 = 0
        self.bytes: i64 = 0
        self.bytes_max: i64 = 0
        self.control: Final[dict[str, int]] = {}

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        self.messages += 1

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        if packet.message is None:
            self.control[packet.kind] = self.control.get(packet.kind, 0) + 1
            return
        self.carrying += 1
        if self.carrying <= self._warm:
            return
        self.counted += 1
        integers: i64 = packet.metadata_integers
        self.integers += integers
        if integers > self.integers_max:
            self.integers_max = integers
        if self.counted % self._stride == 0:
            size = self._metadata_size.of(packet)
            self.weighed += 1
            self.bytes += size
            if size > self.bytes_max:
                self.bytes_max = size


@final
class WatchedWorkload(Workload):
    """A workload that looks at the state of a process now and then, between all steps."""

    def __init__(self, inner: Workload, warm: int, stride: int) -> None:
        super().__init__(int(inner.processes))
        self._inner: Final = inner
        self._warm: Final[i64] = warm
        self._stride: Final[i64] = stride
        self._wakes: i64 = 0
        self.hosts: list[Host] = []
        self.samples: Final[list[int]] = []

    @property
    def reacts(self) -> bool:
        return self._inner.reacts

    @property
    def multicasts(self) -> bool:
        return self._inner.multicasts

    @property
    def broadcasts(self) -> bool:
        return self._inner.broadcasts

    def remaining(self) -> int:
        return self._inner.remaining()

    def start(self, agenda: Agenda) -> None:
        self._inner.start(agenda)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._wakes += 1
        if self._wakes > self._warm and self._wakes % self._stride == 0 and self.hosts:
            host = self.hosts[token % len(self.hosts)]
            self.samples.append(integers_in(host.process.fingerprint()))
        self._inner.woken(token, now_ns, agenda)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        self._inner.delivered(process, message, tag, now_ns, agenda)


def integers_in(fingerprint: bytes) -> int:
    """How many integers are written there."""
    return len(NUMBER.findall(fingerprint))


def messages_of(effort: Effort, situation: str, processes: int) -> int:
    """How many messages a run of this size has: enough, if possible, for knowledge to spread."""
    each = effort.messages_each
    if situation == UNIFORM:
        each = max(each, 2 * processes)
    elif situation == NEIGHBOURS:
        each = max(each, processes)
    messages = min(each * processes, effort.messages_max)
    if situation == BROADCASTS:
        messages = min(messages, effort.copies_max // (processes - 1))
    return max(messages, 2)


def knowledge_spreads(info: ProtocolInfo, effort: Effort, situation: str, processes: int) -> bool:
    """Whether a run is so long that what processes know depends on its size, not on its length.

    With everybody as a peer, as many messages as there are pairs. With a few neighbours, one's own
    are soon known, but news of others go round slowly: half as many messages as there are pairs.
    """
    messages = messages_of(effort, situation, processes)
    if situation == UNIFORM:
        return messages >= processes**2
    if situation == NEIGHBOURS and info.needs_membership:
        return messages >= processes**2 // 2
    return True


def footprint(
    info: ProtocolInfo, situation: str, processes: int, effort: Effort, seed: int
) -> Footprint:
    """Run once, and look at packets and processes."""
    messages = messages_of(effort, situation, processes)
    copies = messages * (processes - 1) if situation == BROADCASTS else messages
    weigher = PacketWeigher(MetadataSize(info), copies // 2, max(1, copies // 2 // WEIGHED))
    workload = WatchedWorkload(
        traffic(situation, processes, messages, CALM_INTERVAL_NS, seed),
        messages // 2,
        max(1, messages // 2 // SAMPLED),
    )
    simulation = Simulation(info, workload, faults=fault_free(info), seed=seed, observers=[weigher])
    workload.hosts = simulation.hosts
    simulation.run()
    return result_of(weigher, workload.samples)


def result_of(weigher: PacketWeigher, samples: list[int]) -> Footprint:
    """The figures of a run that has ended."""
    messages = int(weigher.messages)
    return Footprint(
        integers=int(weigher.integers) / max(1, int(weigher.counted)),
        integers_max=int(weigher.integers_max),
        bytes=int(weigher.bytes) / max(1, int(weigher.weighed)),
        bytes_max=int(weigher.bytes_max),
        state=sum(samples) / max(1, len(samples)),
        state_max=max(samples, default=0),
        control={kind: count / messages for kind, count in sorted(weigher.control.items())},
    )


ACKNOWLEDGED: Final = "acknowledged, behind one that is not"
UNACKNOWLEDGED: Final = "unacknowledged"
PERMITS: Final = "permits missing"
BUFFERED: Final = "buffered"
HOLDINGS: Final = (ACKNOWLEDGED, UNACKNOWLEDGED, PERMITS, BUFFERED)
"""What grows; it stands for the variables u, p and b of the paper's table, and for none of them."""

TALKER: Final = 0
FAR: Final = 1
LISTENER: Final = 2
OTHER: Final = 3
PROCESSES: Final = 4

DELAY_NS: Final = 1_000_000
FAR_NS: Final = 3_000_000_000_000
"""Nearly an hour: a run is over long before."""

STEP_NS: Final = 10_000
"""Between two messages of a run."""


@final
class ScriptedWorkload(Workload):
    """Messages to one target each, one after the other, as a list says: (sender, target)."""

    def __init__(self, sends: list[tuple[int, int]], pause_after: int) -> None:
        super().__init__(PROCESSES)
        self._sends: Final = sends
        self._pause_after: Final[i64] = pause_after
        self._next: i64 = 0

    def remaining(self) -> int:
        return len(self._sends) - int(self._next)

    def start(self, agenda: Agenda) -> None:
        agenda.wake(0, 0)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        sender, target = self._sends[self._next]
        self._next += 1
        agenda.submit(sender, [target], 0)
        if self._next < len(self._sends):
            pause_ns = 3 * DELAY_NS if self._next == self._pause_after else STEP_NS
            agenda.wake(now_ns + pause_ns, token)


def planned(holding: str, count: int) -> tuple[list[tuple[int, int]], int]:
    """Who sends to whom so that `count` are held of this sort, and who holds them."""
    if holding == ACKNOWLEDGED:
        return [(TALKER, FAR)] + [(TALKER, LISTENER)] * count, TALKER
    if holding == UNACKNOWLEDGED:
        return [(TALKER, FAR)] * count, TALKER
    if holding == PERMITS:
        return [(TALKER, FAR)] + [(TALKER, LISTENER)] * count, LISTENER
    # The listener may not pass on what it knows, so its messages to others wait.
    return [(TALKER, FAR), (TALKER, LISTENER)] + [(LISTENER, OTHER)] * count, LISTENER


def state_holding(info: ProtocolInfo, holding: str, count: int) -> int:
    """Integers in the state of a process that holds `count` of this sort."""
    sends, holder = planned(holding, count)
    workload = ScriptedWorkload(sends, pause_after=2)
    faults = Faults(
        latency=Constant(DELAY_NS),
        fifo=info.network == "fifo",
        slow_links=(SlowLink(source=TALKER, target=FAR, extra_ns=FAR_NS),),
    )
    simulation = Simulation(info, workload, faults=faults, seed=1)
    simulation.run(until_ns=len(sends) * STEP_NS + 20 * DELAY_NS)
    return integers_in(simulation.hosts[holder].process.fingerprint())
