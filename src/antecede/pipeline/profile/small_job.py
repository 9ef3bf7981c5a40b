"""Profiles workloads that fit the memory of this process, without Spark: the same profile, at once.

Spark takes two minutes to plan what five messages take a millisecond for. The stages beside this
file say the same of workloads of any size; a test compares the two.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import LocalError
from antecede.pipeline.places import is_plain
from antecede.pipeline.profile.distributions import Distribution
from antecede.pipeline.profile.job import NOMINAL, RECORDED, Point, RunProfile, no_messages
from antecede.pipeline.profile.moments import SLICES
from antecede.pipeline.profile.structure import COLUMNS, structured
from antecede.sim.histogram import bucket_of
from antecede.trace.atomic import blaming
from antecede.trace.datasets import PARTITION, partition_folder, run_id_of

Fields: TypeAlias = dict[str, Any]
Copy: TypeAlias = tuple[int, int, int, int, int | None]
"""Sender, sequence, target, when it was submitted, and when delivered (None: never)."""
Span: TypeAlias = tuple[int, int | None]
"""From when, and up to when it was open; None: it never closed."""
Files: TypeAlias = dict[str, list[Path]]

SMALL_ROWS: Final = 100_000
"""Workloads of so many messages, and logs of four times as many events, are profiled here."""

SCHEMAS: Final = {
    "processes": pa.schema(
        [
            ("process", pa.int32()),
            ("name", pa.string()),
            *(
                (name, pa.int64())
                for name in (
                    *("messages", "copies_sent", "copies_received", "out_degree", "in_degree"),
                    *("bytes_sent", "bytes_received"),
                )
            ),
        ]
    ),
    "channels": pa.schema(
        [
            ("sender", pa.int32()),
            ("target", pa.int32()),
            ("copies", pa.int64()),
            ("payload_bytes", pa.int64()),
        ]
    ),
    "distributions": pa.schema(
        [
            ("measure", pa.string()),
            ("bucket", pa.int32()),
            ("count", pa.int64()),
            ("total", pa.decimal128(38, 0)),
            ("least", pa.int64()),
            ("greatest", pa.int64()),
        ]
    ),
    "timeline": pa.schema(
        [
            ("slice", pa.int64()),
            ("start_ns", pa.int64()),
            ("messages", pa.int64()),
            ("in_flight_max", pa.int64()),
        ]
    ),
}
"""The tables that a profile leaves, one file of each for every run."""


@dataclass(slots=True)
class Counts:
    """How often which values of each measure occurred."""

    values: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, measure: str, value: int | None, count: int = 1) -> None:
        """A value has occurred; None is none."""
        if value is not None:
            self.values.setdefault(measure, Counter())[value] += count

    def rows(self) -> list[Fields]:
        """The same as buckets."""
        rows = []
        for measure, values in sorted(self.values.items()):
            buckets: dict[int, list[int]] = {}
            for value in values:
                buckets.setdefault(int(bucket_of(value)), []).append(value)
            rows += [
                {
                    "measure": measure,
                    "bucket": bucket,
                    "count": sum(values[value] for value in members),
                    "total": Decimal(sum(value * values[value] for value in members)),
                    "least": min(members),
                    "greatest": max(members),
                }
                for bucket, members in sorted(buckets.items())
            ]
        return rows


def profile_small(
    source: str, out: str, *, run_id: str | None = None, rows_max: int = SMALL_ROWS
) -> list[RunProfile] | None:
    """What `profile` says of a folder of this machine with few messages; None of any other."""
    if not is_plain(source) or not is_plain(out):
        return None
    place = Path(source)
    workload = files_of(place / "workload")
    logs, names = files_of(place / "events"), files_of(place / "processes")
    if workload is None or logs is None or names is None or not workload:
        return None
    if rows_in(workload) > rows_max or rows_in(logs) > 4 * rows_max:
        return None
    runs = sorted(run for run in workload if run_id in (None, run))
    profiles: list[RunProfile] = []
    tables: dict[str, dict[str, list[Fields]]] = {name: {} for name in SCHEMAS}
    for run in runs:
        messages = read(workload[run], [name for name in COLUMNS if name != "run_id"])
        events = read(logs[run], EVENT_COLUMNS).to_pylist() if run in logs else None
        called = read(names[run], ["process", "name"]).to_pylist() if run in names else []
        if len(messages):
            log = [] if events is None and logs else events
            found, written = profiled(run, messages, log, {r["process"]: r["name"] for r in called})
            profiles.append(found)
            for name, rows in written.items():
                tables[name][run] = rows
    if not profiles:
        raise LocalError(no_messages(source, run_id))
    for name, by_run in tables.items():
        write(Path(out) / name, by_run, SCHEMAS[name])
    return profiles


EVENT_COLUMNS: Final = ("process", "kind", "sender", "sequence", "target", "time_ns")


def files_of(folder: Path) -> Files | None:
    """The files of each run below a folder, none if it is not there; None if it is otherwise."""
    if not folder.exists():
        return {}
    runs: Files = {}
    for place in sorted(folder.iterdir()):
        if place.name[0] in "._":
            continue
        if not place.is_dir() or not place.name.startswith(PARTITION):
            return None
        files = sorted(file for file in place.iterdir() if file.name[0] not in "._")
        if any(file.suffix != ".parquet" for file in files):
            return None
        runs[run_id_of(place)] = files
    return runs


def rows_in(runs: Files) -> int:
    """How many rows these files have."""
    return sum(pq.read_metadata(file).num_rows for files in runs.values() for file in files)


def read(files: Sequence[Path], columns: Sequence[str]) -> Any:  # noqa: ANN401 an Arrow table
    """These columns of all the files; a workload in the order of its messages."""
    tables = [pq.ParquetFile(file).read(list(columns)) for file in files]
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.sort_by("message_id") if "message_id" in columns else table


def profiled(
    run: str,
    messages: Any,  # noqa: ANN401 an Arrow table
    events: Sequence[Fields] | None,
    names: Mapping[int, str],
) -> tuple[RunProfile, dict[str, list[Fields]]]:
    """One run, and its tables."""
    structure = structured(run, messages).to_pylist()
    copies = nominal_times(structure) if events is None else copy_times(events)
    channels = channels_of(structure)
    totals = totals_of(channels, structure, names)
    counts = Counts()
    count_messages(counts, structure)
    count_conversations(counts, structure)
    for row in totals:
        counts.add("out_degree", row["out_degree"])
        counts.add("in_degree", row["in_degree"])
        counts.add("process_messages", row["messages"])
    count_gaps(counts, copies)
    count_errands(counts, structure)
    first_ns = min((one[3] for one in copies), default=0)
    last_ns = max((max(one[3], one[3] if one[4] is None else one[4]) for one in copies), default=0)
    slice_ns = (last_ns - first_ns) // SLICES + 1 if copies else 0
    in_flight = levels(flights(copies))
    if events is not None:
        for _, _, _, sent_ns, came_ns in copies:
            if came_ns is not None and came_ns >= sent_ns:
                counts.add("flight_ns", came_ns - sent_ns)
        for _, opened, level in in_flight:
            counts.add("in_flight", level, opened)
    timeline = timeline_of(copies, in_flight, first_ns, slice_ns)
    rows = counts.rows()
    found = RunProfile(
        run_id=run,
        times=NOMINAL if events is None else RECORDED,
        messages=len(structure),
        copies=sum(len(one["targets"]) for one in structure),
        processes=len(totals),
        channels=len(channels),
        conversations=len({one["conversation"] for one in structure}),
        spontaneous=sum(one["depth"] == 0 for one in structure),
        stuck=sum(one["depth"] is None for one in structure),
        first_ns=first_ns,
        last_ns=last_ns,
        slice_ns=slice_ns,
        sampled=None,
        distributions=distributions_of(rows),
        timeline=tuple(
            Point(
                start_ns=one["start_ns"],
                messages=one["messages"],
                in_flight_max=one["in_flight_max"] or 0,
            )
            for one in timeline
        ),
    )
    return found, {
        "processes": totals,
        "channels": channels,
        "distributions": rows,
        "timeline": timeline,
    }


# Times.


def copy_times(events: Iterable[Fields]) -> list[Copy]:
    """When each copy that was submitted was so, and when delivered, the first time."""
    submitted: dict[tuple[int, int, int], int] = {}
    delivered: dict[tuple[int, int, int], int] = {}
    for event in events:
        if event["sender"] is None or event["kind"] not in ("submitted", "delivered"):
            continue
        there = event["kind"] == "delivered"
        target = event["process"] if there else event["target"]
        key = event["sender"], event["sequence"], target
        known = delivered if there else submitted
        known[key] = min(known.get(key, event["time_ns"]), event["time_ns"])
    return [(*key, time_ns, delivered.get(key)) for key, time_ns in submitted.items()]


def nominal_times(structure: Iterable[Fields]) -> list[Copy]:
    """The same for a workload, as over a network that takes no time."""
    return [
        (one["sender"], one["rank"], target, one["ready_ns"], one["ready_ns"])
        for one in structure
        if one["ready_ns"] is not None
        for target in one["targets"]
    ]


def submissions(copies: Iterable[Copy]) -> list[tuple[int, int]]:
    """When each message was submitted, and by whom."""
    first: dict[tuple[int, int], int] = {}
    for sender, sequence, _, time_ns, _ in copies:
        key = sender, sequence
        first[key] = min(first.get(key, time_ns), time_ns)
    return [(time_ns, sender) for (sender, _), time_ns in first.items()]


def flights(copies: Iterable[Copy]) -> list[Span]:
    """From when to when each copy was under way."""
    return [(sent, None if came is None else max(sent, came)) for _, _, _, sent, came in copies]


def levels(spans: Iterable[Span]) -> list[tuple[int, int, int]]:
    """How much is open after every moment at which something opens: when, how many open, level."""
    opened: Counter[int] = Counter()
    changes: Counter[int] = Counter()
    for start, end in spans:
        opened[start] += 1
        changes[start] += 1
        if end is not None:
            changes[end] -= 1
    found: list[tuple[int, int, int]] = []
    level = 0
    for time_ns, change in sorted(changes.items()):
        level += change
        if opened[time_ns]:
            found.append((time_ns, opened[time_ns], level))
    return found


def timeline_of(
    copies: Sequence[Copy],
    in_flight: Iterable[tuple[int, int, int]],
    first_ns: int,
    slice_ns: int,
) -> list[Fields]:
    """What goes on in each slice of a run in which something is submitted."""
    sent = Counter((time_ns - first_ns) // slice_ns for time_ns, _ in submissions(copies))
    heights: dict[int, int] = {}
    for time_ns, _, level in in_flight:
        place = (time_ns - first_ns) // slice_ns
        heights[place] = max(heights.get(place, level), level)
    return [
        {
            "slice": place,
            "start_ns": first_ns + place * slice_ns,
            "messages": messages,
            "in_flight_max": heights.get(place),
        }
        for place, messages in sorted(sent.items())
    ]


# Counts.


def count_messages(counts: Counts, structure: Iterable[Fields]) -> None:
    """What every message has: width, causes, depth, think time, size, and its copies' effects."""
    for one in structure:
        counts.add("targets", len(one["targets"]))
        counts.add("causes", len(one["cause_ranks"]))
        counts.add("depth", one["depth"])
        counts.add("think_ns", one["delay_ns"] if one["cause_ranks"] else None)
        counts.add("payload_bytes", one["payload_bytes"])
        for effects in one["target_effects"]:
            counts.add("effects", effects)


