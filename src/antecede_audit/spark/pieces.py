"""Logs in pieces, which the workers of Spark look at one after the other.

Files of this machine's disk are read by the workers themselves, as columns: that takes a tenth of
what Spark needs to read them as rows and to turn these into columns for Python. Everything else
Spark reads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.parquet import reading
from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.columns.arrow_rows import repeated
from antecede_audit.eventlog.checked import REASON, RUN_ID, checked, name_of_row
from antecede_audit.jobs.event_logs import PARQUET, LogSource, find_source, runs_at
from antecede_audit.judging.event_columns import READ, TRACE_ID
from antecede_audit.spark.audit_stages import counted, spread
from antecede_audit.spark.session import PLANS_ONLY

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

Reader: TypeAlias = Callable[[ArrowTable], Iterator[ArrowTable]]
"""From what Spark hands over to checked rows of a log: `READ`, trace_id, source, run_id."""

PIECE_BYTES: Final = 16 << 20
"""A task reads 16 MiB of files: smaller ones would cost more than they spread."""

PIECE_ROWS: Final = 1 << 19
"""524,288 rows are looked at at a time."""

WORDS: Final = ("kind", "run_id")
"""Columns that have few different texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """A log, and how workers get at its rows."""

    table: DataFrame
    read: Reader
    is_rows: bool
    """Whether the table has the rows themselves."""

    def counted(self) -> "LogReader":
        """No more of it than the definition of causal delivery looks at, if Spark can tell."""
        return of_rows(counted(self.table)) if self.is_rows else self


def of_rows(events: DataFrame, more: Sequence[str] = ()) -> LogReader:
    """A log that Spark reads. In: the event log, source and run_id; more columns are checked."""
    also = [name for name in (TRACE_ID, *more, REASON) if name in events.columns]
    columns = [*READ, *also]
    return LogReader(
        table=events.select("source", "run_id", *columns), read=handed_over, is_rows=True
    )


def handed_over(batch: ArrowTable) -> Iterator[ArrowTable]:
    """Rows as Spark hands them over; `LocalError` if one is wrong, by what Spark read or by us."""
    table = pa.Table.from_batches([batch])
    if REASON in table.column_names:
        refused = table.filter(pc.is_valid(table[REASON]))
        if len(refused):
            reason = refused[REASON][0].as_py()
            raise LocalError(f"{name_of_row(refused, 0, '', None)}{reason}")
    there = [name for name in ALL_COLUMNS if name in table.column_names]
    yield checked(table, there, first_row=None)


def of_files(session: SparkSession, sources: Sequence[LogSource]) -> LogReader | None:
    """The log that all these sources are; None if there is one that only Spark can read."""
    if not all(is_readable(source) for source in sources):
        return None
    columns: dict[str, list[Any]] = {
        name: [] for name in ("source", "run_id", "file", "part", "of")
    }
    task, room, tasks = 0, PIECE_BYTES, []
    for number, source in enumerate(sources):
        for run_id, files in runs_at(Path(source.path)).items():
            for file in files:
                size = file.stat().st_size
                of = max(1, round(size / PIECE_BYTES))
                for part in range(of):
                    if room <= 0:
                        task, room = task + 1, PIECE_BYTES
                    room -= size // of
                    tasks.append(task)
                    values = (number, source.run_id or run_id, str(file), part, of)
                    for column, value in zip(columns.values(), values, strict=True):
                        column.append(value)
    table = session.createDataFrame(pa.table({**columns, "task": pa.array(tasks, pa.int64())}))
    return LogReader(table=spread(table, task + 1, "task"), read=read_here, is_rows=False)


def is_readable(source: LogSource) -> bool:
    """Whether these are Parquet files here, all of them complete."""
    here = source.beside is None and not source.is_table
    return here and source.formats == (PARQUET,) and not source.leftovers


def session_settings(paths: Sequence[str]) -> dict[str, str]:
    """How Spark is started for an audit of these logs of this machine.

    If workers read all of them, Java has little to do with rows.
    """
    return PLANS_ONLY if all(is_readable(find_source(path)) for path in paths) else {}


def read_here(batch: ArrowTable) -> Iterator[ArrowTable]:
    """The rows in some parts of files."""
    for row in batch.to_pylist():
        path = Path(row["file"])
        with reading(path):
            known = pq.read_metadata(path)
            there = [name for name in (*READ, TRACE_ID, "run_id") if name in known.schema.names]
            words = [name for name in there if name in WORDS]
            with pq.ParquetFile(path, metadata=known, read_dictionary=words) as file:
                groups = file.num_row_groups
                first, end = (groups * part // row["of"] for part in (row["part"], row["part"] + 1))
                before = sum(known.row_group(group).num_rows for group in range(first))
                for rows in file.iter_batches(PIECE_ROWS, range(first, end), columns=there):
                    table = pa.Table.from_batches([rows])
                    if RUN_ID not in there:
                        table = table.append_column(RUN_ID, repeated(row["run_id"], len(rows)))
                    table = table.append_column("source", pa.repeat(row["source"], len(rows)))
                    yield checked(table, (*READ, TRACE_ID), row["file"], before + 1)
                    before += len(rows)
