"""Where the tables of an ingest go, wherever Spark can write."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, final

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.core.errors import LocalError
from antecede.eventlog.layout import partition_folder
from antecede.eventlog.processes import FOLDER as BESIDE_EVENTS
from antecede.eventlog.processes import processes_schema
from antecede_audit.columns.arrow_rows import ArrowTable, Schema
from antecede_audit.jobs.worker_files import (
    ROWS,
    SUMS,
    part_name,
    without_leftovers,
    write_parquet_part,
)
from antecede_audit.judging.verdict_summary import SUMMARY
from antecede_audit.shuffle import Shuffle, SparkShuffle, Stage
from antecede_audit.spark.storage import Storage
from antecede_audit.spark.written_rows import blaming_spark, check_rows

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


@final
class OutputTables:
    """The folder of one ingest, which holds one run, while it is written.

    Without a session it is on this machine's disk.
    """

    def __init__(self, session: SparkSession | None, stage: str, run_id: str) -> None:
        self._session: Final = session
        self._stage: Final = stage
        self._folder: Final = partition_folder(Path(), run_id).name

    def of_run(self, table: str) -> str:
        """The folder of the run in a dataset of runs.

        It is named here instead of by Spark, which would sort the rows once more for that.
        """
        return f"{table}/{self._folder}"

    def write_run(self, table: str, rows: DataFrame, count: int) -> None:
        """Write the rows of the run into a dataset of runs, in the order they are in."""
        self._write(self.of_run(table), rows)
        self._check(self.of_run(table), count)

    def _write(self, table: str, rows: DataFrame) -> None:
        """Write a table that Spark has."""
        with blaming_spark(table):
            rows.write.mode("overwrite").parquet(f"{self._stage}/{table}")

    def _check(self, table: str, count: int) -> None:
        """`LocalError` if a table has fewer or more rows than were written."""
        if self._session is not None and count:
            check_rows(Storage(self._session), f"{self._stage}/{table}", count)

    def write_stage(
        self,
        table: str,
        parcels: Shuffle,
        stage: Stage,
        schema: Schema,
        counted: Sequence[str] = (),
    ) -> dict[str, int]:
        """Write what a stage makes of parcels, and sum up some more columns that it has.

        On this machine Python writes the rows as it makes them; elsewhere they are handed to Spark.
        """
        here = self._local(table)
        if here is None:
            assert isinstance(parcels, SparkShuffle), "nobody else writes elsewhere"
            columns = pa.schema([*schema, *((name, pa.int64()) for name in counted)])
            seen = Observation()
            totals = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in counted]
            rows = parcels.rows(stage, columns)
            observed = rows.observe(seen, F.count(F.lit(1)).alias("rows"), *totals)
            self._write(table, observed.select(*schema.names))
            self._check(table, int(seen.get["rows"]))
            return {name: int(seen.get[name]) for name in counted}
        here.mkdir(parents=True)
        writing = partial(
            write_parquet_part, stage=stage, folder=str(here), names=schema.names, counted=counted
        )
        with blaming_spark(table):
            sums = parcels.gathered(writing, SUMS).to_pylist()
        if not without_leftovers(here):
            write_table(here, schema.empty_table())
        sums_of = dict.fromkeys((*counted, ROWS), 0)
        for row in sums:
            sums_of[row["name"]] += row["sum"]
        self._check(table, sums_of.pop(ROWS))
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
        here = self._local(table)
        if here is None:
            assert self._session is not None, "nobody else writes elsewhere"
            self._write(table, self._session.createDataFrame(rows).coalesce(1))
            self._check(table, rows.num_rows)
        else:
            here.mkdir(parents=True)
            write_table(here, rows)

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Write the summary, which says that all is done."""
        data = (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()
        if self._session is None:
            (Path(self._stage) / SUMMARY).write_bytes(data)
        else:
            Storage(self._session).write(f"{self._stage}/{SUMMARY}", data)

    def _local(self, table: str) -> Path | None:
        """Where a table goes, if that is on this machine's disk."""
        place = f"{self._stage}/{table}"
        return Path(place) if self._session is None else Storage(self._session).local(place)
