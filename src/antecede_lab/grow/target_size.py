"""How much to grow: from what somebody wants and what the recording is like, to whole numbers.

A grown workload keeps the load: a process sends as many messages a second as one of the recording
(times `load`). There are `processes` instead of those recorded, so the same number of messages
takes less time: conversations are folded into a period, each beginning where its recorded beginning
falls modulo the period. A period is at least twice as long as the longest conversation; where that
is more than there is, conversations begin when they began, and layers are shifted a little. Then
the load is what comes of it.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

from antecede.core.errors import LocalError, near_miss

REPLICAS: Final = "replicas"
OVERLAY: Final = "overlay"
GRAPH: Final = "graph"
METHODS: Final = (REPLICAS, OVERLAY, GRAPH)

UNFOLDED_SHIFTS: Final = 20
"""Layers that cannot be folded are shifted by up to this part of the recording."""

PROCESSES_MAX: Final = 1 << 20
"""What a replay takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What there is to begin with."""

    run_id: str
    processes: int
    """One more than the highest number of a process."""
    messages: int
    span_ns: int
    """From the first message to the last, over a network that takes no time; at least 1."""
    first_ns: int
    longest_ns: int = 0
    """How long the longest conversation lasts, over the same network."""
    sampled_from: int | None = None
    """How many messages there are on disk, if only a sample of them is grown."""

    @property
    def total(self) -> int:
        """How many messages were recorded, whether or not all of them are grown."""
        return self.sampled_from or self.messages

    @property
    def rate(self) -> float:
        """Messages a nanosecond, of one process."""
        return self.total / self.span_ns / self.processes


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthRequest:
    """What somebody asks for."""

    processes: int
    method: str = REPLICAS
    messages: int | None = None
    """None: as many as recorded, or with `overlay` as many for each set of processes."""
    load: float = 1.0
    """Messages a second of one process, as a multiple of what was recorded."""
    speed: float = 1.0
    """How much faster everything happens; think times shrink too."""
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPlan:
    """How to get there."""

    recorded: Recorded
    wanted: GrowthRequest
    layers: int
    """How often the recording is laid over itself."""
    messages: int
    """How many messages there will be; with `graph` approximately."""
    period_ns: int
    """All conversations begin within this time, before `speed` is applied."""
    shift_ns: int
    """Layers are shifted by less than this."""
    folded: bool
    """Whether conversations begin modulo the period, or when they began."""
    keeps_load: bool
    """Whether the period is as short as the load asks for."""

    @property
    def replicas(self) -> int:
        """Every process becomes this many, and the first `extra` processes one more."""
        return self.wanted.processes // self.recorded.processes

    @property
    def extra(self) -> int:
        """How many processes have one replica more than the others."""
        return self.wanted.processes % self.recorded.processes

    @property
    def last_layer(self) -> int:
        """How many messages the last layer has: the first ones by time."""
        return self.messages - (self.layers - 1) * self.recorded.messages


def plan_growth(recorded: Recorded, wanted: GrowthRequest) -> GrowthPlan:
    """The plan; `LocalError` says what is impossible."""
    check(recorded, wanted)
    sets = ceil(wanted.processes / recorded.processes) if wanted.method == OVERLAY else 1
    messages = sets * recorded.total if wanted.messages is None else wanted.messages
    asked_ns = max(1, round(messages / (recorded.rate * wanted.load * wanted.processes)))
    period_ns = asked_ns if wanted.method == GRAPH else max(asked_ns, 2 * recorded.longest_ns)
    folded = period_ns == asked_ns or period_ns <= recorded.span_ns
    shift_ns = period_ns
    if not folded:
        shift_ns = max(1, recorded.span_ns // UNFOLDED_SHIFTS)
        period_ns = recorded.span_ns + shift_ns
    return GrowthPlan(
        recorded=recorded,
        wanted=wanted,
        layers=ceil(messages / recorded.messages),
        messages=messages,
        period_ns=period_ns,
        shift_ns=shift_ns,
        folded=folded,
        keeps_load=period_ns == asked_ns,
    )


def check(recorded: Recorded, wanted: GrowthRequest) -> None:
    """`LocalError` if this cannot be."""
    check_wanted(wanted)
    if wanted.method != GRAPH and wanted.processes < recorded.processes:
        raise LocalError(
            f"{recorded.run_id} has {recorded.processes} processes: it cannot grow to "
            f"{wanted.processes}"
        )


def check_wanted(wanted: GrowthRequest) -> None:
    """`LocalError` if this cannot be, whatever is grown."""
    if wanted.method not in METHODS:
        raise LocalError(
            f"no method is called {wanted.method!r}{near_miss(wanted.method, list(METHODS))}; "
            f"there are {', '.join(METHODS)}"
        )
    if not 1 <= wanted.processes <= PROCESSES_MAX:
        raise LocalError(f"{wanted.processes} processes are outside 1 to {PROCESSES_MAX}")
    if wanted.messages is not None and wanted.messages < 1:
        raise LocalError("there must be at least one message")
    if not wanted.load > 0 or not wanted.speed > 0:
        raise LocalError("load and speed must be more than 0")
