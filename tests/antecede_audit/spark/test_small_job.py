"""Small logs are judged without Spark: the same rows, the same summary."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog import EventLog, write_events
from antecede.eventlog.processes import write_processes
from antecede_audit.eventlog.reader import log_of
from antecede_audit.jobs.audit import audit_here
from antecede_audit.judging import ORDERS, Order
from antecede_audit.judging.summary import TABLES
from antecede_audit.spark.audit import audit_logs
from tests.antecede_audit.judging.random_traffic import hectic, orderly, planted, skewed
from tests.antecede_audit.judging.stories import ALICE, BOB, Story
from tests.antecede_audit.spark.logs_on_disk import Rows, Runs, by_run, oracle_of, write_runs
from tests.antecede_audit.spark.test_equals_oracle import random_runs


def rows_in(out: Path) -> dict[str, Rows]:
    """Everything in the tables of an audit, by run."""
    return by_run({name: pq.read_table(out / name).to_pylist() for name in TABLES})


def columns_in(folder: Path) -> list[tuple[str, str]]:
    """The names and types of a table's columns."""
    schema = pq.read_schema(next(folder.glob("*.parquet")))
    return [(field.name, str(field.type)) for field in schema]


@pytest.fixture(scope="module")
def thousands() -> tuple[Runs, dict[Order, dict[str, Rows]]]:
    """Many runs, and what the oracle says of them by either order."""
    runs = random_runs(1_600, [hectic, planted, orderly, skewed], seed=2)
    return runs, {order: oracle_of(runs, order) for order in ORDERS}


@pytest.mark.parametrize("order", ORDERS)
def test_thousands_of_runs_are_judged_as_the_oracle_does(
    order: Order, thousands: tuple[Runs, dict[Order, dict[str, Rows]]], tmp_path: Path
) -> None:
    runs, oracle = thousands
    path = write_runs(tmp_path / "logs.parquet", runs)
    found = audit_here([path], str(tmp_path / "out"), order=order)

    assert found is not None
    assert rows_in(tmp_path / "out") == oracle[order]
    assert found.summary.runs == len(runs)
    assert found.summary.violations_by_order == {
        each: sum(len(rows.get("violations", [])) for rows in verdicts.values())
        for each, verdicts in oracle.items()
    }
    assert {name.partition("-")[0] for name in found.summary.method.sequential} == {"skewed"}


def test_the_order_of_traces_is_the_default_if_there_are_traces(tmp_path: Path) -> None:
    """Two unrelated requests cross; nobody is to blame."""
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, second, first)
    traced = log_of(replace(event, trace_id=f"t{event.sequence}") for event in story.log)
    write_events(tmp_path / "traced.jsonl", traced)
    write_events(tmp_path / "plain.jsonl", story.log)
    out = str(tmp_path / "out")

    by_trace = audit_here([str(tmp_path / "traced.jsonl")], out)
    by_process = audit_here([str(tmp_path / "traced.jsonl")], out, order="process")
    plain = audit_here([str(tmp_path / "plain.jsonl")], out)

    assert by_trace is not None
    assert by_process is not None
    assert plain is not None
    assert (by_trace.summary.order, by_trace.summary.violation_count) == ("trace", 0)
    assert by_trace.summary.violations_by_order == {"process": 1, "trace": 0}
    assert (by_process.summary.order, by_process.summary.violation_count) == ("process", 1)
    assert (plain.summary.order, plain.summary.violations_by_order["trace"]) == ("process", 1)


def write_mixed(dataset: Path, log: EventLog) -> None:
    """One run recorded as JSON lines, one as Parquet, one by recorders of either kind."""
    for run_id in ("plain", "packed", "columns", "both"):
        (dataset / f"run_id={run_id}").mkdir(parents=True)
    write_events(dataset / "run_id=plain" / "a.jsonl", log)
    write_events(dataset / "run_id=packed" / "a.jsonl.gz", log)
    write_events(dataset / "run_id=columns" / "a.parquet", log)
    for process, name in ((ALICE, "a.jsonl"), (BOB, "b.parquet")):
        own = log_of(event for event in log if event.process == process)
        write_events(dataset / "run_id=both" / name, own)


