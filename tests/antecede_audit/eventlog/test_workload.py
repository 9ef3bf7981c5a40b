"""Workload tables: round trips, and rows that no run could perform."""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antecede.core import LocalError
from antecede_audit.eventlog import WorkloadRow, check_workload, read_workload, write_workload
from tests.antecede.eventlog.sample_logs import write_arrow

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def row(
    message_id: int, sender: int, targets: tuple[int, ...], causes: tuple[int, ...] = ()
) -> WorkloadRow:
    return WorkloadRow(
        message_id=message_id,
        sender=sender,
        targets=targets,
        causes=causes,
        delay_ns=1000 + message_id,
        payload_bytes=64,
    )


RELAY = [row(1, 0, (1, 2)), row(2, 1, (2,), (1,)), row(3, 2, (0, 2), (1, 2)), row(4, 2, (1,), (3,))]


@st.composite
def workloads(draw: st.DrawFn) -> list[WorkloadRow]:
    """Rows whose causes were sent to their sender, in any order."""
    rows: list[WorkloadRow] = []
    for number in range(draw(st.integers(0, 8))):
        sender = draw(st.integers(0, 3))
        possible = [earlier.message_id for earlier in rows if sender in earlier.targets]
        rows.append(
            WorkloadRow(
                message_id=number * 1_000_000_007,
                sender=sender,
                targets=tuple(draw(st.lists(st.integers(0, 3), min_size=1, unique=True))),
                causes=tuple(draw(st.lists(st.sampled_from(possible), unique=True)))
                if possible
                else (),
                delay_ns=draw(st.sampled_from([0, 1, (1 << 63) - 1])),
                payload_bytes=draw(st.sampled_from([0, 64, (1 << 31) - 1])),
            )
        )
    return draw(st.permutations(rows))


@pytest.mark.parametrize("name", ["load.jsonl", "load.jsonl.gz", "load.parquet"])
@same_folder
@given(rows=workloads())
def test_what_is_written_is_read_back(name: str, tmp_path: Path, rows: list[WorkloadRow]) -> None:
    write_workload(tmp_path / name, rows)

    assert read_workload(tmp_path / name) == rows
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_parquet_has_the_types_of_the_schema(tmp_path: Path) -> None:
    write_workload(tmp_path / "load.parquet", RELAY)

    schema = pq.ParquetFile(tmp_path / "load.parquet").schema_arrow

    assert [(field.name, str(field.type)) for field in schema] == [
        ("message_id", "int64"),
        ("sender", "int32"),
        ("targets", "list<element: int32>"),
        ("causes", "list<element: int64>"),
        ("delay_ns", "int64"),
        ("payload_bytes", "int32"),
    ]


def test_a_run_of_a_dataset_is_read_from_its_part_files(tmp_path: Path) -> None:
    for run_id, rows in [("a", RELAY), ("b", RELAY[:1])]:
        folder = tmp_path / f"run_id={run_id}"
        folder.mkdir()
        for part, some in enumerate([rows[:1], rows[1:]]):
            if some:
                write_workload(folder / f"part-{part}.parquet", [without_causes(r) for r in some])

    assert read_workload(tmp_path, "a") == [without_causes(r) for r in RELAY]
    with pytest.raises(LocalError, match="holds 2 runs: 'a', 'b'"):
        read_workload(tmp_path)


def without_causes(original: WorkloadRow) -> WorkloadRow:
    return row(original.message_id, original.sender, original.targets)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([*RELAY, row(5, 0, (1,), (9,))], "row 5 (message 5): its cause 9 is not in the table"),
        (
            [*RELAY, row(5, 0, (1,), (3, 2))],
            "row 5 (message 5): its cause 2 is never delivered at its sender, 0",
        ),
        (
            [row(7, 0, (1,), (7,))],
            "row 1 (message 7): its cause 7 is never delivered at its sender",
        ),
        ([row(7, 0, (0,), (7,))], "row 1 (message 7): it waits for itself: 7 <- 7"),
        (
            [row(6, 1, (2,), (7,)), row(7, 0, (1,), (8,)), row(8, 1, (0,), (7,))],
            "row 2 (message 7): it waits for itself: 7 <- 8 <- 7",
        ),
        ([*RELAY, row(2, 0, (1,))], "row 5 (message 2): an earlier row has the same message_id"),
        ([row(1, 0, ())], "row 1 (message 1): it has no targets"),
        ([row(1, 0, (2, 1, 2))], "row 1 (message 1): duplicate targets in [2, 1, 2]"),
        ([row(1, -1, (2,))], "row 1 (message 1): column 'sender' is -1, outside"),
        ([row(1, 0, (1 << 31,))], "row 1 (message 1): column 'targets' is 2147483648, outside"),
        ([row(-9000, 0, (1,))], "row 1 (message -9000): column 'message_id' is -9000, outside"),
    ],
)
def test_a_workload_that_no_run_could_perform_is_refused(
    rows: list[WorkloadRow], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(LocalError) as caught:
        check_workload(rows)
    assert str(caught.value).startswith(complaint)

    with pytest.raises(LocalError):
        write_workload(tmp_path / "load.jsonl", rows)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["load.jsonl", "load.parquet"])
def test_a_bad_workload_file_is_named_with_its_row(name: str, tmp_path: Path) -> None:
    fields = [asdict(r) | {"targets": list(r.targets), "causes": [9]} for r in RELAY]
    if name == "load.jsonl":
        (tmp_path / name).write_text("\n".join(json.dumps(f) for f in fields))
    else:
        write_arrow(tmp_path / name, fields)

    with pytest.raises(LocalError) as caught:
        read_workload(tmp_path / name)

    assert str(caught.value) == (
        f"{tmp_path / name}: row 1 (message 1): its cause 9 is not in the table"
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"targets": 3}, "line 2: column 'targets' must be a list of integers, not 3"),
        ({"targets": ["x"]}, "line 2: column 'targets' must be an integer, not 'x'"),
        ({"delay_ns": -1}, "line 2: column 'delay_ns' is -1, outside"),
        ({"payload_bytes": None}, "line 2: column 'payload_bytes' must be an integer, not None"),
    ],
)
def test_a_wrong_column_is_named_with_its_line(
    change: dict[str, object], complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "load.jsonl"
    good = asdict(RELAY[0])
    path.write_text(json.dumps(good) + "\n" + json.dumps(asdict(RELAY[1]) | change))

    with pytest.raises(LocalError) as caught:
        read_workload(path)

    assert str(caught.value).startswith(f"{path}, {complaint}")


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    fields = asdict(RELAY[0])
    del fields["causes"]
    (tmp_path / "load.jsonl").write_text(json.dumps(fields))
    write_arrow(tmp_path / "load.parquet", [fields])

    for name in ["load.jsonl", "load.parquet"]:
        with pytest.raises(LocalError, match="column 'causes' is missing"):
            read_workload(tmp_path / name)


def test_a_name_without_a_known_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="ends in none of"):
        write_workload(tmp_path / "load.csv", RELAY)

    assert list(tmp_path.iterdir()) == []


def test_part_files_of_json_lines_are_read_together(tmp_path: Path) -> None:
    for number, one in enumerate(RELAY):
        (tmp_path / f"part-{number}.jsonl").write_text(json.dumps(asdict(one)) + "\n")

    assert read_workload(tmp_path) == RELAY
