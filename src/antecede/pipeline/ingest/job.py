"""The ingest job: joins the stages, and owns all reading and writing.

It leaves `events/`, `workload/`, `processes/`, `spans/` (datasets by run), `rejects/` and, last of
all, `summary.json`: while that is missing, the rest is unfinished.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import StructType

from antecede.pipeline.ingest.causes import COUNTED, workload
from antecede.pipeline.ingest.clocks import NUMBERS, compacted, gaps, instants, repaired
from antecede.pipeline.ingest.counting import (
    counted_calls,
    counted_events,
    counted_reading,
    counted_sending,
)
from antecede.pipeline.ingest.earlier import (
    earlier_anywhere,
    known_files,
    run_after,
    stored_records,
)
from antecede.pipeline.ingest.formats.catalogue import AUTO
from antecede.pipeline.ingest.known import Known, Placing, Reading, summary_of
from antecede.pipeline.ingest.layouts import (
    COPIES,
    FILES,
    LONG,
    PARTS,
    REJECTS,
    STORED_LINES,
    table,
)
from antecede.pipeline.ingest.names import names_of, run_named
from antecede.pipeline.ingest.order import (
    OFFSETS,
    ROWS_OF_A_TASK,
    SAMPLE_MAX,
    SAMPLE_OF_A_TASK,
    SENT_OFFSETS,
    Stretches,
    ends_of,
    event_log,
    numbered_messages,
    sequenced,
    stretches,
)
from antecede.pipeline.ingest.outputs import REPLACED, Outputs, check_apart
from antecede.pipeline.ingest.reading import KNOWN, Manner, read_contents, read_parts
from antecede.pipeline.ingest.sources import Found, find_files, tasks_of
from antecede.pipeline.ingest.spans import (
    calls_of_spans,
    copies_of_tables,
    first_receptions,
    linked_calls,
    named_spans,
)
from antecede.pipeline.ingest.summary import Summary
from antecede.pipeline.ingest.ties import RANKS_BROADCAST_MAX, ranked, ranks, unranked
from antecede.pipeline.persisting import persisted
from antecede.pipeline.places import Places
from antecede.pipeline.schemas import WORKLOAD
from antecede.pipeline.spark_settings import UNWEIGHED, configured
from antecede.pipeline.table_formats import PARQUET, check_format, check_new_run, write_run


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
        tell(f"reading {len(found.files) + len(found.elsewhere):,} files")
        manner = Manner(
            format_name=format_name, unit=unit, keep=frozenset(keep), known=known_files(earlier)
        )
        read = read_found(spark, found, manner, 0 if earlier is None else earlier.parts)
        if earlier is not None:
            read = stored_records(spark, places, earlier).unionByName(read)
        records = persisted_on_disk(read, stack)
        reading = counted_reading(records)
        if earlier is not None and found.count == len(reading.skipped):
            return earlier.unchanged(reading.skipped)
        copies, known = with_clocks(records, reading, repair, stack, tell)
        tell("putting events in order")
        events = ordered(copies, known, stack)
        tell("writing")
        outputs = Outputs(spark, stack.enter_context(places.replacing(target, REPLACED)), run)
        outputs.write_run("events", events.log)
        outputs.write_processes(known.names.values())
        write_records(spark, outputs, records, known)
        waiting = write_workload(outputs, events)
        before = None if earlier is None else earlier.summary
        summary = summary_of(run, found, repair, known, events.placing, waiting, before)
        outputs.write_summary(summary.as_object())
        if table_name is not None:
            log = events.log.withColumn("run_id", F.lit(run))
            write_run(log, table_name, run, table_format)
    return summary


def read_found(spark: SparkSession, found: Found, manner: Manner, first_part: int) -> DataFrame:
    """The records in all files: Python opens those of this machine, Spark those elsewhere.

    Out: `RECORDS`.
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
        tables.append(read_parts(each.join(F.broadcast(parts), on="task", how="inner"), manner))
    if found.elsewhere:
        first = first_part + len(rows)
        numbers = {path: number for number, (path, _) in enumerate(found.elsewhere, start=first)}
        contents = spark.read.format("binaryFile").load(list(numbers))
        tables.append(read_contents(contents, numbers, manner))
    return reduce(DataFrame.unionByName, tables)


def write_records(spark: SparkSession, outputs: Outputs, records: DataFrame, known: Known) -> None:
    """Write what was read: it has names that findings lead back to, and later batches need it."""
    if known.reading.spans:
        outputs.write_run("spans", named_spans(records, numbers_of(spark, known.names)))
    if known.reading.copies:
        lines = records.where(F.col("copy").isNotNull())
        lines = lines.select("part", "ordinal", "source", "copy.*")
        outputs.write_run("lines", lines.select(*STORED_LINES.names))
    if known.reading.rejects_by_reason:
        rejects = records.where(F.col("reject").isNotNull()).select("source", "reject.*")
        outputs.write("rejects", rejects.select(*REJECTS.names))
    else:
        outputs.write("rejects", spark.createDataFrame([], REJECTS))
    files = records.where(F.col("file.format") != KNOWN).select("part", "source", "file.*")
    outputs.write("files", files.select(*FILES.names).coalesce(1))


def persisted_on_disk(rows: DataFrame, stack: ExitStack) -> DataFrame:
    """The rows, computed once and kept until the stack is left.

    They are kept on disk, where the system caches them: in Java's memory they would crowd out what
    sorting needs.
    """
    return persisted(rows, stack, StorageLevel.DISK_ONLY)


