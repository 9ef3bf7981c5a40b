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

from antecede.pipeline.ingest.causes import COUNTED, workload
from antecede.pipeline.ingest.clocks import CLOCKS, collected_gaps, gaps, instants
from antecede.pipeline.ingest.constraints import repaired_clocks
from antecede.pipeline.ingest.counting import counted_calls, counted_placing, counted_reading
from antecede.pipeline.ingest.formats.catalogue import AUTO
from antecede.pipeline.ingest.known import Known, Placing, summary_of
from antecede.pipeline.ingest.layouts import COPIES, LONG, PARTS, REJECTS, SPANS, table
from antecede.pipeline.ingest.names import names_of
from antecede.pipeline.ingest.order import local_events, sequenced
from antecede.pipeline.ingest.outputs import REPLACED, Outputs, check_apart
from antecede.pipeline.ingest.reading import read_contents, read_parts
from antecede.pipeline.ingest.sources import Found, find_files, parts_of
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
from antecede.pipeline.table_formats import PARQUET, append_run, check_format

READING_TASKS: Final = 256
READ_BYTES: Final = 32 << 20
"""A file is a task of its own, unless there are more than this many: then about so many bytes."""

MESSAGE_IDS: Final = table(sender=LONG, first_message_id=LONG)


def ingest(
    spark: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    form: str = AUTO,
    repair: bool = True,
    run_id: str = "ingested",
    unit: str | None = None,
    keep: Sequence[str] = (),
    table_name: str | None = None,
    table_form: str = PARQUET,
    tell: Callable[[str], None] = lambda _: None,
) -> Summary:
    """Read the traces at `paths` and write what they come to into the folder `out`.

    What was there of an earlier ingest is replaced. `unit` is that of times in message tables that
    do not say; `keep` names attributes of spans that come along; `tell` hears what is being done.
    The events go into the table of a catalogue too, if one is named, in the format `table_form`.
    """
    check_format(spark, table_form)
    places = Places(spark)
    found = find_files(paths, places)
    target = places.address(out)
    check_apart(target, [path for path, _ in found.files])
    places.make_folder(out)
    with ExitStack() as stack:
        tell(f"reading {len(found.files):,} files")
        records = kept(read_found(spark, found, form, unit, frozenset(keep)), stack)
        copies, known = learnt(records, repair, stack, tell)
        tell("putting events in order")
        events = kept(ordered(copies, known, stack), stack)
        placing = counted_placing(events)
        tell("writing")
        outputs = Outputs(spark, stack.enter_context(places.replacing(target, REPLACED)), run_id)
        log = events.select(*EVENTS.names)
        outputs.write_run("events", log)
        outputs.write_processes(known.names.values())
        if known.reading.spans:
            clocks = spark.createDataFrame(known.clock_rows(), CLOCKS)
            outputs.write_run("spans", named_spans(records, clocks).select(*SPANS.names))
        rejects = records.where(F.col("reject").isNotNull()).select("source", "reject.*")
        outputs.write("rejects", rejects.select(*REJECTS.names))
        waiting = write_workload(spark, outputs, events, placing)
        summary = summary_of(run_id, found, repair, known, placing, waiting)
        outputs.write_summary(summary.as_object())
        if table_name is not None:
            append_run(log.withColumn("run_id", F.lit(run_id)), table_name, run_id, table_form)
    return summary


def read_found(
    spark: SparkSession, found: Found, form: str, unit: str | None, keep: frozenset[str]
) -> DataFrame:
    """The records in all files: Python opens those of this machine, Spark those elsewhere.

    Out: `RECORDS`.
    """
    tables = []
    if found.files:
        parts = parts_of(found.files, form, unit)
        tasks = max(READING_TASKS, sum(size for _, size in found.files) // READ_BYTES)
        spread = spark.createDataFrame(parts, PARTS).repartition(min(len(parts), tasks))
        tables.append(read_parts(spread, form, unit, keep))
    if found.elsewhere:
        numbers = {path: number for number, (path, _) in enumerate(found.elsewhere)}
        contents = spark.read.format("binaryFile").load(list(numbers))
        tables.append(read_contents(contents, numbers, form, unit, keep))
    return reduce(DataFrame.unionByName, tables)


def kept(rows: DataFrame, stack: ExitStack) -> DataFrame:
    """The rows, computed once and kept until the stack is left.

    They are kept on disk, where the system caches them: in Java's memory they would crowd out what
    sorting needs.
    """
    rows.persist(StorageLevel.DISK_ONLY)
    stack.callback(rows.unpersist)
    return rows


def learnt(
    records: DataFrame, repair: bool, stack: ExitStack, tell: Callable[[str], None]
) -> tuple[DataFrame, Known]:
    """The copies in the records, and what the clocks say about them."""
    reading = counted_reading(records)
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


def ordered(copies: DataFrame, known: Known, stack: ExitStack) -> DataFrame:
    """The events of every process in order."""
    placed = instants(copies, copies.sparkSession.createDataFrame(known.clock_rows(), CLOCKS))
    ties = kept(ranks(placed), stack)
    count = ties.count()
    if count == 0:
        tied = unranked(placed)
    else:
        tied = ranked(placed, F.broadcast(ties) if count <= RANKS_BROADCAST_MAX else ties)
    return tied.transform(sequenced).transform(local_events)


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
