"""The tables of the audit as Spark types: written here, never inferred from data.

They are the tables of `antecede.eventlog`, with the run each row belongs to. As in Spark every
column read from a file may be null, stages check what must not be.
"""

from typing import Final

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from antecede.eventlog.parquet import event_schema
from antecede.eventlog.processes import processes_schema
from antecede_audit.columns import packed_batch
from antecede_audit.eventlog.workload import workload_schema

RUN_ID: Final = StructField("run_id", StringType(), nullable=False)
"""Which run a row belongs to; a partition folder where the table is a dataset of runs."""

EVENTS: Final = from_arrow_schema(event_schema())
"""The event log of one run; `antecede.eventlog.schema` explains the columns."""

WORKLOAD: Final = from_arrow_schema(workload_schema())
"""Who sends what to whom, and after what; `antecede_audit.eventlog.workload` explains the
columns."""

PROCESSES: Final = from_arrow_schema(processes_schema())
"""What the processes of a run are called."""


def with_run_id(schema: StructType) -> StructType:
    """The same table for many runs: `run_id` last, where Spark puts partition columns."""
    return StructType([*schema.fields, RUN_ID])


PACKED: Final = from_arrow_schema(packed_batch.PACKED)
"""Packed batches, wherever Spark moves rows for Python; `antecede_audit.columns.packed_batch`
explains the columns."""
