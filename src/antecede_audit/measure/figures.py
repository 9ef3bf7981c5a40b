"""The figures of a run: their names, types and meanings, wherever they come from.

The simulator's own meter and the stages over event logs fill the same columns, so that a
simulated, a live and an ingested run can stand in one table. Bytes and packets are those
transmitted, times are nanoseconds, and copies to oneself, which do not travel, count in no delay.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from antecede_audit.measure.distributions import Distribution, bounds

ArrowField: TypeAlias = Any
"""A `pyarrow.Field`; pyarrow has no types."""
Figures: TypeAlias = dict[str, Any]
"""Figures by name."""

DELAYS: Final = ("sender_wait", "channel", "receiver_wait", "latency", "non_causal")
"""What every delivered copy is asked: how long it waited at its sender, was under way, waited at
its receiver, all of that together; and how much later it was delivered than causal order demands.

The last is negative where a protocol that does not keep causal order delivered too early.
"""

SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""The quantiles that are shown, and the share of copies that do not exceed each."""

COUNTS: Final = (
    "messages",
    "copies",
    "delivered",
    "packets",
    "control_packets",
    "payload_bytes",
    "metadata_bytes",
    "makespan_ns",
    "sender_buffer_max",
    "receiver_buffer_max",
    "in_transit_max",
    "non_causal_copies",
)
"""Whole numbers. Copies are messages times targets; `delivered` are those of them that were.

`makespan_ns` is from the first submission to the last delivery; the buffers are those of the
fullest process, and `in_transit_max` is of the one sender with the most under way at once. The
figures of the delay `non_causal` rest on `non_causal_copies`: all that were delivered or, where a
run is too large, a sample of them.
"""

RATIOS: Final = (
    "throughput",
    "packets_per_message",
    "control_per_message",
    "metadata_bytes_per_message",
    "in_transit_mean",
)
"""Copies delivered per second; what is transmitted for one message; and how many copies of a sender
are under way, on average over time and over all senders that ever had one under way.
"""


def delay_fields() -> list[ArrowField]:
    """The figures of every delay: mean, quantiles, greatest."""
    fields: list[ArrowField] = []
    for delay in DELAYS:
        fields.append(pa.field(f"{delay}_mean_ns", pa.float64()))
        fields += [pa.field(f"{delay}_{share}_ns", pa.int64()) for share in SHARES]
        fields.append(pa.field(f"{delay}_max_ns", pa.int64()))
    return fields


FIGURES: Final = pa.schema(
    [
        *((name, pa.int64()) for name in COUNTS),
        *((name, pa.float64()) for name in RATIOS),
        *delay_fields(),
    ]
)
"""One row a run; a figure is null where the run does not say."""

PACKET_TOTALS: Final = pa.schema(
    [
        ("packet_kind", pa.string()),
        ("packets", pa.int64()),
        ("carrying", pa.int64()),
        ("payload_bytes", pa.int64()),
        ("metadata_bytes", pa.int64()),
    ]
)
"""What was transmitted of one kind of packet; `carrying` is how many of them carried a message."""

BUCKETS: Final = pa.schema(
    [
        ("delay", pa.string()),
        ("low_ns", pa.int64()),
        ("high_ns", pa.int64()),
        ("copies", pa.int64()),
    ]
)
"""How many copies had a delay from `low_ns` to `high_ns`, both included."""

MEASURED: Final = pa.schema(
    [
        *FIGURES,
        ("packet_totals", pa.list_(pa.struct([*PACKET_TOTALS]))),
        ("buckets", pa.list_(pa.struct([*BUCKETS]))),
    ]
)
"""Everything that is measured of a run."""

SECOND_NS: Final = 1_000_000_000.0


def run_row(
    run_id: str,
    packets: Sequence[Figures],
    found: Mapping[str, Any],
    delays: Mapping[str, Distribution],
) -> Figures:
    """The row of one run: run_id and the columns of `MEASURED`.

    `packets` are rows of `PACKET_TOTALS`; a log without any does not say what was transmitted.
    `found` has messages, copies and delivered; first_ns and last_ns, the first submission and the
    last event; delivered_ns, the last delivery; transit_ns, how long all copies together were under
    way, and senders, how many had one that was; and the fullest buffers.
    """
    totals: Figures = {
        name: sum(row[name] for row in packets) if packets else None
        for name in PACKET_TOTALS.names[1:]
    }
    totals["control_packets"] = totals["packets"] - totals["carrying"] if packets else None
    end_ns, span_ns = found["delivered_ns"], found["last_ns"] - found["first_ns"]
    makespan_ns = 0 if end_ns is None else end_ns - found["first_ns"]
    senders = found["senders"] if span_ns > 0 else 0
    late = delays.get("non_causal")
    row = {
        **found,
        **totals,
        "makespan_ns": makespan_ns,
        "throughput": found["delivered"] * SECOND_NS / makespan_ns if makespan_ns > 0 else 0.0,
        "in_transit_mean": found["transit_ns"] / span_ns / senders if senders else 0.0,
        "non_causal_copies": None if late is None else late.count,
        **delay_figures(delays),
        "packet_totals": sorted(packets, key=lambda row: row["packet_kind"] or "") or None,
        "buckets": bucket_rows(delays) or None,
    }
    for name, of in (
        ("packets_per_message", "packets"),
        ("control_per_message", "control_packets"),
        ("metadata_bytes_per_message", "metadata_bytes"),
    ):
        row[name] = None if row[of] is None else row[of] / row["messages"]
    return {"run_id": run_id, **{name: row[name] for name in MEASURED.names}}


def delay_figures(delays: Mapping[str, Distribution]) -> Figures:
    """The figures of every delay; null where nothing had such a delay."""
    figures: Figures = dict.fromkeys(field.name for field in delay_fields())
    for delay, found in delays.items():
        figures[f"{delay}_mean_ns"] = found.mean
        figures[f"{delay}_max_ns"] = found.greatest
        for name, share in SHARES.items():
            figures[f"{delay}_{name}_ns"] = found.quantile(share)
    return figures


def bucket_rows(delays: Mapping[str, Distribution]) -> list[Figures]:
    """All buckets of all delays, as rows of `BUCKETS`."""
    return [
        dict(zip(BUCKETS.names, (delay, *bounds(bucket), copies), strict=True))
        for delay, found in sorted(delays.items())
        for bucket, copies in found.buckets
    ]
