"""What runs cost: their figures, from the instants of their copies.

Every function takes the rows that one task has, of as many runs as there are, and counts them; what
tasks have counted is added up. A copy is in its sender's buffer until it is transmitted, under way
until it arrives, and in its target's buffer until it is delivered. What passes through in no time
does not count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.parquet import ArrowArray, ArrowBatch, ArrowTable
from antecede_audit.measure.distributions import (
    Tally,
    by_run,
    distribution_of,
    tally,
    total_of,
)
from antecede_audit.measure.figures import DELAYS, PACKET_TOTALS, Figures, run_row
from antecede_audit.measure.instants import (
    MESSAGE,
    moments_of,
    travelling,
    walked,
)

PLACES: Final = ("sender_buffer", "receiver_buffer", "in_transit")
"""Where a copy is on its way; the most that ever were there at one process is a figure."""

EVENT_TOTALS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("kind", pa.string()),
        *PACKET_TOTALS,
        ("last_ns", pa.int64()),
    ]
)
"""Counts and sums of events, by kind of event and of packet; `packets` counts any events."""

ADDED: Final = dict.fromkeys(PACKET_TOTALS.names[1:], "sum") | {"last_ns": "max"}


def event_totals(events: ArrowTable) -> ArrowTable:
    """Counts and sums of events, as `EVENT_TOTALS`.

    In: run_id, kind, sender, packet_kind, time_ns, payload_bytes, metadata_bytes.
    """
    columns = {
        "run_id": events["run_id"],
        "kind": events["kind"].cast(pa.string()),
        "packet_kind": events["packet_kind"].cast(pa.string()),
        "packets": pa.repeat(1, len(events)),
        "carrying": pc.is_valid(events["sender"]),
        "payload_bytes": events["payload_bytes"],
        "metadata_bytes": events["metadata_bytes"],
        "last_ns": events["time_ns"],
    }
    return merged_totals(pa.table(columns).cast(EVENT_TOTALS))


def merged_totals(totals: ArrowTable) -> ArrowTable:
    """One row for each kind of what several tasks, or several rows, have counted."""
    key = EVENT_TOTALS.names[:3]
    groups = totals.group_by(key, use_threads=False).aggregate([*ADDED.items()])
    return groups.rename_columns(EVENT_TOTALS.names).cast(EVENT_TOTALS)


def packets_in(totals: Iterable[Mapping[str, object]]) -> list[Figures]:
    """What was transmitted of every kind of packet, retransmissions included.

    In: rows of `EVENT_TOTALS`, of one run. Out: rows of `PACKET_TOTALS`.
    """
    return [
        {name: row[name] for name in PACKET_TOTALS.names}
        for row in totals
        if row["kind"] == "transmitted"
    ]


def tally_copies(instants: ArrowTable) -> ArrowTable:
    """What copies there were and how long they took: `TALLIES`.

    In: `INSTANTS` of whole messages: all copies of one must be there.
    """
    copies = travelling(instants)
    delivered = copies.filter(pc.is_valid(copies["delivered_ns"]))
    parts = [
        tally_messages(instants),
        tally_sum(copies, "copies", copies["submitted_ns"]),
        tally_sum(delivered, "delivered", delivered["delivered_ns"]),
        tally_sum(instants, "delivered_ns", instants["delivered_ns"]),
        *tallies_of_transit(copies),
    ]
    parts += [
        tally(delivered["run_id"], name, values) for name, values in delays_of(delivered).items()
    ]
    return pa.concat_tables(parts)


def tally_sum(rows: ArrowTable, measure: str, values: ArrowArray) -> ArrowTable:
    """The values of a measure of which only count, sum, least and greatest matter: one bucket."""
    return tally(rows["run_id"], measure, values, buckets=pa.repeat(0, len(rows)))


def tally_messages(instants: ArrowTable) -> ArrowTable:
    """How many messages there were, and when the first was submitted."""
    messages = instants.group_by([*MESSAGE], use_threads=False)
    first = messages.aggregate([("submitted_ns", "min")])
    return tally_sum(first, "messages", first["submitted_ns_min"])


def tallies_of_transit(copies: ArrowTable) -> list[ArrowTable]:
    """How long copies were under way, since when others are, and which senders had any such."""
    sent = copies.filter(pc.is_valid(copies["transmitted_ns"]))
    came_ns = pc.coalesce(sent["arrived_ns"], sent["delivered_ns"])
    spent_ns = pc.subtract(came_ns, sent["transmitted_ns"])
    still_open = sent.filter(pc.is_null(came_ns))
    # What never came is under way to the end.
    lasting = sent.filter(pc.fill_null(pc.greater(spent_ns, 0), fill_value=True))
    senders = lasting["sender"]
    return [
        tally_sum(sent, "transit_ns", spent_ns),
        tally_sum(still_open, "open_since_ns", still_open["transmitted_ns"]),
        tally(lasting["run_id"], "senders", senders, buckets=senders.cast(pa.int64())),
    ]


def delays_of(delivered: ArrowTable) -> dict[str, ArrowArray]:
    """How long each delivered copy took, and where it waited, as far as the log says."""
    submitted, there = delivered["submitted_ns"], delivered["delivered_ns"]
    transmitted, arrived = delivered["transmitted_ns"], delivered["arrived_ns"]
    left = pc.if_else(pc.is_valid(arrived), transmitted, None)
    return {
        "sender_wait": pc.subtract(left, submitted),
        "channel": pc.subtract(arrived, transmitted),
        "receiver_wait": pc.subtract(there, arrived),
        "latency": pc.subtract(there, submitted),
    }


def moments_at_places(instants: ArrowTable) -> ArrowTable:
    """When copies come to each place of each process, and when they leave: `MOMENTS`."""
    copies = travelling(instants)
    runs, sender, target = (copies[name] for name in ("run_id", "sender", "target"))
    submitted, delivered = copies["submitted_ns"], copies["delivered_ns"]
    transmitted, arrived = copies["transmitted_ns"], copies["arrived_ns"]
    # A copy of which the log does not say that it left or arrived did so when delivered.
    left, came = pc.coalesce(transmitted, delivered), pc.coalesce(arrived, delivered)
    spans = {
        "sender_buffer": (sender, submitted, left),
        "receiver_buffer": (target, arrived, delivered),
        "in_transit": (sender, transmitted, came),
    }
    return pa.concat_tables(moments_of(runs, place, *spans[place]) for place in PLACES)


def tally_places(batches: Iterable[ArrowBatch]) -> Iterator[ArrowTable]:
    """How many copies were at the places of processes: `TALLIES`. In: `MOMENTS` in order."""
    for rows in walked(batches):
        for place in PLACES:
            found = rows.filter(pc.equal(rows["measure"], place))
            yield tally_sum(found, place, found["level"])


def rows_of_runs(tallies: ArrowTable, totals: ArrowTable) -> list[Figures]:
    """Every figure of every run that submitted anything: run_id and the columns of `MEASURED`.

    In: merged `TALLIES` and merged `EVENT_TOTALS`. Runs that no delay is known of have nulls.
    """
    by_name: dict[str, list[Figures]] = {}
    for row in totals.to_pylist():
        by_name.setdefault(row["run_id"], []).append(row)
    return [
        row_of_run(run_id, measures, by_name[run_id])
        for run_id, measures in sorted(by_run(tallies).items())
    ]


def row_of_run(
    run_id: str, measures: Mapping[str, Sequence[Tally]], totals: Sequence[Figures]
) -> Figures:
    """The row of one run."""
    messages, last_ns = measures["messages"][0], max(row["last_ns"] for row in totals)
    still_open = measures.get("open_since_ns", [])
    open_ns = sum(one["count"] for one in still_open) * last_ns - total_of(still_open)
    copies = count_of(measures, "copies")
    found = {
        "messages": messages["count"],
        "copies": copies,
        "delivered": count_of(measures, "delivered"),
        "first_ns": messages["least"],
        "last_ns": last_ns,
        "delivered_ns": greatest_of(measures, "delivered_ns"),
        "transit_ns": total_of(measures.get("transit_ns", [])) + open_ns,
        "senders": len(measures.get("senders", [])),
    }
    for place in PLACES:
        found[f"{place}_max"] = max(0, greatest_of(measures, place) or 0) if copies else None
    delays = {name: distribution_of(measures[name]) for name in DELAYS if name in measures}
    return run_row(run_id, packets_in(totals), found, delays)


def count_of(measures: Mapping[str, Sequence[Tally]], name: str) -> int:
    """How many values of a measure there are."""
    return sum(one["count"] for one in measures.get(name, ()))


def greatest_of(measures: Mapping[str, Sequence[Tally]], name: str) -> int | None:
    """The greatest value of a measure; None if there is none."""
    return max((one["greatest"] for one in measures.get(name, ())), default=None)
