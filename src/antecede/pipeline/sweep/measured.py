"""The figures of a simulated run, from the simulator's own meter: the columns of `MEASURED`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from antecede.pipeline.metrics.figures import DELAYS, SHARES
from antecede.pipeline.metrics.ideal import Copies
from antecede.pipeline.metrics.non_causal import lateness
from antecede.sim.histogram import Histogram, bucket_of, bucket_start
from antecede.sim.measures import Measures, Occupancy
from antecede.sim.run import RunResult
from antecede.sim.workloads.replay import Replay
from antecede.sim.workloads.workload import Workload
from antecede.trace.events import KINDS
from antecede.trace.log import EventLog
from antecede.trace.parquet import event_table, load

Fields: TypeAlias = dict[str, Any]
ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; this name says at least what is meant."""

COPY: Final = ("sender", "sequence", "target")
"""What names a copy of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How a delay was distributed: exact mean and greatest, quantiles within a bucket."""

    mean_ns: float
    max_ns: int
    quantiles_ns: dict[str, int]
    buckets: list[tuple[int, int, int]]
    """First and last duration of a bucket, and how many copies."""


def measured_fields(result: RunResult, non_causal: bool) -> Fields:
    """Every column of `MEASURED`; the run was measured, and recorded if `non_causal` is wanted."""
    measures = result.measures
    assert measures is not None, "runs of a sweep are measured"
    distributions = {
        "sender_wait": counted(measures.delays.sender_wait),
        "channel": counted(measures.delays.channel),
        "receiver_wait": counted(measures.delays.receiver_wait),
        "latency": counted(measures.delays.latency),
    }
    late_ns: list[int] = []
    if non_causal:
        assert result.log is not None, "the run was recorded"
        late_ns = non_causal_ns(result.log)
        distributions["non_causal"] = gathered(late_ns)
    return {
        **totals(measures),
        "non_causal_copies": len(late_ns) or None,
        **occupancy_figures(measures.occupancy),
        **delay_figures(distributions),
        "packet_totals": packet_rows(measures),
        "buckets": bucket_rows(distributions),
    }


def request_fields(workload: Workload) -> Fields:
    """The columns of `REQUESTS`, after a run; null unless it was a replay."""
    times_ns = workload.conversation_times_ns() if isinstance(workload, Replay) else []
    found = gathered(times_ns)
    return {
        "requests": len(times_ns) if times_ns else None,
        "request_mean_ns": found.mean_ns if times_ns else None,
        "request_p50_ns": found.quantiles_ns.get("p50"),
        "request_p99_ns": found.quantiles_ns.get("p99"),
    }


def totals(measures: Measures) -> Fields:
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


def occupancy_figures(occupancy: Occupancy) -> Fields:
    """The fullest buffers, and what a sender had under way."""
    under_way = [mean for mean in occupancy.in_transit_mean if mean > 0]
    return {
        "sender_buffer_max": max(occupancy.sender_buffer_max),
        "receiver_buffer_max": max(occupancy.receiver_buffer_max),
        "in_transit_max": max(occupancy.in_transit_max),
        "in_transit_mean": sum(under_way) / len(under_way) if under_way else 0.0,
    }


def packet_rows(measures: Measures) -> list[Fields]:
    """What was transmitted of every kind of packet."""
    return [
        {
            "packet_kind": kind.kind,
            "packets": kind.packets,
            "carrying": kind.carrying,
            "payload_bytes": kind.payload_bytes,
            "metadata_bytes": kind.metadata_bytes,
        }
        for kind in measures.packets
    ]


def delay_figures(distributions: dict[str, Distribution]) -> Fields:
    """The figures of every delay; null where nothing had such a delay."""
    fields: Fields = {}
    for delay in DELAYS:
        found = distributions.get(delay)
        known = found is not None and bool(found.buckets)
        fields[f"{delay}_mean_ns"] = found.mean_ns if found is not None and known else None
        fields[f"{delay}_max_ns"] = found.max_ns if found is not None and known else None
        for share in SHARES:
            quantile = found.quantiles_ns[share] if found is not None and known else None
            fields[f"{delay}_{share}_ns"] = quantile
    return fields


