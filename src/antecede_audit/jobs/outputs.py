"""Tables and a summary that jobs leave on this machine: all of them together, or none."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import parquet as pq

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local, replace_folder_atomically
from antecede.eventlog.layout import partition_folder
from antecede.eventlog.processes import FOLDER as BESIDE_EVENTS
from antecede.eventlog.processes import processes_schema
from antecede_audit.columns.arrow_rows import ArrowTable, Schema
from antecede_audit.jobs.worker_files import (
    ROWS,
    SUMS,
    TaskNumber,
    next_task,
    part_name,
    without_leftovers,
    write_parquet_part,
)
from antecede_audit.judging.summary import SUMMARY
from antecede_audit.shuffle import LastStage, Shuffle

TABLES: Final = ("events", "workload", "processes", "spans", "lines", "rejects", "files")
REPLACED: Final = (*TABLES, SUMMARY)
"""What an ingest replaces, all together; the summary last."""


def write_table(folder: Path, rows: ArrowTable) -> None:
    """Write a small table into a folder."""
    pq.write_table(rows, folder / part_name(0), compression="zstd")


def check_apart(out: str, files: Iterable[str]) -> None:
    """`LocalError` if a file to read is among those that are going to be replaced."""
    for file in files:
        for table in TABLES:
            if file.startswith(f"{out}/{table}/"):
                raise LocalError(f"{file} would be replaced by what is read from it")


class OutputTables:
    """The folder of one ingest, which holds one run, while it is written."""

    def __init__(self, stage: str, run_id: str) -> None:
        self._stage: Final = stage
        self._folder: Final = partition_folder(Path(), run_id).name

    def of_run(self, table: str) -> str:
        """The folder of the run in a dataset of runs.

        It is named here instead of by Spark, which would sort the rows once more for that.
        """
        return f"{table}/{self._folder}"

    def write_stage(
        self,
        table: str,
        rows: Shuffle,
        stage: LastStage,
        schema: Schema,
        counted: Sequence[str] = (),
    ) -> dict[str, int]:
        """Write what a last stage makes of rows, and sum up some more columns that it has."""
        sums = self._write_parts(table, rows, stage, schema, counted)
        del sums[ROWS]
        return sums

    def _write_parts(
        self,
        table: str,
        rows: Shuffle,
        stage: LastStage,
        schema: Schema,
        counted: Sequence[str],
        numbered: TaskNumber = next_task,
    ) -> dict[str, int]:
        """The same on this machine's disk: Python writes rows as it makes them, and counts them."""
        here = Path(self._stage) / table
        here.mkdir(parents=True)
        writing = partial(
            write_parquet_part,
            stage=stage,
            folder=str(here),
            names=schema.names,
            counted=counted,
            numbered=numbered,
        )
        sums = rows.collect_last(writing, SUMS).to_pylist()
        if not without_leftovers(here):
            write_table(here, schema.empty_table())
        sums_of = dict.fromkeys((*counted, ROWS), 0)
        for row in sums:
            sums_of[row["name"]] += row["sum"]
        return sums_of

    def write_processes(self, names: Iterable[str]) -> None:
        """Write what the processes 0, 1, 2, … are called, also where readers of events look."""
        called = list(names)
        columns = [pa.array(range(len(called)), pa.int32()), pa.array(called, pa.string())]
        rows = pa.table(columns, schema=processes_schema())
        for table in ("processes", f"events/{BESIDE_EVENTS}"):
            self.write_few(self.of_run(table), rows)

    def write_few(self, table: str, rows: ArrowTable) -> None:
        """Write a table that is here already."""
        here = Path(self._stage) / table
        here.mkdir(parents=True)
        write_table(here, rows)

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Write the summary, which says that all is done."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        self._write_text(SUMMARY, text)

    def _write_text(self, name: str, text: str) -> None:
        (Path(self._stage) / name).write_bytes(text.encode())


PART: Final = "part-00000.parquet"


def write_together(
    out: Path, tables: Mapping[str, ArrowTable], summary: object, replaced: Sequence[str]
) -> None:
    """Write tables, each under its path below `out`, and the summary.

    `replaced` are the names in `out` that change hands, all together, once everything is written.
    """
    with (
        replace_folder_atomically(out.absolute(), replaced) as stage,
        os_errors_as_local(out, "write"),
    ):
        for name, table in tables.items():
            (stage / name).mkdir(parents=True)
            pq.write_table(table, stage / name / PART, compression="zstd")
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        (stage / SUMMARY).write_text(text, encoding="utf-8")
