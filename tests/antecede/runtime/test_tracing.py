"""The event log of a live node: what is written, when it appears, and what a bad disk does."""

import sys
import threading
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog import DELIVERED, NULL, SUBMITTED, Event
from antecede.eventlog.processes import read_processes
from antecede.runtime.config.names import process_id
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.observe.event_recorder import BLOCK_ROWS, open_trace, part_suffix
from antecede_audit.eventlog import read_events, read_runs
from antecede_audit.judging import check_log
from tests.antecede.runtime.tracing_steps import (
    ALICE,
    BOB,
    deliver,
    part_names,
    positions,
    submit,
    wait_until,
)


@pytest.mark.parametrize("file_format", ["auto", "parquet", "jsonl", "jsonl.gz"])
def test_the_logs_of_several_nodes_in_one_folder_are_one_run(
    file_format: str, tmp_path: Path
) -> None:
    alice = open_trace(tmp_path, name="alice", file_format=file_format)
    bob = open_trace(tmp_path, name="bob", file_format=file_format)
    for sequence in range(1, 6):
        submit(alice, sequence)
        deliver(bob, ALICE, sequence)
    alice.note_process(BOB, "bob")
    alice.close()
    bob.close()

    log = read_events(tmp_path)

    assert list(read_runs(tmp_path)) == ["live"]
    assert (log.count(SUBMITTED), log.count(DELIVERED)) == (5, 5)
    assert check_log(log).violations == []
    assert read_processes(tmp_path) == {ALICE: "alice", BOB: "bob"}


