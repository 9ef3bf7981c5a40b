"""What an audit can find. Findings are values about data: rows of a table, never exceptions."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

from antecede.eventlog.schema import Event


class MessageId(NamedTuple):
    """Which message: who sent it, and its number among those of that sender."""

    sender: int
    sequence: int


ViolationKind: TypeAlias = Literal["fifo", "transitive"]
ViolationRow: TypeAlias = tuple[int, int, int, int, int, int, int, int, ViolationKind]

VIOLATION_COLUMNS: Final = (
    "process",
    "early_sender",
    "early_sequence",
    "early_delivered_ns",
    "late_sender",
    "late_sequence",
    "late_delivered_ns",
    "held_back_ns",
    "kind",
)
"""The columns of the violations table, without the run; `Violation.row` is in this order."""


IDENTITY_COLUMNS: Final = (
    *("early_trace_id", "late_trace_id"),
    *("early_span_id", "late_span_id"),
    *("early_operation", "late_operation"),
)
"""What the table says besides, where it is known: to which steps of which requests it leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """At `process`, `early` was delivered before `late`, which happened before it.

    Of all messages that should have come first, `late` is the one delivered last.
    """

    process: int
    early: MessageId
    early_delivered_ns: int
    late: MessageId
    late_delivered_ns: int
    witness: tuple[Event, ...]
    """Why `late` happened before `early`: each event follows from the one before it.

    It begins with the submission of `late` and ends with that of `early`; every delivery stands
    right after the submission of the same message. It is empty if nobody looked for it.
    """
    early_trace_id: str | None = None
    """The trace that the delivery of `early` is part of."""
    late_trace_id: str | None = None
    early_span_id: str | None = None
    """The step of it."""
    late_span_id: str | None = None
    early_operation: str | None = None
    """What that step is called."""
    late_operation: str | None = None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """A row of the violations table as a value, without a witness."""
        return cls(
            process=row["process"],
            early=MessageId(row["early_sender"], row["early_sequence"]),
            early_delivered_ns=row["early_delivered_ns"],
            late=MessageId(row["late_sender"], row["late_sequence"]),
            late_delivered_ns=row["late_delivered_ns"],
            witness=(),
            **{name: row.get(name) for name in IDENTITY_COLUMNS},
        )

    @property
    def held_back_ns(self) -> int:
        """How long causal delivery would have held `early` back."""
        return self.late_delivered_ns - self.early_delivered_ns

    @property
    def kind(self) -> ViolationKind:
        """Whether the two have the same sender ("fifo") or not ("transitive")."""
        return "fifo" if self.late.sender == self.early.sender else "transitive"

    def row(self) -> ViolationRow:
        """The violation as a row of the violations table, in the order of `VIOLATION_COLUMNS`."""
        return (
            self.process,
            *self.early,
            self.early_delivered_ns,
            *self.late,
            self.late_delivered_ns,
            self.held_back_ns,
            self.kind,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """`message` was delivered more than once at `process`."""

    process: int
    message: MessageId
    deliveries: int
    first_delivered_ns: int
    last_delivered_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """`message` was submitted to `target` and never delivered there."""

    target: int
    message: MessageId
    submitted_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Invention:
    """`message` was delivered at `process`, to which nobody had submitted it."""

    process: int
    message: MessageId
    delivered_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCause:
    """`message` happened before itself: whoever recorded this log got its order wrong."""

    message: MessageId


Finding: TypeAlias = Violation | Duplicate | Loss | Invention | SelfCause


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleVerdict:
    """Everything that was found in a log, and how much there was to look at."""

    processes: int
    messages: int
    """Messages submitted."""
    deliveries: int
    """Deliveries, repeated ones included."""
    violations: list[Violation]
    fifo_breaks: list[Violation]
    """Like `violations`, judged between messages of one sender alone."""
    duplicates: list[Duplicate]
    losses: list[Loss]
    inventions: list[Invention]
    self_causes: list[SelfCause]

    @property
    def ok(self) -> bool:
        """Whether every message was delivered exactly once everywhere, and in causal order."""
        return not self.findings

    @property
    def findings(self) -> list[Finding]:
        """All findings, each once: a FIFO break is among the violations already."""
        return [
            *self.violations,
            *self.duplicates,
            *self.losses,
            *self.inventions,
            *self.self_causes,
        ]

    def known(self, cut: Set[int]) -> "OracleVerdict":
        """Without what may be due to the logs of these processes, which break off."""
        losses = [one for one in self.losses if one.target not in cut]
        inventions = [one for one in self.inventions if one.message.sender not in cut]
        return replace(self, losses=losses, inventions=inventions)
