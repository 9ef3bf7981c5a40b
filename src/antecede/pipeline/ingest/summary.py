"""What an ingest came to, as `summary.json` holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from antecede.pipeline.ingest.constraints import Clocks, Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCount:
    """How much of one format was read."""

    format: str
    files: int
    records: int
    """Spans, or lines for one receiver, the rejected ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two processes whose messages no clock offset puts in order."""

    sender: str
    receiver: str
    copies: int
    backwards: int
    """How many of them were received before they were sent, by the recorded clocks."""
    smallest_ns: int
    median_ns: int
    basis: str
    """What the offsets rest on instead: the median gap, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The counts and the clocks of one ingest."""

    run_id: str
    messages: int
    """Submitted."""
    copies: int
    """Messages times destinations."""
    processes: int
    rejects: int
    first_ns: int | None
    last_ns: int | None
    read: list[FormatCount]
    rejects_by_reason: dict[str, int]
    counts: dict[str, int]
    """What was met and dealt with: duplicates, missing parents and the like."""
    repaired: bool
    """Whether clocks were to be repaired."""
    clock_offsets_ns: dict[str, int]
    """What was added to each process's clock."""
    contradictions: list[Contradiction]
    passed_over: list[str] = field(default_factory=list)
    """Files in the folders that do not look like traces."""
    batches: int = 1
    """How often something was added, the first time included."""
    skipped: list[str] = field(default_factory=list)
    """Files that an earlier batch had already."""

    @classmethod
    def of_object(cls, fields: Mapping[str, Any]) -> Self:
        """What `as_object` was made from."""
        entries = {
            "read": [FormatCount(**one) for one in fields["read"]],
            "contradictions": [Contradiction(**one) for one in fields["contradictions"]],
        }
        return cls(**{**fields, **entries})

    def as_object(self) -> dict[str, Any]:
        """The same for programs."""
        return asdict(self)


def contradictions_of(
    gaps: Sequence[Gap], clocks: Clocks, names: Mapping[str, str]
) -> list[Contradiction]:
    """The pairs that could not be repaired, the worst first."""
    contrary = set(clocks.contradictory)
    found = [
        Contradiction(
            sender=names[gap.sender],
            receiver=names[gap.receiver],
            copies=gap.copies,
            backwards=gap.negative,
            smallest_ns=gap.smallest_ns,
            median_ns=gap.median_ns,
            basis=clocks.basis[gap.sender, gap.receiver],
        )
        for gap in gaps
        if (gap.sender, gap.receiver) in contrary and gap.negative
    ]
    return sorted(found, key=lambda pair: (-pair.backwards, pair.sender, pair.receiver))
