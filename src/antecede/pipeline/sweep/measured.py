"""The figures of a simulated run, from the simulator's own meter: the columns of `MEASURED`."""

from collections import Counter
from fractions import Fraction
from typing import Final

import pyarrow as pa

from antecede.pipeline.metrics.distributions import Distribution, bucket_number, gathered
from antecede.pipeline.metrics.figures import (
    DELAYS,
    PACKET_TOTALS,
    Figures,
    bucket_rows,
    delay_figures,
)
from antecede.pipeline.metrics.instants import instants_of
from antecede.pipeline.metrics.non_causal import lateness_of_run
from antecede.sim.histogram import Histogram
from antecede.sim.measures import Measures, Occupancy
from antecede.sim.run import RunResult
from antecede.sim.workloads.replay import Replay
from antecede.sim.workloads.workload import Workload
from antecede.trace.log import EventLog
from antecede.trace.parquet import event_table

INSTANTS_FROM: Final = ["process", "kind", "sender", "sequence", "target", "time_ns"]
"""The columns of a log that `instants_of` needs."""


def measured_fields(result: RunResult, non_causal: bool) -> Figures:
    """Every column of `MEASURED`; the run was measured, and recorded if `non_causal` is wanted."""
    measures = result.measures
    assert measures is not None, "runs of a sweep are measured"
    meters = {name: getattr(measures.delays, name) for name in DELAYS if name != "non_causal"}
    delays = {name: counted(meter) for name, meter in meters.items() if meter.count}
    late_ns: list[int] = []
    if non_causal:
        assert result.log is not None, "the run was recorded"
        late_ns = non_causal_ns(result.log)
        if late_ns:
            delays["non_causal"] = gathered(Counter(late_ns))
    return {
        **totals(measures),
        "non_causal_copies": len(late_ns) or None,
        **occupancy_figures(measures.occupancy),
        **delay_figures(delays),
        "packet_totals": packet_rows(measures),
        "buckets": bucket_rows(delays),
    }


def request_fields(workload: Workload) -> Figures:
    """The columns of `REQUESTS`, after a run; null unless it was a replay."""
    times_ns = workload.conversation_times_ns() if isinstance(workload, Replay) else []
    found = gathered(Counter(times_ns)) if times_ns else None
    return {
        "requests": len(times_ns) or None,
        "request_mean_ns": None if found is None else found.mean,
        "request_p50_ns": None if found is None else found.quantile(0.5),
        "request_p99_ns": None if found is None else found.quantile(0.99),
    }


def totals(measures: Measures) -> Figures:
    """Counts and ratios."""
    carrying = sum(kind.carrying for kind in measures.packets)
    return {
        "messages": measures.messages,
        "copies": measures.copies,
        "delivered": measures.delivered,
        "packets": measures.packets_total,
        "control_packets": measures.packets_total - carrying,
        "payload_bytes": sum(kind.payload_bytes for kind in measures.packets),
        "metadata_bytes": sum(kind.metadata_bytes for kind in measures.packets),
        "makespan_ns": measures.makespan_ns,
        "throughput": measures.throughput,
        "packets_per_message": measures.packets_per_message,
        "control_per_message": measures.control_per_message,
        "metadata_bytes_per_message": measures.metadata_bytes_per_message,
    }


def occupancy_figures(occupancy: Occupancy) -> Figures:
    """The fullest buffers, and what a sender had under way."""
    under_way = [mean for mean in occupancy.in_transit_mean if mean > 0]
    return {
        "sender_buffer_max": max(occupancy.sender_buffer_max),
        "receiver_buffer_max": max(occupancy.receiver_buffer_max),
        "in_transit_max": max(occupancy.in_transit_max),
        "in_transit_mean": sum(under_way) / len(under_way) if under_way else 0.0,
    }


def packet_rows(measures: Measures) -> list[Figures]:
    """What was transmitted of every kind of packet."""
    names = ("kind", *PACKET_TOTALS.names[1:])
    return [
        dict(zip(PACKET_TOTALS.names, (getattr(kind, name) for name in names), strict=True))
        for kind in measures.packets
    ]


def counted(histogram: Histogram) -> Distribution:
    """What a histogram of the simulator says."""
    # It tells its mean and not its sum: this is that sum, or one with the same mean.
    total = round(Fraction(histogram.mean()) * int(histogram.count))
    return Distribution(
        least=int(histogram.least),
        greatest=int(histogram.greatest),
        total=total,
        buckets=tuple((bucket_number(low), count) for low, _, count in histogram.buckets()),
    )


def non_causal_ns(log: EventLog) -> list[int]:
    """How much later than causal order demands each copy of a run was delivered."""
    blocks = [event_table(block, log.packet_kinds).select(INSTANTS_FROM) for block in log.blocks()]
    return lateness_of_run(instants_of(pa.concat_tables(blocks)))
