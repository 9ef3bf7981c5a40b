"""Why the worst violations are violations: for each, a shortest path from the late to the early.

All of a path lies between the submission of the late message and the delivery of the early one, so
only that part of the log is looked at, on the driver. It is left alone where it is too long, and
when as much as the driver takes has been looked at for worse ones.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.eventlog.schema import Event
from antecede_audit.jobs.event_logs import WITNESSED
from antecede_audit.judging.definition import History, Order
from antecede_audit.judging.raw_findings import ArrowTable
from antecede_audit.judging.summary import Found
from antecede_audit.judging.witness import witnessed

EVENTS_MAX: Final = 500_000
"""A path is looked for among at most 500,000 events."""

TOTAL_MAX: Final = 2_000_000
"""At most 2,000,000 events are brought to the driver for all paths together: some 300 MB."""


def with_witnesses(
    rows: DataFrame,
    found: Sequence[Found],
    clockless: Sequence[str],
    order: Order,
    *,
    events_max: int = EVENTS_MAX,
    total_max: int = TOTAL_MAX,
) -> list[Found]:
    """The same violations, worst first, with their witnesses; without, where that is too much.

    In: counted rows, and run_id. The runs named in `clockless` are looked at as a whole.
    """
    if not found:
        return []
    spans = spans_of(rows, found, clockless)
    counts = spans.groupBy("number").agg(F.count(F.lit(1)).alias("events")).collect()
    chosen = within_search_limit(
        {row["number"]: row["events"] for row in counts}, events_max, total_max
    )
    table = spans.where(F.col("number").isin(chosen)).toArrow()
    told = list(found)
    for number in chosen:
        run_id, violation = found[number]
        history = History(events_of(table, number), order)
        told[number] = (run_id, witnessed(violation, history))
    return told


def within_search_limit(events: Mapping[int, int], events_max: int, total_max: int) -> list[int]:
    """The violations that are looked into, by number: from the first on, as long as there is room.

    `events` says how many there are to look at for each.
    """
    chosen = []
    for number, count in sorted(events.items()):
        if count <= min(events_max, total_max):
            chosen.append(number)
            total_max -= count
    return chosen


def events_of(table: ArrowTable, number: int) -> list[Event]:
    """The events for one of the violations, as values: few at a time, since they are large."""
    rows = table.filter(pc.equal(table["number"], number)).drop_columns("number")
    return [Event(**row) for row in rows.to_pylist()]


def spans_of(rows: DataFrame, found: Sequence[Found], clockless: Sequence[str]) -> DataFrame:
    """The part of the log that each violation is about.

    Out: number: which of them; and `WITNESSED`.
    """
    session = rows.sparkSession
    ends = session.createDataFrame(
        [
            (number, run_id, *violation.late, violation.early_delivered_ns, run_id in clockless)
            for number, (run_id, violation) in enumerate(found)
        ],
        "number int, run_id string, sender int, sequence long, end_ns long, whole boolean",
    )
    submissions = rows.where(F.col("kind") == "submitted")
    begun = (
        submissions.select("run_id", "sender", "sequence", "time_ns")
        .join(F.broadcast(ends), on=["run_id", "sender", "sequence"], how="inner")
        .groupBy("number", "run_id", "end_ns", "whole")
        .agg(F.min("time_ns").alias("begin_ns"))
    )
    joined = rows.join(F.broadcast(begun), on="run_id", how="inner")
    within = F.col("time_ns").between(F.col("begin_ns"), F.col("end_ns"))
    return joined.where(F.col("whole") | within).select("number", *WITNESSED)
