"""The figures of a summary that Spark works out."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.audit.summary import CHANNELS, KINDS, QUANTILES, Channel


def kinds_and_quantiles(violations: DataFrame) -> tuple[dict[str, int], dict[str, int] | None]:
    """How many violations of each kind, and how long causal delivery would have held them back."""
    answer = violations.agg(
        *(F.count_if(F.col("kind") == kind).alias(kind) for kind in KINDS),
        F.percentile_approx("held_back_ns", list(QUANTILES.values())).alias("quantiles"),
    ).collect()[0]
    quantiles = answer["quantiles"]
    return (
        {kind: answer[kind] for kind in KINDS},
        None if quantiles is None else dict(zip(QUANTILES, quantiles, strict=True)),
    )


def channels_of(violations: DataFrame) -> list[Channel]:
    """The channels with most violations."""
    grouped = violations.groupBy("run_id", "process", "early_sender", "late_sender").agg(
        F.count(F.lit(1)).alias("violations"),
        F.percentile_approx("held_back_ns", 0.5).alias("held_back_ns"),
        F.max("held_back_ns").alias("held_back_ns_max"),
    )
    ranked = grouped.orderBy(
        F.desc("violations"), "run_id", "process", "early_sender", "late_sender"
    )
    return [Channel(**row.asDict()) for row in ranked.limit(CHANNELS).collect()]
