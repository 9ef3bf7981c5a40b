"""The stages that measure logs of any size: tables of Spark in, tables of Spark out.

`antecede_audit.measure` has the same for the log of one run that fits this process or task.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.eventlog.schema import KINDS
from antecede_audit.measure.distributions import STEPS, STEPS_BITS
from antecede_audit.measure.instants import AT_TARGET, COPY
from antecede_audit.measure.non_causal import (
    ACCURACY_MAX,
    COPIES_MAX,
    NON_CAUSAL,
    STRETCHES,
    TimeSample,
    edges_of,
    lateness_of_stretch,
)
from antecede_audit.spark.job_names import named


def message_instants(events: DataFrame) -> DataFrame:
    """When each submitted copy was submitted, transmitted, arrived and delivered, the first time.

    In:  run_id, process, kind, sender, sequence, target, time_ns.
    Out: run_id, sender, sequence, target, submitted_ns, transmitted_ns, arrived_ns, delivered_ns.
    """
    where = F.when(F.col("kind").isin(*AT_TARGET), F.col("process")).otherwise(F.col("target"))
    # Laid out by message, so that whoever groups by message or copy next need not shuffle again.
    copies = (
        events.where(F.col("sender").isNotNull())
        .withColumn("target", where)
        .select(*COPY, "kind", "time_ns")
        .repartition("run_id", "sender", "sequence")
        .groupBy(*COPY)
        .agg(
            *(
                F.min(F.when(F.col("kind") == kind, F.col("time_ns"))).alias(f"{kind}_ns")
                for kind in KINDS
            )
        )
    )
    # A relay has copies too that were never submitted to it.
    submitted = copies.where(F.col("submitted_ns").isNotNull())
    return submitted.select(*COPY, *(f"{kind}_ns" for kind in KINDS))


def travelling(instants: DataFrame) -> DataFrame:
    """The copies that are not to oneself.

    In and out: the columns of `message_instants`.
    """
    return instants.where(F.col("sender") != F.col("target")).select(*instants.columns)


def delivered_copies(instants: DataFrame) -> DataFrame:
    """Those that were delivered, and not to oneself. In, out: what `message_instants` gives."""
    return travelling(instants).where(F.col("delivered_ns").isNotNull())


def buffering_delays(instants: DataFrame) -> DataFrame:
    """How long each delivered copy took, and where it waited; copies to oneself are left out.

    Where a log does not say when copies were transmitted and arrived, only the latency is known.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, sender, sequence, target, sender_wait_ns, channel_ns, receiver_wait_ns, latency_ns.
    """
    arrived = F.col("arrived_ns").isNotNull()
    return delivered_copies(instants).select(
        *COPY,
        F.when(arrived, F.col("transmitted_ns") - F.col("submitted_ns")).alias("sender_wait_ns"),
        (F.col("arrived_ns") - F.col("transmitted_ns")).alias("channel_ns"),
        (F.col("delivered_ns") - F.col("arrived_ns")).alias("receiver_wait_ns"),
        (F.col("delivered_ns") - F.col("submitted_ns")).alias("latency_ns"),
    )


HALF_BITS: Final = 20
"""Spark sums in two halves, neither of which overflows, so that it is exact and fast."""


def rows_by_run(table: DataFrame) -> dict[str, list[Row]]:
    """The rows of each run."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in table.collect():
        rows[row["run_id"]].append(row)
    return rows


def histograms(values: DataFrame) -> DataFrame:
    """Count values into buckets.

    In:  run_id, measure, value (a whole number), count (how often it occurred).
    Out: run_id, measure, bucket, count, total (the sum of the values), least, greatest.
    """
    value, count = F.col("value"), F.col("count")
    high, low = F.shiftright(value, HALF_BITS), value.bitwiseAND((1 << HALF_BITS) - 1)
    halves = [F.sum(half * count).cast("decimal(38,0)") for half in (high, low)]
    return (
        values.withColumn("bucket", bucket_of(value).cast("int"))
        .groupBy("run_id", "measure", "bucket")
        .agg(
            F.sum("count").alias("count"),
            (halves[0] * (1 << HALF_BITS) + halves[1]).cast("decimal(38,0)").alias("total"),
            F.min("value").alias("least"),
            F.max("value").alias("greatest"),
        )
        .select("run_id", "measure", "bucket", "count", "total", "least", "greatest")
    )


