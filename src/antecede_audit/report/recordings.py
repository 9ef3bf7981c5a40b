"""Recorded runs: event logs, live, simulated or ingested, with the names of their processes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from antecede.core.errors import LocalError
from antecede.eventlog.layout import find_run
from antecede.eventlog.processes import processes_file, read_files, read_processes
from antecede.units import counted, listing
from antecede_audit.eventlog.leftovers import find_leftovers
from antecede_audit.judging.findings import OracleVerdict
from antecede_audit.report.sources import EVENTS, SUMMARY_FILE, ReportSource, read_json
from antecede_audit.report.spacetime.recording import (
    WHOLE,
    Recording,
    RecordingRows,
    TimeRange,
    build_run,
    rows_of_files,
)
from antecede_audit.report.spacetime.violations import judged

DRAWN: Final = 6
"""So many runs get a diagram unless somebody asks for others."""

NAMES_FOLDER: Final = "processes"
"""Where ingest puts the names of processes, beside its events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecording:
    """A run that was read, and what the oracle says about it."""

    run: Recording
    run_id: str
    path: Path
    note: str
    """What was left out, if anything."""
    verdict: OracleVerdict | None
    """None if the run is too long for the oracle, or was not read as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """A run that has an event log, and where."""

    run_id: str
    path: Path
    files: list[Path]


def logged_runs(sources: Sequence[ReportSource]) -> list[LoggedRun]:
    """All runs with an event log."""
    return [
        LoggedRun(run_id=run_id, path=source.path, files=files)
        for source in sources
        if source.kind == EVENTS
        for run_id, files in source.runs.items()
    ]


def chosen_runs(runs: Sequence[LoggedRun], patterns: Sequence[str]) -> list[LoggedRun]:
    """The runs that are asked for."""
    chosen: list[LoggedRun] = []
    for pattern in patterns:
        found = [run for run in runs if fnmatchcase(run.run_id, pattern)]
        if not found:
            there = listing([run.run_id for run in runs]) if runs else "no recorded runs at all"
            raise LocalError(f"no run is called {pattern!r}; there are {there}")
        chosen += [run for run in found if run not in chosen]
    return chosen


def read_recording(logged: LoggedRun, name: str, window: TimeRange = WHOLE) -> NamedRecording:
    """Read one run; `name` is what the report calls it."""
    rows = rows_of_files(logged.files, window)
    names = names_of(logged)
    run = build_run(rows, name, names=names)
    cut = cut_off(logged)
    verdict = judged(rows.rows) if rows.is_whole else None
    return NamedRecording(
        run=run,
        run_id=logged.run_id,
        path=logged.path,
        note=note_about(rows, run, [names.get(process, f"P{process}") for process in sorted(cut)]),
        verdict=None if verdict is None else verdict.known(cut),
    )


def cut_off(logged: LoggedRun) -> set[int]:
    """The processes whose logs break off: they were killed, or still run."""
    folder = logged.files[0].parent
    found = find_leftovers(folder) if logged.path.is_dir() else []
    return {one.process for one in found if one.process is not None}


def note_about(rows: RecordingRows, run: Recording, cut: Sequence[str]) -> str:
    """What the reader should know about this log."""
    notes: list[str] = []
    if cut:
        notes.append(
            f"The log of {' and of '.join(cut)} breaks off: what is missing because of that counts "
            "as neither lost nor made up; `antecede audit` says since when."
        )
    if not rows.is_whole:
        notes.append(
            f"A part of the run: {len(rows.rows):,} of {rows.total:,} events "
            "(--from and --to choose another)."
        )
    if run.unmatched:
        notes.append(
            f"{counted(run.unmatched, 'packet')} arrived of which the log does not say who sent "
            f"{'it' if run.unmatched == 1 else 'them'}."
        )
    return " ".join(notes)


def names_of(logged: LoggedRun) -> dict[int, str]:
    """What the processes are called, if somebody has written that down."""
    if logged.path.is_file() or logged.files[0].parent == logged.path:
        tables = [processes_file(file) for file in logged.files]
        return read_files([table for table in tables if table.exists()])
    names = read_processes(logged.path, logged.run_id)
    beside = logged.path.parent / NAMES_FOLDER
    if names or not beside.is_dir():
        return names
    try:
        return read_files(find_run(beside, logged.run_id))
    except LocalError:
        # Names are a courtesy: a table that does not fit is none.
        return {}


def display_names(runs: Sequence[LoggedRun]) -> list[str]:
    """What the report calls each run: its id, with the folder where ids alone are not enough."""
    ids = [run.run_id for run in runs]
    return [
        run.run_id if ids.count(run.run_id) == 1 else f"{place_of(run)}: {run.run_id}"
        for run in runs
    ]


def place_of(run: LoggedRun) -> str:
    """The folder that tells a run from others of the same id."""
    path = run.path if run.path.name != EVENTS.name else run.path.parent
    return path.name


VIOLATING = 2
"""Of runs of which nothing else is known, so many with violations come to the front."""


def runs_worth_drawing(
    logged: Sequence[LoggedRun], series: Iterable[Sequence[str]], early: Mapping[str, int]
) -> list[LoggedRun]:
    """A few runs; `early` says how many messages came too early, by the id of the run.

    Of series, which are runs that differ in one thing only, the longest one whose logs are there,
    and of several such the one with most violations.
    """
    places = {
        run_id: (number, place)
        for number, one in enumerate(series)
        for place, run_id in enumerate(one)
    }
    known = [run for run in logged if run.run_id in places]
    if len(known) < 2:
        return first_few(logged, early)
    groups: dict[int, list[LoggedRun]] = {}
    for run in known:
        number, _ = places[run.run_id]
        groups.setdefault(number, []).append(run)

    def worth(group: list[LoggedRun]) -> tuple[int, int]:
        return len(group), sum(early.get(run.run_id, 0) for run in group)

    best = max(groups.values(), key=worth)
    best.sort(key=lambda run: places[run.run_id])
    return best[:DRAWN]


def first_few(logged: Sequence[LoggedRun], early: Mapping[str, int]) -> list[LoggedRun]:
    """The first runs, and among them those with most violations."""
    worst = sorted(
        (run for run in logged if early.get(run.run_id)), key=lambda run: -early[run.run_id]
    )[:VIOLATING]
    others = [run for run in logged if run not in worst]
    chosen = [*worst, *others][:DRAWN]
    return [run for run in logged if run in chosen]


def pair_of(counts: Sequence[int]) -> list[int] | None:
    """The two runs to begin with, by their violations: one without any, and the one with most."""
    if len(counts) < 2 or max(counts) == 0 or min(counts) > 0:
        return None
    return [counts.index(0), counts.index(max(counts))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """How far one run that was ingested can be believed."""

    run_id: str
    messages: int
    rejects: Mapping[str, int]
    """By reason."""
    counts: Mapping[str, int]
    """What was met and dealt with."""
    repaired: bool
    offsets_ns: Mapping[str, int]
    """What was added to clocks; only those that were moved."""
    impossible: tuple[tuple[str, str, int, int], ...]
    """Sender, receiver, messages, and how many arrive before they are sent."""


def read_ingested(sources: Iterable[ReportSource]) -> list[Ingested]:
    """The ingests that some of these logs come from."""
    found: list[Ingested] = []
    for source in sources:
        place = source.path.parent / SUMMARY_FILE
        if source.kind == EVENTS and source.path.name == EVENTS.name and place.is_file():
            one = ingested_at(place)
            if one is not None:
                found.append(one)
    return found


def ingested_at(place: Path) -> Ingested | None:
    """The summary of an ingest; None if it is one of something else."""
    try:
        summary: Mapping[str, Any] = read_json(place)
    except LocalError:
        return None
    offsets, counts = summary.get("clock_offsets_ns"), summary.get("counts")
    if not isinstance(offsets, dict) or not isinstance(counts, dict):
        return None
    return Ingested(
        run_id=str(summary.get("run_id", "")),
        messages=int(summary.get("messages", 0)),
        rejects=summary.get("rejects_by_reason", {}),
        counts=counts,
        repaired=bool(summary.get("repaired")),
        offsets_ns={name: ns for name, ns in offsets.items() if ns},
        impossible=tuple(
            (pair["sender"], pair["receiver"], pair["copies"], pair["backwards"])
            for pair in summary.get("contradictions", [])
        ),
    )
