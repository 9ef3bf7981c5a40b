"""Why the worst violations are violations: for each, a shortest path from the late to the early.

All of a path lies between the submission of the late message and the delivery of the early one, so
only that part of the log is looked at, on the driver, unless there is too much of it.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.audit.findings import IDENTITY_COLUMNS, MessageId, Violation
from antecede.audit.history import History, Order, message_of
from antecede.audit.summary import Found
from antecede.audit.witness import first_deliveries
from antecede.trace.events import ALL_COLUMNS, Event

EVENTS_MAX: Final = 500_000
"""A path is not looked for among more events than this."""


def with_witnesses(
    rows: DataFrame, found: Sequence[Found], clockless: Sequence[str], order: Order
) -> list[Found]:
    """The same violations with their witnesses; without, where there is too much to look at.

    In: counted rows, and run_id. The runs named in `clockless` are looked at as a whole.
    """
    if not found:
        return []
    spans = spans_of(rows, found, clockless)
    counts = spans.groupBy("number").agg(F.count(F.lit(1)).alias("events")).collect()
    small = [row["number"] for row in counts if row["events"] <= EVENTS_MAX]
    events: dict[int, list[Event]] = {number: [] for number in small}
    chosen = spans.where(F.col("number").isin(small)).select("number", *ALL_COLUMNS)
    for batch in chosen.toArrow().to_batches():
        for row in batch.to_pylist():
            events[row.pop("number")].append(Event(**row))
    return [
        (run_id, witnessed(violation, events.get(number, []), order))
        for number, (run_id, violation) in enumerate(found)
    ]


def spans_of(rows: DataFrame, found: Sequence[Found], clockless: Sequence[str]) -> DataFrame:
    """The part of the log that each violation is about.

    Out: number: which of them; and the columns of the event log.
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
    return joined.where(F.col("whole") | within).select("number", *ALL_COLUMNS)


def witnessed(violation: Violation, events: Sequence[Event], order: Order) -> Violation:
    """The violation with its witness, if these events have it."""
    history = History(events, order)
    if violation.late not in history.submitted or violation.early not in history.submitted:
        return violation
    return replace(violation, witness=shortest_path(history, violation))


def shortest_path(history: History, violation: Violation) -> tuple[Event, ...]:
    """The events that lead from the late submission to the early one; empty if none do."""
    reasons = reasons_after(history, violation.late, violation.early)
    message = violation.early
    if message not in reasons:
        return ()
    path = [history.submission_to(message, violation.process)]
    while message != violation.late:
        reason = reasons[message]
        message = message_of(reason)
        if reason.kind == "delivered":
            path += [reason, history.submission_to(message, reason.process)]
        else:
            path.append(history.submission_to(message, violation.process))
    return tuple(reversed(path))


def reasons_after(history: History, late: MessageId, early: MessageId) -> Mapping[MessageId, Event]:
    """For each message that follows from `late`, breadth first up to `early`, what it follows from.

    If one submission of a strand has been reached, so have all later ones.
    """
    reasons: dict[MessageId, Event] = {}
    queue = deque([history.submitted[late], *first_deliveries(history, late)])
    while queue and early not in reasons:
        reason = queue.popleft()
        for submission in history.sent_after(reason):
            message = message_of(submission)
            if message in reasons:
                break
            reasons[message] = reason
            queue += first_deliveries(history, message)
    return reasons


def violation_of(row: Mapping[str, Any]) -> Found:
    """A row of the violations table as a value."""
    return row["run_id"], Violation(
        process=row["process"],
        early=MessageId(row["early_sender"], row["early_sequence"]),
        early_delivered_ns=row["early_delivered_ns"],
        late=MessageId(row["late_sender"], row["late_sequence"]),
        late_delivered_ns=row["late_delivered_ns"],
        witness=(),
        **{name: row.get(name) for name in IDENTITY_COLUMNS},
    )
