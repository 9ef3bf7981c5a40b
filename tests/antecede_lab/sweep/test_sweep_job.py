"""Whole sweeps on Spark."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from antecede_audit.eventlog.reader import read_runs
from antecede_lab.sweep import sweep as job
from antecede_lab.sweep.grid import Grid
from antecede_lab.sweep.run_one import performed_batches, run_one
from antecede_lab.sweep.run_plan import RunPlan
from antecede_lab.sweep.run_store import PARTS_MAX, PLANNED, RUNS, RunStore
from antecede_lab.sweep.sweep import SweepProgress, jobs_of, planned_row, run_sweep
from tests.antecede_lab.sweep.broken import ENDS_SPARK
from tests.antecede_lab.sweep.grids import grid_of, trace_file
from tests.spark_session import ROOT

GRID = """
protocols = ["hybrid", "rst", "mf"]
networks = ["lossy"]
processes = 4
seeds = 2

[scenario.chatter]
messages = 60

[scenario.groups]
workload = "groups"
messages = 30
seeds = [5]

[scenario.shop]
replay = "trace.parquet"
seeds = [1]

[limit.rst]
processes = 4
because = "a test"
"""


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    trace_file(tmp_path)
    return grid_of(tmp_path, GRID)


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The runs of a folder by their ids, without the time they took."""
    rows = RunStore(folder / "runs").read().to_pylist()
    return {row["run_id"]: row | {"seconds": 0} for row in rows}


def alone(plan: RunPlan) -> dict[str, Any]:
    """What comes of a run outside Spark."""
    return dict.fromkeys(RUNS.names) | run_one(planned_row(plan), None, 0)


