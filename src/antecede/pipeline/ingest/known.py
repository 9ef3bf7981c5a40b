"""What is known about some traces while they are ingested, and the summary that follows from it."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from antecede.pipeline.ingest.call_columns import TALLIES
from antecede.pipeline.ingest.constraints import Clocks, Gap
from antecede.pipeline.ingest.sources import Found
from antecede.pipeline.ingest.summary import FormatCount, Summary, contradictions_of

REPEATED: Final = "repeated_receptions"

BACKWARDS: Final = "received_before_sent"
CLAMPED: Final = "clamped"
MUTUAL: Final = "mutual_at_one_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read."""

    formats: list[FormatCount]
    rejects_by_reason: dict[str, int]
    spans: int
    copies: int
    processes: frozenset[str]
    """Everything that a span ran in, or that sent or received something."""
    skipped: list[str]
    """Files that were known already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """What became of the events."""

    messages: int
    copies: dict[int, int]
    """How many each process sent."""
    first_ns: int | None
    last_ns: int | None
    counts: dict[str, int]

    def first_ids(self) -> npt.NDArray[np.int64]:
        """By process: the number of its first message, if all copies are numbered from 0, and
        messages by their first copies."""
        sent = np.zeros(max(self.copies, default=-1) + 1, np.int64)
        sent[list(self.copies)] = list(self.copies.values())
        ids: npt.NDArray[np.int64] = np.cumsum(sent) - sent
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known when events can be put in order."""

    reading: Reading
    tallies: dict[str, int]
    rows: int
    """How many copies there were before repeated receptions were dropped."""
    names: dict[str, str]
    gaps: list[Gap]
    clocks: Clocks


def summary_of(
    run_id: str,
    found: Found,
    repair: bool,
    known: Known,
    placing: Placing,
    waiting: dict[str, int],
    earlier: Summary | None,
) -> Summary:
    """Everything there is to say."""
    copies = sum(placing.copies.values())
    passed_over = {*found.passed_over, *([] if earlier is None else earlier.passed_over)}
    counts = {
        **dict.fromkeys(TALLIES, 0),
        **known.tallies,
        REPEATED: known.rows - copies,
        **placing.counts,
        **waiting,
    }
    offsets = known.clocks.offsets_ns
    return Summary(
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
        skipped=known.reading.skipped,
    )
