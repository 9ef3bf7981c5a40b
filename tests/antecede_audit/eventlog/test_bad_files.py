"""Files that no run can have written: the error names the file, the line and the column."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from antecede.core import LocalError
from antecede.eventlog import COLUMNS, Event
from antecede.eventlog.parquet import OPTIONAL
from antecede.eventlog.rules import INTEGERS
from antecede_audit.eventlog import log_of, read_events
from tests.antecede.eventlog.sample_logs import Row, small_log, small_rows, write_arrow, write_json

SPOILT = [
    (
        0,
        {"kind": "sent"},
        "column 'kind' is 'sent', not one of submitted, transmitted, arrived, del",
    ),
    (0, {"kind": None}, "column 'kind' is None, not one of"),
    (1, {"position": 2}, "'position' is 2, but the next event of process 0 has position 1"),
    (1, {"position": 0}, "'position' is 0, but the next event of process 0 has position 1"),
    (0, {"position": -1}, "column 'position' is -1, outside 0 to"),
    (2, {"process": -3}, "column 'process' is -3, outside 0 to 2147483647"),
    (4, {"process": 1 << 31}, "column 'process' is 2147483648, outside 0 to 2147483647"),
    (1, {"time_ns": 9}, "column 'time_ns' goes backwards at process 0: 9 after 10"),
    (1, {"time_ns": None}, "column 'time_ns' must be an integer, not None"),
    (3, {"sender": None}, "'sender' and 'sequence' name a message only together"),
    (3, {"sequence": None}, "'sender' and 'sequence' name a message only together"),
    (3, {"sender": None, "sequence": None}, "column 'sender' is null in a delivered row"),
    (0, {"target": None}, "column 'target' is null in a submitted row"),
    (0, {"target": -1}, "column 'target' is -1, outside 0 to"),
    (1, {"packet": -1}, "column 'packet' is -1, outside 0 to"),
    (0, {"payload_bytes": -1}, "column 'payload_bytes' is -1, outside 0 to"),
    (0, {"metadata_bytes": None}, "column 'metadata_bytes' must be an integer, not None"),
]

MISTYPED = [
    (0, {"process": "0"}, "column 'process' must be an integer, not '0'"),
    (0, {"process": 0.0}, "column 'process' must be an integer, not 0.0"),
    (0, {"sequence": True}, "column 'sequence' must be an integer, not True"),
    (0, {"kind": 0}, "column 'kind' is 0, not one of"),
    (1, {"packet_kind": 7}, "column 'packet_kind' must be a string or null, not 7"),
    (0, {"trace_id": 7}, "column 'trace_id' must be a string or null, not 7"),
    (0, {"time_ns": 1 << 63}, "column 'time_ns' is 9223372036854775808, outside"),
]


NEVER_NULL = ["kind", *(name for name, limits in INTEGERS.items() if not limits.nullable)]


def spoilt(index: int, change: Row) -> list[Row]:
    """The rows of a good log, one of them changed."""
    rows = small_rows()
    rows[index] |= change
    return rows


def complaint_about(path: Path) -> str:
    """What reading the file says."""
    with pytest.raises(LocalError) as caught:
        read_events(path)
    return str(caught.value)


@pytest.mark.parametrize(("index", "change", "complaint"), SPOILT + MISTYPED)
def test_a_wrong_value_in_json_lines_is_named_with_its_line(
    index: int, change: Row, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    write_json(path, spoilt(index, change))

    said = complaint_about(path)

    assert said.startswith(f"{path}, line {index + 1}: ")
    assert complaint in said


@pytest.mark.parametrize(("index", "change", "complaint"), SPOILT)
def test_a_wrong_value_in_parquet_is_named_with_its_row(
    index: int, change: Row, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.parquet"
    write_arrow(path, spoilt(index, change))

    said = complaint_about(path)

    assert said.startswith(f"{path}, row ")
    assert complaint in said


@pytest.mark.parametrize(
    ("name", "write", "where", "column"),
    [
        *(("run.jsonl", write_json, ", line 1", column) for column in NEVER_NULL),
        *(("run.parquet", write_arrow, "", column) for column in COLUMNS if column not in OPTIONAL),
    ],
)
def test_a_missing_column_is_named(
    name: str,
    write: Callable[[Path, list[Row]], None],
    where: str,
    column: str,
    tmp_path: Path,
) -> None:
    rows = small_rows()
    for row in rows:
        del row[column]
    write(tmp_path / name, rows)

    said = complaint_about(tmp_path / name)

    assert said == f"{tmp_path / name}{where}: column {column!r} is missing"


@pytest.mark.parametrize(
    ("name", "write"), [("run.jsonl", write_json), ("run.parquet", write_arrow)]
)
def test_columns_about_packets_and_traces_may_be_missing(
    name: str, write: Callable[[Path, list[Row]], None], tmp_path: Path
) -> None:
    rows = [{key: row[key] for key in row if key not in OPTIONAL} for row in small_rows()]
    write(tmp_path / name, rows)

    bare = [
        replace(event, packet=None, packet_kind=None, trace_id=None, span_id=None)
        for event in small_log()
    ]
    assert list(read_events(tmp_path / name)) == bare


@pytest.mark.parametrize("column", ["sender", "sequence", "target"])
def test_a_field_that_json_leaves_out_is_a_null(column: str, tmp_path: Path) -> None:
    rows = small_rows()
    for row in (rows[0], rows[4]):
        del row[column]
    write_json(tmp_path / "run.jsonl", rows)

    assert f"'{column}'" in complaint_about(tmp_path / "run.jsonl")
    rows[0] = small_rows()[0]
    write_json(tmp_path / "run.jsonl", rows)
    if column == "target":
        assert len(read_events(tmp_path / "run.jsonl")) == 5


def test_a_gap_in_parquet_is_found_in_spite_of_sorting(tmp_path: Path) -> None:
    rows = small_rows()
    del rows[2]
    write_arrow(tmp_path / "run.parquet", rows)

    assert complaint_about(tmp_path / "run.parquet") == (
        f"{tmp_path / 'run.parquet'}, row 3: column 'position' is 1, "
        "but the next event of process 1 has position 0"
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{nonsense", "not JSON"),
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1, 2]", "expected a JSON object, not list"),
        (b"null", "expected a JSON object, not NoneType"),
    ],
)
def test_a_line_that_is_no_object_is_named(line: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = json.dumps(small_rows()[0]).encode()
    path.write_bytes(good + b"\n" + (line or good[:-5]) + b"\n")

    said = complaint_about(path)

    assert said.startswith(f"{path}, line 2: ")
    assert complaint in said


def test_a_cut_off_gzip_file_says_how_far_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in small_rows())
    path.write_bytes(gzip.compress(lines)[:-10])

    assert "damaged gzip data" in complaint_about(path)


@pytest.mark.parametrize("name", ["run.jsonl.gz", "run.parquet"])
def test_a_file_that_is_something_else_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("this is a text, and a long enough one to be read as a header")

    assert str(tmp_path / name) in complaint_about(tmp_path / name)


def test_events_in_memory_are_checked_in_the_same_way() -> None:
    with pytest.raises(LocalError, match="the next event of process 0 has position 0"):
        log_of([Event(process=0, position=1, kind="arrived", time_ns=0)])
