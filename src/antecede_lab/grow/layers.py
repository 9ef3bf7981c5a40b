"""Growing by what was recorded: layers of the recording, shifted in time, spread over replicas.

A *layer* is the recording once more; layer 0 is the first. In every layer an errand runs at one
replica of its process, so whatever caused a message is delivered where that message is sent, and
causality is kept without looking at anything else.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede_lab.grow.target_size import OVERLAY, GrowthPlan

LAYER: Final = 1
ERRAND: Final = 2
SAMPLE: Final = 3
"""Purposes: two draws for the same names must not be the same number."""

MANTISSA_BITS: Final = 53


def below(limit: Column, seed: int, purpose: int, *names: Column) -> Column:
    """A whole number from 0 up to, not including, `limit`; the same for the same names."""
    return F.pmod(hashed(seed, purpose, *names), limit.cast("long"))


def unit(seed: int, purpose: int, *names: Column) -> Column:
    """A number from 0 up to, not including, 1; the same for the same names."""
    bits = F.shiftrightunsigned(hashed(seed, purpose, *names), 64 - MANTISSA_BITS)
    return bits.cast("double") / F.lit(float(1 << MANTISSA_BITS))


def hashed(seed: int, purpose: int, *names: Column) -> Column:
    """64 bits in which every bit of the seed and the names has a part."""
    return F.xxhash64(
        F.lit(seed).cast("long"), F.lit(purpose), *(name.cast("long") for name in names)
    )


def layered(structure: DataFrame, plan: GrowthPlan) -> DataFrame:
    """The recording as often as the plan says; the last time perhaps only its beginning.

    Ranks follow the clock and put causes before effects, so a beginning is complete in itself.

    In:  what `causal_structure` gives, of one run.
    Out: the same columns, and layer.
    """
    layers = structure.withColumn("layer", F.explode(F.sequence(F.lit(0), F.lit(plan.layers - 1))))
    whole = F.col("layer") < plan.layers - 1
    return layers.where(whole | (F.col("rank") < plan.last_layer))


def grown(layers: DataFrame, plan: GrowthPlan) -> DataFrame:
    """The grown workload.

    In:  what `layered` gives.
    Out: message_id, sender, targets, causes, delay_ns, payload_bytes; ready_ns, when it leaves over
         a network that takes no time; and what it was made from: source_message_id, layer.
    """
    size = plan.recorded.messages
    targets = F.transform(
        F.arrays_zip("targets", "target_errands"),
        lambda copy: place(copy["targets"], copy["target_errands"], plan),
    )
    caused = F.size("cause_ranks") > 0
    recorded_ns = F.col("begun_ns")
    begins_ns = beginning(plan)
    return layers.select(
        name_of(F.col("rank"), size).alias("message_id"),
        place(F.col("sender"), F.col("errand"), plan).alias("sender"),
        targets.alias("targets"),
        F.transform("cause_ranks", lambda rank: name_of(rank, size)).alias("causes"),
        faster(
            F.col("delay_ns") + F.when(caused, 0).otherwise(begins_ns - recorded_ns), plan
        ).alias("delay_ns"),
        "payload_bytes",
        faster(F.col("ready_ns") + begins_ns - recorded_ns, plan).alias("ready_ns"),
        F.col("message_id").alias("source_message_id"),
        F.col("layer").cast("int").alias("layer"),
    )


def name_of(rank: Column, size: int) -> Column:
    """The id of the message that had this rank: those of one layer follow each other."""
    return F.col("layer").cast("long") * F.lit(size) + rank


def place(process: Column, errand: Column, plan: GrowthPlan) -> Column:
    """The replica of a process at which an errand runs, as a process of the grown workload.

    Replica r of process p is process r * n + p, where n is the number of recorded processes. From
    layer to layer an errand moves on by one replica, so that all get their share.
    """
    replicas = F.lit(plan.replicas) + F.when(process < plan.extra, 1).otherwise(0)
    first = F.lit(0).cast("long")
    if plan.wanted.method != OVERLAY:
        first = below(replicas, plan.wanted.seed, ERRAND, errand)
    replica = F.pmod(first + F.col("layer"), replicas.cast("long"))
    return (replica * plan.recorded.processes + process).cast("int")


def beginning(plan: GrowthPlan) -> Column:
    """When a message's conversation begins: layers are shifted, and all folded into a period."""
    period_ns = F.lit(plan.period_ns).cast("long")
    random = below(F.lit(plan.shift_ns), plan.wanted.seed, LAYER, F.col("layer"))
    shift = F.when(F.col("layer") == 0, F.lit(0).cast("long")).otherwise(random)
    return F.pmod(F.col("begun_ns") - plan.recorded.first_ns + shift, period_ns)


def faster(duration_ns: Column, plan: GrowthPlan) -> Column:
    """A duration as short as the plan's speed makes it."""
    if plan.wanted.speed == 1.0:
        return duration_ns.cast("long")
    return F.floor(duration_ns / F.lit(plan.wanted.speed)).cast("long")


def replica_names(names: DataFrame, plan: GrowthPlan) -> DataFrame:
    """What the processes of the grown workload are called.

    In:  process, name; a process may be missing.
    Out: process, name, source (the name of the recorded process), replica (0: itself).
    """
    count = plan.recorded.processes
    everybody = names.sparkSession.range(plan.wanted.processes).select(
        F.col("id").cast("int").alias("grown"),
        F.expr(f"id % {count}").cast("int").alias("process"),
        F.expr(f"id div {count}").cast("int").alias("replica"),
    )
    source = F.coalesce("name", F.concat(F.lit("process "), F.col("process")))
    named = F.when(F.col("replica") == 0, F.col("source")).otherwise(
        F.concat("source", F.lit("#"), F.col("replica"))
    )
    return (
        everybody.join(F.broadcast(names.select("process", "name")), on="process", how="left")
        .withColumn("source", source)
        .select(F.col("grown").alias("process"), named.alias("name"), "source", "replica")
    )
