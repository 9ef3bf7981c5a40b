"""Makes an `EventLog` of rows that came from elsewhere, and refuses rows that no run can have made.

What a single row may say, `antecede.eventlog.rules` has. In memory the log numbers events itself,
so a row from a file must also be the next one of its process: positions start at 0 and have no
gaps, and times never decrease along them. Errors name the column only; whoever knows the file and
the line puts that in front (`located`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, final

from antecede.core.errors import LocalError
from antecede.eventlog.log import NULL, EventLog
from antecede.eventlog.rules import Fields, check_row
from antecede.eventlog.schema import ALL_COLUMNS, KINDS, TRACE_COLUMNS, Event

CODES: Final = {kind: code for code, kind in enumerate(KINDS)}


@final
class CheckedLogBuilder:
    """Takes rows one at a time; `log` has those taken so far."""

    def __init__(self) -> None:
        self.log: Final = EventLog()
        self._next_position: Final[dict[int, int]] = {}
        self._last_ns: Final[dict[int, int]] = {}

    def add(self, fields: Fields) -> None:
        """Take the next row; `LocalError` says which column is wrong, and the row is not taken."""
        check_row(fields)
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


def log_from_rows(rows: Iterable[tuple[int, Fields]], where: str) -> EventLog:
    """A log of these numbered rows; `LocalError` says `where` and which number is wrong."""
    builder = CheckedLogBuilder()
    restore_into(builder, rows, where)
    return builder.log


def restore_into(
    builder: CheckedLogBuilder, rows: Iterable[tuple[int, Fields]], where: str
) -> None:
    """Add these numbered rows; `LocalError` says `where` and which number is wrong."""
    for number, fields in rows:
        # Not the context manager `located`: it would cost as much as the row itself.
        try:
            builder.add(fields)
        except LocalError as error:
            raise LocalError(f"{where} {number}: {error}") from None


def rows_restored(
    rows: Iterable[tuple[int, Fields]], where: str, columns: Collection[str]
) -> Iterator[Event]:
    """These columns of numbered rows, each right by itself, whatever its place among the others."""
    for number, fields in rows:
        try:
            check_row(fields, columns)
        except LocalError as error:
            raise LocalError(f"{where} {number}: {error}") from None
        row: dict[str, Any] = {name: fields[name] for name in columns if name in fields}
        for name in TRACE_COLUMNS:
            row[name] = row.get(name) or None  # An empty one counts as a null.
        yield Event(**row)


def log_of(events: Iterable[Event]) -> EventLog:
    """A log of these events; `LocalError` if no run can have made them."""
    return builder_of(events).log


def builder_of(events: Iterable[Event]) -> CheckedLogBuilder:
    """What has taken these events, and takes those that follow."""
    builder = CheckedLogBuilder()
    for event in events:
        builder.add({column: getattr(event, column) for column in ALL_COLUMNS})
    return builder


def packed(value: int | None) -> int:
    """How a packed row writes a value that may be null."""
    return NULL if value is None else value
