"""Puts together what the judge of long flights needs: groups of them, and all that went on then."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.pipeline.audit.copies import COLUMNS, NEVER

GROUP_FLIGHTS: Final = 2048
"""So many long flights are followed in one pass over what went on meanwhile."""


def group_long_flights(long: DataFrame, group_flights: int = GROUP_FLIGHTS) -> DataFrame:
    """Put flights of a run that end one after the other into groups.

    In:  LONG findings.
    Out: the columns of `Copies`, with overtaken 1, and group.
    """
    by_end = Window.partitionBy("run").orderBy("other_ns", "process", "other_position")
    number = F.call_function("div", F.row_number().over(by_end) - 1, F.lit(group_flights))
    numbered = long.withColumn("number_in_run", number)
    groups = Window.orderBy("run", "number_in_run")
    first = numbered.select("run", "number_in_run").distinct()
    group = first.withColumn("group", F.row_number().over(groups))
    return numbered.join(F.broadcast(group), on=["run", "number_in_run"], how="inner").select(
        "group",
        "run",
        "sender",
        "sequence",
        "process",
        F.col("position").alias("submitted_position"),
        F.col("time_ns").alias("submitted_ns"),
        F.col("other_position").alias("delivered_position"),
        F.col("other_ns").alias("delivered_ns"),
        F.lit(1).alias("deliveries"),
        F.col("other_ns").alias("last_delivered_ns"),
        F.lit(1).alias("overtaken"),
    )


def spans_of_groups(groups: DataFrame) -> DataFrame:
    """When the flights of each group begin and end.

    In:  what `group_long_flights` returns.
    Out: group, run, begin_ns, end_ns.
    """
    return groups.groupBy("group", "run").agg(
        F.min("submitted_ns").alias("begin_ns"), F.max("delivered_ns").alias("end_ns")
    )


def during(rows: DataFrame, spans: DataFrame) -> DataFrame:
    """The rows of the log within the span of some group.

    In:  counted rows and run; what `spans_of_groups` returns.
    Out: the same rows.
    """
    whole = spans.groupBy("run").agg(
        F.min("begin_ns").alias("begin_ns"), F.max("end_ns").alias("end_ns")
    )
    joined = rows.join(F.broadcast(whole), on="run", how="inner")
    within = F.col("time_ns").between(F.col("begin_ns"), F.col("end_ns"))
    return joined.where(within).drop("begin_ns", "end_ns")


def with_message_start(copies: DataFrame) -> DataFrame:
    """Let every copy begin where its message does: with the first row of the submission.

    In:  the columns of `Copies` but `overtaken`.
    Out: the same; copies of messages that nobody submitted, or never delivered, are left out.
    """
    message = Window.partitionBy("run", "sender", "sequence").rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
    was_submitted = F.col("submitted_position") != NEVER
    starts = {
        name: F.min(F.when(was_submitted, F.col(name))).over(message)
        for name in ("submitted_position", "submitted_ns")
    }
    begun = copies.withColumns(starts)
    return begun.where(
        F.col("submitted_position").isNotNull() & (F.col("delivered_position") != NEVER)
    )


def around_long_flights(
    copies: DataFrame, groups: DataFrame, spans: DataFrame, parts: int
) -> DataFrame:
    """All that went on during the flights of each group, the flights themselves announced first.

    In:  copies that begin where their message does; what the functions above return.
    Out: the columns of `Copies`, and group, sorted within partitions as the judge wants it.
    """
    within = (F.col("submitted_ns") >= F.col("begin_ns")) & (
        F.col("delivered_ns") <= F.col("end_ns")
    )
    meanwhile = copies.join(F.broadcast(spans), on="run", how="inner").where(within)
    announced = groups.withColumn("submitted_position", F.lit(NEVER).cast("long"))
    columns = ["group", *COLUMNS]
    both = meanwhile.withColumn("overtaken", F.lit(0)).select(columns)
    both = both.unionByName(announced.select(columns))
    return both.repartition(parts, "group").sortWithinPartitions(
        "group",
        F.col("submitted_position") != NEVER,
        "submitted_ns",
        "sender",
        "submitted_position",
        "sequence",
    )
