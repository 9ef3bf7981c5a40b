"""Distributions as counts in buckets: small enough to collect, close enough for any quantile.

The buckets are those of `antecede.sim.histogram`: below 128 every whole number has its own, above
every power of two is cut into 64, so a quantile is off by one part in 128 at most. Count, mean,
least and greatest are exact, and nothing depends on how Spark has partitioned the rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.metrics.histograms import bucket_of
from antecede.sim.histogram import bucket_start

Fields: TypeAlias = Mapping[str, Any] | Row
"""A row of a table, in this process or of Spark's."""

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How often which values occurred."""

    least: int
    greatest: int
    total: int
    buckets: tuple[tuple[int, int], ...]
    """Ascending: the number of a bucket, and how many values it has counted."""

    @property
    def count(self) -> int:
        """How many values there are; at least one."""
        return sum(count for _, count in self.buckets)

    @property
    def mean(self) -> float:
        """The exact mean."""
        return self.total / self.count

    def quantile(self, share: float) -> int:
        """A value that `share` of all do not exceed: the nearest rank, within its bucket."""
        rank = share * self.count
        counts = accumulate(count for _, count in self.buckets)
        bucket = self.buckets[[passed >= rank for passed in counts].index(True)][0]
        start = int(bucket_start(bucket))
        middle = start + (int(bucket_start(bucket + 1)) - 1 - start) // 2
        return min(max(middle, self.least), self.greatest)

    def steps(self) -> list[tuple[int, int]]:
        """Ascending values, and how many are no greater: the points of a cumulative plot."""
        passed = 0
        points = []
        for bucket, count in self.buckets:
            passed += count
            end = int(bucket_start(bucket + 1)) - 1
            points.append((min(max(end, self.least), self.greatest), passed))
        return points

    def figures(self) -> dict[str, float]:
        """Count, mean and quantiles by name."""
        named = {f"p{100 * share:g}": self.quantile(share) for share in QUANTILES}
        return {
            "count": self.count,
            "mean": self.mean,
            "min": self.least,
            **named,
            "max": self.greatest,
        }


def histograms(values: DataFrame) -> DataFrame:
    """Count values into buckets.

    In:  run_id, measure, value (a whole number, not negative), count (how often it occurred).
    Out: run_id, measure, bucket, count, total (the sum of the values), least, greatest.
    """
    value = F.col("value")
    weighted = value.cast("decimal(20,0)") * F.col("count").cast("decimal(18,0)")
    return (
        values.withColumn("bucket", bucket_of(value).cast("int"))
        .groupBy("run_id", "measure", "bucket")
        .agg(
            F.sum("count").alias("count"),
            F.sum(weighted).alias("total"),
            F.min("value").alias("least"),
            F.max("value").alias("greatest"),
        )
        .select("run_id", "measure", "bucket", "count", "total", "least", "greatest")
    )


def distributions_of(rows: Iterable[Fields]) -> dict[str, Distribution]:
    """The distributions that the buckets of one run make, by measure."""
    gathered: dict[str, list[Fields]] = {}
    for row in rows:
        gathered.setdefault(row["measure"], []).append(row)
    return {
        measure: Distribution(
            least=min(row["least"] for row in buckets),
            greatest=max(row["greatest"] for row in buckets),
            total=int(sum((row["total"] for row in buckets), Decimal(0))),
            buckets=tuple(sorted((row["bucket"], row["count"]) for row in buckets)),
        )
        for measure, buckets in sorted(gathered.items())
    }
