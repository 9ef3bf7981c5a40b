"""The ingest job: joins the stages, and owns all reading and writing.

It leaves `events/`, `workload/`, `processes/`, `spans/` (datasets by run), `rejects/` and, last of
all, `summary.json`: while that is missing, the rest is unfinished.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import StructType

from antecede.pipeline.ingest.causes import COUNTED, workload
from antecede.pipeline.ingest.clocks import CLOCKS, collected_gaps, gaps, instants
from antecede.pipeline.ingest.constraints import repaired_clocks
from antecede.pipeline.ingest.counting import (
    counted_calls,
    counted_placing,
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
    local_events,
    numbered,
    sequenced,
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
from antecede.pipeline.places import Places
from antecede.pipeline.schemas import EVENTS, WORKLOAD
from antecede.pipeline.spark_settings import UNWEIGHED, configured
from antecede.pipeline.table_formats import PARQUET, check_format, check_new_run, write_run

MESSAGE_IDS: Final = table(sender=LONG, first_message_id=LONG)


def ingest(
    spark: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    form: str = AUTO,
    repair: bool = True,
    run_id: str | None = "ingested",
    unit: str | None = None,
    keep: Sequence[str] = (),
    append: bool = False,
    table_name: str | None = None,
    table_form: str = PARQUET,
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
    check_format(spark, table_form)
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
        manner = Manner(form=form, unit=unit, keep=frozenset(keep), known=known_files(earlier))
        read = read_found(spark, found, manner, 0 if earlier is None else earlier.parts)
        if earlier is not None:
            read = stored_records(spark, places, earlier).unionByName(read)
        records = kept(read, stack)
        reading = counted_reading(records)
        if earlier is not None and found.count == len(reading.skipped):
            return earlier.unchanged(reading.skipped)
        copies, known = learnt(records, reading, repair, stack, tell)
        tell("putting events in order")
        events, placing = ordered(copies, known, stack)
        tell("writing")
        outputs = Outputs(spark, stack.enter_context(places.replacing(target, REPLACED)), run)
        log = events.select(*EVENTS.names)
        outputs.write_run("events", log)
        outputs.write_processes(known.names.values())
        write_records(spark, outputs, records, known)
        waiting = write_workload(spark, outputs, events, placing)
        before = None if earlier is None else earlier.summary
        summary = summary_of(run, found, repair, known, placing, waiting, before)
        outputs.write_summary(summary.as_object())
        if table_name is not None:
            write_run(log.withColumn("run_id", F.lit(run)), table_name, run, table_form)
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
        clocks = spark.createDataFrame(known.clock_rows(), CLOCKS)
        outputs.write_run("spans", named_spans(records, clocks))
    if known.reading.copies:
        lines = records.where(F.col("copy").isNotNull())
        lines = lines.select("part", "ordinal", "source", "copy.*")
        outputs.write_run("lines", lines.select(*STORED_LINES.names))
    rejects = records.where(F.col("reject").isNotNull()).select("source", "reject.*")
    outputs.write("rejects", rejects.select(*REJECTS.names))
    files = records.where(F.col("file.format") != KNOWN).select("part", "source", "file.*")
    outputs.write("files", files.select(*FILES.names).coalesce(1))


def kept(rows: DataFrame, stack: ExitStack) -> DataFrame:
    """The rows, computed once and kept until the stack is left.

    They are kept on disk, where the system caches them: in Java's memory they would crowd out what
    sorting needs.
    """
    rows.persist(StorageLevel.DISK_ONLY)
    stack.callback(rows.unpersist)
    return rows


def learnt(
    records: DataFrame,
    reading: Reading,
    repair: bool,
    stack: ExitStack,
    tell: Callable[[str], None],
) -> tuple[DataFrame, Known]:
    """The copies in the records, and what the clocks say about them."""
    tell("finding messages")
    tables = [copies_of_tables(records)] if reading.copies or not reading.spans else []
    tallies: dict[str, int] = {}
    rows = reading.copies
    if reading.spans:
        calls = kept(calls_of_spans(records), stack)
        calling = counted_calls(calls)
        linked = kept(linked_calls(records), stack) if reading.linked else None
        rows += calling.copies + (0 if linked is None else linked.count())
        tallies = calling.tallies
        tables += copies_of_calls(calls, linked, calling.one_way)
    copies = reduce(DataFrame.unionByName, tables)
    names = names_of(reading.processes)
    tell("repairing clocks" if repair else "reading clocks")
    found = collected_gaps(gaps(copies)) if repair else []
    known = Known(
        reading=reading,
        tallies=tallies,
        rows=rows,
        names=names,
        gaps=found,
        clocks=repaired_clocks(found),
    )
    return copies, known


def copies_of_calls(calls: DataFrame, linked: DataFrame | None, one_way: int) -> list[DataFrame]:
    """The copies among calls and links; only one-way messages may have been received twice."""
    copies = calls.where(F.col("tally").isNull()).select(*COPIES.names)
    if not one_way and linked is None:
        return [copies]
    alone = copies.where(F.col("one_way"))
    repeated = alone if linked is None else alone.unionByName(linked)
    return [copies.where(~F.col("one_way")), repeated.transform(first_receptions)]


def ordered(copies: DataFrame, known: Known, stack: ExitStack) -> tuple[DataFrame, Placing]:
    """The events of every process in order, and the counts of them."""
    spark = copies.sparkSession
    placed = instants(copies, spark.createDataFrame(known.clock_rows(), CLOCKS))
    ties = kept(ranks(placed), stack)
    count = ties.count()
    if count == 0:
        tied = unranked(placed)
    else:
        tied = ranked(placed, F.broadcast(ties) if count <= RANKS_BROADCAST_MAX else ties)
    return in_order(tied, known.rows, stack)


def in_order(copies: DataFrame, rows: int, stack: ExitStack) -> tuple[DataFrame, Placing]:
    """The events of about so many copies with their positions and sequences, and their counts.

    In:  what `ties.ranked` gives.
    Out: as of `order.numbered`.
    """
    spark = copies.sparkSession
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    sent = sequenced(copies, max(tasks, rows // ROWS_OF_A_TASK))
    events = kept(local_events(sent, max(tasks, 2 * rows // ROWS_OF_A_TASK)), stack)
    placing, positions = counted_placing(events)
    sequences = counted_sending(events)
    offsets = [spark.createDataFrame(rows, OFFSETS) for rows in (positions, sequences)]
    return numbered(events, *offsets), placing


def write_workload(
    spark: SparkSession, outputs: Outputs, events: DataFrame, placing: Placing
) -> dict[str, int]:
    """Write what each message waits for, and count what could not be kept of it."""
    ids = spark.createDataFrame(placing.first_ids(), MESSAGE_IDS)
    seen = Observation()
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTED]
    planned = workload(events, ids, placing.first_ns or 0).observe(seen, *sums)
    outputs.write_run("workload", planned.select(*WORKLOAD.names))
    return {name: int(seen.get[name]) for name in COUNTED}
