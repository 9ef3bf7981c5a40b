"""Numbers messages, and puts the events of each process in order.

A process may have half of all events, so no task gets all of one. Rows are spread by ranges of
process and time instead, and sorted in each. A row's number is then its place in its task, less the
rows of other processes before it there, plus those of its own process in the tasks before. The last
two are known as soon as every task has counted what it has, which is a row for each task and
process.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import IntegerType

from antecede.pipeline.ingest.layouts import LONG, table
from antecede.pipeline.schemas import EVENTS
from antecede.trace.events import KINDS

SUBMITTED: Final = KINDS[0]
DELIVERED: Final = KINDS[3]

ORDINARY: Final = 0
SENDING: Final = 1
MUTUAL: Final = 2
"""Inside one time a process delivers, then submits, then delivers what was sent mutually."""

ALONG: Final = (
    "process",
    "time_ns",
    "phase",
    "submitted_ns",
    "rank",
    "sender",
    "message",
    "target",
)
"""How the events of a process are sorted. Deliveries at one time come in the order in which their
messages were submitted, so that no tie of clocks looks like a message that overtook another."""

BY_SENDER: Final = ("sender", "submitted_ns", "message")
"""How the messages of a sender are sorted."""

ROWS_OF_A_TASK: Final = 1 << 19
"""About so many rows are sorted by one task."""

PLACE_BITS: Final = 33
"""Spark's ascending ids have the place of a row in its task in so many bits."""

CONTEXT: Final = ("scope", "handler", "message", "answers", "label", "causes")
"""What an event has beside the columns of the log: which trace it belongs to, which span's work
it is part of, and what the message is called, answers and was caused by."""


Count: TypeAlias = tuple[int, int, int]
"""A task, a process, and how many rows of that process it has."""

OFFSETS: Final = table(task=IntegerType(), process=IntegerType(), offset=LONG)
"""What to add to the place of a row in its task to get its number at its process."""


def sequenced(copies: DataFrame, tasks: int) -> DataFrame:
    """The copies with what will be the sequence of their message, for `tasks` tasks.

    A message's sequence is how many copies its sender had sent before it, and one.

    In:  sender, receiver, message, submitted_ns.
    Out: the same columns; sent_task, sent_place: of the first copy of the message; leads: whether
         it is that.
    """
    spread = copies.repartitionByRange(tasks, *BY_SENDER)
    # The copies of a message are in one task already: nothing is moved for this.
    turn = F.row_number().over(Window.partitionBy(*BY_SENDER).orderBy("receiver"))
    return (
        spread.withColumn("turn", turn)
        .withColumns(
            {
                "sent_task": F.spark_partition_id(),
                "sent_place": place_in_task() - F.col("turn") + 1,
                "leads": F.col("turn") == 1,
            }
        )
        .drop("turn")
    )


def place_in_task() -> Column:
    """How many rows of its task come before a row."""
    return F.monotonically_increasing_id().bitwiseAND((1 << PLACE_BITS) - 1)


def local_events(copies: DataFrame, tasks: int) -> DataFrame:
    """A submission and a delivery for every copy, sorted, in `tasks` tasks.

    In:  sender, receiver, submitted_ns, delivered_ns, rank, mutual, backwards, clamped,
         payload_bytes, message, sent_in, sent_by, received_in, received_by, answers, label, causes,
         sent_trace, sent_span, received_trace, received_span, sent_task, sent_place, leads.
    Out: the columns of the event log but for position and sequence; scope, handler, message,
         answers, label, causes; backwards, clamped, mutual (of deliveries, false elsewhere); leads
         (of submissions, false elsewhere); task, place; sent_task, sent_place.
    """
    events = copies.select(F.explode(F.array(submission(), delivery())).alias("event"))
    spread = events.select("event.*").repartitionByRange(tasks, *ALONG)
    placed = spread.sortWithinPartitions(*ALONG).withColumns(
        {"task": F.spark_partition_id(), "place": place_in_task()}
    )
    return placed.drop("phase", "submitted_ns", "rank")


def offsets_of(counts: Iterable[Count]) -> list[Count]:
    """The rows of `OFFSETS`, from what each task has of each process."""
    offsets: list[Count] = []
    before: dict[int, int] = {}
    current, place = -1, 0
    for task, process, count in sorted(counts):
        if task != current:
            current, place = task, 0
        offsets.append((task, process, before.get(process, 0) - place))
        before[process] = before.get(process, 0) + count
        place += count
    return offsets


def numbered(events: DataFrame, positions: DataFrame, sequences: DataFrame) -> DataFrame:
    """The events with their positions, and with the sequences of their messages.

    In:  what `local_events` gives; `OFFSETS` of events, and of copies by sender.
    Out: the columns of the event log; scope, handler, message, answers, label, causes.
    """
    at_sender = sequences.select(
        F.col("task").alias("sent_task"),
        F.col("process").alias("sender"),
        F.col("offset").alias("sent_offset"),
    )
    known = events.join(F.broadcast(positions), on=["task", "process"], how="inner").join(
        F.broadcast(at_sender), on=["sent_task", "sender"], how="inner"
    )
    computed = {
        "position": F.col("place") + F.col("offset"),
        "sequence": F.col("sent_place") + F.col("sent_offset") + 1,
        "packet": F.lit(None),
        "packet_kind": F.lit(None),
    }
    return known.select(
        *(
            computed.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
            for field in EVENTS.fields
        ),
        *CONTEXT,
    )


def submission() -> Column:
    """The event of a copy at its sender."""
    return event(
        process=F.col("sender"),
        kind=F.lit(SUBMITTED),
        time_ns=F.col("submitted_ns"),
        phase=F.lit(SENDING),
        scope=F.col("sent_in"),
        handler=F.col("sent_by"),
        trace_id=F.col("sent_trace"),
        span_id=F.col("sent_span"),
        backwards=F.lit(False),
        clamped=F.lit(False),
        mutual=F.lit(False),
        leads=F.col("leads"),
    )


def delivery() -> Column:
    """The event of a copy at its receiver."""
    return event(
        process=F.col("receiver"),
        kind=F.lit(DELIVERED),
        time_ns=F.col("delivered_ns"),
        phase=F.when(F.col("mutual"), F.lit(MUTUAL)).otherwise(F.lit(ORDINARY)),
        scope=F.col("received_in"),
        handler=F.col("received_by"),
        trace_id=F.col("received_trace"),
        span_id=F.col("received_span"),
        backwards=F.col("backwards"),
        clamped=F.col("clamped"),
        mutual=F.col("mutual"),
        leads=F.lit(False),
    )


def event(**different: Column) -> Column:
    """An event of a copy: what is different at its two ends, and what is the same."""
    same = {
        "sender": F.col("sender"),
        "sent_task": F.col("sent_task"),
        "sent_place": F.col("sent_place"),
        "target": F.col("receiver"),
        "submitted_ns": F.col("submitted_ns"),
        "rank": F.col("rank"),
        "payload_bytes": F.col("payload_bytes"),
        "metadata_bytes": F.lit(0),
        "message": F.col("message"),
        "answers": F.col("answers"),
        "label": F.col("label"),
        "causes": F.col("causes"),
    }
    return F.struct(*[column.alias(name) for name, column in {**different, **same}.items()])
