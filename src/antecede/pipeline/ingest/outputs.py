"""Where the tables of an ingest go, wherever Spark can write."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, final

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from antecede.audit.summary import SUMMARY
from antecede.core.errors import LocalError
from antecede.pipeline.places import Places
from antecede.pipeline.schemas import PROCESSES
from antecede.trace.datasets import partition_folder
from antecede.trace.processes import FOLDER as BESIDE_EVENTS
from antecede.trace.processes import processes_schema

TABLES: Final = ("events", "workload", "processes", "spans", "lines", "rejects", "files")
REPLACED: Final = (*TABLES, SUMMARY)
"""What an ingest replaces, all together; the summary last."""

PART: Final = "processes.parquet"


def check_apart(out: str, files: Iterable[str]) -> None:
    """`LocalError` if a file to read is among those that are going to be replaced."""
    for file in files:
        for table in TABLES:
            if file.startswith(f"{out}/{table}/"):
                raise LocalError(f"{file} would be replaced by what is read from it")


@final
class Outputs:
    """The folder of one ingest, which holds one run, while it is written."""

    def __init__(self, session: SparkSession, stage: str, run_id: str) -> None:
        self._session: Final = session
        self._places: Final = Places(session)
        self._stage: Final = stage
        self._folder: Final = partition_folder(Path(), run_id).name

    def write_run(self, table: str, rows: DataFrame) -> None:
        """Write the rows of the run into a dataset of runs, in the order they are in.

        The folder is named here instead of by Spark, which would sort the rows once more for that.
        """
        self.write(f"{table}/{self._folder}", rows)

    def write(self, table: str, rows: DataFrame) -> None:
        """Write a table."""
        try:
            rows.write.mode("overwrite").parquet(f"{self._stage}/{table}")
        except PySparkException as error:
            raise LocalError(f"cannot write {table}: {error.getMessage()}") from error

    def write_processes(self, names: Iterable[str]) -> None:
        """Write what the processes 0, 1, 2, … are called, also where readers of events look."""
        called = list(names)
        for table in ("processes", f"events/{BESIDE_EVENTS}"):
            here = self._places.local(f"{self._stage}/{table}/{self._folder}")
            if here is None:
                rows = self._session.createDataFrame(list(enumerate(called)), PROCESSES)
                self.write_run(table, rows.coalesce(1))
            else:
                columns = [pa.array(range(len(called)), pa.int32()), pa.array(called, pa.string())]
                here.mkdir(parents=True)
                names_table = pa.table(columns, schema=processes_schema())
                pq.write_table(names_table, here / PART, compression="zstd")

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Write the summary, which says that all is done."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        self._places.write(f"{self._stage}/{SUMMARY}", text.encode())
