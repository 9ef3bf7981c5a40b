"""Profiles workloads that fit the memory of this process, without Spark: as one task would."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local, replace_folder_atomically
from antecede.eventlog.layout import PARTITION, partition_folder, run_id_of
from antecede.eventlog.parquet import ArrowTable, reading
from antecede.eventlog.rules import JUDGED
from antecede_audit.eventlog.tables import read_event_table
from antecede_audit.jobs.limits import ROWS_MAX, fits_here
from antecede_audit.measure import profile as profiles
from antecede_audit.measure.distributions import by_run, merged
from antecede_audit.measure.instants import in_order, instants_of
from antecede_audit.measure.profile import COPIES, NOMINAL, RECORDED, RunProfile
from antecede_audit.measure.structure import COLUMNS, structured
from antecede_audit.paths import is_local_path

Files: TypeAlias = dict[str, list[Path]]

NAMES: Final = pa.schema([("run_id", pa.string()), ("process", pa.int32()), ("name", pa.string())])


def profile_here(
    source: str, out: str, *, run_id: str | None = None, rows_max: int = ROWS_MAX
) -> list[RunProfile] | None:
    """What `profile` says of a folder of this machine with few messages; None of any other."""
    if not is_local_path(source) or not is_local_path(out):
        return None
    place = Path(source)
    workload = files_of(place / "workload")
    logs, names = files_of(place / "events"), files_of(place / "processes")
    if workload is None or logs is None or names is None or not workload:
        return None
    if not all(fits_here(rows_in(files), size_of(files), rows_max) for files in (workload, logs)):
        return None
    wanted = {run: files for run, files in workload.items() if run_id in (None, run)}
    columns = [name for name in COLUMNS if name != "run_id"]
    messages = {run: read(files, columns) for run, files in sorted(wanted.items())}
    messages = {run: rows for run, rows in messages.items() if len(rows)}
    if not messages:
        raise LocalError(profiles.no_messages(source, run_id))
    structure = pa.concat_tables(structured(run, rows) for run, rows in messages.items())
    copies = profiles.nominal_copies(structure)
    if logs:
        # A run without a log is one in which nothing has happened.
        recorded = [instants_in(run, logs[run]) for run in messages if run in logs]
        copies = pa.concat_tables([COPIES.empty_table(), *recorded])
    called = [names_in(run, names[run]) for run in messages if run in names]
    return profiled(
        pa.concat_tables(of_run(run, rows) for run, rows in messages.items()),
        structure,
        copies,
        pa.concat_tables([NAMES.empty_table(), *called]),
        RECORDED if logs else NOMINAL,
        Path(out),
    )


def profiled(
    workload: ArrowTable,
    structure: ArrowTable,
    copies: ArrowTable,
    names: ArrowTable,
    times: str,
    out: Path,
) -> list[RunProfile]:
    """Profile these runs, and write their tables."""
    channels = profiles.channels_of(workload)
    counted = [
        profiles.processes_of_channels(channels),
        profiles.processes_of_messages(workload),
        profiles.processes_of_names(names),
    ]
    processes = profiles.merged_processes(pa.concat_tables(counted))
    when = merged(profiles.tally_times(copies))
    runs = {run: profiles.times_of(found) for run, found in by_run(when).items()}
    moments = in_order(profiles.moments_of_copies(copies)).to_batches()
    parts = [when, profiles.tally_flights(copies), *profiles.tally_moments(moments, runs)]
    parts += [profiles.tally_processes(processes), profiles.tally_channels(channels)]
    parts += profiles.tally_structure(structure.to_batches())
    found = by_run(merged(pa.concat_tables(parts)))
    slices = [row for run, tallies in found.items() for row in profiles.slices_of(run, tallies)]
    buckets = [
        row
        for run, tallies in found.items()
        for row in profiles.buckets_in(run, tallies, times, sampled=False)
    ]
    tables = {
        "processes": processes.sort_by([("run_id", "ascending"), ("process", "ascending")]),
        "channels": channels.sort_by([(name, "ascending") for name in channels.column_names[:3]]),
        "distributions": pa.Table.from_pylist(buckets, profiles.DISTRIBUTIONS),
        "timeline": pa.Table.from_pylist(slices, profiles.TIMELINE),
    }
    with replace_folder_atomically(out.absolute(), list(profiles.TABLES)) as stage:
        for name, table in tables.items():
            write(stage / name, table, found)
    return [profiles.profile_of(run, tallies, times) for run, tallies in sorted(found.items())]


def instants_in(run: str, files: Sequence[Path]) -> ArrowTable:
    """The copies in the log of a run: `COPIES`."""
    return of_run(run, instants_of(read_log(files))).select(COPIES.names).cast(COPIES)


def names_in(run: str, files: Sequence[Path]) -> ArrowTable:
    """What the processes of a run are called: `NAMES`."""
    return of_run(run, read(files, NAMES.names[1:])).select(NAMES.names).cast(NAMES)


def of_run(run: str, rows: ArrowTable) -> ArrowTable:
    """The same rows with their run."""
    return rows.append_column("run_id", pa.repeat(run, len(rows)))


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


def size_of(runs: Files) -> int:
    """How many bytes these files have."""
    return sum(file.stat().st_size for files in runs.values() for file in files)


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


def write(folder: Path, table: ArrowTable, runs: Iterable[str]) -> None:
    """Write a table: a file for every run."""
    with os_errors_as_local(folder, "write"):
        for run in runs:
            place = partition_folder(folder, run)
            place.mkdir(parents=True)
            rows = table.filter(pc.equal(table["run_id"], run)).drop_columns(["run_id"])
            pq.write_table(rows, place / "part-0.parquet")
