"""Counts what the stages went through: the only actions of the job besides writing."""

from collections import Counter
from functools import partial
from typing import Any

from antecede.pipeline.ingest.arrow_rows import Batch
from antecede.pipeline.ingest.known import BACKWARDS, CLAMPED, MUTUAL, Placing, Reading
from antecede.pipeline.ingest.layouts import FILES
from antecede.pipeline.ingest.messages import SAMPLE, SAMPLED, TALLIES, TALLY
from antecede.pipeline.ingest.moving import SUM, Moving
from antecede.pipeline.ingest.order import (
    HAVING,
    HAVINGS,
    SENDING_SORT,
    SENDINGS,
    Offsets,
    offsets_of,
)
from antecede.pipeline.ingest.packing import COPIED, FACT, FACTS, INVOLVED, RAN, READ, WHY_NOT
from antecede.pipeline.ingest.parcels import unpacked
from antecede.pipeline.ingest.reading import KNOWN
from antecede.pipeline.ingest.summary import FormatCount


def counted_reading(records: Moving) -> tuple[Reading, Batch]:
    """The counts of what was read, and the files; this is what makes Spark read them.

    In:  parcels of `packing`.
    Out: also `FILES`.
    """
    found = records.collected({FACT: FACTS, READ: FILES})
    counts: Counter[tuple[str, str]] = Counter()
    for row in found[FACT].to_pylist():
        counts[row["fact"], row["name"]] += row["count"]
    files = found[READ].to_pylist()
    reasons = {name: count for (fact, name), count in counts.items() if fact == WHY_NOT}
    reading = Reading(
        formats=format_counts([file for file in files if file["format"] != KNOWN]),
        rejects_by_reason=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        spans=sum(count for (fact, _), count in counts.items() if fact == RAN),
        copies=counts[COPIED, ""],
        skipped=sorted(file["source"] for file in files if file["format"] == KNOWN),
        processes=frozenset(name for fact, name in counts if fact in (RAN, INVOLVED)),
    )
    return reading, found[READ]


def format_counts(files: list[dict[str, Any]]) -> list[FormatCount]:
    """How many files and records there are of each format, from rows of `FILES`."""
    records: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for file in files:
        records[file["format"]] += file["records"]
        whole[file["format"]] += file["fingerprint"] is not None
    return [
        FormatCount(format=name, files=whole[name], records=records[name])
        for name in sorted(records)
    ]


def counted_messages(messages: Moving) -> tuple[Counter[str], Batch]:
    """The counts of what spans and lines came to, and a sample.

    In:  parcels of `found_messages`.
    Out: also `SAMPLED`.
    """
    found = messages.collected({TALLY: TALLIES, SAMPLE: SAMPLED})
    tallies: Counter[str] = Counter()
    for row in found[TALLY].to_pylist():
        tallies[row["tally"]] += row["count"]
    return tallies, found[SAMPLE]


def counted_sending(sent: Moving) -> tuple[Placing, Offsets, Offsets, int]:
    """The counts of copies, the offsets of the sequences of messages and of the positions of
    events, and how many copies take no time.

    This is what makes Spark put them in order. In: parcels of `order.sequencing`.
    """
    rows = sent.collected({SENDING_SORT: SENDINGS})[SENDING_SORT].to_pylist()
    copies: Counter[int] = Counter()
    for row in rows:
        copies[row["sender"]] += row["copies"]
    placing = Placing(
        messages=sum(row["messages"] for row in rows),
        copies=dict(copies),
        first_ns=min((row["first_ns"] for row in rows), default=None),
        last_ns=max((row["last_ns"] for row in rows), default=None),
        counts={
            BACKWARDS: sum(row["backwards"] for row in rows),
            CLAMPED: sum(row["clamped"] for row in rows),
            MUTUAL: 0,
        },
    )
    havings = partial(unpacked, schema=HAVINGS)
    having = sent.only(HAVING).grouped(havings, HAVINGS, HAVINGS.names[:2], {"count": SUM})
    return (
        placing,
        offsets_of((row["task"], row["sender"], row["copies"]) for row in rows),
        offsets_of((row["task"], row["process"], row["count"]) for row in having),
        sum(row["at_once"] for row in rows),
    )
