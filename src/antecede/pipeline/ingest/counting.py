"""Counts what the stages went through: the only actions of the job besides writing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.ingest.arrow_rows import Batch, arrow_schema
from antecede.pipeline.ingest.clocks import MEASURES, gaps_in
from antecede.pipeline.ingest.known import BACKWARDS, CLAMPED, MUTUAL, Calling, Placing, Reading
from antecede.pipeline.ingest.layouts import FILES, LONG, table
from antecede.pipeline.ingest.messages import FOUND, GAP, SAMPLE, SAMPLED, TALLIES, TALLY
from antecede.pipeline.ingest.order import (
    HAVING,
    HAVINGS,
    NUMBERED,
    SENDING_SORT,
    SENDINGS,
    Offsets,
    offsets_of,
)
from antecede.pipeline.ingest.packing import COPIED, FACT, FACTS, INVOLVED, RAN, READ, WHY_NOT
from antecede.pipeline.ingest.parcels import chunks_of, collected, rows_in
from antecede.pipeline.ingest.reading import KNOWN
from antecede.pipeline.ingest.summary import FormatCount

MUTUALS: Final = table(mutual=LONG)


def counted_reading(records: DataFrame) -> tuple[Reading, Batch]:
    """The counts of what was read, and the files; this is what makes Spark read them.

    In:  parcels of `packing`.
    Out: also `FILES`, without those that were known.
    """
    found = collected(records, {FACT: FACTS, READ: FILES})
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


def counted_messages(messages: DataFrame, keys: Sequence[str]) -> tuple[Calling, Batch]:
    """The counts of what spans and lines came to, between processes with these names, and a sample.

    In:  parcels of `messages_in`.
    Out: also `SAMPLED`.
    """
    found = collected(messages, {TALLY: TALLIES, SAMPLE: SAMPLED})
    tallies: Counter[str] = Counter()
    for row in found[TALLY].to_pylist():
        tallies[row["tally"]] += row["count"]
    copies = tallies.pop(FOUND, 0)
    gaps = gaps_in(rows_in(messages, GAP, MEASURES), keys)
    return Calling(copies=copies, tallies=dict(tallies), gaps=gaps), found[SAMPLE]


def counted_sending(sent: DataFrame) -> tuple[Placing, Offsets, Offsets, int]:
    """The counts of copies, the offsets of the sequences of messages and of the positions of
    events, and how many copies take no time.

    This is what makes Spark put them in order. In: parcels of `order.sequenced`.
    """
    rows = collected(sent, {SENDING_SORT: SENDINGS})[SENDING_SORT].to_pylist()
    copies: Counter[int] = Counter()
    for row in rows:
        copies[row["sender"]] += row["copies"]
    flags = {BACKWARDS: "backwards", CLAMPED: "clamped"}
    placing = Placing(
        messages=sum(row["messages"] for row in rows),
        copies=dict(copies),
        first_ns=min((row["first_ns"] for row in rows), default=None),
        last_ns=max((row["last_ns"] for row in rows), default=None),
        counts={
            **{name: sum(row[flag] for row in rows) for name, flag in flags.items()},
            MUTUAL: 0,
        },
    )
    having = rows_in(sent, HAVING, HAVINGS).groupBy("task", "process").agg(F.sum("count"))
    return (
        placing,
        offsets_of((row["task"], row["sender"], row["copies"]) for row in rows),
        offsets_of(tuple(row) for row in having.collect()),
        sum(row["at_once"] for row in rows),
    )


def counted_mutual(tied: DataFrame) -> int:
    """How many copies are delivered among mutual ones. In: parcels of `ties.ranked`."""
    found = tied.mapInArrow(mutual_counts, MUTUALS).agg(F.sum("mutual")).collect()
    return int(found[0][0] or 0)


def mutual_counts(batches: Iterable[Batch]) -> Iterator[Batch]:
    """How many of the copies in these parcels are."""
    schema = arrow_schema(MUTUALS)
    for _, copies in chunks_of(batches, NUMBERED):
        yield pa.record_batch([pa.array([pc.sum(copies["mutual"]).as_py() or 0])], schema=schema)
