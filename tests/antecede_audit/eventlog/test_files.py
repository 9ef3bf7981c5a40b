"""Logs on disk: round trips, formats by name, and files that are complete or not there."""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from antecede.core import LocalError
from antecede.eventlog import (
    ALL_COLUMNS,
    COLUMNS,
    SUBMITTED,
    TRACE_COLUMNS,
    EventLog,
    open_sink,
    record_events,
    write_events,
)
from antecede.eventlog.parquet import event_schema
from antecede_audit.eventlog import read_events
from tests.antecede.eventlog.log_strategies import logs
from tests.antecede.eventlog.sample_logs import Row, small_log, small_rows, write_arrow, write_json

FILE_NAMES = ["run.jsonl", "run.jsonl.gz", "run.parquet"]

# Examples replace each other's file, as any second write does.
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", FILE_NAMES)
@same_folder
@given(log=logs())
def test_what_is_written_is_read_back(name: str, tmp_path: Path, log: EventLog) -> None:
    write_events(tmp_path / name, log)
    copy = read_events(str(tmp_path / name))

    assert list(copy) == list(log)
    assert copy.digest() == log.digest()


@pytest.mark.parametrize("name", FILE_NAMES)
def test_a_log_recorded_block_by_block_is_the_log_written_at_once(
    name: str, tmp_path: Path
) -> None:
    whole = EventLog()
    with open_sink(tmp_path / name) as sink:
        streamed = EventLog(sink, block_rows=3)
        for log in (streamed, whole):
            for sequence in range(10):
                log.append(
                    0, SUBMITTED, 0, sequence, 1, -1, log.intern(f"kind {sequence}"), 0, 0, 0
                )
        streamed.flush()

    copy = read_events(tmp_path / name)
    assert list(copy) == list(whole)
    assert copy.digest() == streamed.digest()


@pytest.mark.parametrize(
    ("name", "write"), [("run.jsonl", write_json), ("run.parquet", write_arrow)]
)
def test_a_log_without_the_columns_of_traces_is_read_as_one_with_nulls(
    name: str, write: Callable[[Path, list[Row]], None], tmp_path: Path
) -> None:
    rows = [{column: row[column] for column in COLUMNS} for row in small_rows()]
    write(tmp_path / name, rows)

    assert list(read_events(tmp_path / name)) == list(small_log())


def test_an_empty_trace_id_is_none(tmp_path: Path) -> None:
    write_json(tmp_path / "run.jsonl", [row | {"trace_id": ""} for row in small_rows()])

    assert {event.trace_id for event in read_events(tmp_path / "run.jsonl")} == {None}


@pytest.mark.parametrize("name", FILE_NAMES)
def test_recording_flushes_and_then_lets_the_file_appear(name: str, tmp_path: Path) -> None:
    with record_events(tmp_path / name) as log:
        log.append(0, SUBMITTED, 0, 1, 1, -1, -1, 0, 0, 0)
        assert not (tmp_path / name).exists()

    assert len(read_events(tmp_path / name)) == 1
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", FILE_NAMES)
def test_a_run_that_fails_leaves_the_old_file_and_no_other(name: str, tmp_path: Path) -> None:
    write_events(tmp_path / name, small_log())

    with pytest.raises(OSError, match="something else"):
        record_and_fail(tmp_path / name)

    assert list(read_events(tmp_path / name)) == list(small_log())
    assert [file.name for file in tmp_path.iterdir()] == [name]


