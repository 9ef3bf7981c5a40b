"""The verdict of the audit on Spark is the oracle's, row by row."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from antecede.pipeline.audit.inputs import find_source
from antecede.pipeline.audit.judge import judged_logs
from antecede.trace import Event
from tests.audit.random_traffic import hectic, orderly, planted, skewed
from tests.pipeline.audit.logs_on_disk import Runs, oracle_of, verdicts_of, write_runs

Maker = Callable[[Random], list[Event]]


def random_runs(count: int, makers: list[Maker], seed: int) -> Runs:
    made = {
        f"{maker.__name__}-{number}": maker(Random(f"{seed}/{maker.__name__}/{number}"))
        for maker in makers
        for number in range(count // len(makers))
    }
    return {run_id: log for run_id, log in made.items() if log}


def test_thousands_of_small_runs_judged_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    runs = random_runs(3_000, [hectic, planted, orderly], seed=1)
    source = find_source(write_runs(tmp_path / "logs.parquet", runs))

    with judged_logs(spark, [source], slice_copies=5_000) as judged:
        assert judged.out_of_order == {}
        assert judged.plan.count > 1
        assert verdicts_of(judged) == oracle_of(runs)


@pytest.mark.parametrize("slice_copies", [2, 7])
def test_runs_cut_into_tiny_slices(spark: SparkSession, tmp_path: Path, slice_copies: int) -> None:
    runs = random_runs(400, [hectic, planted], seed=slice_copies)
    source = find_source(write_runs(tmp_path / "logs.parquet", runs))

    with judged_logs(spark, [source], slice_copies=slice_copies) as judged:
        assert judged.plan.count > len(runs)
        assert judged.long_flights > 100
        assert judged.out_of_order == {}
        assert verdicts_of(judged) == oracle_of(runs)


def test_runs_whose_clocks_disagree(spark: SparkSession, tmp_path: Path) -> None:
    runs = random_runs(500, [skewed, planted], seed=3)
    source = find_source(write_runs(tmp_path / "logs.parquet", runs))

    with judged_logs(spark, [source], slice_copies=9) as judged:
        assert len(judged.out_of_order) > 50
        assert verdicts_of(judged) == oracle_of(runs)
