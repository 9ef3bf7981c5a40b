"""All figures of all runs in an event log, as one row a run."""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import ArrayType

from antecede.pipeline.metrics.figures import BUCKETS, DELAYS, MEASURED, PACKET_TOTALS, SHARES
from antecede.pipeline.metrics.histograms import (
    delay_buckets,
    delay_figures,
    shown_buckets,
    unpivoted,
)
from antecede.pipeline.metrics.instants import buffering_delays
from antecede.pipeline.metrics.non_causal import Stretch, non_causal_delays
from antecede.pipeline.metrics.occupancy import level_changes, occupancy_figures
from antecede.pipeline.metrics.traffic import (
    event_totals,
    message_figures,
    packet_figures,
    packet_totals,
    sender_totals,
)

SECOND_NS: Final = 1_000_000_000.0


def measured_runs(
    events: DataFrame,
    instants: DataFrame,
    *,
    non_causal: bool = True,
    stretches: Sequence[Stretch] = (),
) -> DataFrame:
    """Every figure of every run that submitted anything.

    `instants` is `message_instants(events)`: it is used several times, so whoever has the room may
    want to keep it. Without `non_causal` the figures of that delay are null; of runs that have
    `stretches` they are estimated from those.

    In:  run_id and the columns of the event log; those of `message_instants`.
    Out: run_id and the columns of `MEASURED`.
    """
    totals = event_totals(events)
    durations = unpivoted(buffering_delays(instants).drop("sender", "sequence", "target"))
    if non_causal:
        late = non_causal_delays(instants, stretches)
        durations = durations.unionByName(unpivoted(late))
    buckets = delay_buckets(durations)
    parts = [
        packet_figures(totals),
        message_figures(sender_totals(instants)),
        occupancy_figures(level_changes(instants)),
        beside_each_other(delay_figures(buckets)),
        gathered(packet_totals(totals), "packet_totals", PACKET_TOTALS.names, "packet_kind"),
        gathered(shown_buckets(buckets), "buckets", BUCKETS.names, "delay", "low_ns"),
    ]
    return completed(put_together(parts)).select("run_id", *MEASURED.names)


def beside_each_other(figures: DataFrame) -> DataFrame:
    """The figures of all delays in one row a run; null where a run has no such delay.

    In:  run_id, delay, copies, mean_ns, max_ns, and a <share>_ns for each quantile.
    Out: run_id, non_causal_copies, and <delay>_mean_ns and so on.
    """
    names = ("mean_ns", *(f"{share}_ns" for share in SHARES), "max_ns")
    non_causal = F.when(F.col("delay") == "non_causal", F.col("copies"))
    return figures.groupBy("run_id").agg(
        F.max(non_causal).alias("non_causal_copies"),
        *(
            F.max(F.when(F.col("delay") == delay, F.col(name))).alias(f"{delay}_{name}")
            for delay in DELAYS
            for name in names
        ),
    )


def gathered(rows: DataFrame, name: str, columns: list[str], *order: str) -> DataFrame:
    """All rows of a run as one sorted list.

    In:  run_id, and these columns.
    Out: run_id, and the list.
    """
    # A struct sorts by its first fields, so those that give the order stand in front.
    front = F.struct(*order, *(column for column in columns if column not in order))
    lists = rows.groupBy("run_id").agg(F.sort_array(F.collect_list(front)).alias(name))
    in_place = F.transform(name, lambda row: F.struct(*(row[column] for column in columns)))
    return lists.select("run_id", in_place.alias(name))


def put_together(parts: list[DataFrame]) -> DataFrame:
    """Tables with one row a run and different columns, as one: one shuffle instead of many joins.

    In:  run_id, and whatever columns.
    Out: run_id, and the columns of all of them; null where a part does not have the run.
    """
    below = reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), parts)
    # Only one part has a value. It could be taken as the first for all types, but a maximum can be
    # kept in place while a first cannot; a list has no maximum.
    only = {
        field.name: F.first(field.name, ignorenulls=True)
        if isinstance(field.dataType, ArrayType)
        else F.max(field.name)
        for field in below.schema
        if field.name != "run_id"
    }
    return below.groupBy("run_id").agg(*(value.alias(name) for name, value in only.items()))


def completed(runs: DataFrame) -> DataFrame:
    """The figures that follow from several others; runs without a message are left out.

    In:  the columns of `packet_figures`, `message_figures` and the others.
    Out: the same, and makespan_ns, throughput, in_transit_mean, and what there is for one message.
    """
    messages = F.col("messages")
    makespan_ns = F.coalesce(F.col("delivered_ns") - F.col("first_ns"), F.lit(0).cast("bigint"))
    open_ns = F.coalesce(
        (F.col("open") * F.col("last_ns").cast("decimal(38,0)") - F.col("open_since_ns")).cast(
            "double"
        ),
        F.lit(0.0),
    )
    span_ns = F.col("last_ns") - F.col("first_ns")
    area = F.coalesce(F.col("transit_ns"), F.lit(0.0)) + open_ns
    in_transit = F.when(
        (F.col("senders") > 0) & (span_ns > 0), area / span_ns / F.col("senders")
    ).otherwise(F.lit(0.0))
    rate = F.when(makespan_ns > 0, F.col("delivered") * SECOND_NS / makespan_ns)
    return runs.where(messages.isNotNull()).withColumns(
        {
            "makespan_ns": makespan_ns,
            "throughput": F.coalesce(rate, F.lit(0.0)),
            "in_transit_mean": in_transit,
            "packets_per_message": F.col("packets") / messages,
            "control_per_message": F.col("control_packets") / messages,
            "metadata_bytes_per_message": F.col("metadata_bytes") / messages,
        }
    )
