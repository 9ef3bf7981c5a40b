"""Which event logs there are at a path: their runs, files, names, spans, and what is unfinished."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow.parquet as pq

from antecede.core.errors import LocalError
from antecede.eventlog.layout import (
    PARTITION,
    find_finished_runs,
    partition_folder,
    run_folders,
    run_id_of,
    suffix_of,
)
from antecede.eventlog.parquet import reading
from antecede.eventlog.processes import processes_file, read_files, read_processes
from antecede.eventlog.rules import JUDGED
from antecede.eventlog.schema import TRACE_COLUMNS
from antecede_audit.eventlog.leftovers import UnfinishedLog, find_leftovers, torn_file
from antecede_audit.judging.event_columns import RunSize
from antecede_audit.judging.summary import SUMMARY
from antecede_audit.paths import local_path

WITNESSED: Final = (*JUDGED, *TRACE_COLUMNS)
"""What an audit reads of a log: all that it says about a violation."""


EVENTS_FOLDER: Final = "events"
"""What ingest and sweep call the log among their results."""


SPANS_FOLDER: Final = "spans"
"""What ingest calls the table of spans beside it."""


class RunKey(Protocol):
    """Which run of which source."""

    @property
    def source(self) -> int:
        """The number of the source."""

    @property
    def run_id(self) -> str:
        """What it is called there."""


PARQUET: Final = "parquet"


JSON: Final = "json"


FORMATS: Final = {".parquet": PARQUET, ".jsonl": JSON, ".jsonl.gz": JSON}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """A file or folder with event logs."""

    path: str
    run_id: str | None
    """The name of its only run; None if its folders, or a column, name the runs."""
    formats: tuple[str, ...] = (PARQUET,)
    """How it is written; a folder may hold Parquet files and JSON lines."""
    files: tuple[Path, ...] = ()
    """The files of a folder that is one run; Spark looks into folders of runs itself."""
    leftovers: tuple[tuple[str, UnfinishedLog], ...] = ()
    """What recorders left unfinished, and in which run."""
    beside: Path | None = None
    """For a log elsewhere: where on this machine there is a copy of what lies beside it."""
    is_table: bool = False
    """Whether the path is the name of a table in a catalogue."""
    spans: frozenset[str] = frozenset()
    """For a log elsewhere: the folders of runs with spans beside it."""

    @property
    def place(self) -> Path:
        """The log on this machine or, if it is elsewhere, the copy of what lies beside it."""
        return Path(self.path) if self.beside is None else self.beside

    @property
    def is_file(self) -> bool:
        """Whether this is a file, not a folder."""
        return suffix_of(Path(self.path)) != "" and not Path(self.path).is_dir()


def find_source(path: str) -> LogSource:
    """What is at this path of this machine; `LocalError` if there are no event logs."""
    place = local_path(path)
    if (place / EVENTS_FOLDER).is_dir():
        place = place / EVENTS_FOLDER
    place = place.absolute()
    by_run = runs_at(place)
    unfinished = [(run, one) for run in by_run for one in leftovers_of(place, run)]
    torn = {one.path for _, one in unfinished}
    files = [file for files in by_run.values() for file in files if file not in torn]
    return LogSource(
        path=str(place),
        run_id=only_run(place),
        formats=tuple(sorted({FORMATS[suffix_of(file)] for file in files})),
        files=tuple(files) if place.is_dir() and not has_folders_of_runs(place) else (),
        leftovers=tuple(unfinished),
    )


def leftovers_of(place: Path, run: str) -> list[UnfinishedLog]:
    """What was left unfinished beside the files of a run, or among them."""
    if not place.is_dir():
        torn = torn_file(place)
        return [] if torn is None else [torn]
    return find_leftovers(run_folders(place)[run])


def runs_at(place: Path) -> dict[str, list[Path]]:
    """The files of every run at this place, without the tables of names that lie beside logs.

    There are none where recorders left only unfinished ones.
    """
    runs = find_finished_runs(place)
    names = {processes_file(file) for files in runs.values() for file in files}
    return {run: [file for file in files if file not in names] for run, files in runs.items()}


def has_folders_of_runs(place: Path) -> bool:
    """Whether this is a dataset with a folder for each run."""
    return any(place.glob(f"{PARTITION}*"))


def only_run(place: Path) -> str | None:
    """The name of the only run at this place; None if the rows say which run they belong to."""
    (name, files), *others = runs_at(place).items()
    if others or (place.is_dir() and has_folders_of_runs(place)):
        return None
    if files and suffix_of(files[0]) == ".parquet":
        with reading(files[0]):
            if "run_id" in pq.read_schema(files[0]).names:
                return None
    return run_id_of(place) if place.name.startswith(PARTITION) else name


def cut_off(sources: Sequence[LogSource], runs: Mapping[str, RunKey]) -> dict[str, set[int]]:
    """By run: the processes whose logs break off; also runs of which nothing can be read."""
    found: dict[str, set[int]] = {}
    names = {(run.source, run.run_id): name for name, run in runs.items()}
    for number, source in enumerate(sources):
        for run_id, one in source.leftovers:
            key = number, source.run_id or run_id
            name = names.setdefault(key, name_apart(key[1], source, set(names.values())))
            if one.process is not None:
                found.setdefault(name, set()).add(one.process)
    return found


def name_apart(run_id: str, source: LogSource, taken: Set[str]) -> str:
    """What to call a run of which nothing can be read."""
    return run_id if run_id not in taken else f"{source.path}: {run_id}"


def names_cut_off(name: str, sources: Sequence[LogSource]) -> dict[int, str]:
    """The names of the processes of a run of which nothing can be read."""
    for source in sources:
        for run_id, _ in source.leftovers:
            run_id = source.run_id or run_id
            if name in (run_id, f"{source.path}: {run_id}"):
                return names_beside(source, run_id)
    return {}


def moved_clocks(
    sources: Sequence[LogSource], runs: Mapping[str, RunKey]
) -> dict[str, dict[int, int]]:
    """By run and process: what ingest added to its clock, as far as it has written that down."""
    moved: dict[str, dict[int, int]] = {}
    for name, run in runs.items():
        place = sources[run.source].place
        if sources[run.source].is_table:
            continue
        told = place.parent / SUMMARY
        if place.name != EVENTS_FOLDER or not told.is_file():
            continue
        with suppress(ValueError, OSError):
            summary = json.loads(told.read_text(encoding="utf-8"))
            offsets = summary.get("clock_offsets_ns", {})
            people = names_beside(sources[run.source], run.run_id)
            ours = {process: int(offsets.get(who, 0)) for process, who in people.items()}
            if summary.get("run_id") == run.run_id and any(ours.values()):
                moved[name] = {process: ns for process, ns in ours.items() if ns}
    return moved


def spans_folder(source: LogSource, run_id: str) -> str | None:
    """Where ingest has written what the spans of a run are called; None if it has not."""
    name = partition_folder(Path(), run_id).name
    parent, _, last = source.path.rpartition("/")
    folder = f"{parent}/{SPANS_FOLDER}/{name}"
    if last != EVENTS_FOLDER or source.is_table:
        return None
    there = name in source.spans if source.beside is not None else Path(folder).is_dir()
    return folder if there else None


def names_beside(source: LogSource, run_id: str) -> dict[int, str]:
    """The names of a run's processes, if they are beside its log; audits do without, if need be."""
    if source.is_table:
        return {}
    with suppress(LocalError):
        tables = [processes_file(file) for file in source.files]
        if names := read_files([table for table in tables if table.exists()]):
            return names
        return read_processes(source.place, None if source.is_file else run_id)
    return {}


