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
    names = ["run_id", "process", "early_sender", "late_sender"]
    counted = violations.groupBy(*names).agg(
        F.count(F.lit(1)).alias("violations"), F.max("held_back_ns").alias("held_back_ns_max")
    )
    ranked = counted.orderBy(F.desc("violations"), *names).limit(CHANNELS).collect()
    # Medians cost more than all the rest: only of those that are shown.
    shown = violations.sparkSession.createDataFrame(ranked, counted.schema).select(*names)
    ours = violations.join(F.broadcast(shown), names, "leftsemi").groupBy(*names)
    median = F.percentile_approx("held_back_ns", 0.5).alias("median")
    medians = {row[:-1]: row["median"] for row in ours.agg(median).collect()}
    return [Channel(**row.asDict(), held_back_ns=medians[row[:4]]) for row in ranked]
