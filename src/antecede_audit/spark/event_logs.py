"""Where event logs come from: files and datasets, several at a time, all read as one table."""

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from antecede.core.errors import LocalError
from antecede.eventlog.layout import (
    PARTITION,
    run_id_of,
    suffix_of,
)
from antecede.eventlog.parquet import is_number, is_text, reading
from antecede.eventlog.processes import FOLDER as PROCESSES_FOLDER
from antecede.eventlog.rules import INTEGERS, JUDGED
from antecede_audit.eventlog.checked import REASON, RUN_ID
from antecede_audit.eventlog.tables import check_batches, parse_lines, table_of_lines
from antecede_audit.jobs.event_logs import (
    EVENTS_FOLDER,
    FORMATS,
    JSON,
    PARQUET,
    SPANS_FOLDER,
    WITNESSED,
    LogSource,
    RunKey,
    find_source,
    runs_at,
    spans_folder,
)
from antecede_audit.judging.summary import SUMMARY
from antecede_audit.judging.verdict import ONLY_RUN
from antecede_audit.spans.schemas import SPANS
from antecede_audit.spark.job_names import named
from antecede_audit.spark.schemas import EVENTS, with_run_id
from antecede_audit.spark.session import first_line
from antecede_audit.spark.storage import Storage, literal

COMPARED_FILES: Final = 1_000
"""Whether the files of a log have the same types is looked at if they are not more than this."""


FILES_OF: Final = {PARQUET: "*.parquet", JSON: "*.{jsonl,jsonl.gz}"}
"""Which files of a folder with both are in one format, as Spark has it told."""


def find_source_anywhere(path: str, places: Storage) -> LogSource:
    """What is at this path, wherever Spark can read; `LocalError` if there are no event logs."""
    here = places.local(path)
    return find_remote(path.rstrip("/"), places) if here is None else find_source(str(here))


def find_remote(path: str, places: Storage) -> LogSource:
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
    return LogSource(
        path=top,
        run_id=None if in_folders or by_row else run_id_of(Path(name)),
        formats=tuple(sorted({FORMATS[suffix] for suffix in suffixes})),
        beside=copied_beside(top, places),
        spans=frozenset(one.rpartition("/")[2] for one in spans) if is_folder else frozenset(),
    )


def copied_beside(top: str, places: Storage) -> Path:
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


def read_logs(
    session: SparkSession, sources: Sequence[LogSource], columns: Sequence[str] = WITNESSED
) -> DataFrame:
    """All logs below each other, as they were written: no row has been checked yet.

    Out: these columns, in types that hold whatever a file may say; run_id, source: which of the
    sources a row is from, and `REASON` of what cannot be read.
    """
    if not sources:
        raise LocalError("there is nothing to audit: no path was given")
    logs = [read_log(session, source, number, columns) for number, source in enumerate(sources)]
    return reduce(DataFrame.unionByName, logs)


def narrowed(events: DataFrame) -> DataFrame:
    """The same log, once all its rows are known to be right, in the types of the event log."""
    types = {field.name: field.dataType for field in EVENTS.fields if field.name in events.columns}
    cut = {name: F.col(name).cast(of) for name, of in types.items()}
    return events.withColumns(cut).drop(REASON)


def with_all_columns(events: DataFrame, number: int = 0) -> DataFrame:
    """The log with every column that it may have and no others, and source, which is this number.

    `LocalError` if it lacks one that it must have.
    """
    missing = sorted(set(JUDGED) - set(events.columns))
    if missing:
        raise LocalError(f"this is no event log: it has no column {', '.join(missing)}")
    added = {
        field.name: F.lit(None).cast(field.dataType)
        for field in EVENTS.fields
        if field.name not in events.columns
    }
    if "run_id" not in events.columns:
        added["run_id"] = F.lit(ONLY_RUN)
    whole = events.withColumns({**added, "source": F.lit(number)})
    return whole.select(*EVENTS.names, "run_id", "source")


def read_log(
    session: SparkSession, source: LogSource, number: int, columns: Sequence[str]
) -> DataFrame:
    """The logs of one source, as `read_logs` has them."""
    if source.is_table:
        rows = with_all_columns(table_of(session, source.path), number)
        return rows.select(*columns, "run_id", "source", F.lit(None).cast("string").alias(REASON))
    parts = []
    for format_name in source.formats:
        reader = session.read
        if len(source.formats) > 1:
            reader = reader.option("pathGlobFilter", FILES_OF[format_name])
        read = read_columns if format_name == PARQUET else read_lines
        rows = read(reader, source, columns)
        if source.run_id is not None:
            rows = rows.withColumn("run_id", F.lit(source.run_id))
        parts.append(rows)
    for run_id, one in source.leftovers:
        if one.lines:
            rows = session.createDataFrame(table_of_lines(one.lines, columns))
            parts.append(rows.withColumn("run_id", F.lit(source.run_id or run_id)))
    if not parts:  # Of no recorder's file there is more than its name.
        parts = [session.createDataFrame([], with_run_id(lines_schema(columns)))]
    ordered = [part.select(*columns, REASON, "run_id") for part in parts]
    return reduce(DataFrame.unionByName, ordered).withColumn("source", F.lit(number))