def test_sweep_is_its_runs_each_alone_and_goes_on_where_it_stopped(
    spark: SparkSession, grid: Grid, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    plans = grid.plans()
    wanted = {
        plan.run_id: alone(plan) | {"seconds": 0} for plan in plans if grid.beyond(plan) is None
    }
    # As if an earlier sweep had been interrupted after two runs.
    store = RunStore(out / "runs")
    store.create()
    store.add(job.rows_table([{**wanted[plan.run_id], "events": -1} for plan in plans[:2]]))
    told: list[SweepProgress] = []

    result = run_sweep(spark, grid, out, report=told.append)

    found = rows_of(out)
    for plan in plans[:2]:
        assert found[plan.run_id].pop("events") == -1, "it was there and was not run again"
        wanted[plan.run_id].pop("events")
    left_out = [run_id for run_id in found if found[run_id]["status"] == "left out"]
    assert left_out == [plan.run_id for plan in plans if grid.beyond(plan)]
    assert {run_id: row for run_id, row in found.items() if run_id not in left_out} == wanted
    assert result.by_status == {"finished": 9, "unsuited": 2, "left out": 1}
    assert result.resumed == 2
    assert (told[0].runs, told[0].runs_done) == (9, 0)
    assert (told[-1].runs_done, told[-1].cost_done) == (9, told[-1].cost)


@pytest.mark.parametrize("partitions", [1, 3])
def test_row_gives_the_same_run_in_any_partition(
    spark: SparkSession, grid: Grid, partitions: int
) -> None:
    plans = [plan for plan in grid.plans() if plan.scenario == "chatter"]
    rows = spark.createDataFrame([planned_row(plan) for plan in reversed(plans)], PLANNED)
    found = (
        rows.repartition(partitions)
        .mapInArrow(lambda batches: performed_batches(batches, None, 0), RUNS)
        .toArrow()
        .to_pylist()
    )
    assert len(found) == len(plans)
    by_id = {row["run_id"]: row | {"seconds": 0} for row in found}
    assert by_id == {plan.run_id: alone(plan) | {"seconds": 0} for plan in plans}


BROKEN = """
networks = ["reliable"]
[scenario.x]
messages = 50
protocols = [
    "hybrid",
    "tests.antecede_lab.sweep.broken:DYING",
    "tests.antecede_lab.sweep.broken:RAISING",
]
"""


def test_failed_run_is_recorded_and_the_others_go_on(spark: SparkSession, tmp_path: Path) -> None:
    """One raises, another takes its worker with it, and with it all other runs of the job."""
    grid = grid_of(tmp_path, BROKEN)
    result = run_sweep(spark, grid, tmp_path / "out", events=True)
    assert result.by_status == {"finished": 1, "failed": 1, "lost": 1}
    reasons = {row["protocol"]: row["reason"] for row in rows_of(tmp_path / "out").values()}
    assert reasons["hybrid"] is None
    assert reasons["tests.antecede_lab.sweep.broken:RAISING"] == "ZeroDivisionError: on purpose"
    assert reasons["tests.antecede_lab.sweep.broken:DYING"].startswith("its worker died: ")
    assert [row["seed"] for row in rows_of(tmp_path / "out").values()] == [1, 1, 1]
    (log,) = read_runs(tmp_path / "out" / "events").values()
    assert log.count(3) == 50


def test_failed_runs_are_tried_again_only_if_asked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BROKEN.replace('    "tests.antecede_lab.sweep.broken:DYING",\n', "")
    assert "DYING" not in text
    grid = grid_of(tmp_path, text)
    out = tmp_path / "out"
    run_sweep(spark, grid, out)
    assert run_sweep(spark, grid, out).resumed == 2
    attempts: list[list[str]] = []
    attempt = job.Sweep._attempt

    def noted(sweep: job.Sweep, plans: list[RunPlan]) -> object:
        attempts.append([plan.protocol for plan in plans])
        return attempt(sweep, plans)

    monkeypatch.setattr(job.Sweep, "_attempt", noted)
    result = run_sweep(spark, grid, out, retry_failed=True)
    assert attempts == [["tests.antecede_lab.sweep.broken:RAISING"]]
    assert result.by_status == {"finished": 1, "failed": 1}


def test_what_was_lost_is_tried_again_and_what_failed_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of one whose worker died nothing is known; one that raised would raise again."""
    grid = grid_of(tmp_path, "seeds = 3\nnetworks = ['reliable']\n[scenario.x]\nmessages = 50\n")
    out = tmp_path / "out"
    store = RunStore(out / "runs")
    store.create()
    by_worker, by_itself, never_run = grid.plans()
    died = job.lost(by_worker, RuntimeError("Python worker exited unexpectedly (crashed)"))
    raised = planned_row(by_itself) | {"status": "failed", "reason": "ZeroDivisionError"}
    store.add(job.rows_table([died, raised]))

    result = run_sweep(spark, grid, out)

    assert (result.resumed, result.retried) == (1, 1)
    assert result.by_status == {"finished": 2, "failed": 1}
    found = rows_of(out)
    assert found[by_worker.run_id] == alone(by_worker) | {"seconds": 0}
    assert found[by_itself.run_id]["reason"] == "ZeroDivisionError"
    assert found[never_run.run_id]["status"] == "finished"
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["resumed"], summary["retried"]) == (1, 1)
    assert run_sweep(spark, grid, out, retry_failed=True).retried == 1
    assert run_sweep(spark, grid, out).retried == 0


class Ended:
    """A session whose context was stopped: whatever is asked of it, Spark says that."""

    def __getattr__(self, name: str) -> object:
        raise PySparkException("Cannot call methods on a stopped SparkContext.")


def test_a_sweep_whose_spark_is_stopped_blames_no_run(tmp_path: Path) -> None:
    """Every run had been recorded as failed, one after the other, and stayed so."""
    grid, out = grid_of(tmp_path, "seeds = 3\n[scenario.x]\n"), tmp_path / "out"
    with pytest.raises(PySparkException, match="stopped SparkContext"):
        run_sweep(cast(SparkSession, Ended()), grid, out)
    assert rows_of(out) == {}


ENDING = """
networks = ["reliable"]
seeds = 3
[scenario.x]
messages = 50
protocols = ["hybrid", "tests.antecede_lab.sweep.broken:ENDING_SPARK"]
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a worker finds Java by Linux's /proc")
@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGKILL"])
def test_a_sweep_whose_java_ends_says_so_and_goes_on_later(
    spark: SparkSession, tmp_path: Path, signal_name: str
) -> None:
    grid, out = grid_of(tmp_path, ENDING), tmp_path / "out"
    words = ["-m", "antecede", "lab", "sweep", str(tmp_path / "grid.toml"), "--out", str(out)]

    ended = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=os.environ | {ENDS_SPARK: signal_name},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert ended.returncode == 2, ended.stderr
    assert "Error: Spark gave up: " in ended.stderr, ended.stderr
    assert {row["status"] for row in rows_of(out).values()} <= {"finished"}
    assert run_sweep(spark, grid, out).by_status == {"finished": 6}


def test_missing_events_are_made_up_for(spark: SparkSession, tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "networks = 'reliable'\n[scenario.x]\nmessages = 20\n")
    out = tmp_path / "out"
    run_sweep(spark, grid, out)
    assert not (out / "events").exists()
    assert run_sweep(spark, grid, out, events=True).resumed == 0
    assert list(read_runs(out / "events")) == [plan.run_id for plan in grid.plans()]
    assert run_sweep(spark, grid, out, events=True).resumed == 1


def test_jobs_begin_with_the_dearest_runs(grid: Grid) -> None:
    plans = grid.plans() * 40
    jobs = list(jobs_of(plans, cores=2))
    costs = [[job.cost_of(plan) for plan in one] for one in jobs]
    assert sorted(costs[0] + costs[1] + costs[-1], reverse=True) == costs[0] + costs[1] + costs[-1]
    assert sum(len(one) for one in jobs) == len(plans)
    assert all(len(one) <= 64 for one in jobs)


def test_dear_runs_come_in_small_jobs(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "seeds = 9\n[scenario.x]\nmessages = '1M'")
    assert [len(one) for one in jobs_of(grid.plans(), cores=4)] == [4, 4, 1]


def test_many_files_become_one(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, f"seeds = {PARTS_MAX + 5}\n[scenario.x]\n")
    store = RunStore(tmp_path / "runs")
    store.create()
    rows = [job.left_out(plan, "a test") for plan in grid.plans()]
    for row in rows:
        store.add(job.rows_table([row]))
    store.add(job.rows_table([rows[0] | {"reason": "the last word"}]))
    before = sorted(row["reason"] for row in store.read().to_pylist())
    store.tidy()
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert sorted(row["reason"] for row in store.read().to_pylist()) == before
    assert before.count("the last word") == 1
