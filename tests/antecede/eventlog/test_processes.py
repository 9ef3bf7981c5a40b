"""The table of processes: what is written is read, merged, and checked."""

from pathlib import Path

import pytest

from antecede.core import LocalError
from antecede.eventlog.processes import (
    processes_file,
    processes_folder,
    read_processes,
    write_processes,
)

NAMES = {7: "alice", 2: "Größe #2"}


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".jsonl.gz"])
def test_names_are_read_as_they_were_written(suffix: str, tmp_path: Path) -> None:
    folder = processes_folder(tmp_path, "live")
    folder.mkdir(parents=True)
    write_processes(folder / f"a{suffix}", NAMES)

    assert read_processes(tmp_path) == NAMES
    assert read_processes(tmp_path, "live") == NAMES


def test_the_tables_of_several_recorders_are_one(tmp_path: Path) -> None:
    folder = processes_folder(tmp_path, "live")
    folder.mkdir(parents=True)
    write_processes(folder / "a.parquet", {7: "alice", 8: "bob"})
    write_processes(folder / "b.jsonl", {8: "bob", 9: "carol"})

    assert read_processes(tmp_path) == {7: "alice", 8: "bob", 9: "carol"}


def test_a_contradiction_is_refused(tmp_path: Path) -> None:
    folder = processes_folder(tmp_path, "live")
    folder.mkdir(parents=True)
    write_processes(folder / "a.jsonl", {7: "alice"})
    write_processes(folder / "b.jsonl", {7: "bob"})

    with pytest.raises(
        LocalError, match=r"b.jsonl, row 1: process 7 is called 'bob' here, 'alice' elsewhere"
    ):
        read_processes(tmp_path)


def test_a_single_file_has_its_names_next_to_it(tmp_path: Path) -> None:
    write_processes(processes_file(tmp_path / "run.jsonl.gz"), NAMES)

    assert (tmp_path / "run.processes.jsonl").exists()
    assert read_processes(tmp_path / "run.jsonl.gz") == NAMES


def test_without_a_table_there_are_no_names(tmp_path: Path) -> None:
    assert read_processes(tmp_path) == {}
    assert read_processes(tmp_path / "run.jsonl") == {}


def test_a_wrong_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.processes.jsonl").write_text('{"process": 1, "name": 2}\n')

    with pytest.raises(LocalError, match=r"run.processes.jsonl, row 1: column 'name' must be"):
        read_processes(tmp_path / "run.jsonl")