def read_columns(reader: DataFrameReader, source: LogSource, columns: Sequence[str]) -> DataFrame:
    """These columns of a source's Parquet files, in the widest types; and `REASON`."""
    groups = files_alike(source, columns)
    if len(groups) > 1 and source.run_id is None and not source.is_file:
        reader = reader.option("basePath", source.path)
    parts = [
        read_alike(reader, paths, stored, columns, in_rows=source.run_id is None)
        for stored, paths in groups
    ]
    return reduce(DataFrame.unionByName, parts)


def read_alike(
    reader: DataFrameReader,
    paths: Sequence[str],
    stored: Mapping[str, DataType],
    columns: Sequence[str],
    *,
    in_rows: bool,
) -> DataFrame:
    """The same of files that have these types; run_id, if rows or folders say it."""
    schema = StructType([StructField(name, of) for name, of in stored.items()])
    more = [RUN_ID] if in_rows else []
    rows = reader.schema(with_run_id(schema) if in_rows else schema).parquet(*paths)
    if any(isinstance(of, DoubleType | DecimalType) for of in stored.values()):
        # Below other rows all would become floats, which cannot tell large numbers apart.
        check = partial(check_batches, columns=list(columns), more=more)
        types = [*lines_schema(columns).fields, *(StructField(name, StringType()) for name in more)]
        return rows.mapInArrow(named(check), StructType(types))
    nothing = {
        name: F.lit(None).cast(EVENTS[name].dataType) for name in columns if name not in stored
    }
    return rows.withColumns({**nothing, REASON: F.lit(None).cast("string")}).select(
        *columns, REASON, *more
    )


def files_alike(
    source: LogSource, columns: Sequence[str]
) -> list[tuple[dict[str, DataType], list[str]]]:
    """The Parquet files of a source, as Spark is told their paths, by the types of these columns.

    Those of a source elsewhere, or of very many files, are taken to be all alike.
    """
    here = [] if source.beside is not None else runs_at(Path(source.path)).values()
    files = [file for files in here for file in files if suffix_of(file) == ".parquet"]
    groups: dict[str, tuple[dict[str, DataType], list[str]]] = {}
    for file in files if len(files) <= COMPARED_FILES else files[:1]:
        stored = stored_types(file, columns)
        groups.setdefault(str(stored), (stored, []))[1].append(literal(str(file)))
    if len(groups) > 1:
        return list(groups.values())
    types = next(iter(groups.values()))[0] if groups else stored_types(None, columns)
    return [(types, paths_of(source, PARQUET))]


def stored_types(first: Path | None, columns: Sequence[str]) -> dict[str, DataType]:
    """The widest types that a Parquet file may have these columns in; without one, the usual ones.

    What has another kind of values there is left out; whoever looks at the rows says what is wrong
    with it.
    """
    wide: dict[str, DataType] = {
        name: LongType() if name in INTEGERS else StringType() for name in columns
    }
    if first is None:
        return wide
    with reading(first):
        stored = pq.read_schema(first)
    for name in columns:
        if name not in stored.names:
            continue
        kind = stored.field(name).type
        if pa.types.is_floating(kind) and name in INTEGERS:
            wide[name] = DoubleType()
        elif pa.types.is_uint64(kind) and name in INTEGERS:
            wide[name] = DecimalType(20, 0)
        elif not (is_number(kind) if name in INTEGERS else is_text(kind)) or pa.types.is_null(kind):
            del wide[name]
    return wide


def read_lines(reader: DataFrameReader, source: LogSource, columns: Sequence[str]) -> DataFrame:
    """These columns of a source's JSON lines, and `REASON`; run_id, if folders say it."""
    folders = ["run_id"] if source.run_id is None else []
    schema = StructType([StructField(name, StringType()) for name in ("value", *folders)])
    lines = reader.schema(schema).format("text").load(paths_of(source, JSON))
    parse = partial(parse_lines, columns=list(columns), more=folders)
    types = StructType([*lines_schema(columns).fields, *schema.fields[1:]])
    return lines.select("value", *folders).mapInArrow(named(parse), types)


def lines_schema(columns: Sequence[str]) -> StructType:
    """What `parse_lines` makes of lines: these columns and `REASON`."""
    fields = [StructField(name, EVENTS[name].dataType) for name in columns]
    return StructType([*fields, StructField(REASON, StringType())])


def table_of(session: SparkSession, name: str) -> DataFrame:
    """The table of this name; `LocalError` if there is none."""
    try:
        return session.table(name)
    except PySparkException as error:
        raise LocalError(f"cannot read the table {name}: {first_line(error)}") from error


def read_spans(
    session: SparkSession, sources: Sequence[LogSource], runs: Mapping[str, RunKey]
) -> DataFrame | None:
    """What the spans of these runs are called, where ingest has written it beside the events.

    Out: run_id, trace_id, span_id, operation, attributes; None if there is nothing.
    """
    tables = []
    for name, run in runs.items():
        folder = spans_folder(sources[run.source], run.run_id)
        if folder is not None:
            spans = session.read.schema(from_arrow_schema(SPANS)).parquet(literal(folder))
            tables.append(spans.withColumn("run_id", F.lit(name)).drop("process"))
    return reduce(DataFrame.unionByName, tables) if tables else None


def paths_of(source: LogSource, format_name: str) -> list[str]:
    """What Spark has to load for the logs of this source that are in one format."""
    files = [str(file) for file in source.files if FORMATS[suffix_of(file)] == format_name]
    return [literal(path) for path in files or [source.path]]
