"""Reads the tables that ingest and grow write; the only place here that reads."""

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import StructType

from antecede.core.errors import LocalError
from antecede.pipeline.schemas import EVENTS, PROCESSES, WORKLOAD, with_run_id


def read_workload(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame:
    """The workload in a folder: run_id and the columns of a workload, of one run or of all."""
    table = read_table(session, f"{folder}/workload", WORKLOAD)
    if table is None:
        raise LocalError(f"{folder} has no workload: `antecede ingest` makes one")
    return of_run(table, run_id)


def read_names(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame:
    """What the processes are called: run_id, process, name; empty if nobody has said so."""
    table = read_table(session, f"{folder}/processes", PROCESSES)
    if table is None:
        return session.createDataFrame([], with_run_id(PROCESSES))
    return of_run(table, run_id)


def read_events(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame | None:
    """The event log in a folder: run_id and its columns, or None if there is none."""
    table = read_table(session, f"{folder}/events", EVENTS)
    return None if table is None else of_run(table, run_id)


def read_table(session: SparkSession, path: str, schema: StructType) -> DataFrame | None:
    """The dataset at a path, or None if there is none; its run ids come from its folders."""
    try:
        return session.read.schema(with_run_id(schema)).parquet(path)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise LocalError(f"cannot read {path}: {error.getMessage()}") from error


def of_run(table: DataFrame, run_id: str | None) -> DataFrame:
    """The rows of one run, or all of them."""
    return table if run_id is None else table.where(F.col("run_id") == run_id)