def bucket_rows(distributions: dict[str, Distribution]) -> list[Fields]:
    """All buckets, in the order in which Spark would sort them."""
    return [
        {"delay": delay, "low_ns": low, "high_ns": high, "copies": copies}
        for delay, distribution in sorted(distributions.items())
        for low, high, copies in distribution.buckets
    ]


def counted(histogram: Histogram) -> Distribution:
    """What a histogram of the simulator says."""
    return Distribution(
        mean_ns=histogram.mean(),
        max_ns=int(histogram.greatest),
        quantiles_ns={name: histogram.quantile(share) for name, share in SHARES.items()},
        buckets=histogram.buckets(),
    )


def gathered(durations_ns: Sequence[int]) -> Distribution:
    """The same for durations of which some may be negative: their buckets mirror the others."""
    if not durations_ns:
        return Distribution(mean_ns=0.0, max_ns=0, quantiles_ns={}, buckets=[])
    counts: Counter[int] = Counter()
    for duration_ns, copies in Counter(durations_ns).items():
        bucket = int(bucket_of(abs(duration_ns)))
        counts[bucket if duration_ns >= 0 else -bucket] += copies
    buckets = [(*bounds(bucket), counts[bucket]) for bucket in sorted(counts)]
    least_ns, greatest_ns = min(durations_ns), max(durations_ns)
    return Distribution(
        mean_ns=sum(durations_ns) / len(durations_ns),
        max_ns=greatest_ns,
        quantiles_ns={
            name: min(max(reached(buckets, share * len(durations_ns)), least_ns), greatest_ns)
            for name, share in SHARES.items()
        },
        buckets=buckets,
    )


def reached(buckets: list[tuple[int, int, int]], rank: float) -> int:
    """The middle of the bucket in which so many copies have been passed."""
    passed = 0
    for low, high, copies in buckets:
        passed += copies
        if passed >= rank:
            return low + (high - low) // 2
    raise AssertionError("all copies together reach every rank")


def bounds(bucket: int) -> tuple[int, int]:
    """The least and the greatest duration of a bucket; those below 0 count negative ones."""
    near, far = int(bucket_start(abs(bucket))), int(bucket_start(abs(bucket) + 1)) - 1
    return (near, far) if bucket >= 0 else (-far, -near)


def non_causal_ns(log: EventLog) -> list[int]:
    """How much later than causal order demands each copy of a run was delivered."""
    table = instants_table(log)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    submitted, delivered = columns["submitted"], columns["delivered"]
    travel = [
        # A copy that never arrived as such came with what delivered it.
        delivered[i] - submitted[i] if arrived is None or left is None else arrived - left
        for i, (left, arrived) in enumerate(
            zip(columns["transmitted"], columns["arrived"], strict=True)
        )
    ]
    copies = Copies(
        sender=columns["sender"],
        sequence=columns["sequence"],
        target=columns["target"],
        submitted_ns=submitted,
        travel_ns=travel,
    )
    return lateness(copies, delivered)


def instants_table(log: EventLog) -> ArrowTable:
    """The four instants of every delivered copy that is not to oneself, the first of each kind."""
    pa = load("pyarrow")
    pc = load("pyarrow.compute")
    events = pa.concat_tables([message_events(block, log) for block in log.blocks()])
    # One thread: several would give the copies in another order each time.
    copies = events.group_by(list(COPY), use_threads=False).aggregate(
        [(kind, "min") for kind in KINDS]
    )
    copies = copies.rename_columns([*COPY, *KINDS])
    whole = pc.and_(pc.is_valid(copies["submitted"]), pc.is_valid(copies["delivered"]))
    return copies.filter(whole)


def message_events(block: bytes, log: EventLog) -> ArrowTable:
    """The rows of a block that are about a message to somebody else; a column for each kind."""
    pa = load("pyarrow")
    pc = load("pyarrow.compute")
    table = event_table(block, log.packet_kinds).select([*COPY, "kind", "time_ns"])
    # A control packet has no sender, and a comparison with nothing is not true.
    table = table.filter(pc.not_equal(table["sender"], table["target"]))
    kinds = table["kind"].cast(pa.string())
    columns = {name: table[name] for name in COPY}
    for kind in KINDS:
        columns[kind] = pc.if_else(pc.equal(kinds, kind), table["time_ns"], None)
    return pa.table(columns)
