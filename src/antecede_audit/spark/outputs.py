"""Where the tables of an ingest go, wherever Spark can write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede_audit.columns.arrow_rows import ArrowTable, Schema
from antecede_audit.jobs.outputs import OutputTables
from antecede_audit.jobs.worker_files import ROWS
from antecede_audit.shuffle import LastStage, Shuffle
from antecede_audit.spark.shuffle import SparkShuffle
from antecede_audit.spark.storage import Storage
from antecede_audit.spark.written_rows import blaming_spark, check_rows


def task_of_spark(_folder: Path) -> tuple[int, int]:
    """The number of the task that a worker of Spark's performs, and of the attempt at it."""
    context = TaskContext.get()
    assert context is not None, "only workers of Spark are asked"
    return context.partitionId(), context.taskAttemptId()


@final
class SparkOutputTables(OutputTables):
    """The same for a session: what goes to this machine's disk Python writes, the rest Spark."""

    def __init__(self, session: SparkSession, stage: str, run_id: str) -> None:
        super().__init__(stage, run_id)
        self._session: Final = session
        self._storage: Final = Storage(session)

    def write_run(self, table: str, rows: DataFrame, count: int) -> None:
        """Write the rows of the run into a dataset of runs, in the order they are in."""
        self._write(self.of_run(table), rows)
        self._check(self.of_run(table), count)

    def write_stage(
        self,
        table: str,
        rows: Shuffle,
        stage: LastStage,
        schema: Schema,
        counted: Sequence[str] = (),
    ) -> dict[str, int]:
        if self._is_here(table):
            with blaming_spark(table):
                sums = self._write_parts(table, rows, stage, schema, counted, task_of_spark)
            self._check(table, sums.pop(ROWS))
            return sums
        assert isinstance(rows, SparkShuffle), "nobody else writes elsewhere"
        seen = Observation()
        totals = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in counted]
        columns = pa.schema([*schema, *((name, pa.int64()) for name in counted)])
        observed = rows.last(stage, columns).observe(seen, F.count(F.lit(1)).alias("rows"), *totals)
        self._write(table, observed.select(*schema.names))
        self._check(table, int(seen.get["rows"]))
        return {name: int(seen.get[name]) for name in counted}

    def write_few(self, table: str, rows: ArrowTable) -> None:
        if self._is_here(table):
            super().write_few(table, rows)
        else:
            self._write(table, self._session.createDataFrame(rows).coalesce(1))
            self._check(table, rows.num_rows)

    def _write_text(self, name: str, text: str) -> None:
        self._storage.write(f"{self._stage}/{name}", text.encode())

    def _write(self, table: str, rows: DataFrame) -> None:
        """Write a table that Spark has."""
        with blaming_spark(table):
            rows.write.mode("overwrite").parquet(f"{self._stage}/{table}")

    def _check(self, table: str, count: int) -> None:
        """`LocalError` if a table has fewer or more rows than were written."""
        if count:
            check_rows(self._storage, f"{self._stage}/{table}", count)

    def _is_here(self, table: str) -> bool:
        return self._storage.local(f"{self._stage}/{table}") is not None
