"""Several runs in one directory, laid out as Spark and Hive do it."""

from pathlib import Path

import pyarrow.dataset as ds
import pytest

from antecede.core import LocalError
from antecede.eventlog import SUBMITTED, EventLog, record_events, write_events
from antecede.eventlog.layout import file_stem
from antecede_audit.eventlog import read_events, read_runs
from tests.antecede.eventlog.sample_logs import small_log, small_rows, write_arrow, write_json

AWKWARD = ["plain", "with space", "a/b", "k=v", "50%", "50%25", "Größe", ".", "..", 'q"?*:[x]^{\\']


def test_no_two_recorders_call_their_files_the_same() -> None:
    names = [*AWKWARD, "~", "a~", "a%7E", "a%257E", ".a", "%2Ea", "_a", "%5Fa"]
    stems = [file_stem(name, generation) for name in names for generation in (1, 2)]
    assert len(set(stems)) == len(stems)


def log_of_length(length: int) -> EventLog:
    log = EventLog()
    for sequence in range(length):
        log.append(0, SUBMITTED, 0, sequence, 1, -1, -1, 0, 0, 0)
    return log


def test_runs_are_written_side_by_side_and_read_by_their_ids(tmp_path: Path) -> None:
    for length, run_id in enumerate(AWKWARD):
        write_events(tmp_path / "events", log_of_length(length), run_id)

    runs = read_runs(tmp_path / "events")

    assert {run_id: len(log) for run_id, log in runs.items()} == {
        run_id: length for length, run_id in enumerate(AWKWARD)
    }
    for length, run_id in enumerate(AWKWARD):
        assert len(read_events(tmp_path / "events", run_id)) == length


def test_the_layout_is_the_one_that_other_readers_of_datasets_know(tmp_path: Path) -> None:
    for run_id in AWKWARD:
        write_events(tmp_path / "events", log_of_length(1), run_id)

    partitioning = ds.HivePartitioning.discover(infer_dictionary=False)
    table = ds.dataset(tmp_path / "events", partitioning=partitioning).to_table()

    assert sorted(table["run_id"].to_pylist()) == sorted(AWKWARD)


def test_a_run_is_replaced_without_touching_the_others(tmp_path: Path) -> None:
    write_events(tmp_path, log_of_length(1), "a")
    write_events(tmp_path, log_of_length(2), "b")
    write_events(tmp_path, log_of_length(3), "a")

    assert {run_id: len(log) for run_id, log in read_runs(tmp_path).items()} == {"a": 3, "b": 2}


def test_the_only_run_needs_no_name(tmp_path: Path) -> None:
    with record_events(tmp_path / "events", run_id="only") as log:
        log.append(0, SUBMITTED, 0, 1, 1, -1, -1, 0, 0, 0)

    assert len(read_events(tmp_path / "events")) == 1


def test_one_of_several_runs_must_be_named(tmp_path: Path) -> None:
    for run_id in "abcdefg":
        write_events(tmp_path, log_of_length(1), run_id)

    with pytest.raises(LocalError, match="holds 7 runs: 'a', 'b', 'c', 'd', 'e' and 2 more"):
        read_events(tmp_path)
    with pytest.raises(LocalError, match="has no run 'x'; it has 'a', 'b'"):
        read_events(tmp_path, "x")


def test_part_files_make_one_run_whatever_their_order(tmp_path: Path) -> None:
    rows = small_rows()
    folder = tmp_path / "run_id=7"
    folder.mkdir()
    write_arrow(folder / "part-00000.parquet", rows[3:])
    write_arrow(folder / "part-00001.parquet", rows[:3])
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.parquet.crc").touch()
    (folder / ".hidden.parquet").touch()

    assert read_events(tmp_path).digest() == small_log().digest()


def test_part_files_without_a_run_id_are_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "run.parquet"
    folder.mkdir()
    write_arrow(folder / "part-00000.parquet", small_rows()[:2])
    write_arrow(folder / "part-00001.parquet", small_rows()[2:])

    assert list(read_events(folder)) == list(small_log())
    assert list(read_runs(folder)) == ["run.parquet"]


def test_a_file_goes_by_its_name(tmp_path: Path) -> None:
    write_events(tmp_path / "seed-7.jsonl.gz", small_log())

    assert list(read_runs(tmp_path / "seed-7.jsonl.gz")) == ["seed-7"]


@pytest.mark.parametrize("folder", ["empty", "run_id=3"])
def test_a_directory_without_data_is_refused(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()

    with pytest.raises(
        LocalError, match=f"{folder} holds neither Parquet files nor JSON lines nor run_id="
    ):
        read_events(tmp_path / folder if folder == "empty" else tmp_path)


def test_an_empty_run_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="must not be empty"):
        write_events(tmp_path, small_log(), "")


def test_a_single_file_takes_no_run_id(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="holds one run"):
        write_events(tmp_path / "run.parquet", small_log(), "a")


def test_part_files_may_be_json_lines(tmp_path: Path) -> None:
    folder = tmp_path / "run_id=7"
    folder.mkdir()
    write_json(folder / "a-1.jsonl", small_rows()[:2])
    write_json(folder / "a-2.jsonl", small_rows()[2:])

    assert list(read_events(tmp_path)) == list(small_log())


def test_part_files_of_both_formats_make_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "run_id=7"
    folder.mkdir()
    write_json(folder / "a.jsonl", small_rows()[:2])
    write_arrow(folder / "b.parquet", small_rows()[2:])

    assert read_events(tmp_path).digest() == small_log().digest()


def test_an_error_in_a_part_file_names_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "run_id=7"
    folder.mkdir()
    write_json(folder / "a-1.jsonl", small_rows()[:2])
    write_json(folder / "a-2.jsonl", [small_rows()[1]])

    with pytest.raises(LocalError, match=r"a-2.jsonl, line 1: column 'position' is 1, but"):
        read_events(tmp_path)
