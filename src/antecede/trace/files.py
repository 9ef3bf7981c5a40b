"""Event logs on disk: the name chooses the format.

`.jsonl`, `.jsonl.gz` and `.parquet` are files that hold one run; any other name is a dataset, a
directory that holds runs by their ids. Everything is written under another name first and then
renamed, so no reader sees half a log.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.trace.atomic import blaming
from antecede.trace.datasets import (
    SUFFIXES,
    AnyPath,
    common_source,
    find_run,
    find_runs,
    partition_folder,
    suffix_of,
)
from antecede.trace.events import ALL_COLUMNS, COLUMNS, Event
from antecede.trace.jsonl import JsonLinesSink, read_json_lines, read_objects
from antecede.trace.log import EventLog
from antecede.trace.parquet import (
    OPTIONAL,
    READ_ROWS,
    ArrowTable,
    ParquetSink,
    numbered_rows,
    parquet_rows,
    read_table,
)
from antecede.trace.restore import log_of, restored, rows_restored
from antecede.trace.sinks import FileSink
from antecede.trace.table_rules import check_table

PART_NAME: Final = "events.parquet"


def write_events(path: AnyPath, log: EventLog, run_id: str | None = None) -> None:
    """Write a log to a file or, under `run_id`, into a dataset; one already there is replaced."""
    blocks = list(zip(log.blocks(), log.contexts(), strict=True))
    with open_sink(path, run_id) as sink:
        for block, contexts in blocks:
            sink.write_rows(block, log.packet_kinds, contexts)


@contextmanager
def record_events(path: AnyPath, run_id: str | None = None) -> Iterator[EventLog]:
    """A log that goes to `path` block by block as it grows; it appears there if all went well."""
    with open_sink(path, run_id) as sink:
        log = EventLog(sink)
        yield log
        log.flush()


def open_sink(path: AnyPath, run_id: str | None = None) -> FileSink:
    """A sink that writes where and how the name says; enter it before giving it to a log."""
    file = Path(path)
    suffix = suffix_of(file)
    if not suffix and run_id is None:
        raise LocalError(
            f"{file} ends in none of {', '.join(SUFFIXES)}: give it one of these endings "
            "(a dataset of several runs has none, and needs a run id)"
        )
    if run_id is not None:
        if suffix:
            raise LocalError(
                f"{file} holds one run: a run id needs a dataset, a name without suffix"
            )
        folder = partition_folder(file, run_id)
        with blaming(folder, "write"):
            folder.mkdir(parents=True, exist_ok=True)
        return ParquetSink(folder / PART_NAME)
    return ParquetSink(file) if suffix == ".parquet" else JsonLinesSink(file)


def read_events(path: AnyPath, run_id: str | None = None) -> EventLog:
    """The log at `path`: the run called `run_id`, or the only one that is there."""
    return read_files(find_run(Path(path), run_id))


def read_runs(path: AnyPath) -> dict[str, EventLog]:
    """Every log at `path` by its run id; a run without one goes by the name of its file."""
    return {run_id: read_files(files) for run_id, files in find_runs(Path(path)).items()}


def read_rows(files: Sequence[Path], columns: Sequence[str] = ALL_COLUMNS) -> list[Event]:
    """These columns of every row of the files; `LocalError` names one that is wrong by itself.

    Unlike a log in memory, rows may lack some before them, and go back in time: a judge of logs of
    any origin goes by their positions, and says so where clocks contradict these.
    """
    events: list[Event] = []
    for file in files:
        is_parquet = suffix_of(file) == ".parquet"
        where = f"{file}, row" if is_parquet else f"{file}, line"
        rows = parquet_rows(file, columns) if is_parquet else read_objects(file)
        events += rows_restored(rows, where, columns)
    return events


def read_files(files: list[Path]) -> EventLog:
    """The log that these files hold together; those of one process come in its order."""
    parquet = [file for file in files if suffix_of(file) == ".parquet"]
    others = [file for file in files if suffix_of(file) != ".parquet"]
    if not others:
        return read_parquet(parquet, common_source(files))
    if not parquet:
        return read_json_lines(others)
    mixed = [read_parquet(parquet, common_source(parquet)), read_json_lines(others)]
    return log_of(event for log in mixed for event in log)


def read_parquet(paths: Sequence[Path], source: Path) -> EventLog:
    """The log that these files hold together; `LocalError` names the row and column at fault.

    A dataset has no order between its files, so where rows do not come in the order of their
    positions they are sorted first.
    """
    required = [name for name in COLUMNS if name not in OPTIONAL]
    table = read_table(paths, source, required, OPTIONAL)
    check_table(table, f"{source}, row")
    if not comes_in_order(table):
        table = table.sort_by([("process", "ascending"), ("position", "ascending")])
    return restored(numbered_rows(table), f"{source}, row")


def comes_in_order(table: ArrowTable) -> bool:
    """Whether every process's positions follow each other as the table stands."""
    expected: dict[object, int] = {}
    for batch in table.select(["process", "position"]).to_batches(max_chunksize=READ_ROWS):
        processes, positions = (column.to_pylist() for column in batch.columns)
        for process, position in zip(processes, positions, strict=True):
            if position != expected.get(process, 0):
                return False
            expected[process] = position + 1
    return True
