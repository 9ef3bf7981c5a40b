"""Stages of a profile: who talks to whom, gaps between moments, and how much is open at once.

The last two need moments in order. Instead of ordering a whole run in one task, a run is cut into
slices of equal duration; each slice is ordered on its own, and what it has to know of those before
it (the last moment, how much is still open) is worked out from one row per slice.

A *lane* is what is ordered by itself: one process, or the whole system.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.measure.instants import COPY
from antecede_audit.measure.run_profile import SLICES
from antecede_audit.measure.structure import (
    COLUMNS,
    STRUCTURE,
    VALUES,
    structured_batches,
    valued_batches,
)
from antecede_audit.spark.job_names import named
from antecede_audit.spark.measure_stages import message_instants

LANE_KEY: Final = ["run_id", "measure", "lane"]
SLICE_KEY: Final = [*LANE_KEY, "slice"]

SYSTEM: Final = -1
"""The lane of the whole system; other lanes are processes."""


def copy_times(events: DataFrame) -> DataFrame:
    """When each copy was submitted and delivered, the first time.

    In:  run_id and the columns of the event log.
    Out: run_id, sender, sequence, target, submitted_ns, delivered_ns (null if it never was).
    """
    both = events.where(F.col("kind").isin("submitted", "delivered"))
    return message_instants(both).select(*COPY, "submitted_ns", "delivered_ns")


def nominal_times(structure: DataFrame) -> DataFrame:
    """The same for a workload, as over a network that takes no time.

    In:  run_id, rank, sender, targets, ready_ns.
    Out: run_id, sender, sequence (the rank), target, submitted_ns, delivered_ns (the same).
    """
    return structure.where(F.col("ready_ns").isNotNull()).select(
        "run_id",
        "sender",
        F.col("rank").alias("sequence"),
        F.explode("targets").alias("target"),
        F.col("ready_ns").alias("submitted_ns"),
        F.col("ready_ns").alias("delivered_ns"),
    )


def run_times(copies: DataFrame) -> DataFrame:
    """When each run begins and ends, and how long a slice of it is.

    In:  copies as above.
    Out: run_id, first_ns, last_ns, slice_ns (at least 1).
    """
    ends = copies.groupBy("run_id").agg(
        F.min("submitted_ns").alias("first_ns"),
        F.max(F.greatest("submitted_ns", F.coalesce("delivered_ns", "submitted_ns"))).alias(
            "last_ns"
        ),
    )
    slice_ns = F.expr(f"(last_ns - first_ns) div {SLICES} + 1")
    return ends.select("run_id", "first_ns", "last_ns", slice_ns.alias("slice_ns"))


def submissions(copies: DataFrame) -> DataFrame:
    """When each message was submitted.

    In:  copies as above.
    Out: run_id, process (its sender), time_ns.
    """
    return (
        copies.groupBy("run_id", "sender", "sequence")
        .agg(F.min("submitted_ns").alias("time_ns"))
        .select("run_id", F.col("sender").alias("process"), "time_ns")
    )


def deliveries(copies: DataFrame) -> DataFrame:
    """When each copy was delivered, if it was.

    In:  copies as above.
    Out: run_id, process (its target), time_ns.
    """
    return copies.where(F.col("delivered_ns").isNotNull()).select(
        "run_id", F.col("target").alias("process"), F.col("delivered_ns").alias("time_ns")
    )


def in_system_lane(moments: DataFrame, measure: str, runs: DataFrame) -> DataFrame:
    """Moments of all processes in one lane, cut into slices.

    In:  run_id, time_ns and any others; runs as `run_times` gives them.
    Out: the same columns, and measure (what they are to be measured for), lane, slice.
    """
    sliced = moments.join(
        F.broadcast(runs.select("run_id", "first_ns", "slice_ns")), on="run_id", how="inner"
    )
    return sliced.select(
        *moments.columns,
        F.lit(measure).alias("measure"),
        F.lit(SYSTEM).alias("lane"),
        F.expr("(time_ns - first_ns) div slice_ns").alias("slice"),
    )


def in_own_lane(moments: DataFrame, measure: str) -> DataFrame:
    """Moments of each process in its own lane, in one piece.

    In:  run_id, process, time_ns and any others.
    Out: the same columns, and measure, lane, slice.
    """
    return moments.select(
        "*",
        F.lit(measure).alias("measure"),
        F.col("process").alias("lane"),
        F.lit(0).cast("long").alias("slice"),
    )


def gaps(moments: DataFrame) -> DataFrame:
    """The time from each moment of a lane to the next.

    In:  run_id, measure, lane, slice, time_ns.
    Out: run_id, measure, value, count; a lane has one gap less than it has moments.
    """
    inside = Window.partitionBy(*SLICE_KEY).orderBy("time_ns")
    along = Window.partitionBy(*LANE_KEY).orderBy("slice")
    before = (
        moments.groupBy(*SLICE_KEY)
        .agg(F.max("time_ns").alias("last"))
        .select(*SLICE_KEY, F.lag("last").over(along).alias("before_ns"))
    )
    return (
        moments.select(*SLICE_KEY, "time_ns", F.lag("time_ns").over(inside).alias("previous_ns"))
        .join(before, on=SLICE_KEY, how="inner")
        .withColumn("value", F.col("time_ns") - F.coalesce("previous_ns", "before_ns"))
        .where(F.col("value").isNotNull())
        .groupBy("run_id", "measure", "value")
        .agg(F.count("*").alias("count"))
        .select("run_id", "measure", "value", "count")
    )


def flights(copies: DataFrame) -> DataFrame:
    """What is open while it is under way: every copy, from submission to delivery.

    In:  copies as above.
    Out: run_id, process (the target), opened_ns, closed_ns (null: never); a copy is open from
         opened_ns up to, not including, closed_ns.
    """
    return copies.select(
        "run_id",
        F.col("target").alias("process"),
        F.col("submitted_ns").alias("opened_ns"),
        F.when(F.col("delivered_ns") < F.col("submitted_ns"), F.col("submitted_ns"))
        .otherwise(F.col("delivered_ns"))
        .alias("closed_ns"),
    )


def marks(spans: DataFrame) -> DataFrame:
    """The moments at which something opens or closes.

    In:  run_id, process, opened_ns, closed_ns.
    Out: run_id, process, time_ns, opened (how many open then), change (opened less closed).
    """
    one = F.lit(1).cast("long")
    zero = F.lit(0).cast("long")
    both = F.array(
        mark(F.col("opened_ns"), one, one), mark(F.col("closed_ns"), zero, F.lit(-1).cast("long"))
    )
    return (
        spans.select("run_id", "process", F.explode(both).alias("mark"))
        .where(F.col("mark.time_ns").isNotNull())
        .groupBy("run_id", "process", "mark.time_ns")
        .agg(F.sum("mark.opened").alias("opened"), F.sum("mark.change").alias("change"))
        .select("run_id", "process", "time_ns", "opened", "change")
    )


def mark(time_ns: Column, opened: Column, change: Column) -> Column:
    """A moment at which something opens or closes."""
    return F.struct(time_ns.alias("time_ns"), opened.alias("opened"), change.alias("change"))


def levels(marks: DataFrame) -> DataFrame:
    """How much is open in a lane at every moment at which something opens there.

    In:  run_id, measure, lane, slice, time_ns, opened, change; a moment may stand in several rows.
    Out: run_id, measure, lane, slice, opened, level (after all that happens at that moment).
    """
    inside = (
        Window.partitionBy(*SLICE_KEY)
        .orderBy("time_ns")
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    along = (
        Window.partitionBy(*LANE_KEY).orderBy("slice").rowsBetween(Window.unboundedPreceding, -1)
    )
    before = (
        marks.groupBy(*SLICE_KEY)
        .agg(F.sum("change").alias("change"))
        .select(*SLICE_KEY, F.coalesce(F.sum("change").over(along), F.lit(0)).alias("before"))
    )
    return (
        marks.withColumn("inside", F.sum("change").over(inside))
        .join(before, on=SLICE_KEY, how="inner")
        .where(F.col("opened") > 0)
        .select(*SLICE_KEY, "opened", (F.col("before") + F.col("inside")).alias("level"))
    )


def level_values(levels: DataFrame) -> DataFrame:
    """How much was open, as seen by each thing that opened.

    In:  run_id, measure, opened, level.
    Out: run_id, measure, value, count.
    """
    return (
        levels.groupBy("run_id", "measure", F.col("level").alias("value"))
        .agg(F.sum("opened").alias("count"))
        .select("run_id", "measure", "value", "count")
    )


def flight_values(copies: DataFrame) -> DataFrame:
    """How long copies were under way, as values.

    In:  copies as above.
    Out: run_id, measure, value, count; only of copies delivered, and not before they were sent.
    """
    flight_ns = F.col("delivered_ns") - F.col("submitted_ns")
    return (
        copies.where(flight_ns >= 0)
        .groupBy("run_id", flight_ns.alias("value"))
        .agg(F.count("*").alias("count"))
        .select("run_id", F.lit("flight_ns").alias("measure"), "value", "count")
    )


def timeline(sent: DataFrame, levels: DataFrame, runs: DataFrame) -> DataFrame:
    """What goes on in each slice of a run.

    In:  submissions in the system lane; levels of copies in the system lane; runs.
    Out: run_id, slice, start_ns, messages (submitted then), in_flight_max (null: nothing begins).
    """
    counts = sent.groupBy("run_id", "slice").agg(F.count("*").alias("messages"))
    heights = levels.groupBy("run_id", "slice").agg(F.max("level").alias("in_flight_max"))
    return (
        counts.join(heights, on=["run_id", "slice"], how="left")
        .join(F.broadcast(runs), on="run_id", how="inner")
        .select(
            "run_id",
            "slice",
            (F.col("first_ns") + F.col("slice") * F.col("slice_ns")).alias("start_ns"),
            "messages",
            "in_flight_max",
        )
    )


def channels(workload: DataFrame) -> DataFrame:
    """What goes from whom to whom.

    In:  run_id, sender, targets, payload_bytes.
    Out: run_id, sender, target, copies, payload_bytes (their sum).
    """
    copies = workload.select(
        "run_id", "sender", F.explode("targets").alias("target"), "payload_bytes"
    )
    return (
        copies.groupBy("run_id", "sender", "target")
        .agg(F.count("*").alias("copies"), F.sum("payload_bytes").alias("payload_bytes"))
        .select("run_id", "sender", "target", "copies", "payload_bytes")
    )


def process_totals(channels: DataFrame, workload: DataFrame, names: DataFrame) -> DataFrame:
    """What each process sends and receives; those that do neither are there if they have a name.

    In:  channels as above; a workload; names: run_id, process, name.
    Out: run_id, process, name (null if unknown), messages (it sends), copies_sent,
         copies_received, out_degree, in_degree (other processes it sends to, hears from),
         bytes_sent, bytes_received (per copy).
    """
    key = ["run_id", "process"]
    sent, received = (
        channels.groupBy("run_id", F.col(end).alias("process")).agg(
            F.sum("copies").alias(f"copies_{way}"),
            F.count_if(F.col("sender") != F.col("target")).alias(degree),
            F.sum("payload_bytes").alias(f"bytes_{way}"),
        )
        for end, way, degree in (
            ("sender", "sent", "out_degree"),
            ("target", "received", "in_degree"),
        )
    )
    messages = workload.groupBy("run_id", F.col("sender").alias("process")).agg(
        F.count("*").alias("messages")
    )
    counts = ("messages", "copies_sent", "copies_received", "out_degree", "in_degree")
    totals = (*counts, "bytes_sent", "bytes_received")
    return (
        sent.join(received, on=key, how="full")
        .join(messages, on=key, how="left")
        .join(names.select(*key, "name"), on=key, how="full")
        .select(*key, "name", *(F.coalesce(name, F.lit(0)).alias(name) for name in totals))
    )


def process_values(totals: DataFrame) -> DataFrame:
    """Degrees and messages of each process as values.

    In:  run_id, out_degree, in_degree, messages.
    Out: run_id, measure, value, count.
    """
    named = totals.withColumnRenamed("messages", "process_messages")
    measures = ("out_degree", "in_degree", "process_messages")
    values = named.unpivot("run_id", measures, "measure", "value")
    return values.withColumn("count", F.lit(1).cast("long"))


def causal_structure(workload: DataFrame) -> DataFrame:
    """Where each message stands among its causes and effects; the same however it is partitioned.

    In:  run_id and the columns of a workload.
    Out: run_id, message_id, sender, targets, delay_ns, payload_bytes as they were, and
         rank            its place in the order of times, from 0; causes come before effects
         cause_ranks     its causes by their ranks, those that are missing left out
         depth, ready_ns the longest chain of causes before it, and when it leaves over a network
                         that takes no time; null if it never can
         conversation    the rank of a message that stands for all that causes connect
         begun_ns        the least ready_ns of its conversation
         errand          the errand it is sent on, by number
         target_errands, target_answers, target_effects
                         for each target: which errand it is delivered to there, which message of
                         that process it answers (its rank, or null), and how many messages that
                         process sends because of it
    """
    ordered = (
        workload.select(*COLUMNS).repartition("run_id").sortWithinPartitions("run_id", "message_id")
    )
    return ordered.mapInArrow(named(structured_batches), from_arrow_schema(STRUCTURE))


def structure_values(structure: DataFrame) -> DataFrame:
    """What messages, conversations and errands look like.

    In:  what `causal_structure` gives, every run in one partition and in one piece, as it does.
    Out: `VALUES`.
    """
    return structure.mapInArrow(named(valued_batches), VALUES)
