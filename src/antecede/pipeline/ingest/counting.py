"""Counts what the stages went through: the only actions of the job besides writing."""

from collections import Counter
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.ingest.known import (
    BACKWARDS,
    CLAMPED,
    MUTUAL,
    Calling,
    Placing,
    Reading,
)
from antecede.pipeline.ingest.order import SUBMITTED, Count, offsets_of
from antecede.pipeline.ingest.reading import KNOWN
from antecede.pipeline.ingest.summary import FormatCount

INVOLVED: Final = ("span.process", "copy.sender", "copy.receiver")


def counted_reading(records: DataFrame) -> Reading:
    """The counts of what was read; this is what makes Spark read it."""
    rows = (
        records.groupBy("file.format", "reject.reason")
        .agg(
            F.count("file.fingerprint").alias("files"),
            F.sum("file.records").alias("records"),
            F.count("reject").alias("rejects"),
            F.count("span").alias("spans"),
            F.count("copy").alias("copies"),
            F.count_if(F.size("span.links") > 0).alias("linked"),
            F.collect_list(F.when(F.col("file.format") == KNOWN, F.col("source"))).alias("known"),
            *[F.collect_set(column).alias(column) for column in INVOLVED],
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
        skipped=sorted(name for row in rows for name in row["known"]),
        processes=frozenset(key for row in rows for column in INVOLVED for key in row[column]),
    )


def counted_calls(calls: DataFrame) -> Calling:
    """The counts of what spans came to."""
    rows = (
        calls.groupBy("tally")
        .agg(
            F.count("*").alias("rows"),
            F.count_if("one_way").alias("one_way"),
            F.sum("count").alias("sum"),
        )
        .collect()
    )
    return Calling(
        copies=sum(row["rows"] for row in rows if row["tally"] is None),
        one_way=sum(row["one_way"] for row in rows),
        tallies={row["tally"]: row["sum"] for row in rows if row["tally"] is not None},
    )


def counted_placing(events: DataFrame) -> tuple[Placing, list[Count]]:
    """The counts of the events in order, and the offsets of their positions.

    This is what makes Spark order them.
    """
    submitted = F.col("kind") == SUBMITTED
    flags = {BACKWARDS: "backwards", CLAMPED: "clamped", MUTUAL: "mutual"}
    rows = (
        events.groupBy("task", "process")
        .agg(
            F.count(F.lit(1)).alias("events"),
            F.count_if("leads").alias("messages"),
            F.count_if(submitted).alias("copies"),
            F.min("time_ns").alias("first_ns"),
            F.max("time_ns").alias("last_ns"),
            *[F.count_if(F.col(flag)).alias(name) for name, flag in flags.items()],
        )
        .collect()
    )
    messages: Counter[int] = Counter()
    copies: Counter[int] = Counter()
    for row in rows:
        messages[row["process"]] += row["messages"]
        copies[row["process"]] += row["copies"]
    placing = Placing(
        messages=sum(messages.values()),
        copies=dict(copies),
        first_ns=min((row["first_ns"] for row in rows), default=None),
        last_ns=max((row["last_ns"] for row in rows), default=None),
        counts={name: sum(row[name] for row in rows) for name in flags},
    )
    return placing, offsets_of((row["task"], row["process"], row["events"]) for row in rows)


def counted_sending(events: DataFrame) -> list[Count]:
    """The offsets of the sequences of messages."""
    sent = events.where(F.col("kind") == SUBMITTED).groupBy("sent_task", "sender").count()
    return offsets_of((row["sent_task"], row["sender"], row["count"]) for row in sent.collect())
