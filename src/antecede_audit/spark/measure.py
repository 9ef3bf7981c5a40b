"""What runs cost and what workloads are like, at any size: Spark moves rows, tasks count them.

What is counted is in `antecede_audit.measure`, whose functions are given the rows of one task. Here
is which rows those are: copies need all events of a message, moments those of a lane in order, the
structure a whole run. Spark sorts and spills, so a task holds as much as its partition has, and of
a lane one batch at a time.

Two things are asked of Spark in SQL, because they need a whole run that fits no task: the times
between which a sample of a run lies (approximate quantiles), and in `sampling.py` which messages
hang together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from functools import partial, reduce
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from antecede.core.errors import LocalError
from antecede.eventlog.parquet import ArrowBatch, ArrowSchema, ArrowTable
from antecede.eventlog.rules import JUDGED
from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.jobs.event_logs import check_separate, distinct_names
from antecede_audit.measure import profile as profiles
from antecede_audit.measure.distributions import TALLIES, Tally, by_run, merged
from antecede_audit.measure.figures import Figures
from antecede_audit.measure.instants import INSTANTS, LANE, MESSAGE, MOMENTS, instants_of
from antecede_audit.measure.non_causal import (
    ACCURACY_MAX,
    COPIES_MAX,
    STRETCHES,
    TimeSample,
    edges_of,
    tally_lateness,
)
from antecede_audit.measure.profile import (
    CHANNELS,
    COPIES,
    NOMINAL,
    PROCESSES,
    RECORDED,
    TABLES,
    RunProfile,
)
from antecede_audit.measure.runs import (
    EVENT_TOTALS,
    event_totals,
    merged_totals,
    moments_at_places,
    rows_of_runs,
    tally_copies,
    tally_places,
)
from antecede_audit.measure.structure import COLUMNS, STRUCTURE, structured_batches
from antecede_audit.shuffle import partitions_by_size
from antecede_audit.spark import schemas
from antecede_audit.spark.event_logs import (
    find_source_anywhere,
    narrowed,
    read_logs,
    stored_types,
    with_all_columns,
)
from antecede_audit.spark.job_names import named, named_jobs
from antecede_audit.spark.sampling import ENTRIES_MAX, Sampled, run_sizes, sampled
from antecede_audit.spark.schemas import EVENTS, WORKLOAD, with_run_id
from antecede_audit.spark.settings import persisted
from antecede_audit.spark.shuffle import default_partitions
from antecede_audit.spark.storage import Storage, literal
from antecede_audit.spark.survey import gather_facts
from antecede_audit.spark.written_rows import check_rows

OnTable: TypeAlias = Callable[[ArrowTable], ArrowTable]
OnBatches: TypeAlias = Callable[[Iterable[ArrowBatch]], Iterator[ArrowTable]]

BATCH_ROWS: Final = 1 << 16
"""65,536 rows at a time go from Python to Spark."""

NEEDED: Final = (*MESSAGE, "target", "process", "kind", "time_ns")
"""What copies are made of."""


# Rows of a task.


def per_partition(table: DataFrame, stage: OnTable, schema: ArrowSchema) -> DataFrame:
    """What a function makes of each partition of a table as a whole."""
    step = partial(of_partition, stage=stage, schema=schema)
    return table.mapInArrow(named(step), from_arrow_schema(schema))


def per_batch(table: DataFrame, stage: OnTable, schema: ArrowSchema = TALLIES) -> DataFrame:
    """What a function makes of each batch of a table: it may begin and end anywhere."""
    step = partial(of_each_batch, stage=stage, schema=schema)
    return table.mapInArrow(named(step), from_arrow_schema(schema))


def streamed(table: DataFrame, stage: OnBatches) -> DataFrame:
    """The tallies of a function that goes through the batches of a partition in order."""
    step = partial(of_batches, stage=stage)
    return table.mapInArrow(named(step), from_arrow_schema(TALLIES))


def of_partition(
    batches: Iterable[ArrowBatch], stage: OnTable, schema: ArrowSchema
) -> Iterator[ArrowBatch]:
    """What a function makes of all batches together; of none, nothing."""
    rows = [*batches]
    if rows:
        found = stage(pa.Table.from_batches(rows))
        yield from found.cast(schema).to_batches(max_chunksize=BATCH_ROWS)


def of_each_batch(
    batches: Iterable[ArrowBatch], stage: OnTable, schema: ArrowSchema
) -> Iterator[ArrowBatch]:
    """What a function makes of one batch after the other."""
    for batch in batches:
        found = stage(pa.Table.from_batches([batch]))
        yield from found.cast(schema).to_batches(max_chunksize=BATCH_ROWS)


def of_batches(batches: Iterable[ArrowBatch], stage: OnBatches) -> Iterator[ArrowBatch]:
    """What a function makes of batches, one after the other."""
    for found in stage(batches):
        yield from found.cast(TALLIES).to_batches(max_chunksize=BATCH_ROWS)


def together(parts: Sequence[DataFrame], tasks: int) -> DataFrame:
    """Tallies of many tasks added up: those of one run are in one task."""
    tallies = reduce(DataFrame.unionByName, parts)
    return per_partition(tallies.repartition(tasks, "run_id"), merged, TALLIES)


def lanes_in_order(moments: DataFrame, tasks: int) -> DataFrame:
    """Moments by lane, in the order of time. In, out: `MOMENTS`."""
    return moments.repartition(tasks, *LANE).sortWithinPartitions(*LANE, "time_ns")


def copies_of(events: DataFrame, tasks: int) -> DataFrame:
    """The copies of these events. In: the event log and run_id. Out: `INSTANTS`."""
    rows = events.where(F.col("sender").isNotNull()).select(*NEEDED)
    return per_partition(rows.repartition(tasks, *MESSAGE), instants_of, INSTANTS)


# Metrics.


def measure_logs(
    session: SparkSession,
    paths: Sequence[str],
    *,
    non_causal: bool = True,
    copies_max: int = COPIES_MAX,
) -> list[Figures]:
    """Every figure of every run in these files and datasets: run_id and the columns of `MEASURED`.

    Runs of several paths that have the same name are told apart by a number in front; `LocalError`
    if these are no event logs. What needs a run as a whole is estimated from about `copies_max`
    copies if it has more.
    """
    with ExitStack() as stack:
        describe = stack.enter_context(named_jobs(session, "measure"))
        describe("runs of the log")
        places = stack.enter_context(Storage(session))
        sources = [find_source_anywhere(path, places) for path in paths]
        written = read_logs(session, sources, ALL_COLUMNS)
        runs = gather_facts(written, ALL_COLUMNS)
        events = narrowed(written)
        check_separate(runs, sources)
        names = distinct_names(runs)
        shared = [run.run_id for run, name in zip(runs, names, strict=True) if run.run_id != name]
        log = with_distinct_names(events, shared).select("run_id", *EVENTS.names)
        tasks = partitions_by_size(default_partitions(session), sum(run.events for run in runs))
        instants = persisted(copies_of(log, tasks), stack)
        sizes = {name: run.copies for run, name in zip(runs, names, strict=True)}
        describe("stretches of large runs")
        stretches = find_stretches(instants, sizes, copies_max) if non_causal else []
        return measured_runs(log, instants, tasks, describe, non_causal, stretches)


def with_distinct_names(events: DataFrame, shared: Sequence[str]) -> DataFrame:
    """The same events; a run whose name several sources share is called `source:name`.

    In:  run_id, source, and whatever columns.
    Out: the same columns.
    """
    if not shared:
        return events
    numbered = F.concat_ws(":", F.col("source").cast("string"), F.col("run_id"))
    chosen = F.when(F.col("run_id").isin(*shared), numbered).otherwise(F.col("run_id"))
    return events.withColumn("run_id", chosen)


def measured_runs(
    events: DataFrame,
    instants: DataFrame,
    tasks: int,
    describe: Callable[[str], None],
    non_causal: bool,
    stretches: Sequence[TimeSample],
) -> list[Figures]:
    """Every figure of every run that submitted anything: run_id and the columns of `MEASURED`.

    Without `non_causal` the figures of that delay are null; of runs that have `stretches` they are
    estimated from those. In: run_id and the event log; `INSTANTS`.
    """
    describe("packets")
    totals = per_batch(events, event_totals, EVENT_TOTALS).toArrow()
    describe("delays and buffers")
    moments = per_batch(instants, moments_at_places, MOMENTS)
    parts = [
        per_partition(instants, tally_copies, TALLIES),
        streamed(lanes_in_order(moments, tasks), tally_places),
    ]
    if non_causal:
        parts.append(tallies_of_lateness(instants, stretches))
    return rows_of_runs(together(parts, tasks).toArrow(), merged_totals(totals))


def find_stretches(
    instants: DataFrame, sizes: Mapping[str, int], copies_max: int = COPIES_MAX
) -> list[TimeSample]:
    """Which stretches to look at, of the runs with more copies than `copies_max`.

    Spark's approximate quantiles: exact ones would take a sort of all copies, for a sample.

    In: `INSTANTS`; by run, how many copies it has, or somewhat more.
    """
    large = {run: copies for run, copies in sizes.items() if copies > copies_max}
    if not large:
        return []
    columns = []
    for place, (run, copies) in enumerate(large.items()):
        ours = F.when(F.col("run_id") == run, F.col("submitted_ns"))
        shares = [share for edges in edges_of(copies_max / copies) for share in edges]
        accuracy = min(ACCURACY_MAX, 20 * STRETCHES * -(-copies // copies_max))
        columns.append(F.percentile_approx(ours, shares, accuracy).alias(str(place)))
    travels = (F.col("sender") != F.col("target")) & F.col("delivered_ns").isNotNull()
    row = instants.where(travels).agg(*columns).collect()[0]
    return [
        TimeSample(
            run_id=run,
            number=number,
            past_ns=row[place][3 * number],
            first_ns=row[place][3 * number + 1],
            last_ns=row[place][3 * number + 2],
        )
        for place, run in enumerate(large)
        for number in range(STRETCHES if row[place] else 0)
    ]


def tallies_of_lateness(instants: DataFrame, stretches: Sequence[TimeSample]) -> DataFrame:
    """How much later than necessary copies were delivered: `TALLIES`; a task for each run.

    Of a run that has stretches only these are looked at, a task for each. In: `INSTANTS`.
    """
    groups = in_stretches(instants, stretches).groupBy("run_id", "number")
    return groups.applyInArrow(named(tally_lateness), from_arrow_schema(TALLIES))


def in_stretches(copies: DataFrame, stretches: Sequence[TimeSample]) -> DataFrame:
    """The copies that are looked at.

    In:  run_id, submitted_ns, and more.
    Out: the same, number (of the stretch, 0 for a whole run) and first_ns (null for a whole run).
    """
    whole = copies.select("*", F.lit(0).alias("number"), F.lit(None).cast("long").alias("first_ns"))
    if not stretches:
        return whole
    large = sorted({stretch.run_id for stretch in stretches})
    table = copies.sparkSession.createDataFrame(
        [astuple(stretch) for stretch in stretches],
        "run_id string, number int, past_ns long, first_ns long, last_ns long",
    )
    within = F.col("submitted_ns").between(F.col("past_ns"), F.col("last_ns"))
    parts = copies.join(F.broadcast(table), on="run_id", how="inner").where(within)
    return whole.where(~F.col("run_id").isin(large)).unionByName(parts.select(*whole.columns))


# Profiles: what is read.


def read_workload(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame:
    """The workload in a folder: run_id and the columns of a workload, of one run or of all."""
    table = read_table(session, f"{folder}/workload", WORKLOAD)
    if table is None:
        raise LocalError(f"{folder} has no workload: `antecede ingest` makes one")
    return of_run(table, run_id)


def read_names(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame:
    """What the processes are called: run_id, process, name; empty if nobody has said so."""
    table = read_table(session, f"{folder}/processes", schemas.PROCESSES)
    if table is None:
        return session.createDataFrame([], with_run_id(schemas.PROCESSES))
    return of_run(table, run_id)


def read_events(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame | None:
    """The event log in a folder, or None if there is none: run_id and what says what caused what.

    `LocalError` names a row that is wrong, if there is one.
    """
    stored = stored_types(None, JUDGED)
    schema = StructType([StructField(name, of) for name, of in stored.items()])
    table = read_table(session, f"{folder}/events", schema)
    if table is None:
        return None
    ours = of_run(table, run_id)
    gather_facts(with_all_columns(ours))
    return narrowed(ours)


def read_table(session: SparkSession, path: str, schema: StructType) -> DataFrame | None:
    """The dataset at a path, or None if there is none; its run ids come from its folders."""
    try:
        return session.read.schema(with_run_id(schema)).parquet(literal(path))
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise LocalError(f"cannot read {path}: {error.getMessage()}") from error


def of_run(table: DataFrame, run_id: str | None) -> DataFrame:
    """The rows of one run, or all of them."""
    return table if run_id is None else table.where(F.col("run_id") == run_id)


# Profiles: what is found.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTables:
    """What a profile is made from; what is used more than once is cached."""

    structure: DataFrame
    channels: DataFrame
    processes: DataFrame
    copies: DataFrame
    moments: DataFrame
    times: str


def profile(
    session: SparkSession,
    source: str,
    out: str,
    *,
    run_id: str | None = None,
    entries_max: int = ENTRIES_MAX,
) -> list[RunProfile]:
    """Profile the runs in the folder `source`, or one of them; write `TABLES` into `out`.

    Of runs with more messages, copies and causes than `entries_max` the structure is estimated.
    """
    places = Storage(session)
    places.check_replaceable(out, list(TABLES))
    with ExitStack() as stack:
        describe = stack.enter_context(named_jobs(session, "profile"))
        describe("runs of the workload")
        workload = read_workload(session, source, run_id)
        sizes = run_sizes(workload)
        if not sizes:
            raise LocalError(profiles.no_messages(source, run_id))
        entries = sum(one.entries for one in sizes.values())
        tasks = partitions_by_size(default_partitions(session), entries)
        describe("samples of large runs")
        sample = sampled(workload, sizes, stack, entries_max)
        describe("causes and effects")
        tables = prepared(workload, sample, source, run_id, tasks, stack)
        found = {
            run: tallies
            for run, tallies in by_run(tallied(tables, tasks, describe)).items()
            if run in sizes
        }
        parts = written_tables(session, tables, found, sample)
        with places.replacing(out, list(TABLES)) as stage:
            for name, table in parts.items():
                describe(f"writing {name}")
                table.write.partitionBy("run_id").parquet(f"{stage}/{name}")
                check_rows(places, f"{stage}/{name}", table.count())
        return [
            profiles.profile_of(run, tallies, tables.times, sample.messages.get(run))
            for run, tallies in sorted(found.items())
        ]


def causal_structure(workload: DataFrame) -> DataFrame:
    """Where each message stands among its causes and effects; the same however it is partitioned.

    In:  run_id and the columns of a workload.
    Out: run_id, message_id, sender, targets, delay_ns, payload_bytes as they were, and
         rank            its place in the order of times, from 0; causes come before effects
         cause_ranks     its causes by their ranks, those that are missing left out
         depth, ready_ns the longest chain of causes before it, and when it leaves over a network
                         that takes no time; null if it never can
         conversation    the rank of a message that stands for all that causes connect
         begun_ns        the least ready_ns of its conversation
         errand          the errand it is sent on, by number
         target_errands, target_answers, target_effects
                         for each target: which errand it is delivered to there, which message of
                         that process it answers (its rank, or null), and how many messages that
                         process sends because of it
    """
    ordered = (
        workload.select(*COLUMNS).repartition("run_id").sortWithinPartitions("run_id", "message_id")
    )
    return ordered.mapInArrow(named(structured_batches), from_arrow_schema(STRUCTURE))


def prepared(
    workload: DataFrame,
    sample: Sampled,
    source: str,
    run_id: str | None,
    tasks: int,
    stack: ExitStack,
) -> ProfileTables:
    """Read what else there is, and work out what several stages need."""
    session = workload.sparkSession
    structure = persisted(causal_structure(sample.workload), stack)
    events = read_events(session, source, run_id)
    if events is None:
        copies = per_batch(structure, profiles.nominal_copies, COPIES)
        moments = per_batch(structure, profiles.nominal_moments, MOMENTS)
    else:
        both = events.where(F.col("kind").isin("submitted", "delivered"))
        copies = persisted(copies_of(both, tasks).select(*COPIES.names), stack)
        moments = per_partition(copies, profiles.moments_of_copies, MOMENTS)
    counts = per_batch(workload, profiles.channels_of, CHANNELS)
    counts = counts.repartition(tasks, "run_id", "sender")
    channels = persisted(per_partition(counts, profiles.merged_channels, CHANNELS), stack)
    known = [
        per_batch(channels, profiles.processes_of_channels, PROCESSES),
        per_batch(workload, profiles.processes_of_messages, PROCESSES),
        per_batch(read_names(session, source, run_id), profiles.processes_of_names, PROCESSES),
    ]
    rows = reduce(DataFrame.unionByName, known).repartition(tasks, "run_id", "process")
    return ProfileTables(
        structure=structure,
        channels=channels,
        processes=persisted(per_partition(rows, profiles.merged_processes, PROCESSES), stack),
        copies=copies,
        moments=moments,
        times=NOMINAL if events is None else RECORDED,
    )


def tallied(tables: ProfileTables, tasks: int, describe: Callable[[str], None]) -> ArrowTable:
    """Everything that is counted of all runs: `TALLIES`."""
    describe("first and last event of runs")
    times = per_batch(tables.copies, profiles.tally_times).repartition(tasks, "run_id")
    when = per_partition(times, merged, TALLIES).toArrow()
    runs = {run: profiles.times_of(found) for run, found in by_run(when).items()}
    describe("structure, gaps and levels")
    moments = lanes_in_order(tables.moments, tasks)
    parts = [
        streamed(tables.structure, profiles.tally_structure),
        streamed(moments, partial(profiles.tally_moments, runs=runs)),
        per_batch(tables.copies, profiles.tally_flights),
        per_batch(tables.processes, profiles.tally_processes),
        per_batch(tables.channels, profiles.tally_channels),
    ]
    return pa.concat_tables([when, together(parts, tasks).toArrow()])


def written_tables(
    session: SparkSession,
    tables: ProfileTables,
    found: Mapping[str, Mapping[str, Sequence[Tally]]],
    sample: Sampled,
) -> dict[str, DataFrame]:
    """`TABLES`; what fits a summary comes from this process."""
    slices = [row for run, tallies in found.items() for row in profiles.slices_of(run, tallies)]
    buckets = [
        row
        for run, tallies in found.items()
        for row in profiles.buckets_in(run, tallies, tables.times, sampled=run in sample.messages)
    ]
    return {
        "processes": tables.processes,
        "channels": tables.channels,
        "distributions": session.createDataFrame(
            pa.Table.from_pylist(buckets, profiles.DISTRIBUTIONS)
        ),
        "timeline": session.createDataFrame(pa.Table.from_pylist(slices, profiles.TIMELINE)),
    }