def bucket_of(value: Column) -> Column:
    """The number of the bucket that counts this value; negative for a negative one."""
    size = F.abs(value)
    shift = bit_length(size) - F.lit(STEPS_BITS + 1)
    # Both branches are evaluated where the smaller one is meant: no negative shifts, please.
    safe = F.greatest(shift, F.lit(0)).cast("int")
    steps = F.shiftleft(safe.cast("bigint"), STEPS_BITS) + F.call_function("shiftright", size, safe)
    bucket = F.when(size < 2 * STEPS, size).otherwise(steps)
    return F.when(value < 0, -bucket).otherwise(bucket)


def bit_length(number: Column) -> Column:
    """The number of binary digits; a logarithm may be off by one next to a power of two."""
    guess = F.floor(F.log2(F.greatest(number, F.lit(1)).cast("double"))).cast("int")
    power, double = (
        F.call_function("shiftleft", F.lit(1).cast("bigint"), F.least(bits, F.lit(62)))
        for bits in (guess, guess + 1)
    )
    exact = (
        F.when(power > number, guess - 1)
        .when((guess < 62) & (double <= number), guess + 1)
        .otherwise(guess)
    )
    return exact + 1


def find_stretches(
    instants: DataFrame, sizes: Mapping[str, int], copies_max: int = COPIES_MAX
) -> list[TimeSample]:
    """Which stretches to look at, of the runs with more copies than `copies_max`.

    In: the columns of `message_instants`; by run, how many copies it has, or somewhat more.
    """
    large = {run: copies for run, copies in sizes.items() if copies > copies_max}
    if not large:
        return []
    columns = []
    for place, (run, copies) in enumerate(large.items()):
        ours = F.when(F.col("run_id") == run, F.col("submitted_ns"))
        shares = [share for edges in edges_of(copies_max / copies) for share in edges]
        accuracy = min(ACCURACY_MAX, 20 * STRETCHES * -(-copies // copies_max))
        columns.append(F.percentile_approx(ours, shares, accuracy).alias(str(place)))
    row = delivered_copies(instants).agg(*columns).collect()[0]
    return [
        TimeSample(
            run_id=run,
            number=number,
            past_ns=row[place][3 * number],
            first_ns=row[place][3 * number + 1],
            last_ns=row[place][3 * number + 2],
        )
        for place, run in enumerate(large)
        for number in range(STRETCHES if row[place] else 0)
    ]


def non_causal_delays(instants: DataFrame, stretches: Sequence[TimeSample] = ()) -> DataFrame:
    """How much later than necessary each copy was delivered; negative: earlier than causal.

    A copy whose arrival is not in the log is taken to have arrived when it was delivered. Of a run
    that has stretches only these are looked at.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, non_causal_ns, a row for each delivered copy that is not to oneself.
    """
    known = F.col("arrived_ns").isNotNull() & F.col("transmitted_ns").isNotNull()
    travel_ns = F.when(known, F.col("arrived_ns") - F.col("transmitted_ns")).otherwise(
        F.col("delivered_ns") - F.col("submitted_ns")
    )
    copies = delivered_copies(instants).select(
        "run_id",
        "sender",
        "sequence",
        "target",
        "submitted_ns",
        travel_ns.alias("travel_ns"),
        "delivered_ns",
    )
    chosen = in_stretches(copies, stretches)
    return chosen.groupBy("run_id", "number").applyInArrow(named(lateness_of_stretch), NON_CAUSAL)


def in_stretches(copies: DataFrame, stretches: Sequence[TimeSample]) -> DataFrame:
    """The copies that are looked at.

    In:  run_id, submitted_ns, and more.
    Out: the same, number (of the stretch, 0 for a whole run) and first_ns (null for a whole run).
    """
    whole = copies.select("*", F.lit(0).alias("number"), F.lit(None).cast("long").alias("first_ns"))
    if not stretches:
        return whole
    large = sorted({stretch.run_id for stretch in stretches})
    table = copies.sparkSession.createDataFrame(
        [astuple(stretch) for stretch in stretches],
        "run_id string, number int, past_ns long, first_ns long, last_ns long",
    )
    within = F.col("submitted_ns").between(F.col("past_ns"), F.col("last_ns"))
    parts = copies.join(F.broadcast(table), on="run_id", how="inner").where(within)
    return whole.where(~F.col("run_id").isin(large)).unionByName(parts.select(*whole.columns))
