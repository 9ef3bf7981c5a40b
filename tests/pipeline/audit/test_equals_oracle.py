"""The verdict of the audit on Spark is the oracle's, row by row."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from antecede.audit import ORDERS, Order
from antecede.pipeline.audit.library import audit
from antecede.trace import Event
from tests.audit.random_traffic import hectic, in_traces, orderly, planted, skewed
from tests.pipeline.audit.logs_on_disk import Runs, oracle_of, verdicts_of, write_runs

Maker = Callable[[Random], list[Event]]


def made_by(maker: Maker, random: Random) -> list[Event]:
    """A log, half of them with traces."""
    events = maker(random)
    return in_traces(events, random) if random.random() < 0.5 else events


def random_runs(count: int, makers: list[Maker], seed: int) -> Runs:
    made = {
        f"{maker.__name__}-{number}": made_by(maker, Random(f"{seed}/{maker.__name__}/{number}"))
        for maker in makers
        for number in range(count // len(makers))
    }
    return {run_id: log for run_id, log in made.items() if log}


@pytest.mark.parametrize("order", ORDERS)
def test_many_small_runs_judged_as_a_whole(
    order: Order, spark: SparkSession, tmp_path: Path
) -> None:
    runs = random_runs(600, [hectic, planted, orderly, skewed], seed=1)
    events = spark.read.parquet(write_runs(tmp_path / "logs.parquet", runs))

    with audit(events, order=order, slice_copies=5_000) as found:
        assert found.summary.method.slices > 1
        assert verdicts_of(found) == oracle_of(runs, order)
        clockless = {name.partition("-")[0] for name in found.summary.method.sequential}
    assert clockless == {"skewed"}


def test_runs_cut_into_tiny_slices_some_with_clocks_that_disagree(
    spark: SparkSession, tmp_path: Path
) -> None:
    runs = random_runs(200, [hectic, planted, skewed], seed=3)
    events = spark.read.parquet(write_runs(tmp_path / "logs.parquet", runs))

    with audit(events, slice_copies=4) as found:
        assert found.summary.order == "trace"
        method = found.summary.method
        assert method.slices > len(runs)
        assert method.long_flights > 60
        assert verdicts_of(found) == oracle_of(runs, "trace")
        assert found.summary.violations_by_order["process"] == sum(
            len(rows.get("violations", [])) for rows in oracle_of(runs).values()
        )
    assert {name.partition("-")[0] for name in method.sequential} == {"skewed"}
    assert len(method.sequential) > 30
    assert method.clock_offsets_ns
    assert method.blurred
