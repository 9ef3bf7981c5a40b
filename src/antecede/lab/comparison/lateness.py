"""How much later than necessary a protocol delivers, and where the time goes.

RST delivers as soon as causal order allows, so it is the yardstick: it carries the same messages,
submitted at the same times, over the same network, where the first copy of a message meets the same
delay. What a protocol takes longer for a copy is its non-causal latency. (It may also be shorter:
who delivers later makes fewer messages depend on each other.) Means are over the middle half of a
run's messages, extremes over all.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.core.catalogue import PROTOCOLS, ProtocolInfo
from antecede.lab.comparison.copy_times import CopyTimes
from antecede.lab.comparison.effort import Effort
from antecede.lab.comparison.stationarity import Trend, trend
from antecede.lab.comparison.traffic import (
    GREATEST_RTT_NS,
    MEAN_RTT_NS,
    ONE_WAY_NS,
    dense_situation,
    fault_free,
    traffic,
)
from antecede.sim.engine import Simulation
from antecede.sim.run import with_patience

YARDSTICK: Final = PROTOCOLS["rst"]

SPAN: Final = 60
"""One-way delays that a run lasts at least: a quarter of them must be longer than warming up."""


@final
@dataclass(frozen=True, kw_only=True)
class Lateness:
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
) -> Lateness:
    """Run the protocol, with its usual patience or this one, and compare it with the yardstick."""
    ours = run_copies(info, info, load, effort, seed, patience_ns)
    theirs = run_copies(YARDSTICK, info, load, effort, seed)
    return compared(ours, theirs, messages_of_each(load, effort))


def messages_of_each(load: float, effort: Effort) -> int:
    """How many messages a process sends in a run."""
    return max(effort.latency_messages_each, round(load * SPAN))


def compared(ours: CopyTimes, theirs: CopyTimes, messages_each: int) -> Lateness:
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
    return Lateness(
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
