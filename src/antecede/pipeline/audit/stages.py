"""The audit's stages on Spark: from the event log to copies, from copies to slices.

`run` is a small number that stands for a run (`antecede.pipeline.audit.facts` gives it out), so
that no string is shuffled or compared.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.pipeline.audit.copies import COLUMNS, NEVER
from antecede.pipeline.audit.plan import SlicePlan

INT_BITS: Final = 32
LATEST: Final = (1 << 63) - 1


def counted_rows(events: DataFrame) -> DataFrame:
    """What the definition of causal delivery looks at: submissions at the sender, and deliveries.

    In:  the event log.
    Out: the same columns.
    """
    is_submission = (F.col("kind") == "submitted") & (F.col("process") == F.col("sender"))
    is_message = F.col("sender").isNotNull() & F.col("sequence").isNotNull()
    return events.where(is_message & (is_submission | (F.col("kind") == "delivered")))


def find_copies(rows: DataFrame) -> DataFrame:
    """One row for each message and process: the first submission to it, the first delivery at it.

    In:  run, process, position, kind, sender, sequence, target, time_ns of counted rows.
    Out: the columns of `Copies` but `overtaken`; a position of -1 says that there is no such event.
    """
    is_delivery = F.col("kind") == "delivered"
    process = F.when(is_delivery, F.col("process")).otherwise(
        F.coalesce(F.col("target"), F.lit(NEVER))
    )
    # Sender and process share a column: shorter keys make the shuffle a tenth cheaper.
    narrow = rows.select(
        "run",
        F.shiftleft(F.col("sender").cast("long"), INT_BITS)
        .bitwiseOR(process.cast("long") - NEVER)
        .alias("channel"),
        "sequence",
        F.when(~is_delivery, F.col("position")).alias("submitted_position"),
        F.when(is_delivery, F.col("position")).alias("delivered_position"),
        "time_ns",
    )
    grouped = narrow.groupBy("run", "channel", "sequence").agg(
        F.min("submitted_position").alias("submitted_position"),
        F.min_by("time_ns", "submitted_position").alias("submitted_ns"),
        F.min("delivered_position").alias("delivered_position"),
        F.min_by("time_ns", "delivered_position").alias("delivered_ns"),
        F.count("delivered_position").alias("deliveries"),
        F.max_by("time_ns", "delivered_position").alias("last_delivered_ns"),
    )
    return grouped.select(
        "run",
        F.shiftright("channel", INT_BITS).cast("int").alias("sender"),
        "sequence",
        (F.col("channel").bitwiseAND((1 << INT_BITS) - 1) + NEVER).cast("int").alias("process"),
        *(
            F.coalesce(F.col(name), F.lit(NEVER)).alias(name)
            for name in ("submitted_position", "delivered_position")
        ),
        *(
            F.coalesce(F.col(name), F.lit(0)).alias(name)
            for name in ("submitted_ns", "delivered_ns", "deliveries", "last_delivered_ns")
        ),
    )


def into_slices(copies: DataFrame, plan: SlicePlan) -> DataFrame:
    """Each copy once for each slice that sees its submission or its delivery.

    In:  the columns of `Copies` but `overtaken`.
    Out: those, and slice.
    """
    submitted = F.col("submitted_position") != NEVER
    delivered = F.col("delivered_position") != NEVER
    own, other = F.col("submitted_ns"), F.col("delivered_ns")
    begin_ns = F.when(submitted, own).otherwise(other)
    end_ns = F.when(delivered, other).otherwise(own)
    grids, cells = plan_tables(copies.sparkSession, plan)
    with_cells = copies.join(F.broadcast(grids), on="run", how="inner").withColumns(
        {"begin_cell": cell_of(begin_ns), "end_cell": cell_of(end_ns)}
    )
    for end in ("begin", "end"):
        renamed = cells.toDF(f"{end}_cell", f"{end}_first", f"{end}_last")
        with_cells = with_cells.join(F.broadcast(renamed), on=f"{end}_cell", how="inner")
    # Most copies are seen by one slice only, and need no arrays to be built.
    slices = F.when(
        F.col("begin_first") == F.col("end_last"), F.array(F.col("begin_first"))
    ).otherwise(
        F.array_union(F.sequence("begin_first", "begin_last"), F.sequence("end_first", "end_last"))
    )
    return with_cells.select(*copies.columns, F.explode(slices).alias("slice"))


def plan_tables(session: SparkSession, plan: SlicePlan) -> tuple[DataFrame, DataFrame]:
    """The plan as tables: each run's grid of cells, and the slices that see each cell."""
    grids = [range(len(plan.base)), plan.base, plan.start_ns, plan.width_ns]
    cells = [range(len(plan.first)), plan.first, plan.last]
    return (
        table_of_longs(session, ("run", "base", "start_ns", "width_ns"), grids),
        table_of_longs(session, ("cell", "first", "last"), cells),
    )


def table_of_longs(
    session: SparkSession, names: Sequence[str], columns: Sequence[Sequence[int]]
) -> DataFrame:
    """A small table, which may be empty."""
    arrays = [pa.array(column, pa.int64()) for column in columns]
    return session.createDataFrame(pa.table(arrays, names=list(names)))


def cell_of(time_ns: Column) -> Column:
    """The cell that a time is in; the row has the grid of its run."""
    offset = F.call_function("div", time_ns - F.col("start_ns"), F.col("width_ns"))
    return F.col("base") + offset


def find_overtaken(sliced: DataFrame) -> DataFrame:
    """Mark the copies delivered after something that was submitted later or at the same time.

    Whatever overtakes a copy is submitted and delivered within its flight, so it is enough to look
    inside the slice. Something delivered where nobody sent it may have been submitted at any time.

    In:  the columns of `Copies` but `overtaken`, and slice.
    Out: the columns of `Copies`, and slice, sorted by slice within partitions.
    """
    before = (
        Window.partitionBy("slice", "run", "process")
        .orderBy("delivered_position")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    is_delivered = F.col("delivered_position") != NEVER
    submitted_ns = F.when(F.col("submitted_position") != NEVER, F.col("submitted_ns"))
    latest = F.max(F.when(is_delivered, F.coalesce(submitted_ns, F.lit(LATEST)))).over(before)
    overtaken = F.coalesce(latest >= F.col("submitted_ns"), F.lit(False)).cast("int")
    return sliced.withColumn("overtaken", overtaken).select("slice", *COLUMNS)
