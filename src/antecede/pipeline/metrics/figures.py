"""The figures of a run: their names, types and meanings, wherever they come from.

The simulator's own meter and the stages over event logs fill the same columns, so that a
simulated, a live and an ingested run can stand in one table. Bytes and packets are those
transmitted, times are nanoseconds, and copies to oneself, which do not travel, count in no delay.
"""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

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


def delay_fields() -> list[StructField]:
    """The figures of every delay: mean, quantiles, greatest."""
    fields: list[StructField] = []
    for delay in DELAYS:
        fields.append(StructField(f"{delay}_mean_ns", DoubleType()))
        fields += [StructField(f"{delay}_{share}_ns", LongType()) for share in SHARES]
        fields.append(StructField(f"{delay}_max_ns", LongType()))
    return fields


FIGURES: Final = StructType(
    [
        *(StructField(name, LongType()) for name in COUNTS),
        *(StructField(name, DoubleType()) for name in RATIOS),
        *delay_fields(),
    ]
)
"""One row a run; a figure is null where the run does not say."""

PACKET_TOTALS: Final = StructType(
    [
        StructField("packet_kind", StringType()),
        StructField("packets", LongType()),
        StructField("carrying", LongType()),
        StructField("payload_bytes", LongType()),
        StructField("metadata_bytes", LongType()),
    ]
)
"""What was transmitted of one kind of packet; `carrying` is how many of them carried a message."""

BUCKETS: Final = StructType(
    [
        StructField("delay", StringType()),
        StructField("low_ns", LongType()),
        StructField("high_ns", LongType()),
        StructField("copies", LongType()),
    ]
)
"""How many copies had a delay from `low_ns` to `high_ns`, both included."""

MEASURED: Final = StructType(
    [
        *FIGURES.fields,
        StructField("packet_totals", ArrayType(PACKET_TOTALS)),
        StructField("buckets", ArrayType(BUCKETS)),
    ]
)
"""Everything that is measured of a run."""
