"""Where event logs come from: files and datasets, several at a time, all read as one table."""

import json
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.audit.summary import SUMMARY
from antecede.core.errors import LocalError
from antecede.pipeline.ingest.layouts import SPANS
from antecede.pipeline.places import Places, path_here
from antecede.pipeline.schemas import EVENTS, with_run_id
from antecede.pipeline.session import first_line
from antecede.trace.datasets import (
    PARTITION,
    find_settled,
    partition_folder,
    run_folders,
    run_id_of,
    suffix_of,
)
from antecede.trace.leftovers import Leftover, find_leftovers, torn_file
from antecede.trace.parquet import event_schema, reading
from antecede.trace.processes import FOLDER as PROCESSES_FOLDER
from antecede.trace.processes import processes_file, read_files, read_processes

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

ONLY_RUN: Final = "run"
"""What a run is called in a table that names none."""

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
FILES_OF: Final = {PARQUET: "*.parquet", JSON: "*.{jsonl,jsonl.gz}"}
"""Which files of a folder with both are in one format, as Spark has it told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file or folder with event logs."""

    path: str
    run_id: str | None
    """The name of its only run; None if its folders, or a column, name the runs."""
    formats: tuple[str, ...] = (PARQUET,)
    """How it is written; a folder may hold Parquet files and JSON lines."""
    files: tuple[Path, ...] = ()
    """The files of a folder that is one run; Spark looks into folders of runs itself."""
    leftovers: tuple[tuple[str, Leftover], ...] = ()
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


def find_source(path: str, places: Places | None = None) -> Source:
    """What is at this path; `LocalError` if there are no event logs.

    Without `places` the path is one of this machine.
    """
    here = path_here(path) if places is None else places.local(path)
    if here is None:
        assert places is not None, "only Spark knows other places"
        return find_elsewhere(path.rstrip("/"), places)
    place = here
    if (place / EVENTS_FOLDER).is_dir():
        place = place / EVENTS_FOLDER
    place = place.absolute()
    by_run = runs_at(place)
    unfinished = [(run, one) for run in by_run for one in leftovers_of(place, run)]
    torn = {one.path for _, one in unfinished}
    files = [file for files in by_run.values() for file in files if file not in torn]
    return Source(
        path=str(place),
        run_id=only_run(place),
        formats=tuple(sorted({FORMATS[suffix_of(file)] for file in files})),
        files=tuple(files) if place.is_dir() and not has_folders_of_runs(place) else (),
        leftovers=tuple(unfinished),
    )


def find_elsewhere(path: str, places: Places) -> Source:
    """What is at a path that only Spark can read; unfinished logs are not looked for there."""
    top = f"{path}/{EVENTS_FOLDER}" if places.exists(f"{path}/{EVENTS_FOLDER}") else path
    files = [name for name, _ in places.files(top) if suffix_of(Path(name))]
    if not files:
        raise LocalError(f"cannot read {path}: there is no event log")
    suffixes = {suffix_of(Path(name)) for name in files}
    inner = top.partition("://")[2].partition("/")[2] or top
    in_folders = any(f"{inner}/{PARTITION}" in name for name in files)
    by_row = suffixes == {".parquet"} and places.has_column(top, "run_id")
    name = top.rpartition("/")[2]
    is_folder = not suffix_of(Path(name)) or len(files) > 1
    parent = top.rpartition("/")[0]
    spans = {one.rpartition("/")[0] for one, _ in places.files(f"{parent}/{SPANS_FOLDER}")}
    return Source(
        path=top,
        run_id=None if in_folders or by_row else run_id_of(Path(name)),
        formats=tuple(sorted({FORMATS[suffix] for suffix in suffixes})),
        beside=copied_beside(top, places),
        spans=frozenset(one.rpartition("/")[2] for one in spans) if is_folder else frozenset(),
    )


def copied_beside(top: str, places: Places) -> Path:
    """Copies of the small files beside a log elsewhere: names of processes, the summary."""
    place = places.scratch() / EVENTS_FOLDER
    for name, data in places.contents(f"{top}/{PROCESSES_FOLDER}").items():
        inner = name.rpartition(f"/{PROCESSES_FOLDER}/")[2]
        file = place / PROCESSES_FOLDER / inner
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    if top.endswith(f"/{EVENTS_FOLDER}"):
        told = places.contents(f"{top.rpartition('/')[0]}/{SUMMARY}")
        for data in told.values():
            (place.parent / SUMMARY).write_bytes(data)
    return place


def leftovers_of(place: Path, run: str) -> list[Leftover]:
    """What was left unfinished beside the files of a run, or among them."""
    if not place.is_dir():
        torn = torn_file(place)
        return [] if torn is None else [torn]
    return find_leftovers(run_folders(place)[run])


def runs_at(place: Path) -> dict[str, list[Path]]:
    """The files of every run at this place, without the tables of names that lie beside logs.

    There are none where recorders left only unfinished ones.
    """
    runs = find_settled(place)
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


def read_logs(session: SparkSession, sources: Sequence[Source]) -> DataFrame:
    """All logs below each other.

    Out: the columns of the event log, run_id, and source: which of the sources a row is from.
    """
    if not sources:
        raise LocalError("there is nothing to audit: no path was given")
    logs = [read_log(session, source, number) for number, source in enumerate(sources)]
    return reduce(DataFrame.unionByName, logs)