def count_conversations(counts: Counts, structure: Iterable[Fields]) -> None:
    """What every conversation has: messages, processes, and how long it takes with no network."""
    members: dict[int, list[Fields]] = {}
    for one in structure:
        members.setdefault(one["conversation"], []).append(one)
    for group in members.values():
        times_ns = [one["ready_ns"] for one in group if one["ready_ns"] is not None]
        people = {one["sender"] for one in group} | {p for one in group for p in one["targets"]}
        counts.add("conversation_messages", len(group))
        counts.add("conversation_processes", len(people))
        counts.add("conversation_ns", max(times_ns) - min(times_ns) if times_ns else None)


def count_gaps(counts: Counts, copies: Sequence[Copy]) -> None:
    """The time from each submission to the next, of all and of each process; and of deliveries."""
    lanes: dict[tuple[str, int], list[int]] = {}
    for time_ns, sender in submissions(copies):
        lanes.setdefault(("submission_gap_ns", -1), []).append(time_ns)
        lanes.setdefault(("sender_gap_ns", sender), []).append(time_ns)
    for _, _, target, _, came in copies:
        if came is not None:
            lanes.setdefault(("delivery_gap_ns", target), []).append(came)
    for (measure, _), times_ns in lanes.items():
        for earlier, later in pairwise(sorted(times_ns)):
            counts.add(measure, later - earlier)


