"""Puts together what the judge of long flights needs: groups of them, and all that went on then.

Flights of about the same length that begin about the same time are a group: they are followed in
one pass over what went on meanwhile. Lengths differ by a factor of eight at most, and a group
begins within a window as long as its longest flight. So every event is in two windows of each
length, and the work is that of a few passes over the log however many long flights there are.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.pipeline.audit.copies import COLUMNS, NEVER
from antecede.pipeline.audit.stages import clock_of, spread

GROUP_FLIGHTS: Final = 1 << 14
"""So many long flights are followed in one pass: sets of them are as wide then as memory allows."""

RATIO: Final = 8
"""Lengths of flights in a group differ by this factor at most."""


def group_long_flights(
    long: DataFrame, shortest_ns: int, group_flights: int = GROUP_FLIGHTS
) -> DataFrame:
    """Put flights of a run that are about as long, and begin about the same time, into groups.

    In:  what `opens.long_flights` returns.
    Out: the same; width_ns, window: of what length, and the how manyth of that length; part: which
         of the groups in this window.
    """
    length = F.greatest(F.col("other_clock_ns") - F.col("clock_ns"), F.lit(1))
    times = F.greatest(F.ceil(F.log(length / shortest_ns) / F.log(F.lit(RATIO))), F.lit(0))
    # Logarithms are not exact, so that the next wider window may be the right one.
    width = (F.lit(shortest_ns) * F.pow(F.lit(RATIO), times)).cast("long")
    width = F.when(width < length, width * RATIO).otherwise(width)
    placed = long.withColumn("width_ns", width).withColumn("window", window_of("clock_ns"))
    in_window = Window.partitionBy("run", "width_ns", "window").orderBy(
        "other_clock_ns", "process", "other_position"
    )
    number = F.call_function("div", F.row_number().over(in_window) - 1, F.lit(group_flights))
    return placed.withColumn("part", number)


def window_of(clock_ns: str) -> Column:
    """The window that a time is in: a whole number, also before 0, and without rounding."""
    within = F.pmod(F.col(clock_ns), F.col("width_ns"))
    return F.call_function("div", F.col(clock_ns) - within, F.col("width_ns"))


def spans_of_groups(flights: DataFrame) -> DataFrame:
    """When the flights of each group begin and end, and a number for the group.

    In:  what `group_long_flights` returns.
    Out: group, run, width_ns, window, part, begin_ns, end_ns.
    """
    spans = flights.groupBy("run", "width_ns", "window", "part").agg(
        F.min("clock_ns").alias("begin_ns"), F.max("other_clock_ns").alias("end_ns")
    )
    everywhere = Window.orderBy("run", "width_ns", "window", "part")
    return spans.withColumn("group", (F.row_number().over(everywhere) - 1).cast("long"))


def during(rows: DataFrame, spans: DataFrame) -> DataFrame:
    """The rows of the log from the first long flight of their run to the last.

    In:  what `counted_rows` returns; what `spans_of_groups` returns.
    Out: the same rows.
    """
    whole = spans.groupBy("run").agg(
        F.min("begin_ns").alias("begin_ns"), F.max("end_ns").alias("end_ns")
    )
    joined = rows.join(F.broadcast(whole), on="run", how="inner")
    return joined.where(clock_of(rows).between(F.col("begin_ns"), F.col("end_ns"))).select(
        *rows.columns
    )


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


def around_long_flights(
    copies: DataFrame, flights: DataFrame, spans: DataFrame, parts: int
) -> DataFrame:
    """All that went on during the flights of each group, the flights themselves announced first.

    In:  copies that begin where their message does; what the functions above return.
    Out: the columns of `Copies`, and group, sorted within partitions as the judge wants it.
    """
    columns = ["group", *COLUMNS]
    widths = spans.select("run", "width_ns").distinct()
    # A group lasts for at most two windows: the one that it begins in, and the next.
    windows = spans.withColumn(
        "window", F.explode(F.array(F.col("window"), F.col("window") + 1))
    ).select("run", "width_ns", "window", "group", "begin_ns", "end_ns")
    within = (F.col("submitted_clock_ns") >= F.col("begin_ns")) & (
        F.col("delivered_clock_ns") <= F.col("end_ns")
    )
    meanwhile = (
        copies.join(F.broadcast(widths), on="run", how="inner")
        .withColumn("window", window_of("submitted_clock_ns"))
        .join(F.broadcast(windows), on=["run", "width_ns", "window"], how="inner")
        .where(within)
    )
    announced = flights.join(
        F.broadcast(spans.select("run", "width_ns", "window", "part", "group")),
        on=["run", "width_ns", "window", "part"],
        how="inner",
    ).select(
        "group",
        *("run", "sender", "sequence", "process"),
        F.lit(NEVER).cast("long").alias("submitted_position"),
        F.col("time_ns").alias("submitted_ns"),
        F.col("clock_ns").alias("submitted_clock_ns"),
        F.lit(0).cast("long").alias("submitted_trace"),
        F.col("other_position").alias("delivered_position"),
        F.col("other_ns").alias("delivered_ns"),
        F.col("other_clock_ns").alias("delivered_clock_ns"),
        F.lit(0).cast("long").alias("delivered_trace"),
        F.lit(1).cast("long").alias("deliveries"),
        F.col("other_ns").alias("last_delivered_ns"),
    )
    both = meanwhile.select(columns).unionByName(announced.select(columns))
    return spread(both, parts, "group").sortWithinPartitions(
        "group",
        F.col("submitted_position") != NEVER,
        "submitted_clock_ns",
        "sender",
        "submitted_position",
        "sequence",
    )
