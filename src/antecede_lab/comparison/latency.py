"""How much later than necessary a protocol delivers, where the time goes, and whether it settles.

RST delivers as soon as causal order allows, so it is the yardstick: it carries the same messages,
submitted at the same times, over the same network, where the first copy of a message meets the same
delay. What a protocol takes longer for a copy is its non-causal latency. (It may also be shorter:
who delivers later makes fewer messages depend on each other.) Means are over the middle half of a
run's messages, extremes over all.

A protocol that is given more than it can carry has no mean latency: queues grow for as long as the
traffic lasts, and an interval over seeds says how long the run was, not how slow the protocol is.
So every run is looked at in quarters of its messages, in the order of submission. The first is for
warming up and the last for running out; if messages of the third quarter take longer than those of
the second, the run had not settled. Then rates say more: by how much latency grows from one message
of a process to the next, and how much of what was offered was carried.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Message, Packet
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.effort import Effort
from antecede_lab.comparison.measurements import Measurements
from antecede_lab.comparison.traffic import (
    GREATEST_RTT_NS,
    MEAN_RTT_NS,
    ONE_WAY_NS,
    dense_situation,
    fault_free,
    traffic,
)
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.observer import Observer
from antecede_lab.simulator.run import with_patience

NOT_YET: Final = -1


@final
@mypyc_attr(acyclic=True)
class TimedCopy:
    """A message on its way to one target; `ahead` copies of its sender had not left before it."""

    __slots__ = ("ahead", "arrived_ns", "delivered_ns", "left_ns", "sender", "submitted_ns")

    def __init__(self, sender: i64, submitted_ns: i64, ahead: i64) -> None:
        self.sender: Final[i64] = sender
        self.submitted_ns: Final[i64] = submitted_ns
        self.ahead: Final[i64] = ahead
        self.left_ns: i64 = NOT_YET
        self.arrived_ns: i64 = NOT_YET
        self.delivered_ns: i64 = NOT_YET

    def latency_ns(self) -> int:
        """From submission to delivery."""
        return int(self.delivered_ns - self.submitted_ns)

    def sender_wait_ns(self) -> int:
        """From submission to the first transmission by its sender."""
        return int(self.left_ns - self.submitted_ns)

    def receiver_wait_ns(self) -> int:
        """From arrival to delivery."""
        return int(self.delivered_ns - self.arrived_ns)


@final
class CopyTimes(Observer):
    """Watches a run; `copies` has every copy by (sender, sequence, target)."""

    def __init__(self, processes: int) -> None:
        self.copies: Final[dict[tuple[int, int, int], TimedCopy]] = {}
        self._targets: Final[dict[tuple[int, int], list[int]]] = {}
        self._unsent: Final = [0] * processes

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        sender, sequence = int(message.sender), int(message.sequence)
        self._targets[(sender, sequence)] = targets
        for target in targets:
            self.copies[(sender, sequence, target)] = TimedCopy(
                sender, now_ns, self._unsent[process]
            )
        self._unsent[process] += len(targets)

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        message = packet.message
        if message is None or message.sender != process:
            return
        sender, sequence = int(message.sender), int(message.sequence)
        copy = self.copies.get((sender, sequence, int(target)))
        if copy is not None:
            self._leave(copy, now_ns)
            return
        # It goes to a relay, on behalf of all that it has not gone to yet.
        for other in self._targets[(sender, sequence)]:
            self._leave(self.copies[(sender, sequence, other)], now_ns)

    def _leave(self, copy: TimedCopy, now_ns: i64) -> None:
        if copy.left_ns == NOT_YET:
            copy.left_ns = now_ns
            self._unsent[copy.sender] -= 1

    def arrived(self, process: i64, source: i64, packet: Packet, number: i64, now_ns: i64) -> None:
        message = packet.message
        if message is None:
            return
        copy = self.copies.get((int(message.sender), int(message.sequence), int(process)))
        if copy is not None and copy.arrived_ns == NOT_YET:
            copy.arrived_ns = now_ns

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        copy = self.copies[(int(message.sender), int(message.sequence), int(process))]
        copy.delivered_ns = now_ns

    def finished(self) -> list[TimedCopy]:
        """The copies that travelled and were delivered."""
        return [copy for copy in self.copies.values() if copy.arrived_ns != NOT_YET]


def in_transit_max(copies: list[TimedCopy]) -> int:
    """The most copies of one sender that were between departure and arrival at once."""
    changes = [(int(copy.arrived_ns), -1, int(copy.sender)) for copy in copies]
    changes += [(int(copy.left_ns), 1, int(copy.sender)) for copy in copies]
    levels: dict[int, int] = {}
    greatest = 0
    for _, change, sender in sorted(changes):
        level = levels.get(sender, 0) + change
        levels[sender] = level
        greatest = max(greatest, level)
    return greatest


def middle_rate(copies: list[TimedCopy]) -> float:
    """Deliveries per second from the first to the third quarter of all deliveries."""
    times = sorted([int(copy.delivered_ns) for copy in copies])
    first, last = len(times) // 4, 3 * len(times) // 4
    span_ns = times[last] - times[first]
    return (last - first) * 1e9 / span_ns if span_ns > 0 else 0.0


UNSETTLED_FROM: Final = 1.2
"""A run is not steady if its third quarter takes 1.2 times as long as the second."""


@final
@dataclass(frozen=True, kw_only=True)
class Trend:
    """What became of latency, and of what was offered, in the middle half of a run."""

    latency_ns: float
    """Its mean, over that half."""
    steadiness: float
    """The mean of the third quarter, of that of the second."""
    growth_ns: float
    """From one message of a process to its next, on average."""
    carried: float
    """Copies delivered while the middle half was submitted, of those submitted."""


def trend(copies: list[TimedCopy], messages_each: float) -> Trend:
    """The trend of a run; `copies` in the order of submission, of `messages_each` a process."""
    quarter = max(1, len(copies) // 4)
    second, third = copies[quarter : 2 * quarter], copies[2 * quarter : 3 * quarter]
    if not third:
        second = third = copies
    earlier, later = mean_latency_ns(second), mean_latency_ns(third)
    start_ns, end_ns = int(second[0].submitted_ns), int(third[-1].submitted_ns)
    delivered = [copy for copy in copies if start_ns < copy.delivered_ns <= end_ns]
    return Trend(
        latency_ns=(earlier + later) / 2,
        steadiness=later / earlier if earlier > 0 else 1.0,
        growth_ns=(later - earlier) / (messages_each / 4),
        carried=len(delivered) / (2 * quarter),
    )


def mean_latency_ns(copies: list[TimedCopy]) -> float:
    """From submission to delivery, of at least one copy."""
    return sum([copy.latency_ns() for copy in copies]) / len(copies)


def is_unsettled(protocol: str, load: float, readings: Measurements) -> bool:
    """Whether latency still grew at this load, on average over seeds."""
    steadiness = dict(readings.series(protocol, measured.STEADINESS, ""))
    return steadiness.get(load, 1.0) >= UNSETTLED_FROM


def unsettled_text(protocol: str, readings: Measurements) -> str:
    """At which loads nothing settles, with rates; empty if everything does."""
    growth = dict(readings.series(protocol, measured.GROWTH, ""))
    carried = dict(readings.series(protocol, measured.CARRIED, ""))
    found = [
        f"at load {load:g} latency grows by {growth[load]:.2f} one-way delays from one message of "
        f"a process to the next, and {carried[load]:.0%} of what is offered is carried"
        for load, _ in readings.series(protocol, measured.STEADINESS, "")
        if is_unsettled(protocol, load, readings)
    ]
    return "; ".join(found)


YARDSTICK: Final = PROTOCOLS["rst"]

SPAN: Final = 60
"""One-way delays that a run lasts at least: a quarter of them must be longer than warming up."""


@final
@dataclass(frozen=True, kw_only=True)
class ExtraLatency:
    """What one run showed, compared with the yardstick; in RTTs as the names of readings say."""

    mean: float
    sender: float
    receiver: float
    longest: float
    least: float
    per_buffered: float
    trend: Trend


def run_copies(
    info: ProtocolInfo,
    like: ProtocolInfo,
    load: float,
    effort: Effort,
    seed: int,
    patience_ns: int | None = None,
) -> CopyTimes:
    """The instants of a run of `info`, with the traffic and the network that suit `like`."""
    processes = effort.latency_processes
    situation = dense_situation(like)
    messages = processes * messages_of_each(load, effort)
    interval_ns = round(ONE_WAY_NS / load)
    times = CopyTimes(processes)
    Simulation(
        info,
        traffic(situation, processes, messages, interval_ns, seed),
        faults=fault_free(like),
        seed=seed,
        observers=[times],
        options=with_patience(info, patience_ns, {}),
    ).run()
    return times


def lateness(
    info: ProtocolInfo, load: float, effort: Effort, seed: int, patience_ns: int | None = None
) -> ExtraLatency:
    """Run the protocol, with its usual patience or this one, and compare it with the yardstick."""
    ours = run_copies(info, info, load, effort, seed, patience_ns)
    theirs = run_copies(YARDSTICK, info, load, effort, seed)
    return compared(ours, theirs, messages_of_each(load, effort))


def messages_of_each(load: float, effort: Effort) -> int:
    """How many messages a process sends in a run."""
    return max(effort.latency_messages_each, round(load * SPAN))


def compared(ours: CopyTimes, theirs: CopyTimes, messages_each: int) -> ExtraLatency:
    """The differences, over the copies that both delivered."""
    pairs = [
        (copy, theirs.copies[key])
        for key, copy in ours.copies.items()
        if copy.arrived_ns >= 0 and copy.delivered_ns >= 0
    ]
    copies = [copy for copy, _ in pairs]
    late = [copy.latency_ns() - other.latency_ns() for copy, other in pairs]
    sender = [copy.sender_wait_ns() - other.sender_wait_ns() for copy, other in pairs]
    receiver = [copy.receiver_wait_ns() - other.receiver_wait_ns() for copy, other in pairs]
    return ExtraLatency(
        mean=middle_mean(late) / MEAN_RTT_NS,
        sender=middle_mean(sender) / MEAN_RTT_NS,
        receiver=middle_mean(receiver) / MEAN_RTT_NS,
        longest=max(late) / GREATEST_RTT_NS,
        least=min(late) / GREATEST_RTT_NS,
        per_buffered=max([copy.sender_wait_ns() / (1 + int(copy.ahead)) for copy in copies])
        / GREATEST_RTT_NS,
        trend=trend(copies, messages_each),
    )


def middle_mean(durations: list[int]) -> float:
    """The mean of at least one, without the first and the last quarter."""
    quarter = len(durations) // 4
    middle = durations[quarter : len(durations) - quarter]
    return sum(middle) / len(middle)