def count_errands(counts: Counts, structure: Iterable[Fields]) -> None:
    """How many errands a process is on at once, over a network that takes no time."""
    ends: dict[tuple[int, int], list[int]] = {}
    for one in structure:
        if one["ready_ns"] is None:
            continue
        received = zip(one["targets"], one["target_errands"], strict=True)
        for key in ((one["sender"], one["errand"]), *received):
            ends.setdefault(key, []).append(one["ready_ns"])
    lanes: dict[int, list[Span]] = {}
    for (process, _), times_ns in ends.items():
        lanes.setdefault(process, []).append((min(times_ns), max(times_ns) + 1))
    for spans in lanes.values():
        for _, opened, level in levels(spans):
            counts.add("errands_at_once", level, opened)


def channels_of(structure: Iterable[Fields]) -> list[Fields]:
    """What goes from whom to whom."""
    copies: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for one in structure:
        for target in one["targets"]:
            copies[one["sender"], target] += 1
            sizes[one["sender"], target] += one["payload_bytes"]
    return [
        {"sender": pair[0], "target": pair[1], "copies": count, "payload_bytes": sizes[pair]}
        for pair, count in sorted(copies.items())
    ]


def totals_of(
    channels: Iterable[Fields], structure: Iterable[Fields], names: Mapping[int, str]
) -> list[Fields]:
    """What each process sends and receives; those that do neither are there if they have a name."""
    sent = Counter(one["sender"] for one in structure)
    found: dict[int, Counter[str]] = {process: Counter() for process in names}
    for one in channels:
        for end, way in (("sender", "sent"), ("target", "received")):
            process = found.setdefault(one[end], Counter())
            process[f"copies_{way}"] += one["copies"]
            process[f"bytes_{way}"] += one["payload_bytes"]
            degree = "out_degree" if way == "sent" else "in_degree"
            process[degree] += one["sender"] != one["target"]
    columns = [name for name in SCHEMAS["processes"].names if name not in ("process", "name")]
    return [
        {"process": process, "name": names.get(process)}
        | {name: counted[name] for name in columns}
        | {"messages": sent[process]}
        for process, counted in sorted(found.items())
    ]


def distributions_of(rows: Iterable[Fields]) -> dict[str, Distribution]:
    """The distributions that these buckets make, by measure."""
    gathered: dict[str, list[Fields]] = {}
    for row in rows:
        gathered.setdefault(row["measure"], []).append(row)
    return {
        measure: Distribution(
            least=min(row["least"] for row in buckets),
            greatest=max(row["greatest"] for row in buckets),
            total=int(sum(row["total"] for row in buckets)),
            buckets=tuple((row["bucket"], row["count"]) for row in buckets),
        )
        for measure, buckets in gathered.items()
    }


def write(folder: Path, by_run: Mapping[str, Sequence[Fields]], schema: Any) -> None:  # noqa: ANN401 an Arrow schema
    """Replace a table: a file for every run."""
    with blaming(folder, "write"):
        if folder.exists():
            shutil.rmtree(folder)
        for run, rows in by_run.items():
            place = partition_folder(folder, run)
            place.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(list(rows), schema), place / "part-0.parquet")
