"""The log of a node that was killed: what is left counts, and nobody is blamed for the rest."""

from pathlib import Path

import pytest

from antecede.audit.summary import Audit
from antecede.pipeline.audit.small_job import audit_small
from antecede.trace import write_events
from antecede.trace.leftovers import find_leftovers
from antecede.trace.processes import processes_folder, write_processes
from antecede.trace.restore import log_of
from tests.audit.stories import ALICE, BOB, CAROL, Story


def story() -> Story:
    """Alice and Bob write to each other and to Carol; then Bob is killed."""
    told = Story()
    first = told.send(ALICE, BOB, at=1)
    told.deliver(BOB, first, at=2)
    told.deliver(CAROL, told.send(BOB, CAROL, at=3), at=4)
    told.deliver(CAROL, told.send(BOB, CAROL, at=5), at=6)
    told.deliver(BOB, told.send(ALICE, BOB, at=7), at=8)
    return told


def written(folder: Path, kept: int, suffix: str) -> Path:
    """A folder as nodes leave it, the last rows of Bob's log in an unfinished file."""
    run = folder / "events" / "run_id=1"
    run.mkdir(parents=True)
    log = story().log
    for process, name in ((ALICE, "alice"), (BOB, "bob"), (CAROL, "carol")):
        own = [event for event in log if event.process == process]
        whole = own[:kept] if process == BOB else own
        if whole:
            write_events(run / f"{name}-000001.jsonl", log_of(whole))
        names = processes_folder(folder / "events", "1")
        names.mkdir(parents=True, exist_ok=True)
        write_processes(names / f"{name}{suffix}", {process: name})
    return run


def audited(folder: Path) -> Audit:
    found = audit_small([str(folder)], str(folder / "found"))
    assert found is not None
    return found


def test_lines_that_were_written_count_and_the_rest_is_not_known(tmp_path: Path) -> None:
    run = written(tmp_path, 1, ".jsonl")
    bobs = [event for event in story().log if event.process == BOB]
    write_events(tmp_path / "bob.jsonl", log_of(bobs))
    lines = (tmp_path / "bob.jsonl").read_bytes().splitlines(keepends=True)
    torn = b"".join(lines[1:2]) + lines[2][:20]
    (run / ".bob-000002.jsonl.4711.partial").write_bytes(torn)

    summary = audited(tmp_path).summary

    assert (summary.losses, summary.inventions, summary.messages) == (0, 0, 3)
    assert summary.cut_off == {"1": {str(BOB): 3_000}}
    assert summary.unknown == {"losses": 1, "inventions": 1}


def test_an_unfinished_parquet_file_cannot_be_read_but_says_whose_log_breaks_off(
    tmp_path: Path,
) -> None:
    run = written(tmp_path, 0, ".parquet")
    (run / ".bob-000001.parquet.4711.partial").write_bytes(b"PAR1 and no end")

    summary = audited(tmp_path).summary

    assert summary.cut_off == {"1": {str(BOB): None}}
    assert (summary.losses, summary.inventions) == (0, 0)
    assert summary.unknown == {"losses": 2, "inventions": 2}


def test_without_an_unfinished_file_somebody_is_to_blame(tmp_path: Path) -> None:
    written(tmp_path, 1, ".jsonl")

    summary = audited(tmp_path).summary

    assert (summary.losses, summary.inventions) == (1, 2)
    assert (summary.cut_off, summary.unknown) == ({}, {"losses": 0, "inventions": 0})


def test_a_single_file_whose_last_line_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    bobs = [event for event in story().log if event.process == BOB]
    write_events(tmp_path / "bob.jsonl", log_of(bobs))
    data = (tmp_path / "bob.jsonl").read_bytes()
    (tmp_path / "bob.jsonl").write_bytes(data[:-5])

    found = audit_small([str(tmp_path / "bob.jsonl")], str(tmp_path / "found"))

    assert found is not None
    assert found.summary.events == len(bobs) - 1
    assert found.summary.cut_off == {"bob": {str(BOB): bobs[-2].time_ns}}


@pytest.mark.parametrize("name", ["notes.partial", ".claim", ".bob-000001.csv.1.partial"])
def test_other_files_are_no_logs(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"something")

    assert find_leftovers(tmp_path) == []
