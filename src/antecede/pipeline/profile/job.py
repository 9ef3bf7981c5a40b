"""The profile job: reads a workload and, if there is one, its event log; writes what they are like.

It leaves `processes/`, `channels/`, `distributions/` and `timeline/` as Parquet datasets by run,
and gives back what fits a summary. Times come from the event log. Without one they are nominal:
those of a network that takes no time.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.core.errors import LocalError
from antecede.pipeline.profile import moments, traffic
from antecede.pipeline.profile.distributions import Distribution, distributions_of, histograms
from antecede.pipeline.profile.sources import read_events, read_names, read_workload
from antecede.pipeline.profile.structure import causal_structure

RECORDED: Final = "recorded"
NOMINAL: Final = "nominal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What went on in one slice of a run."""

    start_ns: int
    messages: int
    in_flight_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProfile:
    """What one run is like."""

    run_id: str
    times: str
    """`recorded`, or `nominal`: as over a network that takes no time."""
    messages: int
    copies: int
    processes: int
    """Those that have a name, send or are sent to."""
    channels: int
    """Pairs of a sender and a target."""
    conversations: int
    spontaneous: int
    """Messages without a cause."""
    stuck: int
    """Messages that can never leave: a cause is missing, or they wait for themselves."""
    first_ns: int
    last_ns: int
    slice_ns: int
    distributions: dict[str, Distribution]
    timeline: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Everything a profile is made from, each kept by Spark as it is used more than once."""

    structure: DataFrame
    channels: DataFrame
    totals: DataFrame
    copies: DataFrame
    runs: DataFrame
    times: str


def profile(
    session: SparkSession, source: str, out: str, *, run_id: str | None = None
) -> list[RunProfile]:
    """Profile the runs in the folder `source`, or one of them; write the tables into `out`."""
    with ExitStack() as stack:
        tables = prepared(session, source, run_id, stack)
        counted, line = measured(tables, stack)
        counted, line = kept(counted, stack), kept(line, stack)
        for name, table in (
            ("processes", tables.totals),
            ("channels", tables.channels),
            ("distributions", counted),
            ("timeline", line),
        ):
            table.write.mode("overwrite").partitionBy("run_id").parquet(f"{out}/{name}")
        return summaries(tables, counted, line)


def kept(table: DataFrame, stack: ExitStack) -> DataFrame:
    """The same table, worked out once only, until the stack is closed."""
    stored = table.persist(StorageLevel.MEMORY_AND_DISK)
    stack.callback(stored.unpersist)
    return stored


def prepared(session: SparkSession, source: str, run_id: str | None, stack: ExitStack) -> Tables:
    """Read what there is, and work out what several stages need."""
    workload = read_workload(session, source, run_id)
    structure = kept(causal_structure(workload), stack)
    if structure.isEmpty():
        raise LocalError(f"{source} has no messages" + (f" of run {run_id!r}" if run_id else ""))
    events = read_events(session, source, run_id)
    copies = moments.nominal_times(structure) if events is None else moments.copy_times(events)
    copies = kept(copies, stack)
    channels = kept(traffic.channels(workload), stack)
    names = read_names(session, source, run_id)
    return Tables(
        structure=structure,
        channels=channels,
        totals=kept(traffic.process_totals(channels, workload, names), stack),
        copies=copies,
        runs=kept(moments.run_times(copies), stack),
        times=NOMINAL if events is None else RECORDED,
    )


def measured(tables: Tables, stack: ExitStack) -> tuple[DataFrame, DataFrame]:
    """All distributions of all runs, and their time lines."""
    sent = moments.submissions(tables.copies)
    sent_by_all = kept(moments.in_system_lane(sent, "submission_gap_ns", tables.runs), stack)
    own_gaps = moments.in_own_lane(sent, "sender_gap_ns").unionByName(
        moments.in_own_lane(moments.deliveries(tables.copies), "delivery_gap_ns")
    )
    errands = moments.marks(moments.errand_spans(tables.structure))
    under_way = moments.marks(moments.flights(tables.copies))
    levels = moments.levels(
        moments.in_own_lane(errands, "errands_at_once").unionByName(
            moments.in_system_lane(under_way, "in_flight", tables.runs)
        )
    )
    levels = kept(levels, stack)
    values = [
        traffic.message_values(tables.structure),
        traffic.conversation_values(tables.structure),
        traffic.process_values(tables.totals),
        moments.gaps(sent_by_all.select(own_gaps.columns).unionByName(own_gaps)),
        moments.level_values(levels),
        moments.flight_values(tables.copies),
    ]
    recorded = F.lit(tables.times == RECORDED)
    counted = reduce(DataFrame.unionByName, values).where(
        recorded | ~F.col("measure").isin("flight_ns", "in_flight")
    )
    flights = levels.where(F.col("measure") == "in_flight")
    return histograms(counted), moments.timeline(sent_by_all, flights, tables.runs)


def summaries(tables: Tables, counted: DataFrame, line: DataFrame) -> list[RunProfile]:
    """What was found, run by run."""
    distributions = distributions_of(counted.collect())
    points: dict[str, dict[int, Point]] = {}
    for row in line.collect():
        points.setdefault(row.run_id, {})[row.slice] = Point(
            start_ns=row.start_ns, messages=row.messages, in_flight_max=row.in_flight_max or 0
        )
    return [
        RunProfile(
            times=tables.times,
            distributions=distributions[row.run_id],
            timeline=tuple(point for _, point in sorted(points.get(row.run_id, {}).items())),
            **row.asDict(),
        )
        for row in overview(tables).orderBy("run_id").collect()
    ]


def overview(tables: Tables) -> DataFrame:
    """The counts of each run."""
    counts = tables.structure.groupBy("run_id").agg(
        F.count("*").alias("messages"),
        F.sum(F.size("targets")).alias("copies"),
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