def test_spark_says_the_same_of_the_same_logs(spark: SparkSession, tmp_path: Path) -> None:
    """Tables, summary, reasons and names: of a table of runs, of a dataset, and of a file."""
    runs = random_runs(20, [hectic, skewed], seed=5)
    write_runs(tmp_path / "many.parquet", runs)
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, second, first)
    write_events(tmp_path / "hectic-1.parquet", story.log)
    write_events(tmp_path / "live" / "events", story.log, run_id="2024")
    write_events(tmp_path / "again.jsonl", story.log)
    write_mixed(tmp_path / "mixed", story.log)
    names = ("many.parquet", "live", "hectic-1.parquet", "again.jsonl", "mixed")
    paths = [str(tmp_path / name) for name in names]

    here = audit_here(paths, str(tmp_path / "here"), explain=9)
    there = audit_logs(spark, paths, str(tmp_path / "there"), explain=9)

    assert here == there
    assert rows_in(tmp_path / "here") == rows_in(tmp_path / "there")
    for name in ("violations", "duplicates", "losses", "inventions"):
        assert columns_in(tmp_path / "here" / name) == columns_in(tmp_path / "there" / name)
    texts = [(tmp_path / place / "summary.json").read_text() for place in ("here", "there")]
    assert texts[0] == texts[1]


def test_large_logs_and_other_places_are_left_to_spark(tmp_path: Path) -> None:
    story = Story()
    story.deliver(BOB, story.send(ALICE, BOB))
    write_events(tmp_path / "log.parquet", story.log)
    write_events(tmp_path / "log.jsonl", story.log)
    out = str(tmp_path / "out")

    assert audit_here([str(tmp_path / "log.parquet")], out, events_max=1) is None
    assert audit_here([str(tmp_path / "log.jsonl")], out, events_max=1) is None
    assert audit_here(["s3a://bucket/log.parquet"], out) is None
    assert audit_here([str(tmp_path / "log.parquet")], "s3a://bucket/out") is None
    assert not (tmp_path / "out").exists()


def test_a_log_without_events_and_one_that_is_none(tmp_path: Path) -> None:
    write_events(tmp_path / "empty.parquet", EventLog())
    found = audit_here([str(tmp_path / "empty.parquet")], str(tmp_path / "out"), explain=1)
    assert found is not None
    assert (found.summary.events, found.summary.causal) == (0, True)
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet")
    for name in ("empty.jsonl", "empty.jsonl.gz"):
        write_events(tmp_path / name, EventLog())
        found = audit_here([str(tmp_path / name)], str(tmp_path / "out"), explain=1)
        assert found is not None
        assert found.summary.events == 0
    with pytest.raises(LocalError, match=r"bad\.parquet"):
        audit_here([str(tmp_path / "bad.parquet")], str(tmp_path / "out"))


def test_files_that_nodes_wrote_side_by_side_are_one_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, second)
    story.deliver(BOB, first)
    (tmp_path / "live").mkdir()
    for process, name in ((ALICE, "alice"), (BOB, "bob")):
        events = [event for event in story.log if event.process == process]
        write_events(tmp_path / "live" / f"{name}.jsonl", log_of(events))
        write_processes(tmp_path / "live" / f"{name}.processes.jsonl", {process: name})
    paths = [str(tmp_path / "live")]
    here = audit_here(paths, str(tmp_path / "here"), explain=1)

    assert here is not None
    assert (here.summary.runs, here.summary.violations["fifo"]) == (1, 1)
    assert here.names == {"live": {ALICE: "alice", BOB: "bob"}}
    assert audit_logs(spark, paths, str(tmp_path / "there"), explain=1) == here


def test_several_runs_in_one_folder_are_not_taken_for_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    story = Story()
    story.deliver(BOB, story.send(ALICE, BOB))
    (tmp_path / "logs").mkdir()
    write_events(tmp_path / "logs" / "one.jsonl", story.log)
    write_events(tmp_path / "logs" / "two.parquet", story.log)
    paths, out = [str(tmp_path / "logs")], str(tmp_path / "out")

    with pytest.raises(LocalError, match="logs: a process has several events at one position"):
        audit_here(paths, out)
    with pytest.raises(LocalError, match="logs: a process has several events at one position"):
        audit_logs(spark, paths, out)
    assert not (tmp_path / "out").exists()


def test_a_row_that_was_logged_twice_is_a_second_delivery(
    spark: SparkSession, tmp_path: Path
) -> None:
    """One file is one run, whatever its positions say."""
    story = Story()
    story.deliver(BOB, story.send(ALICE, BOB))
    write_events(tmp_path / "log.jsonl", story.log)
    lines = (tmp_path / "log.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "log.jsonl").write_text("".join([*lines, lines[-1]]))
    paths = [str(tmp_path / "log.jsonl")]
    here = audit_here(paths, str(tmp_path / "here"))

    assert here is not None
    assert (here.summary.duplicates, here.summary.causal) == (1, True)
    assert audit_logs(spark, paths, str(tmp_path / "there")) == here
