"""Event logs from disk: the name says the format, the rules of the log what may be in it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from antecede.eventlog.jsonl import read_objects
from antecede.eventlog.layout import AnyPath, common_source, find_run, find_runs, suffix_of
from antecede.eventlog.log import EventLog
from antecede.eventlog.parquet import OPTIONAL, READ_ROWS, ArrowTable, numbered_rows, read_table
from antecede.eventlog.rules import Fields
from antecede.eventlog.schema import ALL_COLUMNS, COLUMNS, Event
from antecede_audit.eventlog.restore import (
    CheckedLogBuilder,
    log_from_rows,
    log_of,
    restore_into,
    rows_restored,
)
from antecede_audit.eventlog.table_rules import check_table


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
    return log_from_rows(numbered_rows(table), f"{source}, row")


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


def read_json_lines(paths: Sequence[Path]) -> EventLog:
    """The log that these files hold together, one after the other; `LocalError` names the line."""
    builder = CheckedLogBuilder()
    for path in paths:
        restore_into(builder, read_objects(path), f"{path}, line")
    return builder.log


def parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, Fields]]:
    """Every row of a file with its number: these columns, of which some may be absent."""
    optional = [name for name in columns if name in OPTIONAL]
    required = [name for name in columns if name not in OPTIONAL]
    return numbered_rows(read_table([path], path, required, optional))
