"""The one binary format in which rows move through Spark: a packed batch, thousands of rows as one.

Spark moves rows. Turning columns into its rows, sorting and hashing these, and turning them back
into columns for Python costs more than everything an ingest does with them (91 instead of 16 µs a
span). So a row of Spark's, of the schema `PACKED`, holds up to `PACKED_ROWS` rows of one table for
one partition, and only its `content` knows them:

    number of rows            8 bytes
    for each column           8 bytes, its least value, and 8 bytes, its width
    integers                  column by column: what each is above the least, in 1, 2, 4 or 8 bytes
    all other columns         8 bytes, their size, and then Arrow's record batch, in LZ4

A column of equal integers has width 0. Columns of texts and lists, those that have nulls, and all
columns of a batch of few rows have the width `IN_ARROW`; without any there is no record batch.
Integers that are narrowed are as small as LZ4 makes them, in a tenth of the time; Spark copies a
batch several times on its way, which costs more than to make it small.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from antecede_audit.columns.arrow_rows import Batch, Column, Integers, Schema

PACKED: Final = pa.schema(
    [("table", pa.string()), ("partition", pa.int32()), ("content", pa.binary())]
)
"""Which table the rows are of, which partition of the next stage they are for, and a packed batch;
what is for no partition has number 0."""

PACKED_ROWS: Final = 1 << 16
"""A packed batch has at most 65,536 rows."""

NARROWED_ROWS: Final = 512
"""The integers of fewer than 512 rows are left to Arrow: to look at each column costs more."""

CODEC: Final = "lz4_raw"
WORD_BYTES: Final = 8
IN_ARROW: Final = -1
WIDTHS: Final = {0: "<u1", 1: "<u1", 2: "<u2", 4: "<u4", WORD_BYTES: "<i8"}
"""How many bytes an integer may take, and how it is written then."""


def pack(rows: Batch) -> bytes:
    """These rows as a packed batch."""
    narrowed = {
        name
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
        if rows.num_rows >= NARROWED_ROWS and is_plain(column)
    }
    columns = [rows[name].to_numpy() if name in narrowed else None for name in rows.schema.names]
    parts = narrowed_columns(columns, rows.num_rows)
    others = [name for name in rows.schema.names if name not in narrowed]
    if others:
        data = rows.select(others).serialize()
        parts += [as_word(data.size), pa.compress(data, CODEC, asbytes=True)]
    return b"".join(parts)


def pack_integers(columns: Sequence[Integers]) -> bytes:
    """Columns of integers, equally long and without names, as a packed batch."""
    return b"".join(narrowed_columns(columns, len(columns[0])))


def unpack(content: Any, schema: Schema) -> Batch:  # noqa: ANN401 pyarrow has no types
    """The rows in a packed batch, in a binary scalar of Arrow's."""
    data = content.as_buffer()
    count, head, place = head_of(data, len(schema))
    arrays: dict[str, Column] = {}
    for field, (low, width) in zip(schema, head, strict=True):
        if width != IN_ARROW:
            values = np.frombuffer(data, WIDTHS[width], count if width else 0, place)
            place += values.nbytes
            whole = np.add(values, low, dtype=np.int64) if width else np.full(count, low)
            arrays[field.name] = pa.array(whole.astype(field.type.to_pandas_dtype()), field.type)
    if len(arrays) == len(schema):
        return pa.record_batch([*arrays.values()], schema=schema)
    others = pa.schema([field for field in schema if field.name not in arrays])
    size = int.from_bytes(data[place : place + WORD_BYTES], "little")
    whole = pa.decompress(data.slice(place + WORD_BYTES), size, CODEC)
    rest = pa.ipc.read_record_batch(whole, others)
    if not arrays:
        return rest
    found = [arrays[name] if name in arrays else rest[name] for name in schema.names]
    return pa.record_batch(found, schema=schema)


def unpack_integers(contents: Iterable[Any], count: int) -> Integers:
    """The `count` columns of what `pack_integers` packed: each with the rows of all the batches,
    one below the other."""
    batches = [content.as_buffer() for content in contents]
    sizes = [int.from_bytes(data[:WORD_BYTES], "little") for data in batches]
    table: Integers = np.empty((count, sum(sizes)), np.int64)
    begin = 0
    for data, size in zip(batches, sizes, strict=True):
        _, head, place = head_of(data, count)
        for column, (low, width) in zip(table[:, begin : begin + size], head, strict=True):
            column[:] = low
            if width:
                column += np.frombuffer(data, WIDTHS[width], size, place)
            place += width * size
        begin += size
    return table


def packed_rows(table: str, partitions: Sequence[int], contents: Sequence[bytes]) -> Batch:
    """Rows of `PACKED`: packed batches of one table, each for its partition."""
    columns = [
        pa.repeat(table, len(contents)),
        pa.array(partitions, pa.int32()),
        pa.array(contents, pa.binary()),
    ]
    return pa.record_batch(columns, schema=PACKED)


def is_plain(column: Column) -> bool:
    """Whether a column of Arrow's can be narrowed."""
    return column.null_count == 0 and column.type in (pa.int64(), pa.int32())


def narrowed_columns(columns: Sequence[Integers | None], count: int) -> list[bytes]:
    """How a packed batch of so many rows begins; None stands for a column that is in Arrow's."""
    head = np.zeros((len(columns), 2), "<i8")
    parts = []
    for place, column in enumerate(columns):
        if column is None:
            head[place, 1] = IN_ARROW
            continue
        low, high = (int(column.min()), int(column.max())) if count else (0, 0)
        width = next((few for few in WIDTHS if high - low < 1 << (8 * few)), WORD_BYTES)
        if width == WORD_BYTES:
            low = 0
        head[place] = low, width
        if width:
            parts.append(np.subtract(column, low, dtype=np.int64).astype(WIDTHS[width]).tobytes())
    return [as_word(count), head.tobytes(), *parts]


def head_of(data: Any, columns: int) -> tuple[int, list[list[int]], int]:  # noqa: ANN401 pyarrow has no types
    """How many rows a packed batch has, the least value and the width of each column, and where the
    first of them begins."""
    count = int.from_bytes(data[:WORD_BYTES], "little")
    head = np.frombuffer(data, "<i8", 2 * columns, WORD_BYTES).reshape(columns, 2)
    return count, head.tolist(), WORD_BYTES + head.nbytes


def as_word(number: int) -> bytes:
    """A number in eight bytes."""
    return number.to_bytes(WORD_BYTES, "little")
