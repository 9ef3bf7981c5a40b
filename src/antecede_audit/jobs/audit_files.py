"""Logs that fit the memory of this process with room to spare: their files, and what is in them."""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import LocalError
from antecede.eventlog.layout import suffix_of
from antecede.eventlog.parquet import reading
from antecede.eventlog.schema import TRACE_COLUMNS
from antecede_audit.columns.arrow_rows import repeated
from antecede_audit.eventlog.checked import RUN_ID
from antecede_audit.eventlog.tables import read_event_table
from antecede_audit.jobs.event_logs import LogSource, runs_at
from antecede_audit.jobs.limits import fits_here
from antecede_audit.judging.event_columns import READ
from antecede_audit.judging.verdict import LoadedLog

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

RunFiles: TypeAlias = tuple[int, str | None, list[Path], list[bytes]]
"""Which source, which run (None: the rows say), its files, and lines of unfinished ones."""

CHUNK_BYTES: Final = 1 << 20
"""How much of a file is looked at, at a time, while its lines are counted."""


def read_small(files: Sequence[RunFiles], columns: Sequence[str] = READ) -> LoadedLog:
    """The log in these files; `LocalError` names a row that is wrong, if there is one.

    Columns about packets and traces are null where a file lacks them.
    """
    tables: list[ArrowTable] = []
    wanted = (*columns, *TRACE_COLUMNS)
    for source, run_id, parts, lines in files:
        table = read_event_table(parts, wanted, unfinished=lines, run_ids=run_id is None)
        if run_id is not None:
            table = table.append_column(RUN_ID, repeated(run_id, len(table)).cast(pa.string()))
        tables.append(table.append_column("source", pa.repeat(source, len(table))))
    return LoadedLog.of(pa.concat_tables(tables, promote_options="permissive"))


def files_of(sources: Sequence[LogSource], events_max: int) -> list[RunFiles] | None:
    """The files of these logs; None if they do not fit into this process."""
    found: list[RunFiles] = []
    events, size = 0, 0
    for number, source in enumerate(sources):
        for name, files in runs_at(Path(source.path)).items():
            unfinished = [one for run, one in source.leftovers if run == name]
            torn = {one.path for one in unfinished}
            files = [file for file in files if file not in torn]
            lines = [one.lines for one in unfinished if one.lines]
            events += sum(one.count(b"\n") for one in lines)
            for file in files:
                events += rows_in(file, events_max - events)
                size += file.stat().st_size
                if not fits_here(events, size, events_max):
                    return None
            in_rows = source.run_id is None and any(has_run_ids(file) for file in files)
            found.append((number, None if in_rows else source.run_id or name, files, lines))
    return found


def rows_in(file: Path, enough: int) -> int:
    """How many events there are in a file; of JSON lines no more are counted than is enough."""
    if suffix_of(file) == ".parquet":
        with reading(file):
            count: int = pq.read_metadata(file).num_rows
        return count
    lines = 0
    with reading(file), file.open("rb") as raw:
        stream = gzip.GzipFile(fileobj=raw) if file.suffix == ".gz" else raw
        try:
            while lines <= enough and (chunk := stream.read(CHUNK_BYTES)):
                lines += chunk.count(b"\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise LocalError(f"{file}: damaged gzip data: {error}") from error
    return lines


def has_run_ids(file: Path) -> bool:
    """Whether the rows of a file say which run they belong to."""
    if suffix_of(file) != ".parquet":
        return False
    with reading(file):
        return "run_id" in pq.read_schema(file).names
