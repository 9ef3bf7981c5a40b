"""Distributions of delays as counts in buckets, and quantiles from them.

The buckets are those of `antecede.sim.histogram`, and those of a negative delay mirror them, so
what Spark counts in a log and what the simulator counts in a run can be compared bucket by bucket,
and a quantile is at most one part in 128 away from the truth. Counting is several times as fast as
Spark's own percentiles, and buckets of several runs can be added.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.metrics.figures import SHARES
from antecede.sim.histogram import STEPS, STEPS_BITS

HALF_BITS: Final = 20
"""Sums are kept in two halves, neither of which overflows, so that they are exact in any order."""

HALF: Final = 1 << HALF_BITS


def bucket_of(duration_ns: Column) -> Column:
    """The number of the bucket that counts this delay; negative for a negative one."""
    size = F.abs(duration_ns)
    shift = bit_length(size) - F.lit(STEPS_BITS + 1)
    # Both branches are evaluated where the smaller one is meant: no negative shifts, please.
    safe = F.greatest(shift, F.lit(0)).cast("int")
    steps = F.shiftleft(safe.cast("bigint"), STEPS_BITS) + F.call_function("shiftright", size, safe)
    bucket = F.when(size < 2 * STEPS, size).otherwise(steps)
    return F.when(duration_ns < 0, -bucket).otherwise(bucket)


def bit_length(number: Column) -> Column:
    """The number of binary digits; a logarithm may be off by one next to a power of two."""
    guess = F.floor(F.log2(F.greatest(number, F.lit(1)).cast("double"))).cast("int")
    power = shiftleft_by(F.lit(1).cast("bigint"), F.least(guess, F.lit(62)))
    double = shiftleft_by(F.lit(1).cast("bigint"), F.least(guess + 1, F.lit(62)))
    exact = (
        F.when(power > number, guess - 1)
        .when((guess < 62) & (double <= number), guess + 1)
        .otherwise(guess)
    )
    return exact + 1


def shiftleft_by(number: Column, bits: Column) -> Column:
    """`number` << `bits`, both columns."""
    return F.call_function("shiftleft", number, bits)


def bucket_bounds(bucket: Column) -> tuple[Column, Column]:
    """The least and the greatest delay that a bucket counts."""
    size = F.abs(bucket)
    shift = F.greatest((F.floor(size / STEPS) - 1).cast("int"), F.lit(0))
    step = (size - shiftleft_by(shift.cast("bigint"), F.lit(STEPS_BITS))).cast("bigint")
    near = F.when(size < 2 * STEPS, size).otherwise(shiftleft_by(step, shift))
    far = near + (shiftleft_by(F.lit(1).cast("bigint"), shift) - 1)
    negative = bucket < 0
    return F.when(negative, -far).otherwise(near), F.when(negative, -near).otherwise(far)


def unpivoted(delays: DataFrame) -> DataFrame:
    """Delays below each other instead of beside each other; nulls are left out.

    In:  run_id, and any of <delay>_ns.
    Out: run_id, delay, duration_ns.
    """
    columns = {
        name.removesuffix("_ns"): F.col(name) for name in delays.columns if name.endswith("_ns")
    }
    named = delays.select("run_id", *(column.alias(name) for name, column in columns.items()))
    rows = named.unpivot("run_id", tuple(columns), "delay", "duration_ns")
    return rows.where(F.col("duration_ns").isNotNull())


def delay_buckets(durations: DataFrame) -> DataFrame:
    """How many copies fall into each bucket, and what is needed for exact means and bounds.

    In:  run_id, delay, duration_ns.
    Out: run_id, delay, bucket, copies, low_half, high_half, least_ns, greatest_ns.
    """
    duration = F.col("duration_ns")
    return (
        durations.withColumn("bucket", bucket_of(duration))
        .groupBy("run_id", "delay", "bucket")
        .agg(
            F.count("*").alias("copies"),
            F.sum(duration.bitwiseAND(HALF - 1)).alias("low_half"),
            F.sum(F.shiftright(duration, HALF_BITS)).alias("high_half"),
            F.min(duration).alias("least_ns"),
            F.max(duration).alias("greatest_ns"),
        )
    )


def shown_buckets(buckets: DataFrame) -> DataFrame:
    """Buckets as a report wants them.

    In:  the columns of `delay_buckets`.
    Out: run_id, delay, low_ns, high_ns, copies.
    """
    low, high = bucket_bounds(F.col("bucket"))
    return buckets.select("run_id", "delay", low.alias("low_ns"), high.alias("high_ns"), "copies")


def delay_figures(buckets: DataFrame) -> DataFrame:
    """Mean, quantiles and greatest of each delay.

    In:  the columns of `delay_buckets`.
    Out: run_id, delay, copies, mean_ns, max_ns, and a <share>_ns for each quantile.
    """
    whole = Window.partitionBy("run_id", "delay")
    so_far = whole.orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = buckets.select(
        "*",
        F.sum("copies").over(so_far).alias("passed"),
        F.sum("copies").over(whole).alias("all_copies"),
        F.min("least_ns").over(whole).alias("all_least_ns"),
        F.max("greatest_ns").over(whole).alias("all_greatest_ns"),
    )
    low, high = bucket_bounds(F.col("bucket"))
    middle = low + F.floor((high - low) / 2).cast("bigint")
    typical = F.least(F.greatest(middle, F.col("all_least_ns")), F.col("all_greatest_ns"))
    reached = {
        name: F.when(F.col("passed") >= share * F.col("all_copies"), F.col("bucket"))
        for name, share in SHARES.items()
    }
    total = F.sum("high_half").cast("double") * HALF + F.sum("low_half").cast("double")
    return (
        ranked.withColumn("typical_ns", typical)
        .groupBy("run_id", "delay")
        .agg(
            F.sum("copies").alias("copies"),
            (total / F.sum("copies")).alias("mean_ns"),
            F.max("greatest_ns").alias("max_ns"),
            *(
                F.min_by("typical_ns", bucket).alias(f"{name}_ns")
                for name, bucket in reached.items()
            ),
        )
        .select(
            "run_id", "delay", "copies", "mean_ns", "max_ns", *(f"{name}_ns" for name in SHARES)
        )
    )