def record_and_fail(path: Path) -> None:
    with record_events(path) as log:
        log.append(0, SUBMITTED, 0, 1, 1, -1, -1, 0, 0, 0)
        raise OSError("something else")


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_equal_logs_make_equal_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_events(tmp_path / name, small_log())
    write_events(tmp_path / "other" / name, small_log())

    assert (tmp_path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_gzip_file_does_not_say_when_it_was_made_or_under_which_name(tmp_path: Path) -> None:
    write_events(tmp_path / "run.jsonl.gz", small_log())

    header = (tmp_path / "run.jsonl.gz").read_bytes()[:8]

    assert header[3] == 0  # no flag is set, so no name follows
    assert header[4:8] == bytes(4)


def test_a_json_line_has_every_column_in_order_and_its_nulls(tmp_path: Path) -> None:
    write_events(tmp_path / "run.jsonl.gz", small_log())

    lines = gzip.decompress((tmp_path / "run.jsonl.gz").read_bytes()).decode().splitlines()

    assert lines[0] == (
        '{"process":0,"position":0,"kind":"submitted","sender":0,"sequence":1,"target":1,'
        '"packet":null,"packet_kind":null,"time_ns":10,"payload_bytes":5,"metadata_bytes":0}'
    )
    untraced = {"trace_id": None, "span_id": None}
    assert [json.loads(line) | untraced for line in lines] == small_rows()


def test_parquet_has_the_types_of_the_schema(tmp_path: Path) -> None:
    write_events(tmp_path / "run.parquet", small_log())

    table = pq.ParquetFile(tmp_path / "run.parquet").read()

    assert {field.name: str(field.type) for field in table.schema} == {
        "process": "int32",
        "position": "int64",
        "kind": "string",
        "sender": "int32",
        "sequence": "int64",
        "target": "int32",
        "packet": "int64",
        "packet_kind": "string",
        "time_ns": "int64",
        "payload_bytes": "int32",
        "metadata_bytes": "int32",
        "trace_id": "string",
        "span_id": "string",
    }
    nullable = [field.name for field in table.schema if field.nullable]
    assert nullable == ["sender", "sequence", "target", "packet", "packet_kind", *TRACE_COLUMNS]
    assert table.schema.names == list(ALL_COLUMNS)
    assert table.to_pylist() == small_rows()


def test_parquet_rows_may_come_in_any_order(tmp_path: Path) -> None:
    write_arrow(tmp_path / "run.parquet", small_rows()[::-1])

    assert read_events(tmp_path / "run.parquet").digest() == small_log().digest()


def test_parquet_columns_may_have_wider_types_and_company(tmp_path: Path) -> None:
    write_arrow(tmp_path / "run.parquet", [row | {"note": "x"} for row in small_rows()])

    assert list(read_events(tmp_path / "run.parquet")) == list(small_log())


def test_a_value_that_does_not_fit_its_column_is_not_written(tmp_path: Path) -> None:
    log = EventLog()
    log.append(0, SUBMITTED, 0, 1, 1, -1, -1, 0, 1 << 31, 0)

    with pytest.raises(LocalError, match="column 'payload_bytes' does not fit int32"):
        write_events(tmp_path / "run.parquet", log)

    assert list(tmp_path.iterdir()) == []


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    write_events(tmp_path / "run.jsonl", small_log())
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    (tmp_path / "run.jsonl").write_text("\n\n".join(lines) + "\n \n")

    assert list(read_events(tmp_path / "run.jsonl")) == list(small_log())


@pytest.mark.parametrize("name", FILE_NAMES)
def test_a_folder_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "absent" / name

    with pytest.raises(LocalError) as caught:
        write_events(path, small_log())

    assert str(caught.value).startswith(f"cannot write {path}: ")


def test_a_log_whose_rows_are_elsewhere_is_not_written(tmp_path: Path) -> None:
    with record_events(tmp_path / "run.jsonl") as log:
        log.append(0, SUBMITTED, 0, 1, 1, -1, -1, 0, 0, 0)

    with pytest.raises(LocalError, match="went to its sink"):
        write_events(tmp_path / "copy.jsonl", log)

    assert not (tmp_path / "copy.jsonl").exists()


@pytest.mark.parametrize("name", ["run.csv", "run", "run.json", "run.gz"])
def test_a_file_without_a_known_suffix_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("")

    with pytest.raises(LocalError, match=r"ends in none of \.jsonl, \.jsonl\.gz, \.parquet"):
        read_events(tmp_path / name)
    with pytest.raises(LocalError, match="needs a run id"):
        write_events(tmp_path / name, small_log())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"cannot read .*absent\.jsonl: there is no such file"):
        read_events(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("name", ["run.parquet", "dataset"])
def test_without_pyarrow_parquet_says_what_to_install(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_events(tmp_path / "there.parquet", small_log())
    for module in [module for module in sys.modules if module.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)

    for attempt in (
        lambda: read_events(tmp_path / "there.parquet"),
        lambda: write_events(tmp_path / name, small_log(), "1" if name == "dataset" else None),
    ):
        with pytest.raises(LocalError, match=r"pip install '\.\[lab\]'"):
            attempt()
    write_events(tmp_path / "run.jsonl", small_log())
    assert list(read_events(tmp_path / "run.jsonl")) == list(small_log())


def test_without_numpy_the_same_columns_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_events(tmp_path / "with.parquet", small_log())
    monkeypatch.setitem(sys.modules, "numpy", None)
    write_events(tmp_path / "without.parquet", small_log())

    assert (tmp_path / "with.parquet").read_bytes() == (tmp_path / "without.parquet").read_bytes()


def test_other_readers_see_plain_columns(tmp_path: Path) -> None:
    write_events(tmp_path / "run.parquet", small_log())

    assert pq.read_schema(tmp_path / "run.parquet") == event_schema()
