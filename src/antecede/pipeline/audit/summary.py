"""The figures of a summary that Spark works out."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.audit.summary import CHANNELS, GRADES, KINDS, QUANTILES, Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is counted of violations, all of it in one pass."""

    kinds: dict[str, int]
    grades: dict[str, int]
    held_back_ns: dict[str, int] | None
    """How long causal delivery would have held them back; None if there are none."""


def figures_of(violations: DataFrame) -> Figures:
    """How many violations of each kind and grade there are, and their quantiles."""
    answer = violations.agg(
        *(F.count_if(F.col("kind") == kind).alias(kind) for kind in KINDS),
        *(F.count_if(F.col("grade") == grade).alias(grade) for grade in GRADES),
        F.percentile_approx("held_back_ns", list(QUANTILES.values())).alias("quantiles"),
    ).collect()[0]
    quantiles = answer["quantiles"]
    return Figures(
        kinds={kind: answer[kind] for kind in KINDS},
        grades={grade: answer[grade] for grade in GRADES},
        held_back_ns=None if quantiles is None else dict(zip(QUANTILES, quantiles, strict=True)),
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