def with_all_columns(events: DataFrame, number: int = 0) -> DataFrame:
    """The log with every column that it may have, and source, which is this number.

    `LocalError` if it lacks one that it must have.
    """
    required = [field.name for field in EVENTS.fields if not field.nullable]
    needed = {*required, "sender", "sequence", "target"} - {"payload_bytes", "metadata_bytes"}
    missing = sorted(needed - set(events.columns))
    if missing:
        raise LocalError(f"this is no event log: it has no column {', '.join(missing)}")
    added = {
        field.name: F.lit(None).cast(field.dataType)
        for field in EVENTS.fields
        if field.name not in events.columns
    }
    if "run_id" not in events.columns:
        added["run_id"] = F.lit(ONLY_RUN)
    return events.withColumns({**added, "source": F.lit(number)})


def read_log(session: SparkSession, source: Source, number: int) -> DataFrame:
    """The logs of one source."""
    if source.is_table:
        columns = [*EVENTS.names, "run_id", "source"]
        return with_all_columns(table_of(session, source.path), number).select(*columns)
    schema = with_run_id(EVENTS) if source.run_id is None else EVENTS
    reader = session.read.schema(schema).option("mode", "FAILFAST")
    parts = [
        (
            reader
            if len(source.formats) == 1
            else reader.option("pathGlobFilter", FILES_OF[format_name])
        )
        .format(format_name)
        .load(paths_of(source, format_name))
        for format_name in source.formats
    ]
    if source.run_id is not None:
        parts = [part.withColumn("run_id", F.lit(source.run_id)) for part in parts]
    for run_id, one in source.leftovers:
        if one.lines:
            rows = session.createDataFrame(json_table(one.lines, EVENTS.names))
            parts.append(rows.withColumn("run_id", F.lit(source.run_id or run_id)))
    if not parts:  # Of no recorder's file there is more than its name.
        parts = [session.createDataFrame([], with_run_id(EVENTS))]
    return reduce(DataFrame.unionByName, parts).withColumn("source", F.lit(number))


def table_of(session: SparkSession, name: str) -> DataFrame:
    """The table of this name; `LocalError` if there is none."""
    try:
        return session.table(name)
    except PySparkException as error:
        raise LocalError(f"cannot read the table {name}: {first_line(error)}") from error


def json_table(lines: bytes, columns: Sequence[str]) -> ArrowTable:
    """These columns of JSON lines; null where a line has no such field."""
    schema = pa.schema([event_schema().field(name).with_nullable(True) for name in columns])
    table = pj.read_json(
        pa.BufferReader(lines),
        read_options=pj.ReadOptions(block_size=max(len(lines), 1)),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    return table.select(list(columns))


def cut_off(sources: Sequence[Source], runs: Mapping[str, RunKey]) -> dict[str, set[int]]:
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


def name_apart(run_id: str, source: Source, taken: Set[str]) -> str:
    """What to call a run of which nothing can be read."""
    return run_id if run_id not in taken else f"{source.path}: {run_id}"


def names_cut_off(name: str, sources: Sequence[Source]) -> dict[int, str]:
    """The names of the processes of a run of which nothing can be read."""
    for source in sources:
        for run_id, _ in source.leftovers:
            run_id = source.run_id or run_id
            if name in (run_id, f"{source.path}: {run_id}"):
                return names_beside(source, run_id)
    return {}


def read_spans(
    session: SparkSession, sources: Sequence[Source], runs: Mapping[str, RunKey]
) -> DataFrame | None:
    """What the spans of these runs are called, where ingest has written it beside the events.

    Out: run_id, trace_id, span_id, operation, attributes; None if there is nothing.
    """
    tables = []
    for name, run in runs.items():
        folder = spans_folder(sources[run.source], run.run_id)
        if folder is not None:
            spans = session.read.schema(SPANS).parquet(folder)
            tables.append(spans.withColumn("run_id", F.lit(name)).drop("process"))
    return reduce(DataFrame.unionByName, tables) if tables else None


def moved_clocks(
    sources: Sequence[Source], runs: Mapping[str, RunKey]
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


def spans_folder(source: Source, run_id: str) -> str | None:
    """Where ingest has written what the spans of a run are called; None if it has not."""
    name = partition_folder(Path(), run_id).name
    parent, _, last = source.path.rpartition("/")
    folder = f"{parent}/{SPANS_FOLDER}/{name}"
    if last != EVENTS_FOLDER or source.is_table:
        return None
    there = name in source.spans if source.beside is not None else Path(folder).is_dir()
    return folder if there else None


def paths_of(source: Source, format_name: str) -> str | list[str]:
    """What Spark has to load for the logs of this source that are in one format."""
    files = [str(file) for file in source.files if FORMATS[suffix_of(file)] == format_name]
    return files or source.path


def names_beside(source: Source, run_id: str) -> dict[int, str]:
    """The names of a run's processes, if they are beside its log; audits do without, if need be."""
    if source.is_table:
        return {}
    with suppress(LocalError):
        tables = [processes_file(file) for file in source.files]
        if names := read_files([table for table in tables if table.exists()]):
            return names
        return read_processes(source.place, None if source.is_file else run_id)
    return {}
