"""Distributions: exact where they promise it, and never off by more than a bucket."""

import math

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from antecede.eventlog.parquet import ArrowTable
from antecede_audit.measure.distributions import (
    TALLIES,
    Distribution,
    by_run,
    distribution_of,
    gathered,
    tally,
)
from antecede_audit.report.profile_page import points_at_least, points_at_most
from antecede_audit.spark.measure import per_partition, together
from antecede_lab.simulator.histogram import Histogram, bucket_of

VALUES = [0, 0, 1, 5, 127, 128, 129, 1000, 10**6, 10**6 + 7, 10**12, (1 << 62) + 12345]


def distribution(values: list[int]) -> Distribution:
    buckets: dict[int, int] = {}
    for value in values:
        buckets[bucket_of(value)] = buckets.get(bucket_of(value), 0) + 1
    return Distribution(
        least=min(values),
        greatest=max(values),
        total=sum(values),
        buckets=tuple(sorted(buckets.items())),
    )


def test_spark_counts_as_the_simulator_does(spark: SparkSession) -> None:
    rows = [("a", "x", value, 1) for value in VALUES] + [("a", "y", 7, 1000), ("b", "x", 9, 2)]
    table = spark.createDataFrame(rows, "run_id string, measure string, value long, count long")
    counts = together([per_partition(table.repartition(3), tally_rows, TALLIES)], 2)
    found = by_run(counts.toArrow())
    assert {
        run: {measure: distribution_of(tallies) for measure, tallies in measures.items()}
        for run, measures in found.items()
    } == {
        "a": {
            "x": distribution(VALUES),
            "y": Distribution(least=7, greatest=7, total=7000, buckets=((7, 1000),)),
        },
        "b": {"x": Distribution(least=9, greatest=9, total=18, buckets=((9, 2),))},
    }


def tally_rows(rows: ArrowTable) -> ArrowTable:
    """Count rows of any measures."""
    parts = [rows.filter(pc.equal(rows["measure"], name)) for name in ("x", "y")]
    return pa.concat_tables(
        tally(part["run_id"], name, part["value"], part["count"])
        for name, part in zip(("x", "y"), parts, strict=True)
    )


def test_sums_of_many_large_values_are_exact() -> None:
    """Of either sign; more than 64 bits take."""
    values = [(1 << 62) + 1, -(1 << 62) - 3, (1 << 62) + 12345]
    counts = {value: 1_000_000 + place for place, value in enumerate(values)}
    assert gathered(counts).total == sum(value * count for value, count in counts.items())


@given(values=st.lists(st.integers(0, 1 << 61), min_size=1), share=st.floats(0, 1))
@example(values=[0, 0, 9_007_199_254_741_005], share=0.0)
def test_quantiles_are_those_of_the_simulator(values: list[int], share: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    found = distribution(values)
    assert found.quantile(share) == histogram.quantile(share)
    assert found.count == len(values)
    # The compiled simulator rounds a sum beyond 2**53 before it divides it.
    assert math.isclose(found.mean, histogram.mean(), rel_tol=1e-15)


@given(values=st.lists(st.integers(0, 1 << 61), min_size=1))
def test_steps_climb_to_the_end(values: list[int]) -> None:
    steps = distribution(values).steps()
    assert steps[-1] == (max(values), len(values))
    assert [point for point, _ in steps] == sorted({point for point, _ in steps})
    for point, passed in steps:
        below = len([value for value in values if value <= point])
        assert passed == below


def test_figures_have_names() -> None:
    figures = distribution(list(range(101))).figures()
    assert list(figures) == ["count", "mean", "min", "p5", "p25", "p50", "p75", "p95", "p99", "max"]
    assert (figures["p5"], figures["p50"], figures["p99"]) == (5, 50, 99)
    assert math.isclose(figures["mean"], 50)


def test_the_line_of_values_that_are_all_equal_can_be_seen() -> None:
    assert list(points_at_least(distribution([26, 26]), 0)) == [(0, 1.0), (27, 1.0)]
    assert list(points_at_most(distribution([26, 26]))) == [(26, 0.0), (26, 1.0)]


def test_shares_of_at_least_x_begin_with_all_and_change_after_each_value() -> None:
    found = distribution([1, 3, 3, 5])
    assert list(points_at_least(found, 0)) == [(0, 1.0), (2, 0.75), (4, 0.25), (6, 0.25)]


def test_a_logarithmic_axis_of_counts_begins_with_the_share_that_is_not_zero() -> None:
    found = distribution([0, 0, 1, 40])
    assert list(points_at_least(found, 1)) == [(1, 0.5), (2, 0.25), (41, 0.25)]
