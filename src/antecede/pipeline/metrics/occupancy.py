"""How many copies were where: in send buffers, under way, in receive buffers.

A copy is in its sender's buffer until it is transmitted, under way until it arrives, and in its
target's buffer until it is delivered. What passes through in no time does not count.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.metrics.instants import travelling

SENDER_BUFFER: Final = "sender_buffer"
IN_TRANSIT: Final = "in_transit"
RECEIVER_BUFFER: Final = "receiver_buffer"
PLACES: Final = (SENDER_BUFFER, RECEIVER_BUFFER, IN_TRANSIT)


def level_changes(instants: DataFrame) -> DataFrame:
    """Every coming and going, those of one moment added up.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, place, process, time_ns, change.
    """
    submitted, transmitted = F.col("submitted_ns"), F.col("transmitted_ns")
    arrived, delivered = F.col("arrived_ns"), F.col("delivered_ns")
    # A copy of which the log does not say that it left or arrived did so when it was delivered.
    left = F.coalesce(transmitted, delivered)
    came = F.coalesce(arrived, delivered)
    sender, target = F.col("sender"), F.col("target")
    changes = F.array(
        change(SENDER_BUFFER, sender, submitted, 1),
        change(SENDER_BUFFER, sender, left, -1),
        change(IN_TRANSIT, sender, transmitted, 1),
        change(IN_TRANSIT, sender, F.when(transmitted.isNotNull(), came), -1),
        change(RECEIVER_BUFFER, target, arrived, 1),
        change(RECEIVER_BUFFER, target, F.when(arrived.isNotNull(), delivered), -1),
    )
    rows = travelling(instants).select("run_id", F.explode(changes).alias("row"))
    known = rows.where(F.col("row.time_ns").isNotNull()).select("run_id", "row.*")
    # Laid out by place at once, as the levels need it, there is one shuffle instead of two.
    return (
        known.repartition("run_id", "place", "process")
        .groupBy("run_id", "place", "process", "time_ns")
        .agg(F.sum("change").alias("change"))
    )


def change(place: str, process: Column, time_ns: Column, by: int) -> Column:
    """A coming or going; nothing of the sort if the time is null."""
    return F.struct(
        F.lit(place).alias("place"),
        process.alias("process"),
        time_ns.alias("time_ns"),
        F.lit(by).alias("change"),
    )


def occupancy_figures(changes: DataFrame) -> DataFrame:
    """The most copies that ever were at one process, for each place.

    In:  the columns of `level_changes`.
    Out: run_id, sender_buffer_max, receiver_buffer_max, in_transit_max.
    """
    so_far = (
        Window.partitionBy("run_id", "place", "process")
        .orderBy("time_ns")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    levels = changes.select("run_id", "place", F.sum("change").over(so_far).alias("level"))
    most = (
        F.coalesce(
            F.greatest(F.max(F.when(F.col("place") == place, F.col("level"))), F.lit(0)),
            F.lit(0),
        )
        .cast("bigint")
        .alias(f"{place}_max")
        for place in PLACES
    )
    return levels.groupBy("run_id").agg(*most)
