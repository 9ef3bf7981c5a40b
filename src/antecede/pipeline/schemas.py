"""The tables of the pipeline as Spark types: written here, never inferred from data.

They are the tables of `antecede.trace`, with the run each row belongs to. As in Spark every column
read from a file may be null, stages check what must not be.
"""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

RUN_ID: Final = StructField("run_id", StringType(), nullable=False)
"""Which run a row belongs to; a partition folder where the table is a dataset of runs."""

EVENTS: Final = StructType(
    [
        StructField("process", IntegerType(), nullable=False),
        StructField("position", LongType(), nullable=False),
        StructField("kind", StringType(), nullable=False),
        StructField("sender", IntegerType()),
        StructField("sequence", LongType()),
        StructField("target", IntegerType()),
        StructField("packet", LongType()),
        StructField("packet_kind", StringType()),
        StructField("time_ns", LongType(), nullable=False),
        StructField("payload_bytes", IntegerType(), nullable=False),
        StructField("metadata_bytes", IntegerType(), nullable=False),
        StructField("trace_id", StringType()),
        StructField("span_id", StringType()),
    ]
)
"""The event log of one run; `antecede.trace.events` explains the columns."""

WORKLOAD: Final = StructType(
    [
        StructField("message_id", LongType(), nullable=False),
        StructField("sender", IntegerType(), nullable=False),
        StructField("targets", ArrayType(IntegerType(), containsNull=False), nullable=False),
        StructField("causes", ArrayType(LongType(), containsNull=False), nullable=False),
        StructField("delay_ns", LongType(), nullable=False),
        StructField("payload_bytes", IntegerType(), nullable=False),
    ]
)
"""Who sends what to whom, and after what; `antecede.trace.workload` explains the columns."""

PROCESSES: Final = StructType(
    [
        StructField("process", IntegerType(), nullable=False),
        StructField("name", StringType(), nullable=False),
    ]
)
"""What the processes of a run are called."""


def with_run_id(schema: StructType) -> StructType:
    """The same table for many runs: `run_id` last, where Spark puts partition columns."""
    return StructType([*schema.fields, RUN_ID])
