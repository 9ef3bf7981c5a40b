"""The log of a node that was killed: what is left counts, and nobody is blamed for the rest."""

import re
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog import write_events
from antecede.eventlog.layout import claim_generation
from antecede.eventlog.processes import processes_folder, write_processes
from antecede.eventlog.writers import PartFileWriter
from antecede_audit.eventlog import read_events
from antecede_audit.eventlog.leftovers import find_leftovers
from antecede_audit.eventlog.reader import log_of
from antecede_audit.jobs.audit import audit_here
from antecede_audit.judging.summary import AuditResult
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, Story


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


def judged(path: Path, out: Path) -> AuditResult:
    found = audit_here([str(path)], str(out))
    assert found is not None
    return found


def test_lines_that_were_written_count_and_the_rest_is_not_known(tmp_path: Path) -> None:
    run = written(tmp_path, 1, ".jsonl")
    bobs = [event for event in story().log if event.process == BOB]
    write_events(tmp_path / "bob.jsonl", log_of(bobs))
    lines = (tmp_path / "bob.jsonl").read_bytes().splitlines(keepends=True)
    torn = b"".join(lines[1:2]) + lines[2][:20]
    (run / ".bob-000002.jsonl.4711.partial").write_bytes(torn)

    summary = judged(tmp_path / "events", tmp_path / "found").summary

    assert (summary.losses, summary.inventions, summary.messages) == (0, 0, 3)
    assert summary.cut_off == {"1": {str(BOB): 3_000}}
    assert summary.unknown == {"losses": 1, "inventions": 1}


def test_an_unfinished_parquet_file_cannot_be_read_but_says_whose_log_breaks_off(
    tmp_path: Path,
) -> None:
    run = written(tmp_path, 0, ".parquet")
    (run / ".bob-000001.parquet.4711.partial").write_bytes(b"PAR1 and no end")

    summary = judged(tmp_path / "events", tmp_path / "found").summary

    assert summary.cut_off == {"1": {str(BOB): None}}
    assert (summary.losses, summary.inventions) == (0, 0)
    assert summary.unknown == {"losses": 2, "inventions": 2}


def test_without_an_unfinished_file_somebody_is_to_blame(tmp_path: Path) -> None:
    written(tmp_path, 1, ".jsonl")

    summary = judged(tmp_path / "events", tmp_path / "found").summary

    assert (summary.losses, summary.inventions) == (1, 2)
    assert (summary.cut_off, summary.unknown) == ({}, {"losses": 0, "inventions": 0})


def test_a_single_file_whose_last_line_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    bobs = [event for event in story().log if event.process == BOB]
    write_events(tmp_path / "bob.jsonl", log_of(bobs))
    data = (tmp_path / "bob.jsonl").read_bytes()
    (tmp_path / "bob.jsonl").write_bytes(data[:-5])

    found = judged(tmp_path / "bob.jsonl", tmp_path / "found")

    assert found.summary.events == len(bobs) - 1
    assert found.summary.cut_off == {"bob": {str(BOB): bobs[-2].time_ns}}


def all_killed(folder: Path, suffix: str) -> Path:
    """A folder as nodes leave it that were all killed before a single file was complete."""
    run = folder / "events" / "run_id=1"
    run.mkdir(parents=True)
    names = processes_folder(folder / "events", "1")
    names.mkdir(parents=True, exist_ok=True)
    log = story().log
    for process, name in ((ALICE, "alice"), (BOB, "bob"), (CAROL, "carol")):
        unfinished = run / f".{name}-000001{suffix}.4711.partial"
        if suffix == ".jsonl":
            write_events(folder / f"{name}.jsonl", log_of(e for e in log if e.process == process))
            unfinished.write_bytes((folder / f"{name}.jsonl").read_bytes()[:-3])
        else:
            unfinished.write_bytes(b"PAR1 and no end")
        write_processes(names / f"{name}{suffix}", {process: name})
    return folder / "events"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1, 2]", "line 1: expected a JSON object, not list"),
        ('{"process": -3}', "line 1: column 'process' is -3, outside 0 to 2147483647"),
        ('{"process": true}', "line 1: column 'process' must be an integer, not True"),
    ],
)
def test_a_wrong_row_in_a_file_that_breaks_off_is_no_empty_log(
    line: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "run.jsonl").write_text(f'{line}\n{{"process": 1, "posit')
    with pytest.raises(LocalError, match=re.escape(reason)):
        judged(tmp_path / "run.jsonl", tmp_path / "out")


