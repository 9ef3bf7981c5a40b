"""The audit as a whole: what it reads, what it writes, and what it says."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.core.errors import LocalError
from antecede.eventlog import EventLog, write_events
from antecede.eventlog.processes import processes_folder, write_processes
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_audit.jobs.event_logs import find_source
from antecede_audit.judging import VIOLATION_COLUMNS, Violation, check_log
from antecede_audit.judging.finding_tables import DUPLICATES, INVENTIONS, LOSSES, VIOLATIONS
from antecede_audit.judging.findings import IDENTITY_COLUMNS
from antecede_audit.judging.summary import AuditResult
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.schemas import EVENTS
from antecede_audit.spark.witnesses import with_witnesses, within_search_limit
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Poisson
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, NAMES, Story

MS = 1_000_000


def triangle() -> EventLog:
    """Alice writes to Carol, then to Bob; Bob's answer overtakes at Carol."""
    story = Story()
    slow = story.send(ALICE, CAROL)
    relay = story.send(ALICE, BOB)
    story.deliver(BOB, relay)
    answer = story.send(BOB, CAROL)
    story.deliver(CAROL, answer, slow)
    return story.log


def sloppy() -> EventLog:
    """Causal order is kept, but one message is lost and another delivered twice."""
    story = Story()
    story.send(ALICE, BOB)
    twice = story.send(ALICE, CAROL)
    story.deliver(CAROL, twice, twice)
    return story.log


def plain(kind: object) -> str:
    """A type without the name that the entries of a map have."""
    return re.sub(r" \('.*'\)", "", str(kind))


def table_rows(out: Path, name: str) -> list[tuple[object, ...]]:
    table = pq.read_table(out / name)
    if name == "violations":
        table = table.select(["run_id", *VIOLATION_COLUMNS])
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditResult, Path]:
    """An audit of a dataset of two runs, one with names, and of a JSON lines file."""
    folder = tmp_path_factory.mktemp("told")
    dataset = folder / "live"
    write_events(dataset / "events", triangle(), run_id="2024")
    write_events(dataset / "events", sloppy(), run_id="sloppy")
    names = processes_folder(dataset / "events", "2024")
    names.mkdir(parents=True)
    write_processes(names / "names.parquet", NAMES)
    write_events(folder / "again.jsonl.gz", triangle())
    paths = [str(dataset), str(folder / "again.jsonl.gz")]
    return audit_logs(spark, paths, str(folder / "out"), explain=3), folder / "out"


def test_tables_hold_what_was_found(told: tuple[AuditResult, Path]) -> None:
    _, out = told
    (violation,) = check_log(triangle()).violations

    assert table_rows(out, "violations") == [
        ("2024", *violation.row()),
        ("again", *violation.row()),
    ]
    assert table_rows(out, "duplicates") == [("sloppy", CAROL, ALICE, 2, 2, 3_000, 4_000)]
    assert table_rows(out, "losses") == [("sloppy", BOB, ALICE, 1, 1_000)]
    assert table_rows(out, "inventions") == []


def test_tables_have_the_columns_they_are_documented_with(told: tuple[AuditResult, Path]) -> None:
    _, out = told
    for name, schema in (
        ("violations", VIOLATIONS),
        ("duplicates", DUPLICATES),
        ("losses", LOSSES),
        ("inventions", INVENTIONS),
    ):
        columns = pq.read_schema(next((out / name).glob("*.parquet")))
        assert [(field.name, plain(field.type)) for field in columns] == [
            (field.name, plain(field.type)) for field in schema
        ]
    attributes = ["early_attributes", "late_attributes"]
    grade = ["grade"]
    assert VIOLATIONS.names == [
        *("run_id", *VIOLATION_COLUMNS, *grade),
        *(*IDENTITY_COLUMNS, *attributes),
    ]


def test_the_summary_counts_everything(told: tuple[AuditResult, Path]) -> None:
    found, out = told
    held_back_ns = check_log(triangle()).violations[0].held_back_ns
    summary = json.loads((out / "summary.json").read_text())

    assert summary == found.summary.as_object()
    channels = summary.pop("channels")
    assert summary == {
        "events": 16,
        "messages": 8,
        "deliveries": 8,
        "processes": 3,
        "runs": 3,
        "violations": {"fifo": 0, "transitive": 2},
        "order": "process",
        "violations_by_order": {"process": 2, "trace": 2},
        "duplicates": 1,
        "losses": 1,
        "inventions": 0,
        "self_caused": 0,
        "cut_off": {},
        "unknown": {"losses": 0, "inventions": 0},
        "grades": {"recorded": 2, "clear": 0, "possible": 0},
        "held_back_ns": dict.fromkeys(("p50", "p90", "p99", "max"), held_back_ns),
        "method": {
            "slices": 1,
            "overlap_ns": 0,
            "long_flights": 0,
            "sequential": {},
            "clock_offsets_ns": {},
            "blurred": {},
        },
    }
    assert channels[0] == {
        "run_id": "2024",
        "process": CAROL,
        "early_sender": BOB,
        "late_sender": ALICE,
        "violations": 1,
        "held_back_ns": held_back_ns,
        "held_back_ns_max": held_back_ns,
    }


