"""Stages that count who talks to whom, and what single messages and conversations look like."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it


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
    another = F.col("sender") != F.col("target")
    sent = channels.groupBy("run_id", F.col("sender").alias("process")).agg(
        F.sum("copies").alias("copies_sent"),
        F.count_if(another).alias("out_degree"),
        F.sum("payload_bytes").alias("bytes_sent"),
    )
    received = channels.groupBy("run_id", F.col("target").alias("process")).agg(
        F.sum("copies").alias("copies_received"),
        F.count_if(another).alias("in_degree"),
        F.sum("payload_bytes").alias("bytes_received"),
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
    return totals.select(
        "run_id",
        F.explode(
            F.array(
                *(
                    named(measure, F.col(column))
                    for measure, column in (
                        ("out_degree", "out_degree"),
                        ("in_degree", "in_degree"),
                        ("process_messages", "messages"),
                    )
                )
            )
        ).alias("one"),
    ).select("run_id", "one.measure", "one.value", F.lit(1).cast("long").alias("count"))


def message_values(structure: DataFrame) -> DataFrame:
    """What every message has: width, causes, depth, think time, size, and its copies' effects.

    In:  run_id, targets, cause_ranks, depth, delay_ns, payload_bytes, target_effects.
    Out: run_id, measure, value, count; a message without causes has no think time.
    """
    caused = F.size("cause_ranks") > 0
    own = F.array(
        named("targets", F.size("targets")),
        named("causes", F.size("cause_ranks")),
        named("depth", F.col("depth")),
        named("think_ns", F.when(caused, F.col("delay_ns"))),
        named("payload_bytes", F.col("payload_bytes")),
    )
    effects = F.transform("target_effects", lambda effects: named("effects", effects))
    return (
        structure.select("run_id", F.explode(F.concat(own, effects)).alias("one"))
        .where(F.col("one.value").isNotNull())
        .groupBy("run_id", "one.measure", "one.value")
        .agg(F.count("*").alias("count"))
        .select("run_id", "measure", "value", "count")
    )


def conversation_values(structure: DataFrame) -> DataFrame:
    """What every conversation has: messages, processes, and how long it takes with no network.

    In:  run_id, conversation, sender, targets, ready_ns.
    Out: run_id, measure, value, count.
    """
    members = structure.select(
        "run_id",
        "conversation",
        "ready_ns",
        F.explode(F.concat(F.array("sender"), F.col("targets"))).alias("process"),
    )
    people = members.groupBy("run_id", "conversation").agg(
        F.count_distinct("process").alias("processes"),
        (F.max("ready_ns") - F.min("ready_ns")).alias("lasts_ns"),
    )
    sizes = structure.groupBy("run_id", "conversation").agg(F.count("*").alias("messages"))
    values = F.array(
        named("conversation_messages", F.col("messages")),
        named("conversation_processes", F.col("processes")),
        named("conversation_ns", F.col("lasts_ns")),
    )
    return (
        people.join(sizes, on=["run_id", "conversation"], how="inner")
        .select("run_id", F.explode(values).alias("one"))
        .where(F.col("one.value").isNotNull())
        .select("run_id", "one.measure", "one.value", F.lit(1).cast("long").alias("count"))
    )


def named(measure: str, value: Column) -> Column:
    """A value and what it is a value of."""
    return F.struct(F.lit(measure).alias("measure"), value.cast("long").alias("value"))
