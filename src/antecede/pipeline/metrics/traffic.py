"""What was sent in a run, by whom, and how long it all took."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.metrics.figures import PACKET_TOTALS

WIDE: Final = "decimal(38,0)"
"""Sums of times of day do not fit 64 bits."""


def event_totals(events: DataFrame) -> DataFrame:
    """Counts and sums of events, by what sort they are.

    In:  run_id, kind, sender, packet_kind, time_ns, payload_bytes, metadata_bytes.
    Out: run_id, kind, packet_kind, events, carrying, payload_bytes, metadata_bytes, first_ns,
         last_ns.
    """
    return events.groupBy("run_id", "kind", "packet_kind").agg(
        F.count("*").alias("events"),
        F.count("sender").alias("carrying"),
        F.sum(F.col("payload_bytes").cast("bigint")).alias("payload_bytes"),
        F.sum(F.col("metadata_bytes").cast("bigint")).alias("metadata_bytes"),
        F.min("time_ns").alias("first_ns"),
        F.max("time_ns").alias("last_ns"),
    )


def packet_totals(totals: DataFrame) -> DataFrame:
    """What was transmitted of every kind of packet, retransmissions included.

    In:  the columns of `event_totals`.
    Out: run_id, packet_kind, packets, carrying, payload_bytes, metadata_bytes.
    """
    transmitted = totals.where(F.col("kind") == "transmitted")
    return transmitted.withColumnRenamed("events", "packets").select("run_id", *PACKET_TOTALS.names)


def packet_figures(totals: DataFrame) -> DataFrame:
    """What was transmitted in all, and from when to when the run lasted.

    In:  the columns of `event_totals`.
    Out: run_id, packets, control_packets, payload_bytes, metadata_bytes, first_ns, last_ns.
    """

    def transmitted(column: Column) -> Column:
        return F.sum(F.when(F.col("kind") == "transmitted", column))

    return totals.groupBy("run_id").agg(
        transmitted(F.col("events")).alias("packets"),
        transmitted(F.col("events") - F.col("carrying")).alias("control_packets"),
        transmitted(F.col("payload_bytes")).alias("payload_bytes"),
        transmitted(F.col("metadata_bytes")).alias("metadata_bytes"),
        F.min(F.when(F.col("kind") == "submitted", F.col("first_ns"))).alias("first_ns"),
        F.max("last_ns").alias("last_ns"),
    )


def sender_totals(instants: DataFrame) -> DataFrame:
    """What each sender sent, and for how long its copies were under way.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, sender, messages, copies, delivered, delivered_ns (the last), transit_ns (of all
         copies that arrived, together), open and open_since_ns (those that did not: how many, and
         the sum of when they left).
    """
    travels = F.col("sender") != F.col("target")
    came_ns = F.coalesce(F.col("arrived_ns"), F.col("delivered_ns"))
    is_open = travels & F.col("transmitted_ns").isNotNull() & came_ns.isNull()
    # By message first, of which there is one however many copies it has.
    of_message = instants.groupBy("run_id", "sender", "sequence").agg(
        F.count_if(travels).alias("copies"),
        F.count_if(travels & F.col("delivered_ns").isNotNull()).alias("delivered"),
        F.max("delivered_ns").alias("delivered_ns"),
        F.sum(F.when(travels, came_ns - F.col("transmitted_ns"))).alias("transit_ns"),
        F.count_if(is_open).alias("open"),
        F.sum(F.when(is_open, F.col("transmitted_ns")).cast(WIDE)).alias("open_since_ns"),
    )
    wide = of_message.withColumn("transit_ns", F.col("transit_ns").cast("double"))
    return wide.groupBy("run_id", "sender").agg(F.count("*").alias("messages"), *summed())


def message_figures(senders: DataFrame) -> DataFrame:
    """How many messages and copies there were in a run, and how many were under way.

    In:  the columns of `sender_totals`.
    Out: run_id, messages, copies, delivered, delivered_ns, transit_ns, open, open_since_ns, and
         senders: how many had a copy under way for a while.
    """
    return senders.groupBy("run_id").agg(
        F.sum("messages").alias("messages"),
        *summed(),
        F.count_if((F.col("transit_ns") > 0) | (F.col("open") > 0)).alias("senders"),
    )


def summed() -> list[Column]:
    """The figures of messages or senders, of all of them together."""
    sums = ("copies", "delivered", "transit_ns", "open", "open_since_ns")
    last = F.max("delivered_ns").alias("delivered_ns")
    return [last, *(F.sum(name).alias(name) for name in sums)]
