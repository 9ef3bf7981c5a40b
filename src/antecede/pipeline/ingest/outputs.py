"""Where the tables of an ingest go: a local folder, or a URL that Spark and pyarrow both know."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, final

import pyarrow as pa
from pyarrow import fs
from pyarrow import parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from antecede.audit.summary import SUMMARY
from antecede.core.errors import LocalError
from antecede.pipeline.ingest.sources import filesystem
from antecede.trace.atomic import replacing
from antecede.trace.datasets import partition_folder
from antecede.trace.processes import FOLDER as BESIDE_EVENTS
from antecede.trace.processes import processes_schema

TABLES: Final = ("events", "workload", "processes", "spans", "rejects")
PART: Final = "processes.parquet"


@final
class Outputs:
    """The folder of one ingest, which holds one run."""

    def __init__(self, out: str, run_id: str) -> None:
        self._remote: Final = "://" in out
        self._out: Final = out.rstrip("/") if self._remote else str(Path(out).absolute())
        self._folder: Final = partition_folder(Path(), run_id).name

    def check_apart(self, files: Iterable[str]) -> None:
        """`LocalError` if a file to read is among those that are going to be replaced."""
        for file in files:
            for table in TABLES:
                if file.startswith(f"{self._out}/{table}/"):
                    raise LocalError(f"{file} would be replaced by what is read from it")

    def make_folder(self) -> None:
        """Make the folder; `LocalError` if that cannot be, before hours have been spent on it."""
        system, inner = filesystem(self._out)
        try:
            system.create_dir(inner, recursive=True)
        except OSError as error:
            raise LocalError(f"cannot write {self._out}: {error}") from error

    def clear(self) -> None:
        """Remove what an earlier ingest left; the summary goes first."""
        system, inner = filesystem(self._out)
        try:
            if system.get_file_info(f"{inner}/{SUMMARY}").type == fs.FileType.File:
                system.delete_file(f"{inner}/{SUMMARY}")
            for table in TABLES:
                if system.get_file_info(f"{inner}/{table}").type == fs.FileType.Directory:
                    system.delete_dir(f"{inner}/{table}")
        except OSError as error:
            raise LocalError(f"cannot write {self._out}: {error}") from error

    def write_run(self, table: str, rows: DataFrame) -> None:
        """Write the rows of the run into a dataset of runs, in the order they are in.

        The folder is named here instead of by Spark, which would sort the rows once more for that.
        """
        self.write(f"{table}/{self._folder}", rows)

    def write(self, table: str, rows: DataFrame) -> None:
        """Write a table."""
        try:
            rows.write.parquet(f"{self._out}/{table}")
        except PySparkException as error:
            raise LocalError(f"cannot write {self._out}/{table}: {error.getMessage()}") from error

    def write_processes(self, names: Iterable[str]) -> None:
        """Write what the processes 0, 1, 2, … are called, also where readers of events look."""
        called = list(names)
        table = pa.table(
            [pa.array(range(len(called)), pa.int32()), pa.array(called, pa.string())],
            schema=processes_schema(),
        )
        system, inner = filesystem(self._out)
        for place in ("processes", f"events/{BESIDE_EVENTS}"):
            folder = f"{inner}/{place}/{self._folder}"
            system.create_dir(folder, recursive=True)
            pq.write_table(table, f"{folder}/{PART}", filesystem=system, compression="zstd")

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Write the summary, which says that all is done."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        if not self._remote:
            with replacing(Path(self._out) / SUMMARY) as partial:
                partial.write_text(text, encoding="utf-8")
            return
        system, inner = filesystem(self._out)
        with system.open_output_stream(f"{inner}/{SUMMARY}") as stream:
            stream.write(text.encode())