def with_clocks(
    records: DataFrame,
    reading: Reading,
    repair: bool,
    stack: ExitStack,
    tell: Callable[[str], None],
) -> tuple[DataFrame, Known]:
    """The copies in the records, and what the clocks say about them.

    Out: what `clocks.compacted` gives.
    """
    tell("finding messages")
    names = names_of(reading.processes)
    keys = list(names)
    numbers = numbers_of(records.sparkSession, names)
    tables = []
    if reading.copies or not reading.spans:
        tables.append(compacted(copies_of_tables(records), numbers))
    tallies: dict[str, int] = {}
    rows = reading.copies
    found = None
    if reading.spans:
        calls = persisted_on_disk(compacted(calls_of_spans(records), numbers), stack)
        calling = counted_calls(calls, keys)
        linked = None
        if reading.linked:
            linked = persisted_on_disk(compacted(linked_calls(records), numbers), stack)
        rows += calling.copies + (0 if linked is None else linked.count())
        tallies = calling.tallies
        if not (tables or reading.linked or calling.one_way):
            found = calling.gaps
        tables += copies_of_calls(calls, linked, calling.one_way)
    copies = reduce(DataFrame.unionByName, tables)
    tell("repairing clocks" if repair else "reading clocks")
    multicasts = found is None
    if not repair:
        found = []
    elif found is None:
        found = gaps(copies, keys)
    found, clocks = repaired(found, copies, keys)
    return copies, Known(
        reading=reading,
        tallies=tallies,
        rows=rows,
        multicasts=multicasts,
        names=names,
        gaps=found,
        clocks=clocks,
    )


def numbers_of(spark: SparkSession, names: Iterable[str]) -> DataFrame:
    """The rows of `NUMBERS`."""
    return spark.createDataFrame([(key, number) for number, key in enumerate(names)], NUMBERS)


def copies_of_calls(calls: DataFrame, linked: DataFrame | None, one_way: int) -> list[DataFrame]:
    """The copies among calls and links; only one-way messages may have been received twice."""
    copies = calls.where(F.col("tally").isNull()).select(*COPIES.names)
    if not one_way and linked is None:
        return [copies]
    alone = copies.where(F.col("one_way"))
    repeated = alone if linked is None else alone.unionByName(linked)
    return [copies.where(~F.col("one_way")), repeated.transform(first_receptions)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """The events of all processes, in order."""

    log: DataFrame
    """The event log."""
    ends: DataFrame
    """What `order.ends_of` gives."""
    tasks: int
    """In how many tasks they are best gone through."""
    placing: Placing


def ordered(copies: DataFrame, known: Known, stack: ExitStack) -> Ordered:
    """The events of every process in order."""
    offsets = {number: offset for _, number, offset in known.clock_rows()}
    placed = instants(copies, offsets)
    ties = persisted_on_disk(ranks(placed), stack)
    count = ties.count()
    if count == 0:
        tied = unranked(placed)
    else:
        tied = ranked(placed, F.broadcast(ties) if count <= RANKS_BROADCAST_MAX else ties)
    return in_order(tied, known.rows, stack, multicasts=known.multicasts)


def in_order(copies: DataFrame, rows: int, stack: ExitStack, *, multicasts: bool = True) -> Ordered:
    """The events of about so many copies with their positions and sequences.

    In: what `ties.ranked` gives.
    """
    spark = copies.sparkSession
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    by_sender, by_process = stretches_of(copies, rows, tasks)
    sent = persisted_on_disk(sequenced(copies, by_sender, multicasts=multicasts), stack)
    placing, sequences = counted_sending(sent)
    first_ids = dict(placing.first_ids())
    sending = [(*row, first_ids[row[1]]) for row in sequences]
    messages = numbered_messages(sent, spark.createDataFrame(sending, SENT_OFFSETS))
    ends = ends_of(messages)
    tasked = by_process.with_task(ends, "process", "time_ns")
    positions = spark.createDataFrame(counted_events(tasked), OFFSETS)
    return Ordered(
        log=event_log(tasked, by_process.tasks, positions),
        ends=ends,
        tasks=by_process.tasks,
        placing=placing,
    )


def stretches_of(copies: DataFrame, rows: int, tasks: int) -> tuple[Stretches, Stretches]:
    """Where the copies are cut by their senders, and their events by their processes."""
    sending, having = (max(tasks, count // ROWS_OF_A_TASK) for count in (rows, 2 * rows))
    part = min(1.0, min(having * SAMPLE_OF_A_TASK, SAMPLE_MAX) / max(rows, 1))
    ends = ("sender", "submitted_ns", "receiver", "delivered_ns")
    some = copies.select(*ends).sample(fraction=part, seed=1).toArrow()
    sender, submitted, receiver, delivered = (some.column(name).to_numpy() for name in ends)
    process, time_ns = np.append(sender, receiver), np.append(submitted, delivered)
    return stretches(sender, submitted, sending), stretches(process, time_ns, having)


def write_workload(outputs: Outputs, events: Ordered) -> dict[str, int]:
    """Write what each message waits for, and count what could not be kept of it."""
    seen = Observation()
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTED]
    planned = workload(events.ends, events.tasks, events.placing.first_ns or 0)
    outputs.write_run("workload", planned.observe(seen, *sums).select(*WORKLOAD.names))
    return {name: int(seen.get[name]) for name in COUNTED}
