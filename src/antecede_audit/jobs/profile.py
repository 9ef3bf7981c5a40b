"""Profiles workloads that fit the memory of this process, without Spark: the same profile, at once.

Spark takes two minutes to plan what five messages take a millisecond for. The stages beside this
file say the same of workloads of any size; a test compares the two.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local, replace_folder_atomically
from antecede.eventlog.layout import PARTITION, partition_folder, run_id_of
from antecede.eventlog.parquet import ArrowArray, ArrowSchema, ArrowTable, reading
from antecede.eventlog.rules import JUDGED
from antecede_audit.eventlog.tables import read_event_table
from antecede_audit.measure.distributions import bucket_number, distributions_of
from antecede_audit.measure.instants import instants_of, open_at_once
from antecede_audit.measure.run_profile import (
    NOMINAL,
    RECORDED,
    SLICES,
    RunProfile,
    no_messages,
    points_of,
)
from antecede_audit.measure.structure import COLUMNS, as_often, structured, value_counts, values_of
from antecede_audit.paths import is_local_path

Fields: TypeAlias = dict[str, Any]
Files: TypeAlias = dict[str, list[Path]]

SMALL_ROWS: Final = 100_000
"""Workloads of so many messages, and logs of four times as many events, are profiled here."""

TOTALS: Final = (
    *("messages", "copies_sent", "copies_received", "out_degree", "in_degree"),
    *("bytes_sent", "bytes_received"),
)
"""What is counted of each process."""

SCHEMAS: Final = {
    "processes": pa.schema(
        {"process": pa.int32(), "name": pa.string()} | dict.fromkeys(TOTALS, pa.int64())
    ),
    "channels": pa.schema(
        {
            "sender": pa.int32(),
            "target": pa.int32(),
            "copies": pa.int64(),
            "payload_bytes": pa.int64(),
        }
    ),
    "distributions": pa.schema(
        {
            "measure": pa.string(),
            "bucket": pa.int32(),
            "count": pa.int64(),
            "total": pa.decimal128(38, 0),
            "least": pa.int64(),
            "greatest": pa.int64(),
        }
    ),
    "timeline": pa.schema(
        dict.fromkeys(("slice", "start_ns", "messages", "in_flight_max"), pa.int64())
    ),
}
"""The tables that a profile leaves, one file of each for every run."""


def profile_here(
    source: str, out: str, *, run_id: str | None = None, rows_max: int = SMALL_ROWS
) -> list[RunProfile] | None:
    """What `profile` says of a folder of this machine with few messages; None of any other."""
    if not is_local_path(source) or not is_local_path(out):
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
        if not len(messages):
            continue
        structure = structured(run, messages)
        copies = nominal_times(structure)
        if logs:
            # A run without a log is one in which nothing has happened.
            recorded = instants_of(read_log(logs[run])) if run in logs else None
            copies = copies.slice(0, 0) if recorded is None else recorded
        called = read(names[run], ["process", "name"]).to_pylist() if run in names else []
        people = {one["process"]: one["name"] for one in called}
        found, written = profiled(run, structure, copies, people, RECORDED if logs else NOMINAL)
        profiles.append(found)
        for name, rows in written.items():
            tables[name][run] = rows
    if not profiles:
        raise LocalError(no_messages(source, run_id))
    with replace_folder_atomically(Path(out).absolute(), list(SCHEMAS)) as stage:
        for name, by_run in tables.items():
            write(stage / name, by_run, SCHEMAS[name])
    return profiles


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
    count = 0
    for file in (one for files in runs.values() for one in files):
        with reading(file):
            count += pq.read_metadata(file).num_rows
    return count


def read(files: Sequence[Path], columns: Sequence[str]) -> ArrowTable:
    """These columns of all the files; a workload in the order of its messages."""
    tables = []
    for file in files:
        with reading(file):
            tables.append(pq.ParquetFile(file).read(list(columns)))
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.sort_by("message_id") if "message_id" in columns else table


def read_log(files: Sequence[Path]) -> ArrowTable:
    """The event log in these files; `LocalError` names a row that is wrong, if there is one."""
    return read_event_table(files, JUDGED)


def profiled(
    run: str, structure: ArrowTable, copies: ArrowTable, names: Mapping[int, str], times: str
) -> tuple[RunProfile, dict[str, list[Fields]]]:
    """One run, and its tables."""
    channels = channels_of(structure)
    totals = totals_of(channels, structure, names)
    sent = copies.group_by(["sender", "sequence"]).aggregate([("submitted_ns", "min")])
    in_flight = levels_of(copies)
    first_ns = pc.min(copies["submitted_ns"]).as_py() or 0
    ends_ns = [pc.max(copies[name]).as_py() for name in ("submitted_ns", "delivered_ns")]
    last_ns = max((end_ns for end_ns in ends_ns if end_ns is not None), default=0)
    slice_ns = (last_ns - first_ns) // SLICES + 1 if len(copies) else 0
    values = values_of(structure) | values_of_processes(totals) | gaps_in(copies, sent)
    if times == RECORDED:
        flights_ns = pc.subtract(copies["delivered_ns"], copies["submitted_ns"])
        values["flight_ns"] = flights_ns.filter(pc.greater_equal(flights_ns, 0))
        values["in_flight"] = as_often(in_flight["level"], in_flight["opened"])
    timeline = timeline_of(sent["submitted_ns_min"], in_flight, first_ns, slice_ns)
    buckets = buckets_of(value_counts(values))
    found = RunProfile(
        run_id=run,
        times=times,
        messages=len(structure),
        copies=sum(one["copies"] for one in channels),
        processes=len(totals),
        channels=len(channels),
        conversations=len(structure["conversation"].unique()),
        spontaneous=pc.sum(pc.equal(structure["depth"], 0)).as_py() or 0,
        stuck=structure["depth"].null_count,
        first_ns=first_ns,
        last_ns=last_ns,
        slice_ns=slice_ns,
        sampled=None,
        distributions=distributions_of(buckets),
        timeline=points_of(timeline),
    )
    return found, {
        "processes": totals,
        "channels": channels,
        "distributions": buckets,
        "timeline": timeline,
    }


# Times.


def nominal_times(structure: ArrowTable) -> ArrowTable:
    """When each copy is submitted and delivered, as over a network that takes no time."""
    ready = structure.filter(pc.is_valid(structure["ready_ns"])).combine_chunks()
    copies = ready.take(pc.list_parent_indices(ready["targets"]))
    return pa.table(
        {
            "sender": copies["sender"],
            "sequence": copies["rank"],
            "target": pc.list_flatten(ready["targets"]),
            "submitted_ns": copies["ready_ns"],
            "delivered_ns": copies["ready_ns"],
        }
    )


def levels_of(copies: ArrowTable) -> ArrowTable:
    """How many copies are under way whenever one is submitted."""
    sent_ns = copies["submitted_ns"]
    came_ns = pc.max_element_wise(sent_ns, copies["delivered_ns"], skip_nulls=False)
    return open_at_once(pa.repeat(0, len(copies)), sent_ns, came_ns)


def timeline_of(
    sent_ns: ArrowArray, in_flight: ArrowTable, first_ns: int, slice_ns: int
) -> list[Fields]:
    """What goes on in each slice of a run in which something is submitted."""
    sent = Counter((time_ns - first_ns) // slice_ns for time_ns in sent_ns.to_pylist())
    heights: dict[int, int] = {}
    for one in in_flight.to_pylist():
        place = (one["time_ns"] - first_ns) // slice_ns
        heights[place] = max(heights.get(place, one["level"]), one["level"])
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


def values_of_processes(totals: Sequence[Fields]) -> dict[str, ArrowArray]:
    """By measure, the values of all processes."""
    columns = {
        "out_degree": "out_degree",
        "in_degree": "in_degree",
        "process_messages": "messages",
    }
    return {
        measure: pa.array([one[name] for one in totals], pa.int64())
        for measure, name in columns.items()
    }


def gaps_in(copies: ArrowTable, sent: ArrowTable) -> dict[str, ArrowArray]:
    """The time from each submission to the next, of all and of each process; and of deliveries."""
    came = copies.filter(pc.is_valid(copies["delivered_ns"]))
    sent_ns = sent["submitted_ns_min"]
    return {
        "submission_gap_ns": gaps(pa.repeat(0, len(sent)), sent_ns),
        "sender_gap_ns": gaps(sent["sender"], sent_ns),
        "delivery_gap_ns": gaps(came["target"], came["delivered_ns"]),
    }


def gaps(lanes: ArrowArray, times_ns: ArrowArray) -> ArrowArray:
    """The time from each moment of a lane to the next."""
    moments, lane = times_ns.to_numpy(), lanes.to_numpy()
    order = np.lexsort((moments, lane))
    return pa.array(np.diff(moments[order])[np.diff(lane[order]) == 0])


def buckets_of(counted: ArrowTable) -> list[Fields]:
    """How often which values occurred, as buckets."""
    buckets: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for one in counted.to_pylist():
        key = one["measure"], bucket_number(one["value"])
        buckets.setdefault(key, []).append((one["value"], one["count"]))
    return [
        {
            "measure": measure,
            "bucket": bucket,
            "count": sum(count for _, count in members),
            "total": Decimal(sum(value * count for value, count in members)),
            "least": min(members)[0],
            "greatest": max(members)[0],
        }
        for (measure, bucket), members in sorted(buckets.items())
    ]


def channels_of(structure: ArrowTable) -> list[Fields]:
    """What goes from whom to whom."""
    whole = structure.combine_chunks()
    sources = pc.list_parent_indices(whole["targets"])
    copies = whole.select(["sender", "payload_bytes"]).take(sources)
    copies = copies.append_column("target", pc.list_flatten(whole["targets"]))
    channels = copies.group_by(["sender", "target"]).aggregate(
        [([], "count_all"), ("payload_bytes", "sum")]
    )
    named = channels.rename_columns(SCHEMAS["channels"].names)
    rows: list[Fields] = named.to_pylist()
    return sorted(rows, key=itemgetter("sender", "target"))


def totals_of(
    channels: Iterable[Fields], structure: ArrowTable, names: Mapping[int, str]
) -> list[Fields]:
    """What each process sends and receives; those that do neither are there if they have a name."""
    sent = Counter(structure["sender"].to_pylist())
    found: dict[int, Counter[str]] = {process: Counter() for process in names}
    for one in channels:
        for end, way in (("sender", "sent"), ("target", "received")):
            process = found.setdefault(one[end], Counter())
            process[f"copies_{way}"] += one["copies"]
            process[f"bytes_{way}"] += one["payload_bytes"]
            degree = "out_degree" if way == "sent" else "in_degree"
            process[degree] += one["sender"] != one["target"]
    return [
        {"process": process, "name": names.get(process)}
        | {name: counted[name] for name in TOTALS}
        | {"messages": sent[process]}
        for process, counted in sorted(found.items())
    ]


def write(folder: Path, by_run: Mapping[str, Sequence[Fields]], schema: ArrowSchema) -> None:
    """Write a table: a file for every run."""
    with os_errors_as_local(folder, "write"):
        for run, rows in by_run.items():
            place = partition_folder(folder, run)
            place.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(list(rows), schema), place / "part-0.parquet")
