"""What lies in the folders that a report is made of.

A folder may hold the results of one command, or folders of several: whatever is found, some levels
down, goes into the report. Contents decide, not names: an event log is what has the columns of one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.eventlog.jsonl import read_objects
from antecede.eventlog.layout import (
    PARTITION,
    find_runs,
    has_only_unfinished,
    is_part,
    part_files,
    run_folders,
    suffix_of,
)
from antecede.eventlog.parquet import load_pyarrow, reading
from antecede.eventlog.processes import processes_file
from antecede.eventlog.schema import COLUMNS

SUMMARY_FILE: Final = "summary.json"

DEPTH: Final = 4
"""Folders are searched down to this level."""

SPARK_PART: Final = "part-"
"""How names of files begin that are parts of one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A kind of results, and how they are recognised."""

    name: str
    text: str
    """What a report calls them: "an audit"."""
    command: str
    """The command that writes them."""
    is_in: Callable[[Path], bool]
    """Whether such results lie in this very folder."""
    file: str | None = None
    """A file that may be given in place of the folder that it lies in."""


def file_kind(name: str, text: str, command: str, file: str) -> SourceKind:
    """Results that are recognised by the name of one file."""
    return SourceKind(
        name=name,
        text=text,
        command=command,
        is_in=lambda folder: (folder / file).is_file(),
        file=file,
    )


def in_no_folder(folder: Path) -> bool:
    """Event logs are recognised by their columns, not by the folder they lie in."""
    del folder
    return False


EVENTS: Final = SourceKind(name="events", text="event logs", command="record", is_in=in_no_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSource:
    """Something that a report can be made of."""

    kind: SourceKind
    path: Path
    runs: dict[str, list[Path]] = field(default_factory=dict)
    """Of event logs: the files of every run."""

    def text(self) -> str:
        """What was found, in a few words."""
        if self.kind == EVENTS:
            count = len(self.runs)
            return f"{count} recorded run{'s' if count != 1 else ''}"
        return self.kind.text


def find_sources(paths: Sequence[Path], kinds: Sequence[SourceKind]) -> list[ReportSource]:
    """Event logs, and results of these kinds, below these paths.

    `LocalError` if there is nothing, or a path does not exist.
    """
    found: list[ReportSource] = []
    for path in paths:
        if not path.exists():
            raise LocalError(f"cannot read {path}: there is no such file or directory")
        if path.is_dir():
            sources = list(sources_at(path, DEPTH, kinds))
        else:
            sources = [source_of_file(path, kinds)]
        if not sources:
            check_settled(path)
            others = f", and no results of {commands_text(kinds)}" if kinds else ""
            raise LocalError(f"{path} has nothing to report: no event log{others}")
        found += [source for source in sources if source not in found]
    return found


def commands_text(kinds: Sequence[SourceKind]) -> str:
    """The commands that write results of these kinds: "`antecede audit` or `lab sweep`"."""
    names = list(dict.fromkeys(kind.command for kind in kinds))
    *but_last, last = [f"`antecede {names[0]}`", *(f"`{name}`" for name in names[1:])]
    return f"{', '.join(but_last)} or {last}" if but_last else last


def check_settled(path: Path) -> None:
    """`LocalError` says so if there is a log, but no complete file of it."""
    for folder in run_folders(path).values() if path.is_dir() else ():
        if has_only_unfinished(folder):
            part_files(folder)


def source_of_file(path: Path, kinds: Sequence[SourceKind]) -> ReportSource:
    """A single file: an event log, or the one by which results are recognised."""
    for kind in kinds:
        if path.name == kind.file:
            return ReportSource(kind=kind, path=path.parent)
    if not suffix_of(path):
        raise LocalError(f"{path} is neither an event log nor the result of another command")
    if not has_columns(path, COLUMNS):
        raise LocalError(f"{path} is no event log: it lacks some of {', '.join(COLUMNS)}")
    return ReportSource(kind=EVENTS, path=path, runs=find_runs(path))


def sources_at(folder: Path, depth: int, kinds: Sequence[SourceKind]) -> Iterator[ReportSource]:
    """What is in this folder and below it, in the order of names."""
    for kind in kinds:
        if kind.is_in(folder):
            yield ReportSource(kind=kind, path=folder)
    events = events_in(folder)
    if events is not None:
        yield events
    if depth == 0 or (events is not None and is_partitioned(folder)):
        return
    for below in sorted(path for path in folder.iterdir() if path.is_dir()):
        if below.name[0] not in "._" and not below.name.startswith(PARTITION):
            yield from sources_at(below, depth - 1, kinds)


def events_in(folder: Path) -> ReportSource | None:
    """The event logs of this very folder: a dataset, parts of one run, or a file for each run."""
    if is_partitioned(folder):
        first = next(iter(first_parts(folder)), None)
        if first is None or not has_columns(first, COLUMNS):
            return None
        return ReportSource(kind=EVENTS, path=folder, runs=find_runs(folder))
    files = sorted(file for file in folder.iterdir() if file.is_file() and is_part(file))
    logs = [file for file in files if has_columns(file, COLUMNS)]
    if not logs:
        return None
    if all(file.name.startswith(SPARK_PART) for file in logs) or are_of_nodes(logs):
        return ReportSource(kind=EVENTS, path=folder, runs={folder.name: logs})
    runs = {name: paths for file in logs for name, paths in find_runs(file).items()}
    return ReportSource(kind=EVENTS, path=folder, runs=runs)


def are_of_nodes(logs: Sequence[Path]) -> bool:
    """Whether these are what the nodes of one live run wrote, each into a file of its own."""
    return len(logs) > 1 and all(processes_file(file).is_file() for file in logs)


def is_partitioned(folder: Path) -> bool:
    """Whether this is a dataset of runs."""
    return any(below.is_dir() for below in folder.glob(f"{PARTITION}*"))


def first_parts(folder: Path) -> Iterable[Path]:
    """Data files of a dataset; some folders may have none."""
    for below in sorted(folder.glob(f"{PARTITION}*")):
        yield from sorted(file for file in below.iterdir() if is_part(file))


def has_columns(file: Path, columns: Sequence[str]) -> bool:
    """Whether a data file has these columns, at least."""
    if suffix_of(file) == ".parquet":
        pq = load_pyarrow("pyarrow.parquet")
        with reading(file):
            names = pq.read_schema(file).names
        return set(columns) <= set(names)
    try:
        first = next(iter(read_objects(file)), (0, {}))[1]
    except LocalError as error:
        if isinstance(error.__cause__, OSError):
            raise
        return False
    return set(columns) <= set(first)


def objects_in(value: object, what: str) -> list[dict[str, object]]:
    """The value, which must be a list of objects; `TypeError` says what is not."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise TypeError(f"{what} is not a list of objects")
    return value


def read_json(file: Path) -> dict[str, object]:
    """The object in a file; `LocalError` if it is none."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LocalError(f"cannot read {file}: {error}") from error
    if not isinstance(value, dict):
        raise LocalError(f"cannot read {file}: expected a JSON object")
    return value