def test_the_worst_come_with_the_oracles_witnesses(told: tuple[AuditResult, Path]) -> None:
    found, _ = told
    violations: list[Violation] = check_log(triangle()).violations
    assert found.worst == [("2024", violations[0]), ("again", violations[0])]
    assert found.names == {"2024": NAMES, "again": {}}


def test_reasons_are_looked_for_as_long_as_there_is_room() -> None:
    """By number: how many events there are to look at."""
    assert within_search_limit({2: 3, 0: 5, 1: 6}, events_max=6, total_max=14) == [0, 1, 2]
    assert within_search_limit({2: 3, 0: 5, 1: 6}, events_max=5, total_max=14) == [0, 2]
    assert within_search_limit({2: 3, 0: 5, 1: 6}, events_max=6, total_max=13) == [0, 1]
    assert within_search_limit({2: 3, 0: 5, 1: 6}, events_max=9, total_max=4) == [2]


def test_what_there_is_no_room_for_is_told_without_its_reason(spark: SparkSession) -> None:
    rows = [asdict(event) for event in triangle()]
    events = spark.createDataFrame(rows, EVENTS).withColumn("run_id", F.lit("run"))
    (violation,) = check_log(triangle()).violations
    bare = [("run", replace(violation, witness=()))]

    assert with_witnesses(events, bare, [], "process", total_max=5) == [("run", violation)]
    assert with_witnesses(events, bare, [], "process", total_max=4) == bare


def test_a_simulated_run_of_none_and_of_hybrid(spark: SparkSession, tmp_path: Path) -> None:
    """On the same network, one delivers as it comes, the other in causal order."""
    logs = {}
    for protocol in ("none", "hybrid"):
        result = simulate(
            protocol,
            Poisson(5, messages=1_000, interval_ns=2 * MS, seed=1),
            faults=Faults(latency=Uniform(MS, 40 * MS), loss=0.01),
            patience_ns=50 * MS,
            record=True,
        )
        assert result.log is not None
        logs[protocol] = result.log
        write_events(tmp_path / f"{protocol}.parquet", result.log)
    paths = [str(tmp_path / f"{protocol}.parquet") for protocol in logs]

    found = audit_logs(spark, paths, str(tmp_path / "out"), slice_copies=200)

    oracle = check_log(logs["none"], witnesses=False)
    rows = table_rows(tmp_path / "out", "violations")
    assert rows == sorted(("none", *violation.row()) for violation in oracle.violations)
    assert len(rows) > 50
    assert found.summary.method.slices > 2, "one run has several"
    assert found.summary.events == len(logs["none"]) + len(logs["hybrid"])


def test_two_runs_of_the_same_name_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_events(tmp_path / folder / "log.parquet", triangle())
    paths = [str(tmp_path / folder / "log.parquet") for folder in ("a", "b")]

    audit_logs(spark, paths, str(tmp_path / "out"))

    names = [row[0] for row in table_rows(tmp_path / "out", "violations")]
    assert names == [f"{path}: log" for path in paths]


def test_a_log_without_events_has_nothing_wrong_with_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_events(tmp_path / "empty.parquet", EventLog())
    found = audit_logs(spark, [str(tmp_path / "empty.parquet")], str(tmp_path / "out"), explain=1)

    assert found.summary.causal
    assert found.summary.events == 0
    assert table_rows(tmp_path / "out", "violations") == []


def test_rows_that_lack_what_every_row_has_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"process": 1, "kind": "delivered"}\n')
    with pytest.raises(LocalError, match="a line of it: column 'position' is missing"):
        audit_logs(spark, [str(tmp_path / "odd.jsonl")], str(tmp_path / "out"))


def test_a_path_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="there is no such file"):
        find_source(str(tmp_path / "nothing"))
    with pytest.raises(LocalError, match="neither Parquet files nor"):
        find_source(str(tmp_path))


def test_a_remote_path_is_left_to_spark() -> None:
    with pytest.raises(LocalError, match="only Spark can read it"):
        find_source("hdfs://name/traces/events")
