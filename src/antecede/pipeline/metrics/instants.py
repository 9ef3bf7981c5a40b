"""From events to copies: the four instants of each, and the delays between them."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.trace.events import KINDS

COPY: Final = ("run_id", "sender", "sequence", "target")
"""What names a copy."""

AT_TARGET: Final = ("arrived", "delivered")
"""Kinds of events that happen at the target of a copy."""


def message_instants(events: DataFrame) -> DataFrame:
    """When each submitted copy was submitted, transmitted, arrived and delivered, the first time.

    In:  run_id, process, kind, sender, sequence, target, time_ns.
    Out: run_id, sender, sequence, target, submitted_ns, transmitted_ns, arrived_ns, delivered_ns.
    """
    where = F.when(F.col("kind").isin(*AT_TARGET), F.col("process")).otherwise(F.col("target"))
    # Laid out by message, so that whoever groups by message or copy next need not shuffle again.
    copies = (
        events.where(F.col("sender").isNotNull())
        .withColumn("target", where)
        .select(*COPY, "kind", "time_ns")
        .repartition("run_id", "sender", "sequence")
        .groupBy(*COPY)
        .agg(
            *(
                F.min(F.when(F.col("kind") == kind, F.col("time_ns"))).alias(f"{kind}_ns")
                for kind in KINDS
            )
        )
    )
    # A relay has copies too that were never submitted to it.
    submitted = copies.where(F.col("submitted_ns").isNotNull())
    return submitted.select(*COPY, *(f"{kind}_ns" for kind in KINDS))


def travelling(instants: DataFrame) -> DataFrame:
    """The copies that are not to oneself.

    In and out: the columns of `message_instants`.
    """
    return instants.where(F.col("sender") != F.col("target")).select(*instants.columns)


def buffering_delays(instants: DataFrame) -> DataFrame:
    """How long each delivered copy took, and where it waited; copies to oneself are left out.

    Where a log does not say when copies were transmitted and arrived, only the latency is known.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, sender, sequence, target, sender_wait_ns, channel_ns, receiver_wait_ns, latency_ns.
    """
    delivered = travelling(instants).where(F.col("delivered_ns").isNotNull())
    arrived = F.col("arrived_ns").isNotNull()
    return delivered.select(
        *COPY,
        F.when(arrived, F.col("transmitted_ns") - F.col("submitted_ns")).alias("sender_wait_ns"),
        (F.col("arrived_ns") - F.col("transmitted_ns")).alias("channel_ns"),
        (F.col("delivered_ns") - F.col("arrived_ns")).alias("receiver_wait_ns"),
        (F.col("delivered_ns") - F.col("submitted_ns")).alias("latency_ns"),
    )
