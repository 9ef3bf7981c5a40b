"""Message tables: a line for each message and receiver, or for each message and its receivers.

    sender,receivers,time_ms,received_ms,id,cause
    a,b;c,10,,1,
    b,a,25,31,2,1

Columns are found by their names; without a header they are sender, receivers, time, receive time
and cause, of which the last two may be missing: the longest of the first lines tells. Cells are
parted by commas, semicolons, tabs or white space. Equal times of one sender are one multicast,
unless the table has a column of ids.

Times count in seconds, unless the name of the column ends in a unit (`time_ms`), the reader is told
otherwise, or the first of them is so large that it must be the milli-, micro- or nanoseconds since
1970. Dates in ISO 8601 are understood as well. A cause is the id of a message or, in a
table without ids, the number of its line of data in the same file, from 1.

In a Parquet file a list of receivers or causes may be a list, or a text as in CSV.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import IO, Any, Final

import pyarrow as pa
from pyarrow import parquet as pq

from antecede_audit.spans.formats.lines import Line, cells_of
from antecede_audit.spans.formats.records import (
    INT32_MAX,
    LINE,
    TIME_NS_MAX,
    InvalidRecordError,
    MessageRecord,
    RejectRecord,
    excerpt_of,
    name_of,
    whole_number,
)

UNITS_NS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

SENDER: Final = "sender"
RECEIVERS: Final = "receivers"
TIME: Final = "time"
RECEIVED: Final = "received"
LABEL: Final = "id"
CAUSES: Final = "causes"
BYTES: Final = "bytes"

ALIASES: Final = {
    SENDER: ("sender", "sender_id", "source", "src", "from"),
    RECEIVERS: (
        *("receiver", "receivers", "receiver_id", "recipient", "recipients", "target", "targets"),
        *("destination", "destinations", "dst", "to"),
    ),
    TIME: ("time", "timestamp", "ts", "sent", "send", "sent_time", "send_time", "sent_at"),
    RECEIVED: (
        *("received", "receive", "received_time", "receive_time", "received_at", "recv_time"),
        *("delivered", "delivered_time", "delivery_time", "delivered_at"),
    ),
    LABEL: ("id", "message", "message_id"),
    CAUSES: ("cause", "causes", "cause_id", "caused_by", "in_reply_to", "reply_to"),
    BYTES: ("bytes", "size", "payload_bytes"),
}
"""What the columns may be called, apart from a unit at the end."""

ROLES: Final = {alias: role for role, aliases in ALIASES.items() for alias in aliases}
POSITIONAL: Final = (SENDER, RECEIVERS, TIME, RECEIVED, CAUSES)

TOO_FAR: Final = "is more than 146 years from 1970"

COLUMNS_MIN: Final = 3
"""Sender, receivers and time there must be."""

DELIMITERS: Final = (",", "\t", ";")
SEPARATORS: Final = re.compile(r"[;|,]")
"""Between several receivers or several causes in one cell."""

NANOSECONDS: Final = re.compile(r"[.,]\d{6}(\d{1,3})")
"""The digits of a date that come after its microseconds."""

COMMENTS: Final = ("#", "%", "//")
UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

PARQUET_ROWS: Final = 1 << 14

DAMAGED_PARQUET: Final = "damaged Parquet file"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """Which column is where, and what their numbers mean."""

    delimiter: str | None
    places: dict[str, int]
    time_unit_ns: int
    received_unit_ns: int
    headed: bool
    """Whether the first line is a header."""

    @property
    def refers_to_lines(self) -> bool:
        """Whether causes are numbers of lines, so that the table must be read as a whole."""
        return CAUSES in self.places and LABEL not in self.places


def layout_of(lines: Sequence[str], unit: str | None) -> TableLayout | None:
    """The layout that the first lines of a table show, or None if they are not those of one."""
    for delimiter in (*DELIMITERS, None):
        rows = [row for row in (readable_cells(line, delimiter) for line in lines) if row]
        if rows and rows[0] == readable_cells(lines[0], delimiter):
            layout = named_layout(rows[0], delimiter, unit, rows[1] if len(rows) > 1 else ())
            if layout is not None:
                return layout
        layout = positional_layout(rows, delimiter, unit)
        if layout is not None:
            return layout
    return None


def readable_cells(line: str, delimiter: str | None) -> list[str]:
    """The cells of a line; none if its quotes do not match."""
    try:
        return cells_of(line, delimiter)
    except InvalidRecordError:
        return []


def positional_layout(
    rows: Sequence[Sequence[str]], delimiter: str | None, unit: str | None
) -> TableLayout | None:
    """The layout of a table without a header, if most of its first rows can be read with it."""
    layouts = []
    for row in rows:
        layout = positional(row, delimiter, unit)
        try:
            copies_of_cells(row, layout, 1)
        except InvalidRecordError:
            continue
        layouts.append(layout)
    if not layouts or 2 * len(layouts) < len(rows):
        return None
    return max(layouts, key=lambda layout: len(layout.places))


def positional(row: Sequence[str], delimiter: str | None, unit: str | None) -> TableLayout:
    """The layout of a table without a header that has a row like this."""
    unit_ns = UNITS_NS[unit or likely_unit(row[2] if len(row) >= COLUMNS_MIN else None)]
    return TableLayout(
        delimiter=delimiter,
        places={role: place for place, role in enumerate(POSITIONAL[: len(row)])},
        time_unit_ns=unit_ns,
        received_unit_ns=unit_ns,
        headed=False,
    )


def named_layout(
    names: Sequence[str], delimiter: str | None, unit: str | None, row: Sequence[object] = ()
) -> TableLayout | None:
    """The layout of a table with these columns; None if one that it needs is missing.

    `row` is the first of its rows, whose time tells the unit if nothing else does.
    """
    places: dict[str, int] = {}
    units: dict[str, int] = {}
    for place, name in enumerate(names):
        whole = name.strip().lower()
        plain, _, suffix = whole.rpartition("_")
        role = ROLES.get(plain) if suffix in UNITS_NS else ROLES.get(whole)
        if role is not None and role not in places:
            places[role] = place
            if suffix in UNITS_NS:
                units[role] = UNITS_NS[suffix]
    if not {SENDER, RECEIVERS, TIME} <= places.keys():
        return None
    time = row[places[TIME]] if places[TIME] < len(row) else None
    default_ns = UNITS_NS[unit or likely_unit(time)]
    return TableLayout(
        delimiter=delimiter,
        places=places,
        time_unit_ns=units.get(TIME, default_ns),
        received_unit_ns=units.get(RECEIVED, units.get(TIME, default_ns)),
        headed=True,
    )


def likely_unit(time: object) -> str:
    """The unit in which a time is after 1973 and before 5138, if it counts from 1970, else s."""
    try:
        number = float(time) if isinstance(time, str | int | float | Decimal) else 0.0
    except (ValueError, OverflowError):
        return "s"
    for unit, least in (("ns", 10**17), ("us", 10**14), ("ms", 10**11)):
        if number >= least:
            return unit
    return "s"


def copies_in(layout: TableLayout, lines: Iterator[Line]) -> Iterator[MessageRecord | RejectRecord]:
    """The copies that every line stands for, and what could not be read."""
    for number, line in enumerate(without_comments(lines), start=1):
        try:
            yield from copies_of_cells(cells_of(line.text, layout.delimiter), layout, number)
        except InvalidRecordError as error:
            where = line.position + column_at_fault(line.text, layout)
            yield RejectRecord(where, str(error), excerpt_of(line.text))


def column_at_fault(text: str, layout: TableLayout) -> str:
    """Which column of a line cannot be read, for its position; nothing if it is none of them."""
    cells = readable_cells(text, layout.delimiter)
    readers: dict[str, Callable[[str], object]] = {
        TIME: lambda cell: time_of(cell, layout.time_unit_ns, TIME),
        RECEIVED: lambda cell: cell and time_of(cell, layout.received_unit_ns, RECEIVED),
        SENDER: lambda cell: name_of(cell, SENDER),
        RECEIVERS: lambda cell: [name_of(part, RECEIVERS) for part in parts_of(cell) or [""]],
        LABEL: lambda cell: cell and name_of(cell, LABEL),
        CAUSES: lambda cell: [name_of(part, CAUSES) for part in parts_of(cell)],
        BYTES: size_of,
    }
    for role, reader in readers.items():
        place = layout.places.get(role, len(cells))
        try:
            if len(cells) >= COLUMNS_MIN and place < len(cells):
                reader(cells[place])
        except InvalidRecordError:
            return f", column {place + 1}"
    return ""


def presumed_layout(lines: Sequence[str], unit: str | None) -> TableLayout | None:
    """The layout of a table none of whose first lines can be read, or None if it is none.

    Three columns or more, and a number in the third, make a likely line; at least half of them
    must be. Then every line is read, or rejected for a reason of its own.
    """
    for delimiter in (*DELIMITERS, None):
        rows = [readable_cells(line, delimiter) for line in lines]
        likely = [row for row in rows if len(row) >= COLUMNS_MIN and is_number(row[2])]
        if likely and 2 * len(likely) >= len(lines):
            return positional(max(likely, key=len), delimiter, unit)
    return None


def is_number(text: str) -> bool:
    """Whether a cell is a number in some notation."""
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def without_comments(lines: Iterator[Line]) -> Iterator[Line]:
    """The lines that are data."""
    return (line for line in lines if not line.text.lstrip().startswith(COMMENTS))


def copies_of_cells(cells: Sequence[str], layout: TableLayout, number: int) -> list[MessageRecord]:
    """The copies that a line of these cells stands for; it is the one with this number."""
    places = layout.places
    if len(cells) < COLUMNS_MIN:
        raise InvalidRecordError("fewer than three columns")
    values = {role: cells[place] for role, place in places.items() if place < len(cells)}
    sent_ns = time_of(values.get(TIME), layout.time_unit_ns, "time")
    received_ns = None
    if values.get(RECEIVED):
        received_ns = time_of(values[RECEIVED], layout.received_unit_ns, "receive time")
    return copies_of(
        sender=values.get(SENDER),
        receivers=parts_of(values.get(RECEIVERS, "")),
        sent_ns=sent_ns,
        received_ns=received_ns,
        label=values.get(LABEL) if LABEL in places else None,
        causes=parts_of(values.get(CAUSES, "")) if CAUSES in places else None,
        payload_bytes=values.get(BYTES),
        number=number,
        refers_to_lines=layout.refers_to_lines,
    )


def copies_of(
    *,
    sender: object,
    receivers: Sequence[object],
    sent_ns: int,
    received_ns: int | None,
    label: object,
    causes: Sequence[object] | None,
    payload_bytes: object,
    number: int,
    refers_to_lines: bool,
) -> list[MessageRecord]:
    """The copies of one message, or those of them that one line tells of; causes may be lines."""
    by = name_of(sender, "sender")
    names = [name_of(receiver, "receiver") for receiver in receivers]
    if not names:
        raise InvalidRecordError("no receiver")
    called = None if label is None or label == "" else name_of(str(label), "id")
    message = f"{sent_ns}" if called is None else f"{sent_ns}/{called}"
    line = LINE if refers_to_lines else ""
    waits = None if causes is None else [line + name_of(str(cause), "cause") for cause in causes]
    size = size_of(payload_bytes)
    return [
        MessageRecord(
            message=message,
            label=None if causes is None else called or f"{LINE}{number}",
            sender=by,
            receiver=name,
            sent_ns=sent_ns,
            received_ns=received_ns,
            causes=waits,
            payload_bytes=size,
        )
        for name in names
    ]


def parts_of(cell: str) -> list[str]:
    """What a cell lists."""
    return [part.strip() for part in SEPARATORS.split(cell) if part.strip()]


def size_of(value: object) -> int:
    """The size of a payload; 0 if it is not known."""
    if value is None or value == "":
        return 0
    size = whole_number(value)
    if size is None or not 0 <= size <= INT32_MAX:
        raise InvalidRecordError("size is not a number of bytes")
    return size


def time_of(value: object, unit_ns: int, what: str) -> int:
    """A point in time in nanoseconds: a number of units, a date, or the text of one of these."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return in_range((moment - UNIX_EPOCH) // timedelta(microseconds=1) * 1_000, what)
    number = whole_number(value)
    if number is not None:
        return in_range(number * unit_ns, what, unit_ns)
    if isinstance(value, str) and "-" in value[1:] and "e-" not in value.lower():
        return date_of(value.strip(), what)
    if not isinstance(value, str | int | float | Decimal) or isinstance(value, bool):
        raise InvalidRecordError(f"no {what}")
    return fraction_of(str(value), unit_ns, what)


