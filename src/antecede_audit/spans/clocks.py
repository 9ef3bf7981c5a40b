"""When each copy was submitted and delivered, on one clock for all processes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Batch, Column, Integers
from antecede_audit.columns.clock_offsets import ClockOffsets, Gap, repaired_clocks
from antecede_audit.shuffle import LEAST, MEDIAN, SUM, Keyed, Shuffle, Table, chunks
from antecede_audit.spans.schemas import INTEGER, LONG, MESSAGES, table

PAIR: Final = ("sender", "receiver")

MEASURES: Final = table(
    sender=INTEGER, receiver=INTEGER, smallest_ns=LONG, timed=LONG, negative=LONG
)
"""How long messages of one ordered pair of processes seem to take."""

GAPS: Final = pa.schema([*[*MEASURES][:2], *table(gap_ns=LONG)])

MESSAGE_TABLE: Final = Table("messages", MESSAGES)
"""What spans and lines come to; it stays where its traces are."""
MEASURE_TABLE: Final = Table("measures", MEASURES)
"""What each partition has of each pair; summed up for the driver."""


def gaps_of(messages: Batch) -> Batch:
    """How long messages between different processes seem to take.

    Where instants are ranges, the longest possible time counts.

    In:  `MESSAGES`.
    Out: `GAPS`.
    """
    between = pc.not_equal(messages["sender"], messages["receiver"])
    told = messages.filter(pc.and_(between, messages["received_ns"].is_valid()))
    gap = pc.subtract(told["received_ns"], told["sent_ns"])
    return pa.record_batch([told["sender"], told["receiver"], gap], schema=GAPS)


def gap_rows(messages: Batch) -> Batch:
    """The rows of `MEASURES` for these messages."""
    told = pa.Table.from_batches([gaps_of(messages)])
    told = told.append_column("backwards", pc.less(told["gap_ns"], 0).cast(pa.int64()))
    measures = [("gap_ns", "min"), ("gap_ns", "count"), ("backwards", "sum")]
    grouped = told.group_by([*PAIR], use_threads=False).aggregate(measures)
    columns = [*PAIR, "gap_ns_min", "gap_ns_count", "backwards_sum"]
    arrays = [grouped[name].combine_chunks() for name in columns]
    return pa.record_batch(arrays, schema=MEASURES)


def gap_batches(rows: Iterable[Keyed]) -> Iterator[Batch]:
    """The gaps of messages, as `GAPS`. In: `MESSAGE_TABLE`."""
    return (gaps_of(messages) for messages in chunks(rows))


def repair_clocks(messages: Shuffle, keys: Sequence[str]) -> tuple[list[Gap], ClockOffsets]:
    """The gaps of all pairs of processes with these names, and clocks that satisfy them; medians
    are looked at only where gaps contradict each other.

    In: `MEASURE_TABLE`, `MESSAGE_TABLE`.
    """
    how = {"smallest_ns": LEAST, "timed": SUM, "negative": SUM}
    rows = messages.select(MEASURE_TABLE).aggregate(chunks, MEASURES, PAIR, how)
    gaps = [
        Gap(
            sender=keys[row["sender"]],
            receiver=keys[row["receiver"]],
            smallest_ns=row["smallest_ns"],
            median_ns=row["smallest_ns"],
            copies=row["timed"],
            negative=row["negative"],
        )
        for row in rows
    ]
    clocks = repaired_clocks(gaps)
    if not clocks.contradictory:
        return gaps, clocks
    rows = messages.select(MESSAGE_TABLE).aggregate(gap_batches, GAPS, PAIR, {"gap_ns": MEDIAN})
    medians = {(keys[row["sender"]], keys[row["receiver"]]): row["gap_ns"] for row in rows}
    gaps = [replace(gap, median_ns=medians[gap.sender, gap.receiver]) for gap in gaps]
    return gaps, repaired_clocks(gaps)


def instants(messages: Batch, offsets: Integers) -> dict[str, Column]:
    """When each copy was submitted and delivered, if so much is added to the clocks of processes.

    A send that is only known to lie within a range is put as late as the reception allows: then
    everything that may have caused it came first. A reception is put as early as it can be. One
    without a time, or still before the send, coincides with the send.

    In:  sender, receiver and times of `MESSAGES`.
    Out: submitted_ns, delivered_ns, backwards (by the recorded clocks), clamped (after all).
    """
    ahead, behind = (
        pa.array(offsets[messages[role].to_numpy()]) for role in ("sender", "receiver")
    )
    sent = pc.add(messages["sent_ns"], ahead)
    received = pc.add(messages["received_ns"], behind)
    latest = pc.add(messages["sent_latest_ns"], ahead)
    earliest = pc.add(messages["received_earliest_ns"], behind)
    within = pc.max_element_wise(sent, pc.min_element_wise(received, latest))
    submitted = pc.if_else(latest.is_valid(), within, sent)
    early = pc.min_element_wise(received, pc.max_element_wise(submitted, earliest))
    seen = pc.if_else(earliest.is_valid(), early, received)
    return {
        "submitted_ns": submitted,
        "delivered_ns": pc.max_element_wise(submitted, seen),
        "backwards": pc.fill_null(pc.less(messages["received_ns"], messages["sent_ns"]), False),
        "clamped": pc.fill_null(pc.less(seen, submitted), False),
    }
