"""Stages that count who talks to whom."""

from pyspark.sql import DataFrame
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