def test_if_all_are_killed_what_can_be_read_is_judged(tmp_path: Path) -> None:
    """The last line of each breaks off: Alice's second message, and what came last elsewhere."""
    found = judged(all_killed(tmp_path, ".jsonl"), tmp_path / "found")

    summary = found.summary
    assert summary.cut_off == {"1": {str(ALICE): 1_000, str(BOB): 5_000, str(CAROL): 4_000}}
    assert (summary.messages, summary.deliveries) == (3, 2)
    assert (summary.losses, summary.inventions) == (0, 0)
    assert summary.unknown == {"losses": 1, "inventions": 0}
    assert found.names["1"] == {ALICE: "alice", BOB: "bob", CAROL: "carol"}


def test_if_nothing_at_all_can_be_read_that_is_said_of_everybody(tmp_path: Path) -> None:
    found = judged(all_killed(tmp_path, ".parquet"), tmp_path / "found")

    assert found.summary.cut_off == {"1": dict.fromkeys(map(str, (ALICE, BOB, CAROL)))}
    assert (found.summary.events, found.summary.losses, found.summary.inventions) == (0, 0, 0)
    assert found.names["1"] == {ALICE: "alice", BOB: "bob", CAROL: "carol"}


def test_a_run_of_which_nothing_can_be_read_does_not_hide_another(tmp_path: Path) -> None:
    events = all_killed(tmp_path, ".parquet")
    (events / "run_id=2").mkdir()
    write_events(events / "run_id=2" / "all.jsonl", story().log)

    summary = judged(events, tmp_path / "found").summary

    assert list(summary.cut_off) == ["1"]
    assert (summary.messages, summary.deliveries, summary.losses) == (4, 4, 0)


def test_others_say_that_there_are_only_unfinished_files(tmp_path: Path) -> None:
    events = all_killed(tmp_path, ".jsonl")

    with pytest.raises(LocalError, match=r"holds no complete file: .*antecede audit"):
        read_events(events)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("kept", [0, 1])
def test_what_a_node_was_writing_when_it_was_killed_can_be_read(
    suffix: str, kept: int, tmp_path: Path
) -> None:
    """Rows are handed over about once a second: those are not lost with the process."""
    run = written(tmp_path, kept, ".jsonl")
    parts = PartFileWriter(run, "bob", suffix, 1_000)
    bobs = [event for event in story().log if event.process == BOB]
    log = log_of(bobs)
    if kept:
        (run / "bob-000001.jsonl").unlink()
    for block, contexts in zip(log.blocks(), log.contexts(), strict=True):
        parts.write_rows(block, log.packet_kinds, contexts)

    summary = judged(tmp_path / "events", tmp_path / "found").summary

    assert summary.cut_off == {"1": {str(BOB): bobs[-1].time_ns}}
    assert (summary.losses, summary.inventions, summary.unknown["losses"]) == (0, 0, 0)
    parts.close()


@pytest.mark.parametrize("kept", [0, 1])
def test_who_was_killed_between_two_files_has_not_released_its_claim(
    kept: int, tmp_path: Path
) -> None:
    run = written(tmp_path, kept, ".jsonl")
    assert claim_generation(run, "bob") == 1 + kept
    stem = "bob" if kept == 0 else "bob~2"
    names = processes_folder(tmp_path / "events", "1")
    write_processes(names / f"{stem}.jsonl", {BOB: "bob"})

    cut = judged(tmp_path / "events", tmp_path / "found").summary
    PartFileWriter(run, stem, ".jsonl", 1_000).close()
    complete = judged(tmp_path / "events", tmp_path / "found").summary

    assert cut.cut_off == {"1": {str(BOB): 2_000 if kept else None}}
    assert (cut.losses, cut.inventions) == (0, 0)
    assert complete.cut_off == {}
    assert (complete.losses, complete.inventions) == (2 - kept, 2)


@pytest.mark.parametrize("name", ["notes.partial", ".claim", ".bob-000001.csv.1.partial"])
def test_other_files_are_no_logs(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"something")

    assert find_leftovers(tmp_path) == []
