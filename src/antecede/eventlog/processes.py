"""What the processes of a run are called: the table `processes(process, name)` beside a log.

A dataset of events keeps it in `_processes/run_id=…/`, one file per recorder (a leading underscore
makes readers of the events pass over it); a single file `run.jsonl` has `run.processes.jsonl` next
to it. Files that speak of the same process agree, since numbers are made from names.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import write_atomically
from antecede.eventlog.fields import field, integer, located
from antecede.eventlog.jsonl import read_objects, write_objects
from antecede.eventlog.layout import AnyPath, common_source, find_run, partition_folder, suffix_of
from antecede.eventlog.parquet import (
    ArrowSchema,
    load_pyarrow,
    numbered_rows,
    read_table,
    write_table,
)
from antecede.eventlog.rules import INT32_MAX, Fields

FOLDER: Final = "_processes"
COLUMNS: Final = ("process", "name")


def processes_folder(dataset: Path, run_id: str) -> Path:
    """Where a dataset of events keeps the names of this run's processes."""
    return partition_folder(dataset / FOLDER, run_id)


def processes_file(events: Path) -> Path:
    """Where the names are that belong to a single file of events."""
    return events.with_name(f"{events.name.removesuffix(suffix_of(events))}.processes.jsonl")


def write_processes(path: Path, names: Mapping[int, str]) -> None:
    """Write the table to this file, `.parquet` or `.jsonl`; one already there is replaced."""
    rows: Iterable[Fields] = [{"process": key, "name": name} for key, name in names.items()]
    with write_atomically(path) as partial:
        if suffix_of(path) == ".parquet":
            write_table(path, partial, processes_schema(), rows)
        else:
            write_objects(path, partial, rows)


def read_processes(events: AnyPath, run_id: str | None = None) -> dict[int, str]:
    """The names of the processes in the event log at `events`; empty if nobody wrote them down."""
    path = Path(events)
    if suffix_of(path) and not path.is_dir():
        file = processes_file(path)
        return read_files([file]) if file.exists() else {}
    folder = path / FOLDER
    return read_files(find_run(folder, run_id)) if folder.is_dir() else {}


def read_files(files: list[Path]) -> dict[int, str]:
    """The names in these files together; `LocalError` if two of them contradict each other."""
    names: dict[int, str] = {}
    for file in files:
        for number, fields in numbered_fields(file):
            with located(f"{file}, row {number}"):
                process = integer(fields, "process", 0, INT32_MAX)
                name = field(fields, "name")
                if not isinstance(name, str):
                    raise LocalError(f"column 'name' must be a string, not {name!r}")
                if names.setdefault(process, name) != name:
                    raise LocalError(
                        f"process {process} is called {name!r} here, {names[process]!r} elsewhere"
                    )
    return names


def numbered_fields(file: Path) -> Iterable[tuple[int, Fields]]:
    """Every row of the file with its number, whatever its format."""
    if suffix_of(file) == ".parquet":
        return numbered_rows(read_table([file], common_source([file]), COLUMNS))
    return read_objects(file)


def processes_schema() -> ArrowSchema:
    """The columns of the table of processes."""
    pa = load_pyarrow("pyarrow")
    return pa.schema(
        [
            pa.field("process", pa.int32(), nullable=False),
            pa.field("name", pa.string(), nullable=False),
        ]
    )
