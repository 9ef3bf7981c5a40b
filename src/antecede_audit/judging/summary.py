"""What an audit came to, as `summary.json` holds it, and what else whoever asked is told."""

from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from antecede_audit.judging.definition import Order
from antecede_audit.judging.findings import Violation

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
KINDS: Final = ("fifo", "transitive")
CHANNELS: Final = 20
"""The 20 channels most affected are named."""

RECORDED: Final = "recorded"
CLEAR: Final = "clear"
POSSIBLE: Final = "possible"
GRADES: Final = {
    RECORDED: "by the clocks as they were recorded",
    CLEAR: "by more than the clocks involved had to be moved",
    POSSIBLE: "by less than the clocks involved had to be moved, so that they are only possible",
}
"""What a violation rests on."""

TABLES: Final = ("violations", "duplicates", "losses", "inventions")
SUMMARY: Final = "summary.json"
REPLACED: Final = (*TABLES, SUMMARY)
"""What an audit replaces, all together; the summary last."""

Found: TypeAlias = tuple[str, Violation]
"""A violation, and the id of its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCount:
    """At `process`, messages of one sender came before those of another, or of itself."""

    run_id: str
    process: int
    early_sender: int
    late_sender: int
    violations: int
    held_back_ns: int
    """The median."""
    held_back_ns_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingMethod:
    """How the log was judged."""

    slices: int
    overlap_ns: int
    """How far the slices of one run reach into the next, at most."""
    long_flights: int
    """Copies longer under way than that, which were judged apart."""
    sequential: dict[str, list[str]]
    """The runs whose clocks were not followed everywhere, and why."""
    clock_offsets_ns: dict[str, dict[str, int]]
    """By run and process: what was added to clocks before a large run was judged."""
    blurred: dict[str, float]
    """By run: for which part of its time the clock was not looked at at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSummary:
    """The counts of one audit."""

    events: int
    messages: int
    """Submitted."""
    deliveries: int
    """Repeated ones included."""
    processes: int
    """Of the run that has most."""
    runs: int
    violations: dict[str, int]
    """By kind."""
    order: Order
    """Which events of a process count as ordered: all of them, or those of one trace."""
    violations_by_order: dict[Order, int]
    """How many violations there are if all events of a process are ordered, and if those of a
    trace are; without traces that is the same."""
    duplicates: int
    losses: int
    inventions: int
    """Deliveries of messages that were not submitted there."""
    cut_off: dict[str, dict[str, int | None]]
    """By run and process: since when its log breaks off; None if nothing is left of it."""
    unknown: dict[str, int]
    """What would be losses and inventions if the logs that break off were whole."""
    self_caused: int
    """Messages that happen before themselves, as the log has it."""
    grades: dict[str, int]
    """How many violations rest on what: `GRADES`."""
    held_back_ns: dict[str, int] | None
    """Quantiles; None if there are no violations."""
    channels: list[ChannelCount]
    """Those with most violations."""
    method: JudgingMethod

    @property
    def violation_count(self) -> int:
        """How many messages were delivered too early."""
        return sum(self.violations.values())

    @property
    def causal(self) -> bool:
        """Whether no message was delivered too early."""
        return self.violation_count == 0

    def as_object(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit leaves besides its tables."""

    summary: AuditSummary
    worst: list[Found]
    """The violations that would have been held back longest, with their witnesses."""
    names: dict[str, dict[int, str]]
    """By run: what its processes are called, as far as somebody has written it down."""
