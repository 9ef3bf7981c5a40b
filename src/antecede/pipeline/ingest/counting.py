"""Counts what the stages went through: the only actions of the job besides writing."""

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
from antecede.pipeline.ingest.order import SUBMITTED
from antecede.pipeline.ingest.summary import FormatCount

INVOLVED: Final = ("span.process", "copy.sender", "copy.receiver")


def counted_reading(records: DataFrame) -> Reading:
    """The counts of what was read; this is what makes Spark read it."""
    rows = (
        records.groupBy("file.format", "reject.reason")
        .agg(
            F.count("file").alias("files"),
            F.sum("file.records").alias("records"),
            F.count("reject").alias("rejects"),
            F.count("span").alias("spans"),
            F.count("copy").alias("copies"),
            F.count_if(F.size("span.links") > 0).alias("linked"),
            *[F.collect_set(column).alias(column) for column in INVOLVED],
        )
        .collect()
    )
    formats = [
        FormatCount(format=row["format"], files=row["files"], records=row["records"])
        for row in rows
        if row["format"] is not None
    ]
    reasons = {row["reason"]: row["rejects"] for row in rows if row["reason"] is not None}
    return Reading(
        formats=sorted(formats, key=lambda entry: entry.format),
        rejects_by_reason=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        spans=sum(row["spans"] for row in rows),
        copies=sum(row["copies"] for row in rows),
        linked=sum(row["linked"] for row in rows),
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


def counted_placing(events: DataFrame) -> Placing:
    """The counts of the events in order; this is what makes Spark order them."""
    submitted = F.col("kind") == SUBMITTED
    flags = {BACKWARDS: "backwards", CLAMPED: "clamped", MUTUAL: "mutual"}
    rows = (
        events.groupBy("process")
        .agg(
            F.max(F.when(submitted, F.col("sequence"))).alias("messages"),
            F.count_if(submitted).alias("copies"),
            F.min("time_ns").alias("first_ns"),
            F.max("time_ns").alias("last_ns"),
            *[F.count_if(F.col(flag)).alias(name) for name, flag in flags.items()],
        )
        .collect()
    )
    return Placing(
        messages={row["process"]: row["messages"] or 0 for row in rows},
        copies=sum(row["copies"] for row in rows),
        first_ns=min((row["first_ns"] for row in rows), default=None),
        last_ns=max((row["last_ns"] for row in rows), default=None),
        counts={name: sum(row[name] for row in rows) for name in flags},
    )
