"""The ingest job: joins the stages, and owns all reading and writing.

It leaves `events/`, `workload/`, `processes/`, `spans/` (datasets by run), `rejects/` and, last of
all, `summary.json`: while that is missing, the rest is unfinished.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.eventlog.layout import partition_folder
from antecede.units import counted
from antecede_audit.jobs.append import PreviousIngest, known_files, nothing_new, run_after
from antecede_audit.jobs.ingest import IngestRequest, run_ingest
from antecede_audit.jobs.outputs import REPLACED, OutputTables, check_apart
from antecede_audit.shuffle import PARTITION_ROWS, PARTITION_ROWS_MIN
from antecede_audit.spans.formats.catalogue import AUTO
from antecede_audit.spans.partitioning import partition_records
from antecede_audit.spans.reading import ReadOptions, read_contents, read_parts
from antecede_audit.spans.schemas import EVENTS, LONG, PARTS, table
from antecede_audit.spans.steps import OrderedCopies
from antecede_audit.spans.summary import IngestSummary, run_named
from antecede_audit.spans.trace_files import TraceFiles, find_files, tasks_of, weight_of_file
from antecede_audit.spark.append import earlier_anywhere, records_anywhere, without_known_anywhere
from antecede_audit.spark.job_names import named_jobs
from antecede_audit.spark.outputs import SparkOutputTables
from antecede_audit.spark.settings import BATCH_BY_ROWS, private_session, spark_conf
from antecede_audit.spark.shuffle import FirstStage, SparkShuffle, default_partitions
from antecede_audit.spark.storage import Storage, literal
from antecede_audit.spark.table_formats import (
    PARQUET,
    check_format,
    check_new_run,
    check_run,
    write_run,
)

KEY_BYTES: Final = 32 << 20
"""What is read is keyed before anybody knows how much it is: 32 MiB to a key. A partition then has
as many keys in a row as make up its rows."""

KEY_BYTES_MIN: Final = 1 << 20
"""A key with less than 1 MiB is not worth it, however many partitions the session likes to have."""

KEYS_MAX: Final = 1 << 12
"""There are at most 4,096 keys."""


def ingest(
    spark: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    format_name: str = AUTO,
    repair: bool = True,
    run_id: str | None = "ingested",
    unit: str | None = None,
    keep: Sequence[str] = (),
    append: bool = False,
    table_name: str | None = None,
    table_format: str = PARQUET,
    tell: Callable[[str], None] = lambda _: None,
) -> IngestSummary:
    """Read the traces at `paths` and write what they come to into the folder `out`.

    What was there of an earlier ingest is replaced. If this is to `append` to it, the result is as
    if all files had been ingested at once; those that were read before are skipped.
    `run_id` is by default that of the run in the folder, or else called after the first path.
    `unit` is that of times in message tables that do not say; `keep` names attributes of spans that
    come along; `tell` hears what is being done. The events go into the table of a catalogue too, if
    one is named, in the format `table_form`.
    """
    lent, spark = spark, private_session(spark)
    with named_jobs(spark, "ingest", tell) as tell, spark_conf(spark, BATCH_BY_ROWS):
        check_format(spark, table_format)
        storage = Storage(spark)
        found = find_files(paths, storage)
        target = storage.address(out)
        check_apart(target, [path for path, _ in found.files])
        earlier = earlier_anywhere(spark, storage, target) if append else None
        storage.check_replaceable(out, REPLACED, known=earlier is not None)
        storage.make_folder(out)
        run = run_after(earlier, run_id, run_named(paths[0]))
        if table_name is not None and earlier is None:
            check_new_run(spark, table_name, run)
        found = without_known_anywhere(spark, found, earlier)
        if (unchanged := nothing_new(earlier, found)) is not None:
            return unchanged
        tell(f"reading {counted(found.count, 'file')}")
        known = known_files(earlier)
        options = ReadOptions(format_name=format_name, unit=unit, keep=frozenset(keep), known=known)
        keys = read_keys_for(found, earlier, spark)
        sources = read_found(spark, found, options, 0 if earlier is None else earlier.parts, keys)
        if earlier is not None:
            stored = records_anywhere(spark, storage, earlier)
            sources = [*((one, partial(partition_records, keys=keys)) for one in stored), *sources]
        with ExitStack() as stack:
            records = SparkShuffle.reading(sources).persist(stack)
            asked = IngestRequest(found=found, earlier=earlier, run=run, repair=repair, tell=tell)
            summary, events = run_ingest(
                asked, records, keys, outputs_at(spark, storage, target, run, earlier), stack
            )
            if table_name is not None and events is not None:
                log = event_log(events).withColumn("run_id", F.lit(run))
                write_run(log, table_name, run, table_format)
                # The lent session may remember which files the table had.
                lent.catalog.refreshTable(table_name)
        if table_name is not None and events is not None:
            rows = storage.count(f"{target}/{partition_folder(Path('events'), run)}", PARQUET)
            check_run(spark, table_name, run, rows)
    return summary


@contextmanager
def outputs_at(
    spark: SparkSession, storage: Storage, target: str, run: str, earlier: PreviousIngest | None
) -> Iterator[OutputTables]:
    """Where tables go that appear at their place together."""
    with storage.replacing(target, REPLACED, known=earlier is not None) as stage:
        yield SparkOutputTables(spark, stage, run)


def event_log(events: OrderedCopies) -> DataFrame:
    """The event log that Spark makes of events."""
    ends = events.ends()
    assert isinstance(ends, SparkShuffle), "what was read by Spark stays there"
    return ends.last(events.stage(), EVENTS)


def read_keys_for(found: TraceFiles, earlier: PreviousIngest | None, spark: SparkSession) -> int:
    """How many keys records have, by the size of what is going to be read."""
    size = sum(weight_of_file(*file) for file in (*found.files, *found.elsewhere))
    records = 0 if earlier is None else sum(one.records for one in earlier.summary.read)
    few = min(
        4 * default_partitions(spark), size // KEY_BYTES_MIN + records // PARTITION_ROWS_MIN + 1
    )
    return min(max(size // KEY_BYTES, records // PARTITION_ROWS * 4, few), KEYS_MAX)


def read_found(
    spark: SparkSession, found: TraceFiles, options: ReadOptions, first_part: int, keys: int
) -> list[tuple[DataFrame, FirstStage]]:
    """Tables of all files, and the stages that read their records: Python opens the files of this
    machine, Spark those elsewhere."""
    sources: list[tuple[DataFrame, FirstStage]] = []
    rows = [
        (task, first_part + part.number, part.path, part.start, part.end)
        for task, part in tasks_of(found.files)
    ]
    if rows:
        tasks = rows[-1][0] + 1
        columns = pa.schema([*table(task=LONG), *PARTS])
        parts = spark.createDataFrame(rows, from_arrow_schema(columns))
        # A row for each task, so that none has more than it should.
        each = spark.range(0, tasks, 1, tasks).withColumnRenamed("id", "task")
        joined = each.join(F.broadcast(parts), on="task", how="inner").select(*PARTS.names)
        sources.append((joined, partial(read_parts, options=options, keys=keys)))
    if found.elsewhere:
        first = first_part + len(rows)
        numbers = {path: number for number, (path, _) in enumerate(found.elsewhere, start=first)}
        files = spark.read.format("binaryFile").load([literal(path) for path in numbers])
        contents = files.select("path", "content")
        reading = partial(read_contents, numbers=numbers, options=options, keys=keys)
        sources.append((contents, reading))
    return sources
