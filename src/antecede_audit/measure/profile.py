"""What a workload is like: who talks to whom, what causes what, gaps, and how much goes on at once.

Every function takes the rows that one task has, of as many runs as there are. Times come from the
event log; without one they are nominal: those of a network that takes no time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.parquet import ArrowArray, ArrowBatch, ArrowTable
from antecede_audit.measure.distributions import (
    Distribution,
    Tally,
    distribution_of,
    tally,
    total_of,
)
from antecede_audit.measure.instants import (
    INSTANTS,
    MESSAGE,
    SYSTEM,
    moments_of,
    walked,
)
from antecede_audit.measure.quantities import MEASURES
from antecede_audit.measure.runs import count_of, greatest_of, tally_sum
from antecede_audit.measure.structure import runs_in, values_of

Tallies: TypeAlias = Mapping[str, Sequence[Tally]]
"""The tallies of one run, by measure."""

RECORDED: Final = "recorded"
NOMINAL: Final = "nominal"

SLICES: Final = 240
"""Slices of a run; also the points of its time line."""

COPIES: Final = pa.schema(
    [INSTANTS.field(name) for name in (*MESSAGE, "target", "submitted_ns", "delivered_ns")]
)
"""A copy, and when it was submitted and delivered (null: never)."""

CHANNELS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("sender", pa.int32()),
        ("target", pa.int32()),
        ("copies", pa.int64()),
        ("payload_bytes", pa.int64()),
    ]
)
"""What goes from whom to whom."""

TOTALS: Final = (
    *("messages", "copies_sent", "copies_received", "out_degree", "in_degree"),
    *("bytes_sent", "bytes_received"),
)
"""What is counted of each process: messages it sends, copies, other processes it sends to and hears
from, and bytes of copies."""

PROCESSES: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("process", pa.int32()),
        ("name", pa.string()),
        *((name, pa.int64()) for name in TOTALS),
    ]
)
"""What each process sends and receives; those that do neither are there if they have a name."""

DISTRIBUTIONS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("measure", pa.string()),
        ("bucket", pa.int32()),
        ("count", pa.int64()),
        ("total", pa.decimal128(38, 0)),
        ("least", pa.int64()),
        ("greatest", pa.int64()),
    ]
)
TIMELINE: Final = pa.schema(
    [
        ("run_id", pa.string()),
        *((name, pa.int64()) for name in ("slice", "start_ns", "messages", "in_flight_max")),
    ]
)
TABLES: Final = {
    "processes": PROCESSES,
    "channels": CHANNELS,
    "distributions": DISTRIBUTIONS,
    "timeline": TIMELINE,
}
"""What a profile leaves, each table a dataset by run."""

AT_ONCE: Final = "errands_at_once"
"""The only measure of the structure that a sample says nothing about."""

GAPS: Final = ("submission_gap_ns", "sender_gap_ns", "delivery_gap_ns")
IN_FLIGHT: Final = "in_flight"
SLICE_MESSAGES: Final = "messages of a slice"
SLICE_IN_FLIGHT: Final = "in flight in a slice"


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
    sampled: int | None
    """From how many messages the structure is estimated; None if it is that of all."""
    distributions: dict[str, Distribution]
    timeline: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """When a run begins and ends, and how long a slice of it is."""

    first_ns: int = 0
    last_ns: int = 0
    slice_ns: int = 0


def no_messages(source: str, run_id: str | None) -> str:
    """What is wrong with a folder that has no messages."""
    return f"{source} has no messages" + (f" of run {run_id!r}" if run_id else "")


# Times.


def nominal_copies(structure: ArrowTable) -> ArrowTable:
    """When each copy is submitted and delivered over a network that takes no time: `COPIES`.

    In: `STRUCTURE`. A message goes by its rank.
    """
    ready = structure.filter(pc.is_valid(structure["ready_ns"])).combine_chunks()
    copies = ready.take(pc.list_parent_indices(ready["targets"]))
    columns = {
        "run_id": copies["run_id"],
        "sender": copies["sender"],
        "sequence": copies["rank"],
        "target": pc.list_flatten(ready["targets"]),
        "submitted_ns": copies["ready_ns"],
        "delivered_ns": copies["ready_ns"],
    }
    return pa.table(columns).cast(COPIES)


def nominal_moments(structure: ArrowTable) -> ArrowTable:
    """What `moments_of_copies` gives of them."""
    return moments_of_copies(nominal_copies(structure))


def tally_times(copies: ArrowTable) -> ArrowTable:
    """When copies were submitted and delivered: `TALLIES`."""
    parts = [tally_sum(copies, name, copies[name]) for name in ("submitted_ns", "delivered_ns")]
    return pa.concat_tables(parts)


def times_of(tallies: Tallies) -> RunTimes:
    """When a run begins and ends."""
    if "submitted_ns" not in tallies:
        return RunTimes()
    first_ns = tallies["submitted_ns"][0]["least"]
    last_ns = max(greatest_of(tallies, name) or 0 for name in ("submitted_ns", "delivered_ns"))
    return RunTimes(first_ns=first_ns, last_ns=last_ns, slice_ns=(last_ns - first_ns) // SLICES + 1)


def tally_flights(copies: ArrowTable) -> ArrowTable:
    """How long copies were under way, of those not delivered before they were sent: `TALLIES`."""
    flight_ns = pc.subtract(copies["delivered_ns"], copies["submitted_ns"])
    flown = pc.fill_null(pc.greater_equal(flight_ns, 0), fill_value=False)
    return tally(copies["run_id"].filter(flown), "flight_ns", flight_ns.filter(flown))


def moments_of_copies(copies: ArrowTable) -> ArrowTable:
    """When messages are submitted, copies delivered, and copies under way: `MOMENTS`.

    In: `COPIES` of whole messages.
    """
    messages = copies.group_by([*MESSAGE], use_threads=False)
    sent = messages.aggregate([("submitted_ns", "min")])
    sent_ns, runs = copies["submitted_ns"], copies["run_id"]
    came_ns = pc.max_element_wise(sent_ns, copies["delivered_ns"], skip_nulls=False)
    first_ns = sent["submitted_ns_min"]
    gaps = (
        (sent["run_id"], in_system(sent), first_ns),
        (sent["run_id"], sent["sender"], first_ns),
        (runs, copies["target"], copies["delivered_ns"]),
    )
    parts = [moments_of(run, name, *of) for name, (run, *of) in zip(GAPS, gaps, strict=True)]
    parts.append(moments_of(runs, IN_FLIGHT, in_system(copies), sent_ns, came_ns))
    return pa.concat_tables(parts)


def in_system(rows: ArrowTable) -> ArrowArray:
    """All in the lane of the whole system."""
    return pa.repeat(SYSTEM, len(rows))


def tally_moments(
    batches: Iterable[ArrowBatch], runs: Mapping[str, RunTimes]
) -> Iterator[ArrowTable]:
    """Gaps, how much was under way, and what went on in each slice of these runs: `TALLIES`.

    In: `MOMENTS` in order.
    """
    for rows in walked(batches):
        for name in GAPS:
            gaps = gaps_of(rows.filter(pc.equal(rows["measure"], name)))
            yield tally(gaps["run_id"], name, gaps["value"], gaps["count"])
        flying = rows.filter(pc.equal(rows["measure"], IN_FLIGHT))
        yield tally(flying["run_id"], IN_FLIGHT, flying["level"], flying["opened"])
        yield tally_slices(flying, SLICE_IN_FLIGHT, flying["level"], runs)
        sent = rows.filter(pc.equal(rows["measure"], GAPS[0]))
        yield tally_slices(sent, SLICE_MESSAGES, sent["opened"], runs)


def gaps_of(rows: ArrowTable) -> ArrowTable:
    """The times from each thing that opens to the next: run_id, value, count.

    Of several that open at one moment all but the first follow another at once. In: what
    `LaneWalk.take` gives.
    """
    runs, again = rows["run_id"], pc.subtract(rows["opened"], 1)
    first = {"run_id": runs, "value": rows["gap_ns"], "count": pa.repeat(1, len(rows))}
    others = {"run_id": runs, "value": pa.repeat(0, len(rows)), "count": again}
    gaps = pa.concat_tables([pa.table(first), pa.table(others)])
    return gaps.filter(pc.and_(pc.is_valid(gaps["value"]), pc.greater(gaps["count"], 0)))


def tally_slices(
    rows: ArrowTable, measure: str, values: ArrowArray, runs: Mapping[str, RunTimes]
) -> ArrowTable:
    """The values of each slice of a run, in a bucket of its number."""
    names = rows["run_id"].combine_chunks().dictionary_encode()
    times = [runs[name] for name in names.dictionary.to_pylist()]
    first_ns, slice_ns = (
        np.array([getattr(one, name) for one in times], np.int64)[names.indices.to_numpy()]
        for name in ("first_ns", "slice_ns")
    )
    slices = (rows["time_ns"].to_numpy() - first_ns) // slice_ns
    return tally(rows["run_id"], measure, values, buckets=pa.array(slices))


# Counts.


def tally_structure(batches: Iterable[ArrowBatch]) -> Iterator[ArrowTable]:
    """What messages, conversations and errands look like: `TALLIES`.

    In: `STRUCTURE`, every run in one piece.
    """
    for run_id, table in runs_in(batches):
        runs = pa.repeat(run_id, 1)
        depth = table["depth"]
        counts = {
            "conversations": pc.count_distinct(table["conversation"]),
            "spontaneous": pc.sum(pc.equal(depth, 0)),
            "stuck": pa.scalar(depth.null_count),
        }
        for name, count in counts.items():
            yield tally(runs, name, pa.array([count.as_py() or 0], pa.int64()))
        for measure, values in values_of(table).items():
            yield tally(pa.repeat(run_id, len(values)), measure, values)


def channels_of(workload: ArrowTable) -> ArrowTable:
    """What goes from whom to whom: `CHANNELS`. In: run_id, sender, targets, payload_bytes."""
    whole = workload.combine_chunks()
    sources = pc.list_parent_indices(whole["targets"])
    copies = whole.select(["run_id", "sender", "payload_bytes"]).take(sources)
    columns = {
        "run_id": copies["run_id"],
        "sender": copies["sender"],
        "target": pc.list_flatten(whole["targets"]),
        "copies": pa.repeat(1, len(copies)),
        "payload_bytes": copies["payload_bytes"],
    }
    return merged_channels(pa.table(columns).cast(CHANNELS))


def merged_channels(channels: ArrowTable) -> ArrowTable:
    """One row for each channel of what several tasks, or several rows, have counted."""
    groups = channels.group_by(["run_id", "sender", "target"], use_threads=False)
    found = groups.aggregate([("copies", "sum"), ("payload_bytes", "sum")])
    return found.rename_columns(CHANNELS.names).cast(CHANNELS)


def processes_of_channels(channels: ArrowTable) -> ArrowTable:
    """What goes through the channels of processes, in `PROCESSES`: a row for each end of each."""
    apart = pc.not_equal(channels["sender"], channels["target"])
    counts = {"copies": channels["copies"], "bytes": channels["payload_bytes"]}
    ends = []
    for end, way, degree in (
        ("sender", "sent", "out_degree"),
        ("target", "received", "in_degree"),
    ):
        columns = {f"{name}_{way}": values for name, values in counts.items()}
        ends.append(process_rows(channels["run_id"], channels[end], {degree: apart, **columns}))
    return merged_processes(pa.concat_tables(ends))


def processes_of_messages(workload: ArrowTable) -> ArrowTable:
    """How many messages processes send, in `PROCESSES`."""
    ones = {"messages": pa.repeat(1, len(workload))}
    return merged_processes(process_rows(workload["run_id"], workload["sender"], ones))


def processes_of_names(names: ArrowTable) -> ArrowTable:
    """What processes are called, in `PROCESSES`. In: run_id, process, name."""
    return process_rows(names["run_id"], names["process"], {"name": names["name"]})


def process_rows(
    runs: ArrowArray, processes: ArrowArray, known: Mapping[str, ArrowArray]
) -> ArrowTable:
    """Rows of `PROCESSES`: nothing is counted but what is known."""
    count = len(processes)
    zeros = pa.repeat(0, count)
    columns = {"run_id": runs, "process": processes, "name": pa.nulls(count, pa.string())}
    columns |= dict.fromkeys(TOTALS, zeros)
    return pa.table({**columns, **known}).cast(PROCESSES)


def merged_processes(rows: ArrowTable) -> ArrowTable:
    """One row for each process of what several tasks, or several rows, have counted."""
    groups = rows.group_by(["run_id", "process"], use_threads=False)
    found = groups.aggregate([("name", "max"), *((name, "sum") for name in TOTALS)])
    return found.rename_columns(PROCESSES.names).cast(PROCESSES)


def tally_processes(processes: ArrowTable) -> ArrowTable:
    """What processes send and hear: `TALLIES`. In: `PROCESSES`, a row for each."""
    columns = {"process_messages": "messages", "out_degree": "out_degree", "in_degree": "in_degree"}
    runs = processes["run_id"]
    parts = [tally(runs, measure, processes[name]) for measure, name in columns.items()]
    return pa.concat_tables([*parts, tally_sum(processes, "copies", processes["copies_sent"])])


def tally_channels(channels: ArrowTable) -> ArrowTable:
    """How many channels there are: `TALLIES`. In: `CHANNELS`, a row for each."""
    return tally_sum(channels, "channels", channels["copies"])


# What is found.


def distributions_in(tallies: Tallies, times: str, *, sampled: bool) -> dict[str, Sequence[Tally]]:
    """The measures of a run that are what they are called.

    Without a log nothing is known of flights. A sample says nothing about what goes on at once.
    """
    unknown = set() if times == RECORDED else {"flight_ns", IN_FLIGHT}
    if sampled:
        unknown |= {AT_ONCE} | (set() if times == RECORDED else set(GAPS))
    return {
        name: rows
        for name, rows in sorted(tallies.items())
        if name in MEASURES and name not in unknown
    }


def profile_of(run_id: str, tallies: Tallies, times: str, sampled: int | None = None) -> RunProfile:
    """What a run is like; `sampled`: from how many of its messages its structure is known."""
    when = times_of(tallies)
    messages = total_of(tallies["process_messages"])
    of = messages if sampled is None else max(1, sampled)
    estimated = {
        name: round(total_of(tallies[name]) * messages / of)
        for name in ("conversations", "spontaneous", "stuck")
    }
    known = distributions_in(tallies, times, sampled=sampled is not None)
    return RunProfile(
        run_id=run_id,
        times=times,
        messages=messages,
        copies=total_of(tallies["copies"]),
        processes=count_of(tallies, "process_messages"),
        channels=count_of(tallies, "channels"),
        **estimated,
        first_ns=when.first_ns,
        last_ns=when.last_ns,
        slice_ns=when.slice_ns,
        sampled=sampled,
        distributions={name: distribution_of(rows) for name, rows in known.items()},
        timeline=tuple(
            Point(
                start_ns=row["start_ns"],
                messages=row["messages"],
                in_flight_max=row["in_flight_max"] or 0,
            )
            for row in slices_of(run_id, tallies)
        ),
    )


def slices_of(run_id: str, tallies: Tallies) -> list[dict[str, Any]]:
    """What goes on in each slice of a run in which something is submitted: `TIMELINE`."""
    when = times_of(tallies)
    heights = {one["bucket"]: one["greatest"] for one in tallies.get(SLICE_IN_FLIGHT, ())}
    return [
        {
            "run_id": run_id,
            "slice": one["bucket"],
            "start_ns": when.first_ns + one["bucket"] * when.slice_ns,
            "messages": total_of([one]),
            "in_flight_max": heights.get(one["bucket"]),
        }
        for one in sorted(tallies.get(SLICE_MESSAGES, ()), key=lambda one: int(one["bucket"]))
    ]


def buckets_in(run_id: str, tallies: Tallies, times: str, *, sampled: bool) -> list[dict[str, Any]]:
    """The distributions of a run: `DISTRIBUTIONS`."""
    names = ("bucket", "count", "least", "greatest")
    return [
        {"run_id": run_id, "measure": measure, "total": Decimal(total_of([one]))}
        | {name: one[name] for name in names}
        for measure, rows in distributions_in(tallies, times, sampled=sampled).items()
        for one in sorted(rows, key=lambda one: int(one["bucket"]))
    ]


# The summary.


COUNTS: Final = (
    "messages",
    "copies",
    "processes",
    "channels",
    "conversations",
    "spontaneous",
    "stuck",
    "first_ns",
    "last_ns",
)


def summary_object(source: str, runs: Sequence[RunProfile]) -> dict[str, object]:
    """What `summary.json` says."""
    return {
        "source": source,
        "runs": {run.run_id: run_object(run) for run in runs},
        "meaning": {
            name: f"{measure.meaning} ({measure.unit})" if measure.unit else measure.meaning
            for name, measure in MEASURES.items()
        },
    }


def run_object(run: RunProfile) -> dict[str, object]:
    """What `summary.json` says about one run."""
    counts: dict[str, object] = {name: getattr(run, name) for name in COUNTS}
    measures = {
        name: run.distributions[name].figures() for name in MEASURES if name in run.distributions
    }
    estimated = None if run.sampled is None else {"messages": run.sampled, "of": run.messages}
    return {"times": run.times, **counts, "estimated_from": estimated, "measures": measures}
