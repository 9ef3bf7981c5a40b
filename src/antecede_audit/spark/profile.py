"""The profile job: reads a workload and, if there is one, its event log; writes what they are like.

It leaves `processes/`, `channels/`, `distributions/` and `timeline/` as Parquet datasets by run,
and gives back what fits a summary. Times come from the event log. Without one they are nominal:
those of a network that takes no time. What follows from chains of causes is estimated from a sample
of the conversations where a run is too large for one task.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import StructField, StructType

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import write_whole
from antecede.eventlog.rules import JUDGED
from antecede_audit.measure.distributions import distributions_of
from antecede_audit.measure.quantities import MEASURES
from antecede_audit.measure.run_profile import NOMINAL, RECORDED, RunProfile, no_messages, points_of
from antecede_audit.spark import profile_stages as stages
from antecede_audit.spark.event_logs import narrowed, stored_types, with_all_columns
from antecede_audit.spark.job_names import named_jobs
from antecede_audit.spark.measure_stages import histograms, rows_by_run
from antecede_audit.spark.profile_stages import causal_structure, structure_values
from antecede_audit.spark.sampling import ENTRIES_MAX, Sampled, run_sizes, sampled, scaled
from antecede_audit.spark.schemas import PROCESSES, WORKLOAD, with_run_id
from antecede_audit.spark.settings import persisted
from antecede_audit.spark.storage import Storage, literal
from antecede_audit.spark.survey import gather_facts
from antecede_audit.spark.written_rows import check_rows

TABLES: Final = ("processes", "channels", "distributions", "timeline")
"""What a profile replaces, all together."""


def read_workload(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame:
    """The workload in a folder: run_id and the columns of a workload, of one run or of all."""
    table = read_table(session, f"{folder}/workload", WORKLOAD)
    if table is None:
        raise LocalError(f"{folder} has no workload: `antecede ingest` makes one")
    return of_run(table, run_id)


def read_names(session: SparkSession, folder: str, run_id: str | None = None) -> DataFrame:
    """What the processes are called: run_id, process, name; empty if nobody has said so."""
    table = read_table(session, f"{folder}/processes", PROCESSES)
    if table is None:
        return session.createDataFrame([], with_run_id(PROCESSES))
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


AT_ONCE: Final = "errands_at_once"
ESTIMATED: Final = ("conversations", "spontaneous", "stuck")
"""Counts that follow from chains of causes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Everything a profile is made from, each kept by Spark as it is used more than once."""

    structure: DataFrame
    sample: Sampled
    """What the structure is that of."""
    channels: DataFrame
    totals: DataFrame
    copies: DataFrame
    runs: DataFrame
    times: str


def profile(
    session: SparkSession,
    source: str,
    out: str,
    *,
    run_id: str | None = None,
    entries_max: int = ENTRIES_MAX,
) -> list[RunProfile]:
    """Profile the runs in the folder `source`, or one of them; write the tables into `out`.

    Of runs with more messages, copies and causes than `entries_max` the structure is estimated.
    """
    places = Storage(session)
    places.check_replaceable(out, TABLES)
    with ExitStack() as stack:
        describe = stack.enter_context(named_jobs(session, "profile"))
        describe("looking at the workload")
        workload = read_workload(session, source, run_id)
        sizes = run_sizes(workload)
        if not sizes:
            raise LocalError(no_messages(source, run_id))
        describe("finding what caused what")
        sample = sampled(workload, sizes, stack, entries_max)
        tables = prepared(workload, sample, source, run_id, stack)
        counted, line = measured(tables, stack)
        counted, line = persisted(counted, stack), persisted(line, stack)
        parts = (tables.totals, tables.channels, counted, line)
        with places.replacing(out, TABLES) as stage:
            for name, table in zip(TABLES, parts, strict=True):
                describe(f"writing {name}")
                table.write.partitionBy("run_id").parquet(f"{stage}/{name}")
                check_rows(places, f"{stage}/{name}", table.count())
        describe("summing up")
        return summaries(tables, counted, line)


def prepared(
    workload: DataFrame, sample: Sampled, source: str, run_id: str | None, stack: ExitStack
) -> Tables:
    """Read what else there is, and work out what several stages need."""
    session = workload.sparkSession
    structure = persisted(causal_structure(sample.workload), stack)
    events = read_events(session, source, run_id)
    copies = stages.nominal_times(structure) if events is None else stages.copy_times(events)
    copies = persisted(copies, stack)
    channels = persisted(stages.channels(workload), stack)
    names = read_names(session, source, run_id)
    return Tables(
        structure=structure,
        sample=sample,
        channels=channels,
        totals=persisted(stages.process_totals(channels, workload, names), stack),
        copies=copies,
        runs=persisted(stages.run_times(copies), stack),
        times=NOMINAL if events is None else RECORDED,
    )


def measured(tables: Tables, stack: ExitStack) -> tuple[DataFrame, DataFrame]:
    """All distributions of all runs, and their time lines.

    A sample says nothing about what goes on at once, nor about gaps: those need all messages.
    """
    is_whole = ~F.col("run_id").isin(list(tables.sample.messages))
    copies = tables.copies.where(is_whole | F.lit(tables.times == RECORDED))
    sent = stages.submissions(copies)
    sent_by_all = persisted(stages.in_system_lane(sent, "submission_gap_ns", tables.runs), stack)
    own_gaps = stages.in_own_lane(sent, "sender_gap_ns").unionByName(
        stages.in_own_lane(stages.deliveries(copies), "delivery_gap_ns")
    )
    under_way = stages.marks(stages.flights(copies))
    levels = stages.levels(stages.in_system_lane(under_way, "in_flight", tables.runs))
    levels = persisted(levels, stack)
    values = [
        structure_values(tables.structure).where(is_whole | (F.col("measure") != AT_ONCE)),
        stages.process_values(tables.totals),
        stages.gaps(sent_by_all.select(own_gaps.columns).unionByName(own_gaps)),
        stages.level_values(levels),
        stages.flight_values(copies),
    ]
    recorded = F.lit(tables.times == RECORDED)
    counted = reduce(DataFrame.unionByName, values).where(
        recorded | ~F.col("measure").isin("flight_ns", "in_flight")
    )
    return histograms(counted), stages.timeline(sent_by_all, levels, tables.runs)


def summaries(tables: Tables, counted: DataFrame, line: DataFrame) -> list[RunProfile]:
    """What was found, run by run."""
    buckets, slices = rows_by_run(counted), rows_by_run(line)
    return [
        RunProfile(
            times=tables.times,
            sampled=tables.sample.messages.get(row.run_id),
            distributions=distributions_of(buckets[row.run_id]),
            timeline=points_of(slices[row.run_id]),
            messages=tables.sample.sizes[row.run_id].messages,
            copies=tables.sample.sizes[row.run_id].copies,
            **fields_of(row, tables.sample),
        )
        for row in overview(tables).orderBy("run_id").collect()
    ]


def fields_of(row: Row, sample: Sampled) -> dict[str, Any]:
    """The counts of a run; those that a sample has too few of are made larger."""
    return row.asDict() | {name: scaled(row[name], row.run_id, sample) for name in ESTIMATED}


def overview(tables: Tables) -> DataFrame:
    """The counts of each run."""
    counts = tables.structure.groupBy("run_id").agg(
        F.count_distinct("conversation").alias("conversations"),
        F.count_if(F.col("depth") == 0).alias("spontaneous"),
        F.count_if(F.col("depth").isNull()).alias("stuck"),
    )
    processes = tables.totals.groupBy("run_id").agg(F.count("*").alias("processes"))
    channels = tables.channels.groupBy("run_id").agg(F.count("*").alias("channels"))
    times = ("first_ns", "last_ns", "slice_ns")
    return (
        counts.join(processes, on="run_id", how="inner")
        .join(channels, on="run_id", how="inner")
        .join(tables.runs, on="run_id", how="left")
        .select(
            *counts.columns,
            "processes",
            "channels",
            *(F.coalesce(name, F.lit(0)).cast("long").alias(name) for name in times),
        )
    )


COUNTS: Final = (
    "messages",
    "copies",
    "processes",
    "channels",
    "conversations",
    "spontaneous",
    "stuck",
    "first_ns",
    "last_ns",
)


def summary_object(source: str, runs: Sequence[RunProfile]) -> dict[str, object]:
    """What `summary.json` says."""
    return {
        "source": source,
        "runs": {run.run_id: run_object(run) for run in runs},
        "meaning": {
            name: f"{measure.meaning} ({measure.unit})" if measure.unit else measure.meaning
            for name, measure in MEASURES.items()
        },
    }


def run_object(run: RunProfile) -> dict[str, object]:
    """What `summary.json` says about one run."""
    counts: dict[str, object] = {name: getattr(run, name) for name in COUNTS}
    measures = {
        name: run.distributions[name].figures() for name in MEASURES if name in run.distributions
    }
    estimated = None if run.sampled is None else {"messages": run.sampled, "of": run.messages}
    return {"times": run.times, **counts, "estimated_from": estimated, "measures": measures}


def write_json(file: Path, content: dict[str, object]) -> None:
    """Write an object so that people can read it too; the file appears when it is complete."""
    write_whole(file, f"{json.dumps(content, indent=2)}\n".encode())
