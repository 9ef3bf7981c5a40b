"""When each copy was submitted and delivered, on one clock for all processes."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.ingest.constraints import Gap
from antecede.pipeline.ingest.layouts import LONG, TEXT, table

CLOCKS: Final = table(key=TEXT, process=LONG, offset_ns=LONG)
"""What records call a process, its number, and what to add to its clock."""

HASHED: Final = ("message", "sent_in", "sent_by", "received_in", "received_by", "answers")

IDENTITIES: Final = {
    "sent_in": "sent_trace",
    "received_in": "received_trace",
    "sent_span": "sent_span",
    "received_span": "received_span",
}
"""What events keep as it was recorded, so that findings lead back to it."""

MEDIAN_ACCURACY: Final = 10_000


def gaps(copies: DataFrame) -> DataFrame:
    """How long messages seem to take, for every ordered pair of processes.

    Where instants are ranges, the longest possible time counts.

    In:  sender, receiver, sent_ns, received_ns.
    Out: sender, receiver, smallest_ns, median_ns, copies, negative.
    """
    gap = F.col("received_ns") - F.col("sent_ns")
    timed = copies.where(gap.isNotNull() & (F.col("sender") != F.col("receiver")))
    return timed.groupBy("sender", "receiver").agg(
        F.min(gap).alias("smallest_ns"),
        F.percentile_approx(gap, 0.5, MEDIAN_ACCURACY).alias("median_ns"),
        F.count("*").alias("copies"),
        F.count_if(gap < 0).alias("negative"),
    )


def collected_gaps(found: DataFrame) -> list[Gap]:
    """The gaps of all pairs, at the driver: there are as many as pairs that exchange messages."""
    return [Gap(**row.asDict()) for row in found.collect()]


def instants(copies: DataFrame, clocks: DataFrame) -> DataFrame:
    """When each copy was submitted and delivered.

    A send that is only known to lie within a range is put as late as the reception allows: then
    everything that may have caused it came first. A reception is put as early as it can be. One
    without a time, or still before the send, coincides with the send.

    From here on messages, traces and spans go by hashes of their names, which sort and travel
    faster. Should two of 64 bits ever be equal, two messages at one time may count as one, or a
    message may wait for one of another trace.

    In:  the columns of COPIES; key, process, offset_ns.
    Out: the columns of COPIES but for times, with hashes and with sender and receiver as numbers;
         sent_trace, sent_span, received_trace, received_span: as they were recorded;
         submitted_ns, delivered_ns, backwards (by the recorded clocks), clamped (after all).
    """
    timed = with_clock(with_clock(copies, clocks, "sender"), clocks, "receiver")
    sent, received = on_clock("sent_ns", "sender"), on_clock("received_ns", "receiver")
    latest = on_clock("sent_latest_ns", "sender")
    earliest = on_clock("received_earliest_ns", "receiver")
    submitted = F.when(latest.isNull(), sent).otherwise(F.greatest(sent, F.least(received, latest)))
    placed = timed.withColumn("submitted_ns", submitted)
    submitted = F.col("submitted_ns")
    seen = F.when(earliest.isNull(), received).otherwise(
        F.least(received, F.greatest(submitted, earliest))
    )
    return placed.select(
        *[hashed(name) for name in HASHED],
        *[F.col(name).alias(alias) for name, alias in IDENTITIES.items()],
        "label",
        "causes",
        "payload_bytes",
        F.col("sender_process").cast("int").alias("sender"),
        F.col("receiver_process").cast("int").alias("receiver"),
        "submitted_ns",
        F.greatest(submitted, F.coalesce(seen, submitted)).alias("delivered_ns"),
        F.coalesce(F.col("received_ns") < F.col("sent_ns"), F.lit(False)).alias("backwards"),
        F.coalesce(seen < submitted, F.lit(False)).alias("clamped"),
    )


def hashed(name: str) -> Column:
    """A column of names as hashes, null where there is no name."""
    return F.when(F.col(name).isNotNull(), F.xxhash64(name)).alias(name)


def with_clock(copies: DataFrame, clocks: DataFrame, role: str) -> DataFrame:
    """The copies with the number and the offset of the process in this role."""
    renamed = clocks.select(
        F.col("key").alias(role),
        F.col("process").alias(f"{role}_process"),
        F.col("offset_ns").alias(f"{role}_offset_ns"),
    )
    return copies.join(F.broadcast(renamed), on=role, how="inner")


def on_clock(column: str, role: str) -> Column:
    """A time by the clock of the process in this role, repaired."""
    return F.col(column) + F.col(f"{role}_offset_ns")
