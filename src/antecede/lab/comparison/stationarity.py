"""Has a run settled? The latency of later messages against that of earlier ones.

A protocol that is given more than it can carry has no mean latency: queues grow for as long as the
traffic lasts, and an interval over seeds says how long the run was, not how slow the protocol is.
So every run is looked at in quarters of its messages, in the order of submission. The first is for
warming up and the last for running out; if messages of the third quarter take longer than those of
the second, the run had not settled. Then rates say more: by how much latency grows from one message
of a process to the next, and how much of what was offered was carried.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.copy_times import Copy
from antecede.lab.comparison.readings import Readings

UNSETTLED_FROM: Final = 1.2
"""Where the third quarter takes so many times as long as the second, nothing has settled."""


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


def trend(copies: list[Copy], messages_each: float) -> Trend:
    """The trend of a run; `copies` in the order of submission, of so many messages a process."""
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


def mean_latency_ns(copies: list[Copy]) -> float:
    """From submission to delivery, of at least one copy."""
    return sum([copy.latency_ns() for copy in copies]) / len(copies)


def is_unsettled(protocol: str, load: float, readings: Readings) -> bool:
    """Whether latency still grew at this load, on average over seeds."""
    steadiness = dict(readings.series(protocol, measured.STEADINESS, ""))
    return steadiness.get(load, 1.0) >= UNSETTLED_FROM


def unsettled_text(protocol: str, readings: Readings) -> str:
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
