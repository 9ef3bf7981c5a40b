"""Numbers messages, and puts the events of each process in order."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

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
    "sequence",
    "target",
)
"""How the events of a process are sorted. Deliveries at one time come in the order in which their
messages were submitted, so that no tie of clocks looks like a message that overtook another."""

CONTEXT: Final = ("scope", "handler", "message", "answers", "label", "causes")
"""What an event has beside the columns of the log: which trace it belongs to, which span's work
it is part of, and what the message is called, answers and was caused by."""


def sequenced(copies: DataFrame) -> DataFrame:
    """The copies with the sequence of their message: 1, 2, 3, … for each sender.

    In:  sender, message, submitted_ns.
    Out: the same columns, sequence.
    """
    order = Window.partitionBy("sender").orderBy("submitted_ns", "message")
    return copies.withColumn("sequence", F.dense_rank().over(order).cast("long"))


def local_events(copies: DataFrame) -> DataFrame:
    """A submission and a delivery for every copy, each with its position at its process.

    In:  sender, receiver, sequence, submitted_ns, delivered_ns, rank, mutual, backwards, clamped,
         payload_bytes, message, sent_in, sent_by, received_in, received_by, answers, label, causes,
         sent_trace, sent_span, received_trace, received_span.
    Out: the columns of the event log; scope, handler, message, answers, label, causes; backwards,
         clamped, mutual (of deliveries, false elsewhere).
    """
    events = copies.select(F.explode(F.array(submission(), delivery())).alias("event"))
    order = Window.partitionBy("process").orderBy(*ALONG[1:])
    numbered = events.select("event.*").withColumn("place", F.row_number().over(order))
    nulls = {"packet", "packet_kind"}
    columns = [
        (F.lit(None) if field.name in nulls else F.col(field.name))
        .cast(field.dataType)
        .alias(field.name)
        for field in EVENTS.fields
        if field.name != "position"
    ]
    position = (F.col("place") - 1).cast("long").alias("position")
    return numbered.select(
        columns[0], position, *columns[1:], *CONTEXT, "backwards", "clamped", "mutual"
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
    )


def event(**different: Column) -> Column:
    """An event of a copy: what is different at its two ends, and what is the same."""
    same = {
        "sender": F.col("sender"),
        "sequence": F.col("sequence"),
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