def test_nodes_may_write_different_formats_into_one_folder(tmp_path: Path) -> None:
    for name, file_format in [("alice", "parquet"), ("bob", "jsonl")]:
        trace = open_trace(tmp_path, name=name, file_format=file_format)
        for sequence in (1, 2, 3):
            submit(trace, sequence, target=7)
        trace.close()

    log = read_events(tmp_path)

    assert positions(log, ALICE) == positions(log, BOB) == [0, 1, 2]
    assert read_processes(tmp_path) == {ALICE: "alice", BOB: "bob"}


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_single_file_grows_while_the_node_runs(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "logs" / f"alice{suffix}"
    trace = open_trace(path, name="alice")
    submit(trace, 1)
    trace.flush()
    wait_until(lambda: path.stat().st_size > 0)
    assert len(read_events(path)) == 1

    submit(trace, 2)
    trace.close()

    assert positions(read_events(path), ALICE) == [0, 1]
    assert read_processes(path) == {ALICE: "alice"}


def test_every_column_arrives_as_it_was_recorded(tmp_path: Path) -> None:
    trace = open_trace(tmp_path, name="alice", run_id="seed 7", process=9)
    ack = trace.log.intern("ack")
    trace.log.append(9, 1, NULL, NULL, BOB, 12, ack, 1 << 60, 0, 9)
    trace.close()

    assert list(read_events(tmp_path, "seed 7")) == [
        Event(
            process=9,
            position=0,
            kind="transmitted",
            target=BOB,
            packet=12,
            packet_kind="ack",
            time_ns=1 << 60,
            metadata_bytes=9,
        )
    ]
    assert read_processes(tmp_path, "seed 7") == {9: "alice"}


def test_a_part_appears_when_it_has_enough_rows(tmp_path: Path) -> None:
    trace = open_trace(tmp_path, name="alice", rotate_rows=3)
    for first in (1, 4, 7):
        for sequence in range(first, first + 3):
            submit(trace, sequence)
        trace.flush()
    submit(trace, 10)
    trace.close()

    assert part_names(tmp_path / "run_id=live") == [
        f"alice-{number:06d}.parquet" for number in (1, 2, 3, 4)
    ]
    assert positions(read_events(tmp_path), ALICE) == list(range(10))


@pytest.mark.parametrize("file_format", ["parquet", "jsonl"])
def test_a_part_appears_when_it_is_old_enough(file_format: str, tmp_path: Path) -> None:
    trace = open_trace(tmp_path, name="alice", file_format=file_format, rotate_seconds=0.01)
    submit(trace, 1)
    trace.flush()

    wait_until(lambda: len(part_names(tmp_path / "run_id=live")) == 1)

    assert len(read_events(tmp_path)) == 1
    trace.close()
    assert len(part_names(tmp_path / "run_id=live")) == 1


def test_full_blocks_are_written_without_a_flush(tmp_path: Path) -> None:
    trace = open_trace(tmp_path, name="alice", rotate_rows=1)
    for sequence in range(1, BLOCK_ROWS + 2):
        submit(trace, sequence)

    wait_until(lambda: len(part_names(tmp_path / "run_id=live")) == 1)

    assert len(read_events(tmp_path)) == BLOCK_ROWS
    trace.close()
    assert len(read_events(tmp_path)) == BLOCK_ROWS + 1


def test_a_node_without_events_leaves_its_name_only(tmp_path: Path) -> None:
    open_trace(tmp_path, name="alice").close()

    assert part_names(tmp_path / "run_id=live") == []
    assert read_processes(tmp_path) == {ALICE: "alice"}


@pytest.mark.parametrize("where", ["folder", "run.jsonl", "run.jsonl.gz"])
def test_a_restarted_node_is_another_process(where: str, tmp_path: Path) -> None:
    for generation in (1, 2, 3):
        trace = open_trace(tmp_path / where, name="alice")
        assert trace.generation == generation
        assert trace.process == process_id("alice", generation)
        submit(trace, 1)
        submit(trace, 2)
        trace.close()

    log = read_events(tmp_path / where)

    lives = [process_id("alice", generation) for generation in (1, 2, 3)]
    assert [positions(log, life) for life in lives] == [[0, 1]] * 3
    assert read_processes(tmp_path / where) == dict(
        zip(lives, ["alice", "alice#2", "alice#3"], strict=True)
    )


def test_an_earlier_life_is_seen_by_its_files_alone(tmp_path: Path) -> None:
    """Somebody who merges folders with `cp */*` leaves hidden files behind."""
    trace = open_trace(tmp_path, name="alice")
    submit(trace, 1)
    trace.close()
    for hidden in (tmp_path / "run_id=live").glob(".*"):
        hidden.unlink()

    again = open_trace(tmp_path, name="alice")
    again.close()

    assert again.generation == 2


def test_two_nodes_of_one_name_at_the_same_time_are_two_processes(tmp_path: Path) -> None:
    one = open_trace(tmp_path, name="alice")
    other = open_trace(tmp_path, name="alice")
    submit(one, 1)
    submit(other, 1)
    one.close()
    other.close()

    assert one.process != other.process
    assert len(read_events(tmp_path)) == 2


@pytest.mark.parametrize(
    "name", ["alice", "alice-000001", "alice~2", ".hidden", "_note", "a/b", "ü%"]
)
def test_names_that_resemble_file_names_do_not_get_in_each_others_way(
    name: str, tmp_path: Path
) -> None:
    for each in ("alice", name, "alice"):
        trace = open_trace(tmp_path, name=each)
        submit(trace, 1)
        trace.close()

    lives = [
        process_id("alice"),
        process_id("alice", 2),
        process_id(name, 3 if name == "alice" else 1),
    ]
    assert [positions(read_events(tmp_path), life) for life in lives] == [[0]] * 3


def test_process_numbers_fit_and_differ() -> None:
    numbers = {process_id(f"node-{k}", generation) for k in range(500) for generation in (1, 2)}

    assert len(numbers) == 1000
    assert all(0 <= number < 1 << 31 for number in numbers)
    assert process_id("alice") == 216_853_069
    with pytest.raises(LocalError, match="count from 1"):
        process_id("alice", 0)


def test_two_names_with_one_number_are_complained_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trace = open_trace(tmp_path, name="alice")
    trace.note_process(5, "bob")
    trace.note_process(5, "bob")
    assert caplog.text == ""

    trace.note_process(5, "carol")
    trace.close()

    assert "bob and carol have the same number 5" in caplog.text


def test_one_file_is_for_one_node(tmp_path: Path) -> None:
    trace = open_trace(tmp_path / "run.jsonl", name="alice")

    with pytest.raises(LocalError, match="somebody else is writing it; give every recorder a file"):
        open_trace(tmp_path / "run.jsonl", name="bob")
    trace.close()
    open_trace(tmp_path / "run.jsonl", name="bob").close()


@pytest.mark.parametrize(
    ("path", "file_format", "complaint"),
    [
        ("run.parquet", "auto", r"readable only once the node has stopped; name a folder, such as"),
        ("run.jsonl", "parquet", r"'trace_format' is 'parquet', but the name of .* says .jsonl"),
        ("run.jsonl", "jsonl.gz", r"says .jsonl"),
    ],
)
def test_a_path_that_cannot_be_written_as_asked_is_explained(
    path: str, file_format: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(BadConfiguration, match=complaint):
        open_trace(tmp_path / path, name="alice", file_format=file_format)


def test_without_pyarrow_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    with pytest.raises(BadConfiguration, match=r"\.\[lab\]'; or choose trace_format='jsonl'"):
        open_trace(tmp_path, name="alice", file_format="parquet")
    open_trace(tmp_path, name="alice", file_format="jsonl").close()


def test_without_pyarrow_a_folder_is_written_as_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert part_suffix(tmp_path, "auto") == ".jsonl.gz"
    assert (
        "JSON lines: Parquet files need pyarrow; in a checkout of antecede: pip install '.[lab]'"
        in caplog.text
    )


def test_closing_twice_is_fine_and_recording_afterwards_is_not(tmp_path: Path) -> None:
    trace = open_trace(tmp_path, name="alice")
    trace.close()
    trace.close()

    submit(trace, 1)
    with pytest.raises(LocalError, match="this trace is closed"):
        trace.flush()


def test_no_thread_is_left_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    open_trace(tmp_path, name="alice").close()

    assert threading.active_count() == before
