"""The verdict of the audit on Spark is the oracle's, row by row."""

from collections.abc import Callable
from pathlib import Path
from random import Random

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


def test_runs_cut_into_tiny_slices_some_with_clocks_that_disagree(
    spark: SparkSession, tmp_path: Path
) -> None:
    runs = random_runs(300, [hectic, planted, skewed], seed=3)
    source = find_source(write_runs(tmp_path / "logs.parquet", runs))

    with judged_logs(spark, [source], slice_copies=4) as judged:
        assert judged.plan.count > len(runs)
        assert judged.long_flights > 100
        assert verdicts_of(judged) == oracle_of(runs)
        clockless = [judged.names[run] for run in judged.out_of_order]
    assert {name.partition("-")[0] for name in clockless} == {"skewed"}
    assert len(clockless) > 50
