"""A report finds what is there, by its contents."""

import json
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.layout import claim_generation
from antecede.eventlog.processes import processes_folder, write_processes
from antecede.eventlog.writers import write_events
from antecede_audit.eventlog.reader import log_of
from antecede_audit.eventlog.workload import WorkloadRow, write_workload
from antecede_audit.report.audit_page import AUDIT
from antecede_audit.report.recordings_page import (
    chosen_runs,
    display_names,
    logged_runs,
    read_recording,
)
from antecede_audit.report.sources import EVENTS, SourceKind, find_sources
from antecede_lab.report.comparison_page import COMPARISON
from tests.antecede_audit.report.all_parts import KINDS
from tests.antecede_audit.report.logs import overtaken


def found(*paths: Path) -> list[tuple[SourceKind, str]]:
    return [(source.kind, source.path.name) for source in find_sources(paths, KINDS)]


def test_single_files_beside_each_other_are_runs_of_their_own(tmp_path: Path) -> None:
    write_events(tmp_path / "one.parquet", overtaken().log)
    write_events(tmp_path / "two.jsonl", overtaken().log)
    write_processes(tmp_path / "two.processes.jsonl", {0: "alice"})
    (tmp_path / "notes.txt").write_text("not data")

    [source] = find_sources([tmp_path], KINDS)
    assert list(source.runs) == ["one", "two"]
    names = [read_recording(run, run.run_id).run.names for run in logged_runs([source])]
    assert names == [("P0", "P1", "P2"), ("alice", "P1", "P2")]


def test_files_that_nodes_wrote_side_by_side_are_one_run(tmp_path: Path) -> None:
    story = overtaken()
    (tmp_path / "live").mkdir()
    for process, name in enumerate(("alice", "bob", "carol")):
        events = [event for event in story.log if event.process == process]
        write_events(tmp_path / "live" / f"{name}.jsonl", log_of(events))
        write_processes(tmp_path / "live" / f"{name}.processes.jsonl", {process: name})

    [run] = logged_runs(find_sources([tmp_path / "live"], KINDS))
    recording = read_recording(run, run.run_id)
    assert (run.run_id, recording.run.names) == ("live", ("alice", "bob", "carol"))
    assert recording.verdict is not None
    assert len(recording.verdict.violations) == 1


def test_a_dataset_of_runs_is_found_with_its_names(tmp_path: Path) -> None:
    events = tmp_path / "deep" / "er" / "events"
    write_events(events, overtaken().log, run_id="live")
    folder = processes_folder(events, "live")
    folder.mkdir(parents=True)
    write_processes(folder / "names.parquet", {0: "zoe", 1: "bob", 2: "carol"})

    [source] = find_sources([tmp_path], KINDS)
    assert (source.kind, source.path) == (EVENTS, events)
    recording = read_recording(logged_runs([source])[0], "live")
    assert recording.run.names == ("bob", "carol", "zoe")
    assert recording.verdict is not None
    assert len(recording.verdict.violations) == 1


def test_names_that_ingest_puts_beside_the_events_are_found(tmp_path: Path) -> None:
    write_events(tmp_path / "events", overtaken().log, run_id="shop")
    folder = tmp_path / "processes" / "run_id=shop"
    folder.mkdir(parents=True)
    write_processes(folder / "part-0.parquet", {0: "cart"})

    [run] = logged_runs(find_sources([tmp_path], KINDS))
    assert "cart" in read_recording(run, "shop").run.names


def test_parts_of_a_table_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    write_events(tmp_path / "log" / "part-0.parquet", overtaken().log)

    [source] = find_sources([tmp_path / "log"], KINDS)
    assert list(source.runs) == ["log"]


def test_tables_that_are_no_event_logs_are_passed_over(tmp_path: Path) -> None:
    row = WorkloadRow(message_id=1, sender=0, targets=(1,), causes=(), delay_ns=0, payload_bytes=1)
    (tmp_path / "workload").mkdir()
    write_workload(tmp_path / "workload" / "workload.parquet", [row])

    with pytest.raises(LocalError, match="has nothing to report"):
        find_sources([tmp_path], KINDS)


def test_results_of_other_commands_are_known_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "comparison.json").write_text("{}")
    (tmp_path / "checked" / "violations").mkdir(parents=True)
    (tmp_path / "checked" / "summary.json").write_text("{}")
    (tmp_path / "_hidden").mkdir()
    (tmp_path / "_hidden" / "comparison.json").write_text("{}")

    assert found(tmp_path) == [(AUDIT, "checked"), (COMPARISON, "table")]
    assert found(tmp_path / "table", tmp_path) == [(COMPARISON, "table"), (AUDIT, "checked")]


def test_a_file_that_is_nothing_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"process": 1}) + "\n")
    (tmp_path / "x.txt").write_text("hello")

    with pytest.raises(LocalError, match="is no event log: it lacks some of process"):
        find_sources([tmp_path / "x.jsonl"], KINDS)
    with pytest.raises(LocalError, match="is neither an event log"):
        find_sources([tmp_path / "x.txt"], KINDS)
    with pytest.raises(LocalError, match="there is no such file"):
        find_sources([tmp_path / "y"], KINDS)


def test_runs_can_be_asked_for_by_pattern(tmp_path: Path) -> None:
    for name in ("hybrid-1", "hybrid-2", "none-1"):
        write_events(tmp_path, overtaken().log, run_id=name)
    runs = logged_runs(find_sources([tmp_path], KINDS))

    assert [run.run_id for run in chosen_runs(runs, ["none*", "hybrid-2", "*-1"])] == [
        "none-1",
        "hybrid-2",
        "hybrid-1",
    ]
    with pytest.raises(LocalError, match="no run is called 'rst'; there are 'hybrid-1'"):
        chosen_runs(runs, ["rst"])


def test_runs_of_the_same_id_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for name in ("with", "without"):
        write_events(tmp_path / name / "events", overtaken().log, run_id="live")
    runs = logged_runs(find_sources([tmp_path], KINDS))

    assert display_names(runs) == ["with: live", "without: live"]


def test_where_a_log_breaks_off_nobody_is_blamed_for_the_rest(tmp_path: Path) -> None:
    """Carol was killed before her first file was complete: all that she delivered is not known."""
    run = tmp_path / "run_id=live"
    run.mkdir()
    for process, name in enumerate(("alice", "bob")):
        events = [event for event in overtaken().log if event.process == process]
        write_events(run / f"{name}-000001.jsonl", log_of(events))
    names = processes_folder(tmp_path, "live")
    names.mkdir(parents=True)
    write_processes(names / "carol.jsonl", {2: "carol"})
    [logged] = logged_runs(find_sources([tmp_path], KINDS))
    blamed = read_recording(logged, "live")
    assert claim_generation(run, "carol") == 1
    recording = read_recording(logged, "live")

    assert blamed.verdict is not None
    assert recording.verdict is not None
    assert blamed.verdict.losses
    assert recording.verdict.losses == []
    assert blamed.note == ""
    assert recording.note.startswith("The log of carol breaks off")


def test_a_folder_without_a_complete_file_says_so(tmp_path: Path) -> None:
    assert claim_generation(tmp_path / "run_id=live", "carol") == 1
    with pytest.raises(LocalError, match=r"holds no complete file: .*antecede audit"):
        find_sources([tmp_path], KINDS)
