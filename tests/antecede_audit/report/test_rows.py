"""Rows are the same wherever they come from, and parts of long runs can be had."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.parquet import load_pyarrow
from antecede.eventlog.writers import write_events
from antecede_audit.report.spacetime.recording import (
    RecordingRows,
    TimeRange,
    build_run,
    rows_of_files,
    rows_of_log,
)
from tests.antecede_audit.report.logs import overtaken, simulated

MS = 1_000_000


def spelt(rows: RecordingRows) -> list[tuple[object, ...]]:
    """Rows with their packet kinds written out, in order."""
    return sorted(
        (*row[:7], rows.packet_kinds[row[7]] if row[7] >= 0 else "", *row[8:]) for row in rows.rows
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_files_have_the_rows_of_the_log(tmp_path: Path, suffix: str) -> None:
    log = simulated("hybrid", messages=60)
    file = tmp_path / f"run{suffix}"
    write_events(file, log)

    from_file, from_log = rows_of_files([file]), rows_of_log(log)
    assert spelt(from_file) == spelt(from_log)
    assert (from_file.start_ns, from_file.total) == (from_log.start_ns, from_log.total)
    assert from_file.is_whole


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_window_counts_from_the_start_of_the_whole_run(tmp_path: Path, suffix: str) -> None:
    scribe = overtaken()
    scribe_file = tmp_path / f"run{suffix}"
    write_events(scribe_file, scribe.log)
    window = TimeRange(from_ns=2 * MS, to_ns=4 * MS)
    rows = rows_of_files([scribe_file], window)

    assert sorted({row[8] // MS for row in rows.rows}) == [2, 3, 4]
    assert not rows.is_whole
    run = build_run(rows, "part")
    assert run.start_ns == 0
    assert min(run.copies.first_ns(copy) for copy in range(len(run.copies))) == 2 * MS


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_of_a_long_run_the_first_events_are_read(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"run{suffix}"
    write_events(file, overtaken().log)
    rows = rows_of_files([file], most=5)

    assert (len(rows.rows), rows.total) == (6, 12)  # The sixth happened at the same time.
    assert max(row[8] for row in rows.rows) == 2 * MS


def test_the_later_part_of_a_long_run_can_be_had_too(tmp_path: Path) -> None:
    file = tmp_path / "run.parquet"
    write_events(file, overtaken().log)
    rows = rows_of_files([file], TimeRange(from_ns=3 * MS), most=2)

    assert sorted(row[8] // MS for row in rows.rows) == [3, 3]


def test_an_unknown_kind_of_event_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.parquet"
    write_events(file, overtaken().log)
    pa, pq = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.parquet")
    table = pq.read_table(file)
    kinds = ["vanished", *table["kind"].to_pylist()[1:]]
    place = table.schema.get_field_index("kind")
    pq.write_table(table.set_column(place, "kind", pa.array(kinds)), file)

    with pytest.raises(LocalError, match=r"run\.parquet, row 1: column 'kind' is 'vanished'"):
        rows_of_files([file])
