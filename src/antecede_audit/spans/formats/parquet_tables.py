"""Message tables as Parquet files: columns as in `tables`; lists may be lists, or texts."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import pyarrow as pa
from pyarrow import parquet as pq

from antecede_audit.spans.formats import message_tables as tables
from antecede_audit.spans.formats.records import (
    InvalidRecordError,
    MessageRecord,
    RejectRecord,
    excerpt_of,
)

BATCH_ROWS: Final = 1 << 14

DAMAGED: Final = "damaged Parquet file"


def copies_in(
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
        yield RejectRecord("", DAMAGED, "")
        return
    names = table.schema_arrow.names
    layout = tables.named_layout(names, None, unit, first)
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
        for batch in table.iter_batches(BATCH_ROWS, row_groups=[*groups], columns=columns):
            yield from copies_of_batch(batch, layout, names, number)
            number += len(batch)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        yield RejectRecord(f"row {number + 1}", DAMAGED, "")


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
    layout: tables.TableLayout,
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
        unit_ns = tables.UNITS_NS[column.type.unit]
        units = column.cast(pa.int64()).to_pylist()
        return [None if count is None else Nanoseconds(count * unit_ns) for count in units]
    values: list[object] = column.to_pylist()
    return values


class Nanoseconds(int):
    """A number of nanoseconds, whatever unit the table is said to use."""


def copies_of_row(
    fields: dict[str, object], layout: tables.TableLayout, number: int
) -> list[MessageRecord]:
    """The copies that one row stands for."""
    received = fields.get(tables.RECEIVED)
    return tables.copies_of(
        sender=as_name(fields.get(tables.SENDER)),
        receivers=as_names(fields.get(tables.RECEIVERS)),
        sent_ns=as_time(fields.get(tables.TIME), layout.time_unit_ns, "time"),
        received_ns=None
        if received is None
        else as_time(received, layout.received_unit_ns, "receive time"),
        label=as_name(fields.get(tables.LABEL)),
        causes=as_names(fields.get(tables.CAUSES)) if tables.CAUSES in layout.places else None,
        payload_bytes=fields.get(tables.BYTES),
        number=number,
        refers_to_lines=layout.refers_to_lines,
    )


def as_time(value: object, unit_ns: int, what: str) -> int:
    """A point in time in nanoseconds."""
    if isinstance(value, Nanoseconds):
        return tables.in_range(int(value), what)
    return tables.time_of(value, unit_ns, what)


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
    return [*tables.parts_of(name)] if isinstance(name, str) else [name]
