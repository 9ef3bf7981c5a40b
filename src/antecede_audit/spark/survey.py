"""What has to be known about a log before it can be cut: its runs, their size, a few flights.

One look at each piece of the log tells both. How many flights are wanted is known only when all
has been counted. So each message has a *level*, which follows from its name: half of all are at
level 0, a quarter at level 1, and so on. Workers set those of some levels aside, and the driver
fetches the highest.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from antecede.core.errors import LocalError
from antecede_audit.columns.arrays import offset_of_each
from antecede_audit.columns.arrow_rows import Integers
from antecede_audit.columns.hashing import P1, hash_texts, mix64
from antecede_audit.judging.copies import NEVER, ArrowBatch, Copies, Rows, gather_copies
from antecede_audit.judging.event_columns import (
    GREATEST,
    LEAST,
    READ,
    SUMS,
    TRACE_ID,
    EventColumns,
    RunKey,
    RunSize,
    runs_of,
)
from antecede_audit.judging.slice_plan import RunExtent
from antecede_audit.spark.job_names import named
from antecede_audit.spark.pieces import LogReader, Reader, of_rows
from antecede_audit.spark.settings import persisted

Flights: TypeAlias = NDArray[np.int64]
"""When copies began and ended, and at which processes, a row each."""


LOOKED: Final = StructType(
    [
        StructField("source", IntegerType()),
        StructField("run_id", StringType()),
        StructField("process", IntegerType()),
        *(StructField(name, LongType()) for name in (*SUMS, *LEAST, *GREATEST)),
        StructField("level", IntegerType(), nullable=False),
        StructField("content", BinaryType()),
        StructField("wrong", StringType()),
    ]
)
"""What is seen of a piece: for each process how much it has there, and the least level of messages
that are set aside; rows with a content are such messages, all of one level. Of a piece with a row
that is wrong, only that is said."""

ARROW: Final = to_arrow_schema(LOOKED)

SAMPLED_MESSAGES: Final = 50_000
"""About 50,000 messages are looked at before the log is cut."""

WHOLE_BITS: Final = 11
"""Of a piece of at most 2**11 rows all messages are set aside."""

SPARSEST: Final = 5
"""The least level of messages that are set aside, of pieces of any size: one in 32."""

LEVELS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSurvey:
    """What one look at a log has shown."""

    runs: list[RunSize]
    seen: DataFrame
    """`LOOKED`."""
    level: int
    """Messages of all levels from this one on were set aside in every piece."""

    def flights(self, runs: Sequence[int]) -> dict[int, Flights]:
        """When some copies of these runs began and ended, as recorded, and where."""
        if not runs:
            return {}
        copies = sum(self.runs[number].copies for number in runs)
        level = max(self.level, (copies // SAMPLED_MESSAGES).bit_length() - 1)
        found = self.seen.where(F.col("content").isNotNull() & (F.col("level") >= level))
        rows = Rows.of_packed(found.select("content").toArrow()["content"])
        keys = keys_of([(run.source, run.run_id) for run in self.runs])
        return {run: flights_of(rows.chosen(rows.run == keys[run])) for run in runs}


def gather_facts(events: DataFrame, checked: Sequence[str] = ()) -> list[RunSize]:
    """All runs of a log; `LocalError` names a row that is wrong, if there is one.

    In: the event log, source and run_id. These columns are checked, besides those that are read.
    """
    more = [name for name in checked if name not in (*READ, TRACE_ID)]
    with ExitStack() as stack:
        return survey_log(of_rows(events, more), stack).runs


def survey_log(pieces: LogReader, stack: ExitStack) -> LogSurvey:
    """All runs, by source and id; `LocalError` names a row that is wrong, if there is one.

    What is seen is kept until the stack is closed.
    """
    looking = partial(survey_batches, read=pieces.read)
    seen = persisted(pieces.table.mapInArrow(named(looking), LOOKED), stack)
    merged = {name: F.sum(name) for name in SUMS}
    merged |= {name: F.min(name) for name in LEAST} | {name: F.max(name) for name in GREATEST}
    parts = seen.where(F.col("content").isNull())
    by_process = parts.groupBy("source", "run_id", "process").agg(
        *(column.alias(name) for name, column in merged.items()),
        F.max("level").alias("level"),
        F.min("wrong").alias("wrong"),
    )
    by_run = by_process.groupBy("source", "run_id").agg(
        *(merged[name].alias(name) for name in (*SUMS, "first_ns", "last_ns")),
        F.count(F.lit(1)).alias("processes"),
        F.max(F.col("events") > F.col("high") - F.col("low") + 1).alias("crowded"),
        F.max("level").alias("level"),
        F.min("wrong").alias("wrong"),
    )
    rows = [row.asDict() for row in by_run.collect()]
    wrong = sorted(reason for row in rows if (reason := row.pop("wrong")) is not None)
    if wrong:
        raise LocalError(wrong[0])
    level = max((row.pop("level") for row in rows), default=0)
    return LogSurvey(runs=runs_of(rows), seen=seen, level=level)


def survey_batches(batches: Iterator[ArrowBatch], read: Reader) -> Iterator[ArrowBatch]:
    """What there is in these pieces. Out: `LOOKED`."""
    for batch in batches:
        try:
            for table in read(batch):
                log = EventColumns(table)
                least = min(SPARSEST, max(0, len(log.run).bit_length() - WHOLE_BITS))
                yield counted_batch(log, least)
                yield from sampled_batches(log, least)
        except LocalError as error:
            yield looked_batch({"level": [0], "wrong": [str(error)]})


def counted_batch(log: EventColumns, level: int) -> ArrowBatch:
    """How much each process has."""
    seen = log.by_process()
    keys = [log.runs[number] for number in seen["run"].tolist()]
    columns: dict[str, Any] = {
        "source": [source for source, _ in keys],
        "run_id": [run_id for _, run_id in keys],
        **{name: seen[name] for name in ("process", *SUMS, *LEAST, *GREATEST)},
        "level": np.full(len(keys), level),
    }
    return looked_batch(columns)


def sampled_batches(log: EventColumns, least: int) -> Iterator[ArrowBatch]:
    """The submissions and deliveries of messages from this level on, those of each together."""
    levels = levels_of(log.columns["sender"], log.columns["sequence"])
    chosen = np.flatnonzero(log.counted & (levels >= least))
    rows = log.rows(dict(zip(log.runs, keys_of(log.runs).tolist(), strict=True)), chosen)
    levels = levels[chosen]
    for level in np.unique(levels).tolist():
        content = rows.chosen(levels == level).packed()
        yield looked_batch({"level": [level], "content": [content]})


def looked_batch(columns: Mapping[str, Any]) -> ArrowBatch:
    """Rows of `LOOKED`; what is not given is null."""
    rows = len(columns["level"])
    arrays = [
        pa.array(columns[field.name]).cast(field.type)
        if field.name in columns
        else pa.nulls(rows, field.type)
        for field in ARROW
    ]
    return pa.record_batch(arrays, schema=ARROW)


def keys_of(runs: Sequence[RunKey]) -> Integers:
    """A number for each run that is the same wherever it is read."""
    return hash_texts(pa.array([f"{source} {run_id}" for source, run_id in runs], pa.string()))


def levels_of(sender: Integers, sequence: Integers) -> Integers:
    """The level of each message."""
    words = mix64(sender.astype(np.uint64) * P1 ^ mix64(sequence.astype(np.uint64)))
    words |= np.uint64(1 << LEVELS)
    return np.bitwise_count(~words & (words - np.uint64(1))).astype(np.int64)


def flights_of(rows: Rows) -> Flights:
    """When the copies of these rows began and ended, and where; one of both, if it lacks one."""
    copies: Copies = gather_copies(rows).copies
    begun, ended = copies.submitted_position != NEVER, copies.delivered_position != NEVER
    begin = np.where(begun, copies.submitted_ns, copies.delivered_ns)
    end = np.where(ended, copies.delivered_ns, copies.submitted_ns)
    sender = np.where(begun, copies.sender, copies.process)
    receiver = np.where(ended, copies.process, copies.sender)
    return np.stack([begin, end, sender, receiver], axis=1)


def with_run_numbers(events: DataFrame, runs: Sequence[RunSize]) -> DataFrame:
    """Replace source and run_id by `run`: the place of the run in the list.

    In:  the event log, source and run_id.
    Out: the event log and run.
    """
    if len(runs) == 1:
        return events.drop("source", "run_id").withColumn("run", F.lit(0))
    numbers = events.sparkSession.createDataFrame(
        [(run.source, run.run_id, number) for number, run in enumerate(runs)],
        "source int, run_id string, run int",
    )
    joined = events.join(F.broadcast(numbers), on=["source", "run_id"], how="inner")
    return joined.drop("source", "run_id")


def extent_of(run: RunSize, sample: Flights | None, offsets: Mapping[int, int]) -> RunExtent:
    """What the plan needs to know of a run, by clocks that are moved by these offsets."""
    moves = [0, *offsets.values()]
    flights = np.zeros((0, 4), np.int64) if sample is None else sample
    return RunExtent(
        copies=run.copies,
        first_ns=run.first_ns + min(moves),
        last_ns=run.last_ns + max(moves),
        sample=moved_flights(flights, offsets)[:, :2],
    )


def moved_flights(flights: Flights, offsets: Mapping[int, int]) -> Flights:
    """The same, by clocks that are moved by these offsets."""
    where = flights[:, 2:]
    return np.concatenate([flights[:, :2] + offset_of_each(where, offsets), where], axis=1)
