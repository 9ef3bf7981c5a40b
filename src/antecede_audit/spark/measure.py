"""Measures event logs of any size, whatever their origin: reads them and runs the stages on Spark.

A copy is in its sender's buffer until it is transmitted, under way until it arrives, and in its
target's buffer until it is delivered. What passes through in no time does not count. There is one
row a run, so the result is small however long the logs are.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.jobs.event_logs import check_separate, distinct_names
from antecede_audit.measure.distributions import distributions_of
from antecede_audit.measure.figures import PACKET_TOTALS, Figures, run_row
from antecede_audit.measure.non_causal import COPIES_MAX, TimeSample
from antecede_audit.spark.event_logs import find_source_anywhere, narrowed, read_logs
from antecede_audit.spark.job_names import named_jobs
from antecede_audit.spark.measure_stages import (
    buffering_delays,
    find_stretches,
    histograms,
    message_instants,
    non_causal_delays,
    rows_by_run,
    travelling,
)
from antecede_audit.spark.schemas import EVENTS
from antecede_audit.spark.settings import persisted
from antecede_audit.spark.storage import Storage
from antecede_audit.spark.survey import gather_facts

SENDER_BUFFER: Final = "sender_buffer"
IN_TRANSIT: Final = "in_transit"
RECEIVER_BUFFER: Final = "receiver_buffer"
PLACES: Final = (SENDER_BUFFER, RECEIVER_BUFFER, IN_TRANSIT)
MOST: Final = tuple(f"{place}_max" for place in PLACES)

WIDE: Final = "decimal(38,0)"
"""Sums of times of day do not fit 64 bits."""


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
        describe = stack.enter_context(named_jobs(session, "metrics"))
        describe("looking at the log")
        places = stack.enter_context(Storage(session))
        sources = [find_source_anywhere(path, places) for path in paths]
        written = read_logs(session, sources, ALL_COLUMNS)
        runs = gather_facts(written, ALL_COLUMNS)
        events = narrowed(written)
        check_separate(runs, sources)
        names = distinct_names(runs)
        shared = [run.run_id for run, name in zip(runs, names, strict=True) if run.run_id != name]
        log = with_distinct_names(events, shared).select("run_id", *EVENTS.names)
        instants = persisted(message_instants(log), stack)
        sizes = {name: run.copies for run, name in zip(runs, names, strict=True)}
        describe("looking for stretches to sample")
        stretches = find_stretches(instants, sizes, copies_max) if non_causal else []
        describe("measuring")
        return measured_runs(log, instants, non_causal=non_causal, stretches=stretches)


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
    *,
    non_causal: bool = True,
    stretches: Sequence[TimeSample] = (),
) -> list[Figures]:
    """Every figure of every run that submitted anything: run_id and the columns of `MEASURED`.

    `instants` is `message_instants(events)`: it is used several times, so whoever has the room may
    want to keep it. Without `non_causal` the figures of that delay are null; of runs that have
    `stretches` they are estimated from those.

    In: run_id and the columns of the event log; those of `message_instants`.
    """
    durations = unpivoted(buffering_delays(instants).drop("sender", "sequence", "target"))
    if non_causal:
        durations = durations.unionByName(unpivoted(non_causal_delays(instants, stretches)))
    totals = rows_by_run(event_totals(events))
    levels = rows_by_run(occupancy_figures(level_changes(instants)))
    buckets = rows_by_run(histograms(durations))
    rows = []
    for run_id, [sent] in sorted(rows_by_run(message_figures(sender_totals(instants))).items()):
        last_ns = max(row["last_ns"] for row in totals[run_id])
        submitted = [row["first_ns"] for row in totals[run_id] if row["kind"] == "submitted"]
        under_way_ns = sent["open"] * last_ns - int(sent["open_since_ns"] or 0)
        found = {
            **sent.asDict(),
            "first_ns": min(submitted),
            "last_ns": last_ns,
            "transit_ns": (sent["transit_ns"] or 0.0) + under_way_ns,
            **(levels[run_id][0].asDict() if levels[run_id] else dict.fromkeys(MOST)),
        }
        packets = packets_in(totals[run_id])
        rows.append(run_row(run_id, packets, found, distributions_of(buckets[run_id])))
    return rows


def packets_in(totals: Sequence[Row]) -> list[Figures]:
    """What was transmitted of every kind of packet, retransmissions included.

    In: rows of `event_totals`, of one run. Out: rows of `PACKET_TOTALS`.
    """
    return [
        {name: row[name] for name in PACKET_TOTALS.names}
        for row in totals
        if row["kind"] == "transmitted"
    ]


def unpivoted(delays: DataFrame) -> DataFrame:
    """Delays below each other instead of beside each other; nulls are left out.

    In:  run_id, and any of <delay>_ns.
    Out: run_id, measure (the delay), value, count (1).
    """
    names = [name for name in delays.columns if name.endswith("_ns")]
    named = delays.select("run_id", *(F.col(one).alias(one.removesuffix("_ns")) for one in names))
    rows = named.unpivot("run_id", tuple(named.columns[1:]), "measure", "value")
    return rows.where(F.col("value").isNotNull()).withColumn("count", F.lit(1).cast("bigint"))


def event_totals(events: DataFrame) -> DataFrame:
    """Counts and sums of events, by what sort they are.

    In:  run_id, kind, sender, packet_kind, time_ns, payload_bytes, metadata_bytes.
    Out: run_id, kind, packet_kind, packets (events, of whatever kind), carrying, payload_bytes,
         metadata_bytes, first_ns, last_ns.
    """
    return events.groupBy("run_id", "kind", "packet_kind").agg(
        F.count("*").alias("packets"),
        F.count("sender").alias("carrying"),
        F.sum(F.col("payload_bytes").cast("bigint")).alias("payload_bytes"),
        F.sum(F.col("metadata_bytes").cast("bigint")).alias("metadata_bytes"),
        F.min("time_ns").alias("first_ns"),
        F.max("time_ns").alias("last_ns"),
    )


def sender_totals(instants: DataFrame) -> DataFrame:
    """What each sender sent, and for how long its copies were under way.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, sender, messages, copies, delivered, delivered_ns (the last), transit_ns (of all
         copies that arrived, together), open and open_since_ns (those that did not: how many, and
         the sum of when they left).
    """
    travels = F.col("sender") != F.col("target")
    came_ns = F.coalesce(F.col("arrived_ns"), F.col("delivered_ns"))
    is_open = travels & F.col("transmitted_ns").isNotNull() & came_ns.isNull()
    # By message first, of which there is one however many copies it has.
    of_message = instants.groupBy("run_id", "sender", "sequence").agg(
        F.count_if(travels).alias("copies"),
        F.count_if(travels & F.col("delivered_ns").isNotNull()).alias("delivered"),
        F.max("delivered_ns").alias("delivered_ns"),
        F.sum(F.when(travels, came_ns - F.col("transmitted_ns"))).alias("transit_ns"),
        F.count_if(is_open).alias("open"),
        F.sum(F.when(is_open, F.col("transmitted_ns")).cast(WIDE)).alias("open_since_ns"),
    )
    wide = of_message.withColumn("transit_ns", F.col("transit_ns").cast("double"))
    return wide.groupBy("run_id", "sender").agg(F.count("*").alias("messages"), *summed())


def message_figures(senders: DataFrame) -> DataFrame:
    """How many messages and copies there were in a run, and how many were under way.

    In:  the columns of `sender_totals`.
    Out: run_id, messages, copies, delivered, delivered_ns, transit_ns, open, open_since_ns, and
         senders: how many had a copy under way for a while.
    """
    return senders.groupBy("run_id").agg(
        F.sum("messages").alias("messages"),
        *summed(),
        F.count_if((F.col("transit_ns") > 0) | (F.col("open") > 0)).alias("senders"),
    )


def summed() -> list[Column]:
    """The figures of messages or senders, of all of them together."""
    sums = ("copies", "delivered", "transit_ns", "open", "open_since_ns")
    last = F.max("delivered_ns").alias("delivered_ns")
    return [last, *(F.sum(name).alias(name) for name in sums)]


def level_changes(instants: DataFrame) -> DataFrame:
    """Every coming and going, those of one moment added up.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, place, process, time_ns, change.
    """
    submitted, transmitted = F.col("submitted_ns"), F.col("transmitted_ns")
    arrived, delivered = F.col("arrived_ns"), F.col("delivered_ns")
    # A copy of which the log does not say that it left or arrived did so when it was delivered.
    left = F.coalesce(transmitted, delivered)
    came = F.coalesce(arrived, delivered)
    sender, target = F.col("sender"), F.col("target")
    changes = F.array(
        change(SENDER_BUFFER, sender, submitted, 1),
        change(SENDER_BUFFER, sender, left, -1),
        change(IN_TRANSIT, sender, transmitted, 1),
        change(IN_TRANSIT, sender, F.when(transmitted.isNotNull(), came), -1),
        change(RECEIVER_BUFFER, target, arrived, 1),
        change(RECEIVER_BUFFER, target, F.when(arrived.isNotNull(), delivered), -1),
    )
    rows = travelling(instants).select("run_id", F.explode(changes).alias("row"))
    known = rows.where(F.col("row.time_ns").isNotNull()).select("run_id", "row.*")
    # Laid out by place at once, as the levels need it, there is one shuffle instead of two.
    return (
        known.repartition("run_id", "place", "process")
        .groupBy("run_id", "place", "process", "time_ns")
        .agg(F.sum("change").alias("change"))
    )


def change(place: str, process: Column, time_ns: Column, by: int) -> Column:
    """A coming or going; nothing of the sort if the time is null."""
    return F.struct(
        F.lit(place).alias("place"),
        process.alias("process"),
        time_ns.alias("time_ns"),
        F.lit(by).alias("change"),
    )


def occupancy_figures(changes: DataFrame) -> DataFrame:
    """The most copies that ever were at one process, for each place.

    In:  the columns of `level_changes`.
    Out: run_id, sender_buffer_max, receiver_buffer_max, in_transit_max.
    """
    so_far = (
        Window.partitionBy("run_id", "place", "process")
        .orderBy("time_ns")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    levels = changes.select("run_id", "place", F.sum("change").over(so_far).alias("level"))
    most = (
        F.coalesce(
            F.greatest(F.max(F.when(F.col("place") == place, F.col("level"))), F.lit(0)),
            F.lit(0),
        )
        .cast("bigint")
        .alias(f"{place}_max")
        for place in PLACES
    )
    return levels.groupBy("run_id").agg(*most)
