"""Event logs and rows as values, read with the standard library alone, unless a file is Parquet.

What a single row may say, `antecede.eventlog.rules` has. In memory the log numbers events itself,
so a row from a file must also be the next one of its process: positions start at 0 and have no
gaps, and times never decrease along them. `antecede_audit.eventlog.tables` reads whole columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

from antecede.core.errors import LocalError
from antecede.eventlog.jsonl import read_objects
from antecede.eventlog.layout import AnyPath, common_source, find_run, find_runs, suffix_of
from antecede.eventlog.log import NULL, EventLog
from antecede.eventlog.parquet import READ_ROWS, ArrowTable, numbered_rows
from antecede.eventlog.rules import Fields, check_row
from antecede.eventlog.schema import ALL_COLUMNS, KINDS, TRACE_COLUMNS, Event
from antecede_audit.eventlog.checked import read_parquet

CODES: Final = {kind: code for code, kind in enumerate(KINDS)}


def read_events(path: AnyPath, run_id: str | None = None) -> EventLog:
    """The log at `path`: the run called `run_id`, or the only one that is there."""
    return read_files(find_run(Path(path), run_id))


def read_runs(path: AnyPath) -> dict[str, EventLog]:
    """Every log at `path` by its run id; a run without one goes by the name of its file."""
    return {run_id: read_files(files) for run_id, files in find_runs(Path(path)).items()}


def read_rows(files: Iterable[Path]) -> Iterator[Event]:
    """Every row of the files; `LocalError` names one that is wrong by itself.

    Unlike a log in memory, rows may lack some before them, and go back in time: a judge of logs of
    any origin goes by their positions, and says so where clocks contradict these.
    """
    for file in files:
        if suffix_of(file) == ".parquet":
            yield from (event_of(fields) for _, fields in numbered_rows(read_parquet([file])))
            continue
        for number, fields in read_objects(file):
            try:
                check_row(fields)
            except LocalError as error:
                raise LocalError(f"{file}, line {number}: {error}") from None
            yield event_of(fields)


def event_of(fields: Fields) -> Event:
    """A checked row as a value."""
    row: dict[str, Any] = {name: fields[name] for name in ALL_COLUMNS if name in fields}
    for name in TRACE_COLUMNS:
        row[name] = row.get(name) or None  # An empty one counts as a null.
    return Event(**row)


def read_files(files: list[Path]) -> EventLog:
    """The log that these files hold together; those of one process come in its order."""
    parquet = [file for file in files if suffix_of(file) == ".parquet"]
    others = [file for file in files if suffix_of(file) != ".parquet"]
    if not others:
        return log_of_parquet(parquet)
    if not parquet:
        return log_of_lines(others)
    mixed = [log_of_parquet(parquet), log_of_lines(others)]
    return log_of(event for log in mixed for event in log)


def log_of_parquet(paths: Sequence[Path]) -> EventLog:
    """The log that these files hold together; `LocalError` names the row and column at fault.

    A dataset has no order between its files, so where rows do not come in the order of their
    positions they are sorted first.
    """
    table = read_parquet(paths)
    if not comes_in_order(table):
        table = table.sort_by([("process", "ascending"), ("position", "ascending")])
    builder = EventLogBuilder()
    for number, fields in numbered_rows(table):
        # Not the context manager `located`: it would cost as much as the row itself.
        try:
            builder.append(fields)
        except LocalError as error:
            raise LocalError(f"{common_source(list(paths))}, row {number}: {error}") from None
    return builder.log


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


def log_of_lines(paths: Sequence[Path]) -> EventLog:
    """The log that these files hold together, one after the other; `LocalError` names the line."""
    builder = EventLogBuilder()
    for path in paths:
        for number, fields in read_objects(path):
            try:
                builder.check_and_append(fields)
            except LocalError as error:
                raise LocalError(f"{path}, line {number}: {error}") from None
    return builder.log


def log_of(events: Iterable[Event]) -> EventLog:
    """A log of these events; `LocalError` if no run can have made them."""
    builder = EventLogBuilder()
    for event in events:
        builder.check_and_append({column: getattr(event, column) for column in ALL_COLUMNS})
    return builder.log


@final
class EventLogBuilder:
    """Takes rows one at a time, and none that it refuses; `log` has those taken so far."""

    def __init__(self) -> None:
        self.log: Final = EventLog()
        self._next_position: Final[dict[int, int]] = {}
        self._last_ns: Final[dict[int, int]] = {}

    def check_and_append(self, fields: Fields) -> None:
        """Take the next row of any origin; `LocalError` says which column is wrong."""
        check_row(fields)
        self.append(fields)

    def append(self, fields: Fields) -> None:
        """Take the next row, which `check_row` accepts; `LocalError` if it is out of order."""
        row: Mapping[str, Any] = fields
        process, position, time_ns = row["process"], row["position"], row["time_ns"]
        packet_kind = row.get("packet_kind")
        self._check_order(process, position, time_ns)
        self._next_position[process] = position + 1
        self._last_ns[process] = time_ns
        self.log.append(
            process,
            CODES[row["kind"]],
            packed(row.get("sender")),
            packed(row.get("sequence")),
            packed(row.get("target")),
            packed(row.get("packet")),
            NULL if packet_kind is None else self.log.intern(packet_kind),
            time_ns,
            row["payload_bytes"],
            row["metadata_bytes"],
            row.get("trace_id") or None,  # An empty one counts as a null.
            row.get("span_id") or None,
        )

    def _check_order(self, process: int, position: int, time_ns: int) -> None:
        expected = self._next_position.get(process, 0)
        if position != expected:
            raise LocalError(
                f"column 'position' is {position}, but the next event of process {process} "
                f"has position {expected}"
            )
        last_ns = self._last_ns.get(process, time_ns)
        if time_ns < last_ns:
            raise LocalError(
                f"column 'time_ns' goes backwards at process {process}: {time_ns} after {last_ns}"
            )


def packed(value: int | None) -> int:
    """How a packed row writes a value that may be null."""
    return NULL if value is None else value
