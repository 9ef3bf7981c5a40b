"""Makes an `EventLog` of rows that came from elsewhere, and refuses rows that no run can have made.

In memory the log numbers events itself, so a row from a file must be the next one of its process:
positions start at 0 and have no gaps, and times never decrease along them. Errors name the column
only; whoever knows the file and the line puts that in front (`located`).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias, final

from antecede.core.errors import LocalError
from antecede.trace.events import ALL_COLUMNS, KINDS, Event
from antecede.trace.log import DELIVERED, NULL, SUBMITTED, EventLog

Fields: TypeAlias = Mapping[str, object]

INT32_MAX: Final = (1 << 31) - 1
INT64_MAX: Final = (1 << 63) - 1
INT64_MIN: Final = -(1 << 63)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put `where` in front of what a `LocalError` from inside says."""
    try:
        yield
    except LocalError as error:
        raise LocalError(f"{where}: {error}") from None


def field(fields: Fields, column: str) -> object:
    """The value in `column`, which must be there (a null counts as being there)."""
    try:
        return fields[column]
    except KeyError:
        raise LocalError(f"column {column!r} is missing") from None


def integer(fields: Fields, column: str, low: int, high: int) -> int:
    """The integer in `column`, within `low` and `high`, both inclusive."""
    return checked_integer(field(fields, column), column, low, high)


def optional_integer(fields: Fields, column: str, high: int) -> int | None:
    """The integer in `column`, from 0 to `high`, or None for a null."""
    value = field(fields, column)
    return None if value is None else checked_integer(value, column, 0, high)


def optional_text(fields: Fields, column: str) -> str | None:
    """The string in `column`, or None for a null."""
    value = field(fields, column)
    if value is not None and not isinstance(value, str):
        raise LocalError(f"column {column!r} must be a string or null, not {value!r}")
    return value


def text_if_there(fields: Fields, column: str) -> str | None:
    """The string in a column that may be missing, too; an empty one counts as a null."""
    return optional_text(fields, column) or None if column in fields else None


def integers(fields: Fields, column: str, high: int) -> tuple[int, ...]:
    """The list of integers, each from 0 to `high`, in `column`."""
    values = field(fields, column)
    if not isinstance(values, list):
        raise LocalError(f"column {column!r} must be a list of integers, not {values!r}")
    return tuple(checked_integer(value, column, 0, high) for value in values)


def checked_integer(value: object, column: str, low: int, high: int) -> int:
    """`value` if it is an integer within `low` and `high`, both inclusive."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise LocalError(f"column {column!r} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise LocalError(f"column {column!r} is {value}, outside {low} to {high}")
    return value


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
