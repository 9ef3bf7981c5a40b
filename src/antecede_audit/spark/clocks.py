"""Clocks that disagree, or go back: repaired where offsets do, and blurred where nothing does.

Slices need times that never go back along a process, nor from a submission to its delivery. First
every process gets an offset, the smallest ones that let every message arrive after it was sent.
What still goes back then lies within some stretches of time. In each of them the clock is not
looked at: all that is in it counts as one time, within which positions and messages decide.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede_audit.columns.clock_offsets import ClockOffsets, Gap, repaired_clocks
from antecede_audit.judging.copies import CLOCK, NEVER
from antecede_audit.spark.audit_stages import (
    clock_of,
    find_copies,
    flights_of,
    receiver_of,
    sender_of,
    table_of_longs,
)

Offsets: TypeAlias = Mapping[int, Mapping[int, int]]
"""By run and process: what to add to its clock; what is not there is 0."""

BLUR_CELLS: Final = 1 << 17
"""A run has 131,072 cells; a stretch in which the clock is wrong is made of whole ones."""


def find_offsets(rows: DataFrame, runs: Sequence[int]) -> dict[int, dict[int, int]]:
    """The offsets that put as many messages of these runs in order as can be.

    In: what `counted_rows` returns.
    """
    gaps = (
        flights_of(rows.where(F.col("run").isin(list(runs))))
        .select(
            "run",
            sender_of().alias("sender"),
            receiver_of().alias("receiver"),
            (F.col("end_ns") - F.col("begin_ns")).alias("gap_ns"),
        )
        .where(F.col("gap_ns").isNotNull() & (F.col("sender") != F.col("receiver")))
    )
    clocks = clocks_of(gaps, runs, F.min("gap_ns"))
    contrary = [run for run, of_run in clocks.items() if of_run.contradictory]
    if contrary:
        clocks |= clocks_of(gaps, contrary, F.percentile_approx("gap_ns", 0.5))
    return {
        run: {int(name): offset for name, offset in of_run.offsets_ns.items() if offset}
        for run, of_run in clocks.items()
    }


def clocks_of(gaps: DataFrame, runs: Sequence[int], median: Column) -> dict[int, ClockOffsets]:
    """The clocks of these runs, all from one query. In: run, sender, receiver, gap_ns."""
    found = (
        gaps.where(F.col("run").isin(list(runs)))
        .groupBy("run", "sender", "receiver")
        .agg(
            F.min("gap_ns").alias("smallest_ns"),
            median.alias("median_ns"),
            F.count(F.lit(1)).alias("copies"),
            F.count_if(F.col("gap_ns") < 0).alias("negative"),
        )
    )
    by_run: dict[int, list[Gap]] = {run: [] for run in runs}
    for row in found.collect():
        fields = row.asDict()
        of_run = by_run[fields.pop("run")]
        sender, receiver = str(fields.pop("sender")), str(fields.pop("receiver"))
        of_run.append(Gap(sender=sender, receiver=receiver, **fields))
    return {run: repaired_clocks(of_run) for run, of_run in by_run.items()}


def with_clock(rows: DataFrame, offsets: Offsets) -> DataFrame:
    """The rows with the time that they are judged by.

    In:  what `counted_rows` returns.
    Out: the same, and clock_ns.
    """
    known = [(run, process, ns) for run, of in offsets.items() for process, ns in of.items()]
    columns: list[list[int]] = [list(column) for column in zip(*known, strict=True)] or [[], [], []]
    table = table_of_longs(rows.sparkSession, ("run", "at", "offset_ns"), columns)
    at = process_of()
    joined = rows.withColumn("at", at).join(F.broadcast(table), on=["run", "at"], how="left")
    clock_ns = F.col("time_ns") + F.coalesce("offset_ns", F.lit(0))
    return joined.select(*rows.columns, clock_ns.alias(CLOCK))


def process_of() -> Column:
    """Where the event of a row took place."""
    return F.when(F.col("delivered"), receiver_of()).otherwise(sender_of())


def find_blurs(
    rows: DataFrame, extents: Mapping[int, tuple[int, int]]
) -> dict[int, NDArray[np.int64]]:
    """By run: the first and the last time of each stretch in which the clock is wrong, a row each.

    In: what `counted_rows` returns; by run, its first and last time by the clock.
    """
    runs = list(extents)
    ours = rows.where(F.col("run").isin(runs))
    backs = reduce(
        DataFrame.unionByName, [back_flights(ours), scattered_submissions(ours), back_steps(ours)]
    )
    width = {run: -(-(last - first + 1) // BLUR_CELLS) for run, (first, last) in extents.items()}
    columns = [runs, [extents[run][0] for run in runs], [width[run] for run in runs]]
    grid = table_of_longs(rows.sparkSession, ("run", "start_ns", "width_ns"), columns)
    cells = backs.join(F.broadcast(grid), on="run", how="inner").select(
        "run", cell_of("low_ns").alias("low"), cell_of("high_ns").alias("high")
    )
    edges = cells.select(
        "run",
        F.explode(
            F.array(
                F.struct(F.col("low").alias("cell"), F.lit(1).alias("change")),
                F.struct((F.col("high") + 1).alias("cell"), F.lit(-1).alias("change")),
            )
        ).alias("edge"),
    )
    summed = edges.groupBy("run", "edge.cell").agg(F.sum("edge.change").alias("change"))
    table = summed.toArrow()
    run, cell, change = (table.column(name).to_numpy() for name in ("run", "cell", "change"))
    return {
        number: stretches(cell[run == number], change[run == number]) * width[number]
        + np.array([extents[number][0], extents[number][0] + width[number] - 1])
        for number in runs
    }


def cell_of(column: str) -> Column:
    """The cell that a time is in; the row has the grid of its run."""
    return F.call_function("div", F.col(column) - F.col("start_ns"), F.col("width_ns"))


def stretches(cell: NDArray[np.int64], change: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first and the last cell of each stretch; `change` is by how much more cover it then."""
    order = np.argsort(cell)
    cell, depth = cell[order], np.cumsum(change[order])
    covered = depth > 0
    begins = covered & ~np.concatenate([[False], covered[:-1]]) if len(covered) else covered
    ends = ~covered & np.concatenate([[False], covered[:-1]]) if len(covered) else covered
    return np.stack([cell[begins], cell[ends] - 1], axis=1)


