"""The verdict of the audit on Spark is the oracle's, row by row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

from antecede.eventlog import Event
from antecede_audit.judging.copies import ArrowBatch
from antecede_audit.judging.definition import Order
from antecede_audit.judging.long_flights import judge_long_flights
from antecede_audit.spark.audit import audit
from antecede_audit.spark.audit_judge import SMALL_BATCHES
from antecede_audit.spark.clocks import find_offsets
from tests.antecede_audit.judging.random_traffic import (
    Log,
    hectic,
    in_traces,
    orderly,
    planted,
    skewed,
)
from tests.antecede_audit.spark.logs_on_disk import Rows, Runs, oracle_of, verdicts_of, write_runs

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


def test_many_small_runs_judged_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    """By process; by trace they are counted, and the next test has their rows."""
    runs = random_runs(200, [hectic, planted, orderly, skewed], seed=1)
    events = spark.read.parquet(write_runs(tmp_path / "logs.parquet", runs))

    with audit(events, order="process", slice_copies=1_000) as found:
        assert found.summary.method.slices > 1
        assert verdicts_of(found) == oracle_of(runs)
        assert found.summary.violations_by_order["trace"] == count_of(oracle_of(runs, "trace"))
        clockless = {name.partition("-")[0] for name in found.summary.method.sequential}
    assert clockless == {"skewed"}


def count_of(verdicts: dict[str, Rows]) -> int:
    """How many violations there are in all runs."""
    return sum(len(rows.get("violations", [])) for rows in verdicts.values())


def test_runs_cut_into_tiny_slices_some_with_clocks_that_disagree(
    spark: SparkSession, tmp_path: Path
) -> None:
    check_tiny_slices(spark, tmp_path, 18)


@pytest.mark.long
def test_many_runs_cut_into_tiny_slices(spark: SparkSession, tmp_path: Path) -> None:
    check_tiny_slices(spark, tmp_path, 300)


def check_tiny_slices(spark: SparkSession, folder: Path, count: int) -> None:
    """Slices of four copies: nearly everything reaches beyond its own."""
    runs = random_runs(count, [hectic, planted, skewed], seed=3)
    events = spark.read.parquet(write_runs(folder / "logs.parquet", runs))

    with audit(events, slice_copies=4) as found:
        assert found.summary.order == "trace"
        method = found.summary.method
        assert method.slices > len(runs)
        assert method.long_flights > count // 4
        assert verdicts_of(found) == oracle_of(runs, "trace")
        assert found.summary.violations_by_order["process"] == count_of(oracle_of(runs))
    assert {name.partition("-")[0] for name in method.sequential} == {"skewed"}
    assert len(method.sequential) > count // 8
    assert method.clock_offsets_ns


def test_the_judge_of_long_flights_is_given_a_few_packed_batches_at_a_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group has those of half a log; Java has no room for them in one batch."""
    runs = random_runs(6, [hectic], seed=3)
    events = spark.read.parquet(write_runs(tmp_path / "logs.parquet", runs))

    def judge_one_by_one(
        batches: Iterator[ArrowBatch], orders: Sequence[Order], buckets: int
    ) -> Iterator[ArrowBatch]:
        return judge_long_flights(map(one_packed_batch, batches), orders, buckets)

    def one_packed_batch(batch: ArrowBatch) -> ArrowBatch:
        assert len(batch) == 1, f"{len(batch)} packed batches, although one is more than enough"
        return batch

    monkeypatch.setitem(SMALL_BATCHES, "spark.sql.execution.arrow.maxBytesPerBatch", "1")
    monkeypatch.setattr("antecede_audit.spark.audit_judge.judge_long_flights", judge_one_by_one)
    with audit(events, slice_copies=4) as found:
        assert found.summary.method.long_flights > 1
        assert verdicts_of(found) == oracle_of(runs, "trace")


def test_clocks_are_repaired_in_more_tasks_the_larger_the_log(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One task has no room for what is under way in a large one."""
    runs = random_runs(12, [skewed], seed=3)
    events = spark.read.parquet(write_runs(tmp_path / "logs.parquet", runs))
    setting = "spark.sql.shuffle.partitions"
    usual = spark.conf.get(setting)
    tasks: list[int] = []

    def find_and_count(rows: DataFrame, of: Sequence[int]) -> dict[int, dict[int, int]]:
        tasks.append(int(rows.sparkSession.conf.get(setting) or 0))
        return find_offsets(rows, of)

    monkeypatch.setattr("antecede_audit.spark.audit_judge.PARTITION_COPIES", 5)
    monkeypatch.setattr("antecede_audit.spark.audit_judge.find_offsets", find_and_count)
    with audit(events, slice_copies=10) as found:
        assert found.summary.method.clock_offsets_ns
        assert verdicts_of(found) == oracle_of(runs, found.summary.order)
    copies = sum(event.kind == "delivered" for log in runs.values() for event in log)
    assert min(tasks) > max(int(usual or 0), copies // 10)
    assert spark.conf.get(setting) == usual


def test_one_row_set_back_costs_one_stretch(spark: SparkSession, tmp_path: Path) -> None:
    """Of a run that is cut; everything else is judged by the clock as before."""
    random = Random(7)
    time_ns = 0
    log = Log(4)
    for number in range(1, 1_200):
        time_ns += 1_000_000
        sender = random.randrange(4)
        target = (sender + random.randint(1, 3)) % 4
        log.add(sender, "submitted", (sender, number), target, time_ns)
        log.add(target, "delivered", (sender, number), target, time_ns + 1)
    events = log.events
    middle = events[1_200]
    events[1_200] = replace(middle, time_ns=middle.time_ns - 1_500_000)
    table = spark.read.parquet(write_runs(tmp_path / "log.parquet", {"back": events}))

    with audit(table, slice_copies=100) as found:
        assert verdicts_of(found) == oracle_of({"back": events})
        method = found.summary.method
    assert method.slices > 10
    assert 0 < method.blurred["back"] < 0.05
    assert list(method.sequential) == ["back"]