def date_of(text: str, what: str) -> int:
    """A date in ISO 8601, in nanoseconds; `datetime` knows none shorter than a microsecond."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRecordError(f"{what} is not a time") from None
    finer = NANOSECONDS.search(text)
    return time_of(moment, 1, what) + (int(finer[1].ljust(3, "0")) if finer else 0)


def fraction_of(text: str, unit_ns: int, what: str) -> int:
    """A number of units with a fraction, exactly."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InvalidRecordError(f"{what} is not a time") from None
    if not number.is_finite() or number.adjusted() > 20:
        raise InvalidRecordError(f"{what} {TOO_FAR}")
    return in_range(round(number * unit_ns), what, unit_ns)


def in_range(time_ns: int, what: str, unit_ns: int | None = None) -> int:
    """The time if it is one that can be calculated with; dates have no unit."""
    if abs(time_ns) > TIME_NS_MAX:
        better = "" if unit_ns is None else better_unit(abs(time_ns), unit_ns)
        raise InvalidRecordError(f"{what} {TOO_FAR}{better}")
    return time_ns


def better_unit(time_ns: int, unit_ns: int) -> str:
    """In which unit a time was read that is too far away, and the first in which it is not."""
    names = {each: name for name, each in UNITS_NS.items()}
    finer = [each for each in names if each < unit_ns]
    fits = next((each for each in finer if time_ns // unit_ns * each <= TIME_NS_MAX), None)
    advice = "" if fits is None else f", but not in {names[fits]} (--time-unit {names[fits]})"
    return f" in {names[unit_ns]}{advice}"


def copies_in_parquet(
    file: IO[bytes], unit: str | None, stretch: tuple[int, int] | None = None
) -> Iterator[MessageRecord | RejectRecord]:
    """The copies that every row stands for: of the whole file, or of the groups of rows that begin
    in a stretch of its bytes."""
    try:
        table = pq.ParquetFile(file)
        first = first_row(table)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        yield RejectRecord("", DAMAGED_PARQUET, "")
        return
    names = table.schema_arrow.names
    layout = named_layout(names, None, unit, first)
    if layout is None:
        yield RejectRecord(
            "", "no columns for sender, receivers and time", excerpt_of(", ".join(names))
        )
        return
    groups = range(table.num_row_groups) if stretch is None else groups_in(table, *stretch)
    number = sum(table.metadata.row_group(group).num_rows for group in range(groups.start))
    if not groups:
        return
    columns = [names[place] for place in layout.places.values()]
    try:
        for batch in table.iter_batches(PARQUET_ROWS, row_groups=[*groups], columns=columns):
            yield from copies_of_batch(batch, layout, names, number)
            number += len(batch)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        yield RejectRecord(f"row {number + 1}", DAMAGED_PARQUET, "")


def groups_in(table: Any, start: int, end: int) -> range:  # noqa: ANN401 pyarrow has no types
    """The groups of rows that begin in a stretch of the file; without an end, to the last."""
    chunks = [table.metadata.row_group(group).column(0) for group in range(table.num_row_groups)]
    begins = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
    after = len(begins) if end < 0 else bisect_left(begins, end)
    return range(bisect_left(begins, start), after)


def first_row(table: Any) -> list[object]:  # noqa: ANN401 pyarrow has no types
    """The values of the first row, if there is one; whatever part is read, the unit is the same."""
    batch = next(table.iter_batches(1), None)
    return [] if batch is None else [column.to_pylist()[0] for column in batch.columns]


def copies_of_batch(
    batch: Any,  # noqa: ANN401 pyarrow has no types
    layout: TableLayout,
    names: Sequence[str],
    number: int,
) -> Iterator[MessageRecord | RejectRecord]:
    """The copies of a batch of rows that comes after so many others."""
    roles = {names[place]: role for role, place in layout.places.items()}
    columns = {roles[name]: values_of(batch.column(name)) for name in batch.schema.names}
    for row in range(len(batch)):
        fields = {role: values[row] for role, values in columns.items()}
        try:
            yield from copies_of_row(fields, layout, number + row + 1)
        except InvalidRecordError as error:
            yield RejectRecord(f"row {number + row + 1}", str(error), excerpt_of(fields))


def values_of(column: Any) -> list[object]:  # noqa: ANN401 pyarrow has no types
    """The values of a column; points in time as nanoseconds."""
    if pa.types.is_timestamp(column.type):
        unit_ns = UNITS_NS[column.type.unit]
        units = column.cast(pa.int64()).to_pylist()
        return [None if count is None else Nanoseconds(count * unit_ns) for count in units]
    values: list[object] = column.to_pylist()
    return values


class Nanoseconds(int):
    """A number of nanoseconds, whatever unit the table is said to use."""


def copies_of_row(
    fields: dict[str, object], layout: TableLayout, number: int
) -> list[MessageRecord]:
    """The copies that one row stands for."""
    received = fields.get(RECEIVED)
    return copies_of(
        sender=as_name(fields.get(SENDER)),
        receivers=as_names(fields.get(RECEIVERS)),
        sent_ns=as_time(fields.get(TIME), layout.time_unit_ns, "time"),
        received_ns=None
        if received is None
        else as_time(received, layout.received_unit_ns, "receive time"),
        label=as_name(fields.get(LABEL)),
        causes=as_names(fields.get(CAUSES)) if CAUSES in layout.places else None,
        payload_bytes=fields.get(BYTES),
        number=number,
        refers_to_lines=layout.refers_to_lines,
    )


def as_time(value: object, unit_ns: int, what: str) -> int:
    """A point in time in nanoseconds."""
    if isinstance(value, Nanoseconds):
        return in_range(int(value), what)
    return time_of(value, unit_ns, what)


def as_name(value: object) -> object:
    """A number as the name it stands for."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def as_names(value: object) -> list[object]:
    """The names in a list, or in a text that lists them."""
    if value is None:
        return []
    if isinstance(value, list):
        return [as_name(entry) for entry in value]
    name = as_name(value)
    return [*parts_of(name)] if isinstance(name, str) else [name]
