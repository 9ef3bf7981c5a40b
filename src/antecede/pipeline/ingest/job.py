"""The ingest job: joins the stages, and owns all reading and writing.

It leaves `events/`, `workload/`, `processes/`, `spans/` (datasets by run), `rejects/` and, last of
all, `summary.json`: while that is missing, the rest is unfinished.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import StructType

from antecede.pipeline.ingest.arrow_rows import Batch, arrow_schema
from antecede.pipeline.ingest.causes import COUNTED, work_moved, workload_batches
from antecede.pipeline.ingest.clocks import instants, repaired
from antecede.pipeline.ingest.counting import (
    counted_messages,
    counted_mutual,
    counted_reading,
    counted_sending,
)
from antecede.pipeline.ingest.earlier import (
    Earlier,
    earlier_anywhere,
    known_files,
    run_after,
    stored_records,
)
from antecede.pipeline.ingest.formats.catalogue import AUTO
from antecede.pipeline.ingest.known import MUTUAL, Known, Placing, Reading, summary_of
from antecede.pipeline.ingest.layouts import (
    LONG,
    PARTS,
    REJECTS,
    STORED_AS,
    STORED_LINES,
    STORED_SPANS,
    table,
)
from antecede.pipeline.ingest.messages import MESSAGE, messages_in
from antecede.pipeline.ingest.names import names_of, run_named
from antecede.pipeline.ingest.order import (
    EDGE,
    EDGES,
    SENT_SORT,
    Numbering,
    Offsets,
    Stretches,
    event_batches,
    events_moved,
    placed,
    sequenced,
    stretches,
)
from antecede.pipeline.ingest.outputs import REPLACED, Outputs, check_apart
from antecede.pipeline.ingest.packing import (
    ALL_OF_A_SPAN,
    LINE,
    REJECTED,
    STORED,
    packed_records,
)
from antecede.pipeline.ingest.parcels import Integers, chunks_of, collected, rows_in, unpacked
from antecede.pipeline.ingest.reading import KNOWN, Manner, read_contents, read_parts
from antecede.pipeline.ingest.sources import Found, find_files, tasks_of, weight_of_file
from antecede.pipeline.ingest.summary import Summary
from antecede.pipeline.ingest.ties import EDGES_MAX, is_tied, ranked
from antecede.pipeline.persisting import persisted
from antecede.pipeline.places import Places
from antecede.pipeline.schemas import EVENTS, WORKLOAD
from antecede.pipeline.spark_settings import UNWEIGHED, WEIGHED, configured
from antecede.pipeline.table_formats import PARQUET, check_format, check_new_run, write_run

ROWS_OF_A_TASK: Final = 1 << 18
"""About so many rows are in one task, and in the memory of its worker."""

BUCKET_BYTES: Final = 32 << 20
"""What is read is spread over buckets before anybody knows how much it is; a task then has as many
of these as make up its rows."""

BUCKETS_MAX: Final = 1 << 12

SAMPLE_OF_A_TASK: Final = 1 << 11
"""So many copies are looked at for every task, to find out where to cut."""

SAMPLE_MAX: Final = 1 << 22
"""And no more than so many in all: they come to the driver, 40 bytes each."""


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
) -> Summary:
    """Read the traces at `paths` and write what they come to into the folder `out`.

    What was there of an earlier ingest is replaced. If this is to `append` to it, the result is as
    if all files had been ingested at once; those that were read before are skipped.
    `run_id` is by default that of the run in the folder, or else called after the first path.
    `unit` is that of times in message tables that do not say; `keep` names attributes of spans that
    come along; `tell` hears what is being done. The events go into the table of a catalogue too, if
    one is named, in the format `table_form`.
    """
    check_format(spark, table_format)
    places = Places(spark)
    found = find_files(paths, places)
    target = places.address(out)
    check_apart(target, [path for path, _ in found.files])
    places.make_folder(out)
    earlier = earlier_anywhere(spark, places, target) if append else None
    run = run_after(earlier, run_id, run_named(paths[0]))
    if table_name is not None and earlier is None:
        check_new_run(spark, table_name, run)
    with ExitStack() as stack:
        stack.enter_context(configured(spark, UNWEIGHED))
        buckets = buckets_for(found, earlier, tasks_wanted(spark))
        tell(f"reading {len(found.files) + len(found.elsewhere):,} files")
        manner = Manner(
            format_name=format_name, unit=unit, keep=frozenset(keep), known=known_files(earlier)
        )
        read = read_found(spark, found, manner, 0 if earlier is None else earlier.parts, buckets)
        if earlier is not None:
            stored = stored_records(spark, places, earlier)
            read = packed_records(stored, buckets).unionByName(read)
        records = persisted_on_disk(read, stack)
        reading, files = counted_reading(records)
        if earlier is not None and found.count == len(reading.skipped):
            return earlier.unchanged(reading.skipped)
        stack.enter_context(configured(spark, WEIGHED))
        tell("finding messages")
        traffic = understood(records, buckets, reading, repair, stack)
        known = traffic.known
        tell("putting events in order")
        events = ordered(traffic, stack)
        tell("writing")
        outputs = Outputs(spark, stack.enter_context(places.replacing(target, REPLACED)), run)
        outputs.write_stage("events", events.moved(), events.stage(), EVENTS)
        outputs.write_processes(known.names.values())
        write_records(outputs, records, known)
        outputs.write_few("files", pa.table(files.filter(pc.not_equal(files["format"], KNOWN))))
        waiting = write_workload(outputs, events)
        before = None if earlier is None else earlier.summary
        summary = summary_of(run, found, repair, known, events.placing, waiting, before)
        outputs.write_summary(summary.as_object())
        if table_name is not None:
            log = events.log().withColumn("run_id", F.lit(run))
            write_run(log, table_name, run, table_format)
    return summary


def tasks_wanted(spark: SparkSession) -> int:
    """In how many tasks even little is done."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def buckets_for(found: Found, earlier: Earlier | None, tasks: int) -> int:
    """Over how many buckets spans are spread, by the size of what is going to be read."""
    size = sum(weight_of_file(*file) for file in (*found.files, *found.elsewhere))
    records = 0 if earlier is None else sum(one.records for one in earlier.summary.read)
    wanted = max(size // BUCKET_BYTES, records // ROWS_OF_A_TASK * 4, 4 * tasks)
    return min(wanted, BUCKETS_MAX)


def read_found(
    spark: SparkSession, found: Found, manner: Manner, first_part: int, buckets: int
) -> DataFrame:
    """The records in all files: Python opens those of this machine, Spark those elsewhere.

    Out: parcels of `packing`.
    """
    tables = []
    rows = [
        (task, first_part + part.number, part.path, part.start, part.end)
        for task, part in tasks_of(found.files)
    ]
    if rows:
        tasks = rows[-1][0] + 1
        parts = spark.createDataFrame(rows, StructType([*table(task=LONG).fields, *PARTS.fields]))
        # A row for each task, so that none has more than it should.
        each = spark.range(0, tasks, 1, tasks).withColumnRenamed("id", "task")
        joined = each.join(F.broadcast(parts), on="task", how="inner")
        tables.append(read_parts(joined, manner, buckets))
    if found.elsewhere:
        first = first_part + len(rows)
        numbers = {path: number for number, (path, _) in enumerate(found.elsewhere, start=first)}
        contents = spark.read.format("binaryFile").load(list(numbers))
        tables.append(read_contents(contents, numbers, manner, buckets))
    return reduce(DataFrame.unionByName, tables)


def write_records(outputs: Outputs, records: DataFrame, known: Known) -> None:
    """Write what was read: it has names that findings lead back to, and later batches need it."""
    if known.reading.spans:
        stage = partial(stored_spans, keys=list(known.names))
        outputs.write_stage("spans", records.where(F.col("sort") == STORED), stage, STORED_SPANS)
    if known.reading.copies:
        lines = records.where(F.col("sort") == LINE)
        outputs.write_stage("lines", lines, partial(unpacked, schema=STORED_LINES), STORED_LINES)
    if known.reading.rejects_by_reason:
        outputs.write("rejects", rows_in(records, REJECTED, REJECTS))
    else:
        outputs.write_few("rejects", arrow_schema(REJECTS).empty_table())


def stored_spans(batches: Iterable[Batch], keys: Sequence[str]) -> Iterator[Batch]:
    """What each span is called, for findings to lead back to it, and all else that is known of it.

    In:  parcels of `ALL_OF_A_SPAN`; what processes are called, by their numbers.
    Out: `STORED_SPANS`.
    """
    inside = {outside: name for name, outside in STORED_AS.items()} | {"process_key": "process"}
    names = pa.array(keys, pa.string())
    for _, spans in chunks_of(batches, ALL_OF_A_SPAN):
        columns = [
            pc.index_in(spans["process"], names)
            if name == "process"
            else spans[inside.get(name, name)]
            for name in STORED_SPANS.names
        ]
        yield pa.record_batch(columns, schema=arrow_schema(STORED_SPANS))


def persisted_on_disk(rows: DataFrame, stack: ExitStack) -> DataFrame:
    """The rows, computed once and kept until the stack is left.

    They are kept on disk, where the system caches them: in Java's memory they would crowd out what
    sorting needs.
    """
    return persisted(rows, stack, StorageLevel.DISK_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Messages, and what the clocks say about them."""

    messages: DataFrame
    """Parcels of `messages_in`."""
    sample: Batch
    """Some of them."""
    known: Known


def understood(
    records: DataFrame, buckets: int, reading: Reading, repair: bool, stack: ExitStack
) -> Traffic:
    """The messages in records, and clocks that suit them.

    In: parcels of `packing`, in so many buckets.
    """
    names = names_of(reading.processes)
    keys = list(names)
    count = reading.spans + reading.copies
    tasks = min(max(tasks_wanted(records.sparkSession), count // ROWS_OF_A_TASK), buckets)
    sampled = min(1.0, min(2 * tasks * SAMPLE_OF_A_TASK, SAMPLE_MAX) / max(count, 1))
    messages = persisted_on_disk(messages_in(records, keys, buckets, tasks, sampled), stack)
    calling, sample = counted_messages(messages, keys)
    told = messages.where(F.col("sort") == MESSAGE)
    gaps, clocks = repaired(calling.gaps if repair else [], told, keys)
    known = Known(
        reading=reading,
        tallies=calling.tallies,
        rows=calling.copies,
        names=names,
        gaps=gaps,
        clocks=clocks,
    )
    return Traffic(messages=messages, sample=sample, known=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """The copies of all messages with their numbers, and how to put their events in order."""

    copies: DataFrame
    """Parcels for `order.numbered`."""
    numbering: Numbering | None
    by_process: Stretches
    positions: Offsets
    placing: Placing

    def moved(self) -> DataFrame:
        """What `stage` makes the event log of."""
        return events_moved(self.copies, self.numbering, self.by_process)

    def stage(self) -> Callable[[Iterable[Batch]], Iterator[Batch]]:
        """How a task does that."""
        return partial(event_batches, offsets=self.positions)

    def log(self) -> DataFrame:
        """The event log."""
        return self.moved().mapInArrow(self.stage(), EVENTS)


def ordered(traffic: Traffic, stack: ExitStack) -> Ordered:
    """The events of every process in order."""
    known = traffic.known
    spark = traffic.messages.sparkSession
    offsets = np.array([0, *(offset for _, _, offset in known.clock_rows())])[1:]
    by_sender, by_process = stretches_of(traffic.sample, offsets, known.rows, tasks_wanted(spark))
    copies = placed(traffic.messages, offsets, by_sender)
    return in_order(copies, by_sender.tasks, by_process, stack)


def in_order(copies: DataFrame, tasks: int, by_process: Stretches, stack: ExitStack) -> Ordered:
    """The copies with the numbers of their messages, and where their events belong.

    In: parcels of `PLACED`, for so many tasks.
    """
    sent = persisted_on_disk(sequenced(copies, tasks, by_process), stack)
    placing, sequences, positions, at_once = counted_sending(sent)
    numbering = Numbering(sequences, placing.first_ids())
    copies = sent.where(F.col("sort") == SENT_SORT)
    found = Ordered(
        copies=copies,
        numbering=numbering,
        by_process=by_process,
        positions=positions,
        placing=placing,
    )
    if not at_once or (at_once <= EDGES_MAX and not is_tied(collected(sent, {EDGE: EDGES})[EDGE])):
        return found
    tied = persisted_on_disk(ranked(copies, numbering, tasks), stack)
    counts = placing.counts | {MUTUAL: counted_mutual(tied)}
    return replace(found, copies=tied, numbering=None, placing=replace(placing, counts=counts))


def write_workload(outputs: Outputs, events: Ordered) -> dict[str, int]:
    """Write what each message waits for, and count what could not be kept of it."""
    moved = work_moved(events.copies, events.numbering, events.by_process.tasks)
    stage = partial(workload_batches, first_ns=events.placing.first_ns or 0)
    return outputs.write_stage("workload", moved, stage, WORKLOAD, COUNTED)


def stretches_of(
    sample: Batch, offsets: Integers, rows: int, tasks: int
) -> tuple[Stretches, Stretches]:
    """Where so many copies are cut by their senders, and their events by their processes."""
    sending, having = (max(tasks, count // ROWS_OF_A_TASK) for count in (rows, 2 * rows))
    times = instants(sample, offsets)
    submitted, delivered = (times[name].to_numpy() for name in ("submitted_ns", "delivered_ns"))
    sender, receiver = (sample[name].to_numpy() for name in ("sender", "receiver"))
    process, time_ns = np.append(sender, receiver), np.append(submitted, delivered)
    return stretches(sender, submitted, sending), stretches(process, time_ns, having)
