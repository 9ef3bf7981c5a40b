"""What is to happen in a scenario: who sends what when, and how long every copy travels.

Times are in units of the usual one-way delay. A script knows no protocol: the same one is played by
several, and what differs is the lesson.
"""

from dataclasses import dataclass, field
from typing import Final, final

UNIT_NS: Final = 1_000_000
"""One unit is a millisecond, a thousandth of the patience of a retransmission timer."""


@final
@dataclass(frozen=True, kw_only=True)
class Send:
    """At `at`, `sender` submits `name` to `targets`; single copies may take their own time."""

    at: float
    sender: str
    targets: tuple[str, ...]
    name: str
    delays: dict[str, float] = field(default_factory=dict)
    again: dict[str, float] = field(default_factory=dict)
    """Targets that the network brings a second copy, and how long that one takes."""
    after: str = ""
    """An answer: `at` counts from the moment at which the sender has delivered this message."""


@final
@dataclass(frozen=True, kw_only=True)
class Script:
    """A cast of processes, their submissions in order of time, and the delays of the network."""

    processes: tuple[str, ...]
    sends: tuple[Send, ...]
    usual: float = 1.0
    between: dict[tuple[str, str], float] = field(default_factory=dict)
    """Delays of everything from one process to another, acks and control too."""
    until: float = 1e6
    """When to stop looking, for runs that would go on for ever."""


def send(
    at: float,
    sender: str,
    targets: str,
    name: str,
    delay: float | None = None,
    **delays: float,
) -> Send:
    """A line of a script: `targets` separated by blanks; `delay` for all of them, or one each."""
    receivers = tuple(targets.split())
    times = dict(delays) if delay is None else dict.fromkeys(receivers, delay)
    return Send(at=at, sender=sender, targets=receivers, name=name, delays=times)


def units_ns(count: float) -> int:
    """So many units of time in whole nanoseconds."""
    return round(count * UNIT_NS)
