"""A row that breaks the rules of the event log is refused at every entrance for the same reason."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.layout import partition_folder
from antecede.eventlog.rules import JUDGED
from antecede_audit.eventlog import WorkloadRow, read_events, write_workload
from antecede_audit.eventlog.tables import parse_lines
from antecede_audit.jobs.audit import audit_here
from antecede_audit.jobs.measure import measure_here
from antecede_audit.jobs.profile import profile_here
from antecede_audit.report.spacetime.recording import rows_of_files
from antecede_audit.spark import audit as library
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.measure import measure_logs
from antecede_audit.spark.measure import read_events as read_log_of_profile
from antecede_audit.spark.pieces import handed_over, read_here
from antecede_audit.spark.survey import survey_batches
from antecede_audit.spark.watch.reading import rejected_in
from antecede_audit.spark.watch.state import WatchSettings
from antecede_audit.spark.watch.watch import Format, watch
from tests.antecede.eventlog.malformed import (
    JUDGED_CHANGES,
    MEASURED_CHANGES,
    MISTYPED_CHANGES,
    changed,
)
from tests.antecede.eventlog.sample_logs import Row, small_rows, write_arrow, write_json

WRITERS = {"run.parquet": write_arrow, "run.jsonl": write_json}
ALL_CHANGES = [*JUDGED_CHANGES, *MEASURED_CHANGES]


def reads(path: Path) -> None:
    read_events(path)


def draws(path: Path) -> None:
    rows_of_files([path])


def measures(path: Path) -> None:
    measure_here([str(path)])


def audits(path: Path) -> None:
    audit_here([str(path)], str(path.parent / "out"), explain=1)


def looks(path: Path) -> None:
    """What a worker of Spark does with a part of the log."""
    if path.suffix == ".parquet":
        place = {"source": [0], "run_id": ["run"], "file": [str(path)], "part": [0], "of": [1]}
        batches, read = [pa.RecordBatch.from_pydict(place)], read_here
    else:
        lines = pa.RecordBatch.from_pydict({"value": path.read_text().splitlines()})
        table = pa.Table.from_batches(parse_lines(iter([lines]), [*JUDGED, "trace_id"], []))
        table = table.append_column("run_id", pa.array(["run"] * len(table)))
        table = table.append_column("source", pa.array([0] * len(table)))
        batches, read = table.combine_chunks().to_batches(), handed_over
    for found in survey_batches(iter(batches), read):
        for wrong in found.column("wrong").to_pylist():
            if wrong is not None:
                raise LocalError(wrong)


JUDGES: list[Callable[[Path], None]] = [audits, looks]
READERS: list[Callable[[Path], None]] = [reads, draws, measures]


def said_by(read: Callable[[Path], None], path: Path) -> str:
    with pytest.raises(LocalError) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    ("index", "change", "reason"), [pytest.param(*case[1:], id=case[0]) for case in ALL_CHANGES]
)
def test_every_reader_gives_the_same_reason(
    index: int, change: Row, reason: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    WRITERS[name](path, changed(index, change))
    is_judged = any(change is case[2] for case in JUDGED_CHANGES)

    for read in (*READERS, *(JUDGES if is_judged else [])):
        assert reason in said_by(read, path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("index", "change", "reason"),
    [pytest.param(*case[1:], id=case[0]) for case in MISTYPED_CHANGES],
)
def test_values_of_another_type_are_refused_in_json(
    index: int, change: Row, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    write_json(path, changed(index, change))

    for read in (*READERS, *JUDGES):
        assert reason in said_by(read, path)


@pytest.mark.parametrize("name", WRITERS)
def test_judges_do_not_mind_what_they_do_not_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path, changed(1, {"payload_bytes": -1}))

    for read in JUDGES:
        read(path)


def test_a_reason_names_the_row_or_the_line(tmp_path: Path) -> None:
    for name, write in WRITERS.items():
        write(tmp_path / name, changed(3, {"process": -2}))
    table, lines = (tmp_path / name for name in WRITERS)

    for read in (reads, draws, measures, audits):
        assert said_by(read, lines).startswith(f"{lines}, line 4: ")
        assert said_by(read, table).startswith(f"{table}, row ")
    assert said_by(looks, table).startswith(f"{table}, row 4: ")


def test_a_part_of_a_long_run_is_checked_before_it_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    cases: list[tuple[Row, str]] = [
        ({"process": -2}, "column 'process' is -2, outside"),
        ({"time_ns": None}, "column 'time_ns' must have an integer in every row"),
    ]
    for change, reason in cases:
        write_arrow(path, changed(0, change))
        with pytest.raises(LocalError, match=reason):
            rows_of_files([path], most=4)


def test_a_profile_checks_the_log_beside_its_workload(spark: SparkSession, tmp_path: Path) -> None:
    workload = partition_folder(tmp_path / "workload", "run")
    events = partition_folder(tmp_path / "events", "run")
    row = WorkloadRow(message_id=0, sender=0, targets=(1,), causes=(), delay_ns=0, payload_bytes=5)
    for folder in (workload, events):
        folder.mkdir(parents=True)
    write_workload(workload / "part.parquet", [row])
    write_arrow(events / "part.parquet", changed(2, {"process": 1 << 40}))
    reason = "column 'process' is 1099511627776, outside 0 to 2147483647"

    with pytest.raises(LocalError, match=reason):
        profile_here(str(tmp_path), str(tmp_path / "out"))
    with pytest.raises(LocalError, match=reason):
        read_log_of_profile(spark, str(tmp_path))
    assert not (tmp_path / "out").exists()


def test_spark_refuses_what_its_workers_find(spark: SparkSession, tmp_path: Path) -> None:
    """Files that workers read, files that Spark reads, and rows that somebody hands over."""
    table, lines = tmp_path / "run.parquet", tmp_path / "run.jsonl"
    write_arrow(table, changed(2, {"process": 1 << 40}))
    write_json(lines, changed(0, {"target": None}))
    out = str(tmp_path / "out")

    with pytest.raises(LocalError, match="row 3: column 'process' is 1099511627776, outside"):
        audit_logs(spark, [str(table)], out)
    with pytest.raises(LocalError, match="column 'target' is null in a submitted row"):
        audit_logs(spark, [str(lines)], out)
    with pytest.raises(LocalError, match="run: column 'process' is 1099511627776, outside 0 to"):
        library.audit(spark.read.parquet(str(table)))
    write_arrow(table, changed(1, {"payload_bytes": -1}))
    with pytest.raises(LocalError, match="column 'payload_bytes' is -1, outside 0 to"):
        measure_logs(spark, [str(table)])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("format_name", "name"), [("parquet", "run.parquet"), ("json", "run.jsonl")]
)
def test_a_watch_sets_wrong_rows_aside_with_the_reason(
    format_name: Format, name: str, spark: SparkSession, tmp_path: Path
) -> None:
    """And judges the others: here one run of which every row is right."""
    for case, index, change, _ in JUDGED_CHANGES:
        (tmp_path / "log" / f"run_id={case}").mkdir(parents=True)
        WRITERS[name](tmp_path / "log" / f"run_id={case}" / name, changed(index, change))
    (tmp_path / "log" / "run_id=right").mkdir()
    rows = [row for row in small_rows() if row["kind"] != "delivered"]
    WRITERS[name](tmp_path / "log" / "run_id=right" / name, rows)
    settings = WatchSettings(lost_after_ns=0, patience_ns=0)
    start = partial(watch, spark, str(tmp_path / "log"), str(tmp_path / "out"), settings)
    start(format_name=format_name, once=True).awaitTermination()

    rejects = pq.read_table(tmp_path / "out" / "rejects").to_pylist()
    by_run = {row["source"].rpartition("run_id=")[2]: row["reason"] for row in rejects}
    assert len(rejects) == len(by_run) == len(JUDGED_CHANGES)
    for case, _, _, reason in JUDGED_CHANGES:
        assert reason in by_run[f"{case.replace(' ', '%20')}/{name}"]
    assert rejected_in(str(tmp_path / "out" / "rejects" / "batch=0")) == len(rejects)
    losses = pq.read_table(tmp_path / "out" / "losses").to_pylist()
    assert [row["run_id"] for row in losses if row["run_id"] == "right"] == ["right"]
