"""Counts what the stages went through: the only actions of the job besides writing."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.ingest.clocks import gap_measures, gaps_in
from antecede.pipeline.ingest.known import (
    BACKWARDS,
    CLAMPED,
    MUTUAL,
    Calling,
    Placing,
    Reading,
)
from antecede.pipeline.ingest.order import Count, offsets_of
from antecede.pipeline.ingest.reading import KNOWN
from antecede.pipeline.ingest.summary import FormatCount

INVOLVED: Final = ("ran", "sender", "receiver")
"""Where records name processes."""


def counted_reading(records: DataFrame) -> Reading:
    """The counts of what was read; this is what makes Spark read it.

    There is a row for every process, or pair of them, so that no set of names grows in a task.
    """
    rows = (
        records.groupBy(
            "file.format",
            "reject.reason",
            F.when(F.col("file.format") == KNOWN, F.col("source")).alias("known"),
            F.col("span.process").alias("ran"),
            "copy.sender",
            "copy.receiver",
        )
        .agg(
            F.count("file.fingerprint").alias("files"),
            F.sum("file.records").alias("records"),
            F.count("reject").alias("rejects"),
            F.count("span").alias("spans"),
            F.count("copy").alias("copies"),
            F.count_if(F.size("span.links") > 0).alias("linked"),
        )
        .collect()
    )
    formats = [
        FormatCount(format=row["format"], files=row["files"], records=row["records"])
        for row in rows
        if row["format"] not in (None, KNOWN)
    ]
    reasons = {row["reason"]: row["rejects"] for row in rows if row["reason"] is not None}
    return Reading(
        formats=sorted(formats, key=lambda entry: entry.format),
        rejects_by_reason=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        spans=sum(row["spans"] for row in rows),
        copies=sum(row["copies"] for row in rows),
        linked=sum(row["linked"] for row in rows),
        skipped=sorted(row["known"] for row in rows if row["known"] is not None),
        processes=frozenset(
            row[column] for row in rows for column in INVOLVED if row[column] is not None
        ),
    )


def counted_calls(calls: DataFrame, keys: Sequence[str]) -> Calling:
    """The counts of what spans came to, between processes with these names.

    In: what `clocks.compacted` gives, tally, count.
    """
    rows = (
        calls.groupBy("tally", "one_way", "sender", "receiver")
        .agg(F.count("*").alias("rows"), F.sum("count").alias("sum"), *gap_measures())
        .collect()
    )
    return Calling(
        copies=sum(row["rows"] for row in rows if row["tally"] is None),
        one_way=sum(row["rows"] for row in rows if row["one_way"]),
        tallies={row["tally"]: row["sum"] for row in rows if row["tally"] is not None},
        gaps=gaps_in(rows, keys),
    )


def counted_sending(sent: DataFrame) -> tuple[Placing, list[Count]]:
    """The counts of copies, and the offsets of the sequences of messages.

    This is what makes Spark put them in order. In: what `order.sequenced` gives.
    """
    flags = {BACKWARDS: "backwards", CLAMPED: "clamped", MUTUAL: "mutual"}
    rows = (
        sent.groupBy("sent_task", "sender")
        .agg(
            F.count(F.lit(1)).alias("copies"),
            F.count_if("leads").alias("messages"),
            F.min("submitted_ns").alias("first_ns"),
            F.max("delivered_ns").alias("last_ns"),
            *[F.count_if(F.col(flag)).alias(name) for name, flag in flags.items()],
        )
        .collect()
    )
    copies: Counter[int] = Counter()
    for row in rows:
        copies[row["sender"]] += row["copies"]
    placing = Placing(
        messages=sum(row["messages"] for row in rows),
        copies=dict(copies),
        first_ns=min((row["first_ns"] for row in rows), default=None),
        last_ns=max((row["last_ns"] for row in rows), default=None),
        counts={name: sum(row[name] for row in rows) for name in flags},
    )
    return placing, offsets_of((row["sent_task"], row["sender"], row["copies"]) for row in rows)


def counted_events(ends: DataFrame) -> list[Count]:
    """The offsets of the positions of events. In: task, process."""
    rows = ends.groupBy("task", "process").count().collect()
    return offsets_of((row["task"], row["process"], row["count"]) for row in rows)
