"""How much later than causal order demands: the delays that a protocol adds of its own.

The yardstick is `ideal`: the same submissions over the same channels, delivered as early as causal
order allows. It has to see a run as a whole, in the order of time, so a run goes to one task, which
needs some 500 bytes for each of its copies; runs with more copies than fit are left out.
"""

from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import LongType, StringType, StructField, StructType

from antecede.pipeline.metrics.ideal import Copies, ideal_deliveries
from antecede.pipeline.metrics.instants import travelling

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; this name says at least what is meant."""

COPIES_MAX: Final = 4_000_000
"""How many copies of one run a task takes: about 2 GB."""

NON_CAUSAL: Final = StructType(
    [StructField("run_id", StringType()), StructField("non_causal_ns", LongType())]
)


def non_causal_delays(instants: DataFrame, copies_max: int = COPIES_MAX) -> DataFrame:
    """How much later than necessary each copy was delivered; negative: earlier than causal.

    A copy whose arrival is not in the log is taken to have arrived when it was delivered.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, non_causal_ns, a row for each delivered copy that is not to oneself.
    """
    delivered = travelling(instants).where(F.col("delivered_ns").isNotNull())
    known = F.col("arrived_ns").isNotNull() & F.col("transmitted_ns").isNotNull()
    travel_ns = F.when(known, F.col("arrived_ns") - F.col("transmitted_ns")).otherwise(
        F.col("delivered_ns") - F.col("submitted_ns")
    )
    copies = delivered.select(
        "run_id",
        "sender",
        "sequence",
        "target",
        "submitted_ns",
        travel_ns.alias("travel_ns"),
        "delivered_ns",
    )
    # Counted where the task finds them anyway, so that nothing is shuffled twice.
    counted = copies.withColumn("copies", F.count("*").over(Window.partitionBy("run_id")))
    fitting = counted.where(F.col("copies") <= copies_max).drop("copies")
    return fitting.groupBy("run_id").applyInArrow(lateness_of_run, NON_CAUSAL)


def lateness_of_run(copies: ArrowTable) -> ArrowTable:
    """The rows of one run, as Arrow: its copies in, how late each was out."""
    import pyarrow as pa

    columns = {name: copies[name].to_pylist() for name in copies.column_names}
    late = lateness(
        Copies(
            sender=columns["sender"],
            sequence=columns["sequence"],
            target=columns["target"],
            submitted_ns=columns["submitted_ns"],
            travel_ns=columns["travel_ns"],
        ),
        columns["delivered_ns"],
    )
    return pa.table(
        {
            "run_id": pa.array(columns["run_id"], pa.string()),
            "non_causal_ns": pa.array(late, pa.int64()),
        }
    )


def lateness(copies: Copies, delivered_ns: list[int]) -> list[int]:
    """For each copy, its delivery minus the earliest that causal order allows."""
    ideal_ns = ideal_deliveries(copies)
    return [actual - ideal for actual, ideal in zip(delivered_ns, ideal_ns, strict=True)]
