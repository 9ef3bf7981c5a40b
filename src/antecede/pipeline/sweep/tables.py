"""The tables of a sweep: what goes into a Python worker, and what comes out of it."""

from typing import Final

from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from antecede.pipeline.metrics.figures import MEASURED

FINISHED: Final = "finished"
"""Everything that was submitted was delivered, and all buffers emptied."""

UNFINISHED: Final = "unfinished"
"""The run ended, at its limit or for good, with something still to be done."""

UNSUITED: Final = "unsuited"
"""The protocol cannot carry this workload: it does not multicast, or does nothing else."""

FAILED: Final = "failed"
"""The run broke down, and would again; the reason says how."""

LOST: Final = "lost"
"""What was to carry the run gave way, not the run: a worker died, a disk was full, memory ran out.
Nothing is known of the run, so a sweep that goes on tries it again.
"""

LEFT_OUT: Final = "left out"
"""The grid sets a limit to this protocol, and the reason says why."""

STATES: Final = (FINISHED, UNFINISHED, UNSUITED, FAILED, LOST, LEFT_OUT)

WITH_EVENTS: Final = (FINISHED, UNFINISHED)
"""A run that ended like this has events, if they were asked for."""

PLANNED: Final = StructType(
    [
        StructField("digest", StringType(), nullable=False),
        StructField("run_id", StringType(), nullable=False),
        StructField("protocol", StringType(), nullable=False),
        StructField("scenario", StringType(), nullable=False),
        StructField("network", StringType(), nullable=False),
        StructField("processes", IntegerType(), nullable=False),
        StructField("seed", LongType(), nullable=False),
        StructField("plan", StringType(), nullable=False),
    ]
)
"""A run that is to take place; `plan` is all that it depends on, the rest says which one it is."""

REQUESTS: Final = StructType(
    [
        StructField("requests", LongType()),
        StructField("request_mean_ns", DoubleType()),
        StructField("request_p50_ns", LongType()),
        StructField("request_p99_ns", LongType()),
    ]
)
"""How long conversations took, from the first submission to the last delivery; of replays only."""

RUNS: Final = StructType(
    [
        *PLANNED.fields,
        StructField("status", StringType(), nullable=False),
        StructField("reason", StringType()),
        StructField("carried_by", StringType()),
        StructField("events", LongType()),
        StructField("refused", LongType()),
        StructField("blocked", LongType()),
        StructField("seconds", DoubleType()),
        *MEASURED.fields,
        *REQUESTS.fields,
    ]
)
"""What came of a run. `carried_by` is the protocol, with `+link` if it ran over the reliable link;
`seconds` is the real time that it took, the only column that another attempt would not repeat.
"""