def check_separate(runs: Sequence[RunSize], sources: Sequence[LogSource]) -> None:
    """`LocalError` if the files of a folder, which are taken for one run, must be several runs."""
    for run in runs:
        if run.crowded and len(sources[run.source].files) > 1:
            raise LocalError(
                f"{run.run_id}: a process has several events at one position, so these files are "
                "more than one run; give each file alone, or put each run into a folder run_id=…"
            )


def names_of(runs: Sequence[RunSize], sources: Sequence[LogSource]) -> list[str]:
    """What to call the runs, no two of them the same."""
    ids = [run.run_id for run in runs]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{sources[run.source].path}: {run.run_id}" for run in runs]


def process_names(
    run: str, names: Sequence[str], runs: Sequence[RunSize], sources: Sequence[LogSource]
) -> dict[int, str]:
    """What the processes of a run are called, if that is written beside its log."""
    if run not in names:
        return names_cut_off(run, sources)
    facts = runs[names.index(run)]
    return names_beside(sources[facts.source], facts.run_id)


def distinct_names(runs: Sequence[RunSize]) -> list[str]:
    """What the runs are called; one whose name occurs in several sources is `source:name`."""
    names = Counter(run.run_id for run in runs)
    return [f"{run.source}:{run.run_id}" if names[run.run_id] > 1 else run.run_id for run in runs]
