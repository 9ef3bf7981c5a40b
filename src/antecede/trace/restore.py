"""Makes an `EventLog` of rows that came from elsewhere, and refuses rows that no run can have made.

In memory the log numbers events itself, so a row from a file must be the next one of its process:
positions start at 0 and have no gaps, and times never decrease along them.
"""

from collections.abc import Iterable
from typing import Final, final

from antecede.core.errors import LocalError
from antecede.trace.events import ALL_COLUMNS, KINDS, Event
from antecede.trace.fields import (
    INT32_MAX,
    INT64_MAX,
    INT64_MIN,
    Fields,
    field,
    integer,
    optional_integer,
    optional_text,
    text_if_there,
)
from antecede.trace.log import DELIVERED, NULL, SUBMITTED, EventLog

CODES: Final = {kind: code for code, kind in enumerate(KINDS)}


@final
class LogBuilder:
    """Takes rows one at a time; `log` has those taken so far."""

    def __init__(self) -> None:
        self.log: Final = EventLog()
        self._next_position: Final[dict[int, int]] = {}
        self._last_ns: Final[dict[int, int]] = {}

    def add(self, fields: Fields) -> None:
        """Take the next row; `LocalError` says which column is wrong, and the row is not taken."""
        process = integer(fields, "process", 0, INT32_MAX)
        position = integer(fields, "position", 0, INT64_MAX)
        time_ns = integer(fields, "time_ns", INT64_MIN, INT64_MAX)
        kind = kind_code(fields)
        sender, sequence, target = message_and_target(fields, kind)
        packet = optional_integer(fields, "packet", INT64_MAX)
        packet_kind = optional_text(fields, "packet_kind")
        payload_bytes = integer(fields, "payload_bytes", 0, INT32_MAX)
        metadata_bytes = integer(fields, "metadata_bytes", 0, INT32_MAX)
        trace_id = text_if_there(fields, "trace_id")
        span_id = text_if_there(fields, "span_id")
        self._check_order(process, position, time_ns)
        self._next_position[process] = position + 1
        self._last_ns[process] = time_ns
        self.log.append(
            process,
            kind,
            packed(sender),
            packed(sequence),
            packed(target),
            packed(packet),
            NULL if packet_kind is None else self.log.intern(packet_kind),
            time_ns,
            payload_bytes,
            metadata_bytes,
            trace_id,
            span_id,
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


def restored(rows: Iterable[tuple[int, Fields]], where: str) -> EventLog:
    """A log of these numbered rows; `LocalError` says `where` and which number is wrong."""
    builder = LogBuilder()
    restore_into(builder, rows, where)
    return builder.log


def restore_into(builder: LogBuilder, rows: Iterable[tuple[int, Fields]], where: str) -> None:
    """Add these numbered rows; `LocalError` says `where` and which number is wrong."""
    for number, fields in rows:
        # Not the context manager `located`: it would cost as much as the row itself.
        try:
            builder.add(fields)
        except LocalError as error:
            raise LocalError(f"{where} {number}: {error}") from None


def log_of(events: Iterable[Event]) -> EventLog:
    """A log of these events; `LocalError` if no run can have made them."""
    return builder_of(events).log


def builder_of(events: Iterable[Event]) -> LogBuilder:
    """What has taken these events, and takes those that follow."""
    builder = LogBuilder()
    for event in events:
        builder.add({column: getattr(event, column) for column in ALL_COLUMNS})
    return builder


def kind_code(fields: Fields) -> int:
    """The code of the event's kind."""
    kind = field(fields, "kind")
    if not isinstance(kind, str) or kind not in CODES:
        raise LocalError(f"column 'kind' is {kind!r}, not one of {', '.join(KINDS)}")
    return CODES[kind]


def message_and_target(fields: Fields, kind: int) -> tuple[int | None, int | None, int | None]:
    """Sender, sequence and target, which only a row about a control packet may leave out."""
    sender = optional_integer(fields, "sender", INT32_MAX)
    sequence = optional_integer(fields, "sequence", INT64_MAX)
    target = optional_integer(fields, "target", INT32_MAX)
    if (sender is None) != (sequence is None):
        raise LocalError("columns 'sender' and 'sequence' name a message only together")
    if kind in (SUBMITTED, DELIVERED) and (sender is None or target is None):
        column = "sender" if sender is None else "target"
        raise LocalError(f"column {column!r} is null in a {KINDS[kind]} row")
    return sender, sequence, target


def packed(value: int | None) -> int:
    """How a packed row writes a value that may be null."""
    return NULL if value is None else value
