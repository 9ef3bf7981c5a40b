"""What is known about traces while they are ingested, and the summary that follows from it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

import numpy as np

from antecede_audit.columns.arrow_rows import Integers
from antecede_audit.columns.clock_offsets import ClockOffsets, Gap
from antecede_audit.spans.formats.records import INSTANCE
from antecede_audit.spans.messages import COUNTED
from antecede_audit.spans.trace_files import TraceFiles

REPEATED: Final = "repeated_receptions"
BACKWARDS: Final = "received_before_sent"
CLAMPED: Final = "clamped"
MUTUAL: Final = "mutual_at_one_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCount:
    """How much of one format was read."""

    format: str
    files: int
    records: int
    """Spans, or lines for one receiver, the rejected ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedFile:
    """A file that is truncated or damaged; what comes before the damage is used."""

    source: str
    reason: str
    records: int
    """Spans, or lines for one receiver, that were read before the damage."""


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
class IngestSummary:
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
    changed: list[str] = field(default_factory=list)
    """Files that an earlier batch had with other content: both contents count."""
    damaged: list[DamagedFile] = field(default_factory=list)

    @classmethod
    def of_object(cls, fields: Mapping[str, Any]) -> Self:
        """What `as_object` was made from."""
        entries = {
            "read": [FormatCount(**one) for one in fields["read"]],
            "contradictions": [Contradiction(**one) for one in fields["contradictions"]],
            "damaged": [DamagedFile(**one) for one in fields.get("damaged", ())],
        }
        return cls(**{**fields, **entries})

    def as_object(self) -> dict[str, Any]:
        """The same for programs."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCounts:
    """What was read."""

    formats: list[FormatCount]
    rejects_by_reason: dict[str, int]
    spans: int
    copies: int
    processes: frozenset[str]
    """Everything that a span ran in, or that sent or received something."""
    skipped: list[str]
    """Files elsewhere that were known already."""
    damaged: list[DamagedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCounts:
    """What became of the events."""

    messages: int
    copies: dict[int, int]
    """How many each process sent."""
    first_ns: int | None
    last_ns: int | None
    counts: dict[str, int]

    def first_ids(self) -> Integers:
        """By process: the number of its first message, if all copies are numbered from 0, and
        messages by their first copies."""
        sent = np.zeros(max(self.copies, default=-1) + 1, np.int64)
        sent[list(self.copies)] = list(self.copies.values())
        ids: Integers = np.cumsum(sent) - sent
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFacts:
    """What is known when events can be put in order."""

    reading: ReadCounts
    tallies: dict[str, int]
    rows: int
    """How many copies there were before repeated receptions were dropped."""
    names: dict[str, str]
    gaps: list[Gap]
    clocks: ClockOffsets


def summary_of(
    run_id: str,
    found: TraceFiles,
    repair: bool,
    known: IngestFacts,
    placing: OrderCounts,
    waiting: dict[str, int],
    earlier: IngestSummary | None,
    changed: list[str],
) -> IngestSummary:
    """Everything there is to say."""
    copies = sum(placing.copies.values())
    passed_over = {*found.passed_over, *([] if earlier is None else earlier.passed_over)}
    counts = {
        **dict.fromkeys(COUNTED, 0),
        **known.tallies,
        REPEATED: known.rows - copies,
        **placing.counts,
        **waiting,
    }
    offsets = known.clocks.offsets_ns
    return IngestSummary(
        run_id=run_id,
        messages=placing.messages,
        copies=copies,
        processes=len(known.names),
        rejects=sum(known.reading.rejects_by_reason.values()),
        first_ns=placing.first_ns,
        last_ns=placing.last_ns,
        read=known.reading.formats,
        rejects_by_reason=known.reading.rejects_by_reason,
        counts=counts,
        repaired=repair,
        clock_offsets_ns={name: offsets.get(key, 0) for key, name in known.names.items()},
        contradictions=contradictions_of(known.gaps, known.clocks, known.names),
        passed_over=sorted(passed_over),
        batches=1 if earlier is None else earlier.batches + 1,
        skipped=sorted({*found.skipped, *known.reading.skipped}),
        changed=changed,
        damaged=known.reading.damaged,
    )


def contradictions_of(
    gaps: Sequence[Gap], clocks: ClockOffsets, names: Mapping[str, str]
) -> list[Contradiction]:
    """The pairs that could not be repaired, the worst first."""
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
        for gap in clocks.beyond_repair(gaps)
    ]
    return sorted(found, key=lambda pair: (-pair.backwards, pair.sender, pair.receiver))


def names_of(keys: Iterable[str]) -> dict[str, str]:
    """A name for each process, in the order of their numbers.

    A service with one instance is called by its own name, instances of others as service@instance.
    """
    known = set(keys)
    instances = Counter(key.partition(INSTANCE)[0] for key in known)
    names = {}
    for key in known:
        service, _, instance = key.partition(INSTANCE)
        names[key] = f"{service}@{instance}" if instance and instances[service] > 1 else service
    numeric = all(name.isascii() and name.isdigit() for name in names.values())
    order = sorted(names, key=lambda key: (int(names[key]) if numeric else 0, names[key], key))
    return {key: names[key] for key in order}


def run_named(path: str) -> str:
    """What a run is called after a file or folder."""
    name = path.rstrip("/").rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or "ingested"
