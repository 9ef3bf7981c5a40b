"""Spans as an event log, for those who have them in a DataFrame already."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import LocalError
from antecede_audit.columns.clock_offsets import ClockOffsets
from antecede_audit.shuffle import partitions_by_size
from antecede_audit.spans.partitioning import partition_records
from antecede_audit.spans.schemas import RECORDS, SPAN, STORED_AS
from antecede_audit.spans.steps import count_records, extract_messages, order_events
from antecede_audit.spark.ingest import event_log
from antecede_audit.spark.job_names import named_jobs
from antecede_audit.spark.schemas import PROCESSES
from antecede_audit.spark.settings import (
    BATCH_BY_BYTES,
    BATCH_BY_ROWS,
    PersistedTables,
    moved_to,
    persisted,
    private_session,
    spark_conf,
)
from antecede_audit.spark.shuffle import SparkShuffle, default_partitions

REQUIRED: Final = ("trace_id", "span_id", "process", "start_ns")
NAMES: Final = {outside: inside for inside, outside in STORED_AS.items()}
"""What the columns of spans are called inside."""

KEYS_OF_A_PARTITION: Final = 16
"""Nobody knows how many spans there are: if they are many, there are up to 16 times as many
partitions."""

COUNTED_FIRST: Final = 1 << 16
"""Whether there are more spans than this is looked up first. If not, a few tasks will do, however
many the session has for everything else."""

SHUFFLED: Final = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTables(PersistedTables):
    """What spans come to, as tables."""

    events: DataFrame
    """The event log."""
    processes: DataFrame
    """What its processes are called."""
    clocks: ClockOffsets
    """What was added to the clock of each process, and where no offset helps."""


def spans_to_events(spans: DataFrame, *, repair: bool = True) -> EventTables:
    """The messages that spans stand for, as an event log with repaired clocks.

    In: trace_id, span_id, process (a name), start_ns; parent_id, end_ns, kind (client, server,
    producer, consumer or internal), operation, links (of "trace/span") as far as they are known.
    """
    missing = [name for name in REQUIRED if name not in spans.columns]
    if missing:
        raise LocalError(f"these are no spans: there is no column {', '.join(missing)}")
    lent = spans.sparkSession
    session = private_session(lent)
    spans = moved_to(session, spans)
    with (
        named_jobs(session, "spans_to_events") as describe,
        ExitStack() as stack,
        spark_conf(session, BATCH_BY_BYTES | tasks_for(spans, describe)),
    ):
        keys = KEYS_OF_A_PARTITION * default_partitions(session)
        describe("reading spans")
        with spark_conf(session, BATCH_BY_ROWS):
            stage = partial(partition_records, keys=keys)
            records = SparkShuffle.reading([(as_records(spans), stage)]).persist(stack)
            reading, _ = count_records(records)
        describe("messages of traces")
        traffic = extract_messages(records, keys, reading, repair, stack)
        records.unpersist()
        known = traffic.known
        describe("events in order")
        log = event_log(order_events(traffic, stack))
        rows = list(enumerate(known.names.values()))
        return EventTables(
            events=moved_to(lent, persisted(log, stack, StorageLevel.DISK_ONLY)),
            processes=lent.createDataFrame(rows, PROCESSES),
            clocks=known.clocks,
            _stack=stack.pop_all(),
        )


def tasks_for(spans: DataFrame, describe: Callable[[str], None]) -> dict[str, str]:
    """A setting for a few spans: no more tasks than they are worth; nothing if they are many."""
    describe("counting spans")
    count = len(spans.select(F.lit(True)).take(COUNTED_FIRST + 1))
    usual = default_partitions(spans.sparkSession)
    return {} if count > COUNTED_FIRST else {SHUFFLED: str(partitions_by_size(usual, count))}


def as_records(spans: DataFrame) -> DataFrame:
    """Spans as reading files yields them.

    Out: `RECORDS`.
    """
    named = spans.where(F.col("trace_id").isNotNull() & F.col("span_id").isNotNull())
    columns = {NAMES.get(name, name): F.col(name) for name in spans.columns}
    defaults = {"follows": F.lit(False), "kind": F.lit(""), "links": F.array()}
    fields = []
    for one in from_arrow_schema(SPAN).fields:
        value = columns.get(one.name, F.lit(None)).cast(one.dataType)
        if one.name in defaults:
            value = F.coalesce(value, defaults[one.name].cast(one.dataType))
        fields.append(value.alias(one.name))
    known = {
        "part": F.lit(0),
        "ordinal": F.monotonically_increasing_id(),
        "span": F.struct(*fields),
    }
    return named.select(
        *(
            known.get(one.name, F.lit(None)).cast(one.dataType).alias(one.name)
            for one in from_arrow_schema(RECORDS).fields
        )
    )