def back_flights(rows: DataFrame) -> DataFrame:
    """The deliveries that come before their submission.

    In:  what `counted_rows` returns.
    Out: run, low_ns, high_ns: the times between which the clock is wrong.
    """
    copies = with_message_start(find_copies(rows))
    low, high = F.col("delivered_clock_ns"), F.col("submitted_clock_ns")
    return copies.where(low < high).select("run", low.alias("low_ns"), high.alias("high_ns"))


def with_message_start(copies: DataFrame) -> DataFrame:
    """Let every copy begin where its message does: with the first row of the submission.

    In:  the columns of `Copies`.
    Out: the same; copies of messages that nobody submitted, or never delivered, are left out.
    """
    message = Window.partitionBy("run", "sender", "sequence").rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
    names = [f"submitted_{name}" for name in ("position", "ns", "clock_ns", "trace")]
    own = F.when(F.col("submitted_position") != NEVER, F.struct(*names))
    begun = copies.withColumn("start", F.min(own).over(message))
    both = F.col("start").isNotNull() & (F.col("delivered_position") != NEVER)
    starts = {name: F.col(f"start.{name}") for name in names}
    return begun.where(both).withColumns(starts).select(*copies.columns)


def scattered_submissions(rows: DataFrame) -> DataFrame:
    """The messages that are submitted at several times. In, out: as `back_flights`."""
    submissions = rows.where(~F.col("delivered"))
    times = submissions.groupBy("run", sender_of().alias("sender"), "sequence").agg(
        F.min(clock_of(rows)).alias("low_ns"), F.max(clock_of(rows)).alias("high_ns")
    )
    return times.where(F.col("high_ns") > F.col("low_ns")).select("run", "low_ns", "high_ns")


def back_steps(rows: DataFrame) -> DataFrame:
    """The events of processes that come before an earlier one. In, out: as `back_flights`."""
    before = (
        Window.partitionBy("run", "at")
        .orderBy("position", clock_of(rows))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    steps = rows.withColumn("at", process_of()).select(
        "run", clock_of(rows).alias("low_ns"), F.max(clock_of(rows)).over(before).alias("high_ns")
    )
    return steps.where(F.col("high_ns") > F.col("low_ns"))
