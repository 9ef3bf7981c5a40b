"""When each copy was submitted and delivered, on one clock for all processes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import IntegerType

from antecede.pipeline.ingest.constraints import Clocks, Gap, repaired_clocks
from antecede.pipeline.ingest.layouts import LONG, TEXT, table

NUMBERS: Final = table(key=TEXT, process=IntegerType())
"""What records call a process, and its number."""

CLOCKS: Final = table(process=IntegerType(), offset_ns=LONG)
"""What to add to the clock of a process."""

HASHED: Final = ("message", "sent_by", "received_by", "answers")

TIMES: Final = ("sent_ns", "sent_latest_ns", "received_ns", "received_earliest_ns")

MEDIAN_ACCURACY: Final = 10_000


def compacted(copies: DataFrame, numbers: DataFrame) -> DataFrame:
    """The copies with numbers for processes, and with hashes for names nobody wants to see again.

    Hashes sort and travel faster. Should two of 64 bits ever be equal, two messages at one time may
    count as one, or a message may wait for one of another trace.

    In:  the columns of COPIES; key, process.
    Out: the same columns; received_in only where it is not sent_in.
    """
    known = copies
    for role in ("sender", "receiver"):
        named = numbers.select(F.col("key").alias(role), F.col("process").alias(f"{role}_number"))
        known = known.join(F.broadcast(named), on=role, how="left")
    changed = {
        "sender": F.col("sender_number"),
        "receiver": F.col("receiver_number"),
        "received_in": F.nullif("received_in", "sent_in"),
        **{name: F.when(F.col(name).isNotNull(), F.xxhash64(name)) for name in HASHED},
    }
    return known.select(*(changed.get(name, F.col(name)).alias(name) for name in copies.columns))


def gap_measures() -> list[Column]:
    """How long messages of one ordered pair of processes seem to take.

    Where instants are ranges, the longest possible time counts.
    """
    gap = gap_of()
    return [
        F.min(gap).alias("smallest_ns"),
        F.count(gap).alias("timed"),
        F.count_if(gap < 0).alias("negative"),
    ]


def gap_of() -> Column:
    """How long a copy seems to take; null where it tells nothing of clocks."""
    gap = F.col("received_ns") - F.col("sent_ns")
    return F.when(F.col("sender") != F.col("receiver"), gap)


def gaps(copies: DataFrame, keys: Sequence[str]) -> list[Gap]:
    """The gaps of all pairs, at the driver: there are as many as pairs that exchange messages.

    In: sender, receiver (numbers of these names), sent_ns, received_ns.
    """
    return gaps_in(copies.groupBy("sender", "receiver").agg(*gap_measures()).collect(), keys)


def gaps_in(rows: Iterable[Row], keys: Sequence[str]) -> list[Gap]:
    """The gaps in rows of `gap_measures`; their medians are for those who need them."""
    return [
        Gap(
            sender=keys[row["sender"]],
            receiver=keys[row["receiver"]],
            smallest_ns=row["smallest_ns"],
            median_ns=row["smallest_ns"],
            copies=row["timed"],
            negative=row["negative"],
        )
        for row in rows
        if row["timed"]
    ]


def with_medians(found: Iterable[Gap], copies: DataFrame, keys: Sequence[str]) -> list[Gap]:
    """The gaps of these copies with their medians."""
    median = F.percentile_approx(gap_of(), 0.5, MEDIAN_ACCURACY).alias("median_ns")
    rows = copies.groupBy("sender", "receiver").agg(median).collect()
    medians = {(keys[row["sender"]], keys[row["receiver"]]): row["median_ns"] for row in rows}
    return [replace(gap, median_ns=medians[gap.sender, gap.receiver]) for gap in found]


def repaired(found: list[Gap], copies: DataFrame, keys: Sequence[str]) -> tuple[list[Gap], Clocks]:
    """Clocks that satisfy the gaps; medians are looked at only where gaps contradict each other."""
    clocks = repaired_clocks(found)
    if not clocks.contradictory:
        return found, clocks
    measured = with_medians(found, copies, keys)
    return measured, repaired_clocks(measured)


def instants(copies: DataFrame, offsets: Mapping[int, int]) -> DataFrame:
    """When each copy was submitted and delivered, if so much is added to the clocks of processes.

    A send that is only known to lie within a range is put as late as the reception allows: then
    everything that may have caused it came first. A reception is put as early as it can be. One
    without a time, or still before the send, coincides with the send.

    In:  what `compacted` gives.
    Out: the same columns but for times; submitted_ns, delivered_ns, backwards (by the recorded
         clocks), clamped (after all).
    """
    timed = with_clock(with_clock(copies, offsets, "sender"), offsets, "receiver")
    sent, received = on_clock("sent_ns", "sender"), on_clock("received_ns", "receiver")
    latest = on_clock("sent_latest_ns", "sender")
    earliest = on_clock("received_earliest_ns", "receiver")
    submitted = F.when(latest.isNull(), sent).otherwise(F.greatest(sent, F.least(received, latest)))
    placed = timed.withColumn("submitted_ns", submitted)
    submitted = F.col("submitted_ns")
    seen = F.when(earliest.isNull(), received).otherwise(
        F.least(received, F.greatest(submitted, earliest))
    )
    return placed.select(
        *[name for name in copies.columns if name not in TIMES],
        "submitted_ns",
        F.greatest(submitted, F.coalesce(seen, submitted)).alias("delivered_ns"),
        F.coalesce(F.col("received_ns") < F.col("sent_ns"), F.lit(False)).alias("backwards"),
        F.coalesce(seen < submitted, F.lit(False)).alias("clamped"),
    )


def with_clock(copies: DataFrame, offsets: Mapping[int, int], role: str) -> DataFrame:
    """The copies with the offset of the process in this role."""
    name = f"{role}_offset_ns"
    rows = [(process, offset) for process, offset in offsets.items() if offset]
    if not rows:
        return copies.withColumn(name, F.lit(0))
    clocks = copies.sparkSession.createDataFrame(rows, CLOCKS)
    moved = clocks.select(F.col("process").alias(role), F.col("offset_ns").alias("moved_ns"))
    joined = copies.join(F.broadcast(moved), on=role, how="left")
    return joined.withColumn(name, F.coalesce("moved_ns", F.lit(0))).drop("moved_ns")


def on_clock(column: str, role: str) -> Column:
    """A time by the clock of the process in this role, repaired."""
    return F.col(column) + F.col(f"{role}_offset_ns")
