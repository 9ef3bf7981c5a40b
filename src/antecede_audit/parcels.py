"""Columns in parcels: what moves between the stages of an ingest.

Spark moves rows. Turning columns into its rows, sorting and hashing these, and turning them back
into columns for Python costs more than everything an ingest does with them. So a stage packs
thousands of rows into one: a parcel says what sort of rows it holds and which task of the next
stage they are for, and its content is Arrow's own. Whoever moves, keeps and recovers parcels
(`moving`) looks into none: what is in them is nobody's business but that of the stages.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from antecede_audit.columns.arrow_rows import Batch, Integers, Schema, concat_batches

PARCELS: Final = pa.schema(
    [("sort", pa.string()), ("bucket", pa.int32()), ("content", pa.binary())]
)
"""Rows of one sort for one task of the next stage; what is not for a task is in bucket 0."""

PARCEL_ROWS: Final = 1 << 16
"""No parcel has more rows."""

CODEC: Final = "lz4_raw"
SIZE_BYTES: Final = 8

CHUNK_ROWS: Final = 1 << 17
"""So many rows are dealt with together where a stage goes through its rows in pieces."""


def keyed(sort: str, rows: Batch, bucket: Integers) -> Iterator[Batch]:
    """These rows, each packed for its bucket, as a batch of `PARCELS`."""
    order = np.argsort(bucket, kind="stable")
    numbers = bucket[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    yield from pack(sort, rows.take(pa.array(order)), starts.tolist(), numbers[starts])


def parcels_of_one(sort: str, rows: Batch, bucket: int = 0) -> Iterator[Batch]:
    """These rows, packed for one bucket."""
    return pack(sort, rows, [0], np.array([bucket]))


def pack(sort: str, rows: Batch, starts: list[int], buckets: Integers) -> Iterator[Batch]:
    """These rows, cut at these places, the first of which is 0, each piece for its bucket."""
    count = rows.num_rows
    if not count:
        return
    numbers = []
    contents = []
    for start, end, bucket in zip(starts, [*starts[1:], count], buckets.tolist(), strict=True):
        for begin in range(start, end, PARCEL_ROWS):
            contents.append(content_of(rows.slice(begin, min(PARCEL_ROWS, end - begin))))
            numbers.append(bucket)
    content = pa.array(contents, pa.binary())
    columns = [pa.repeat(sort, len(numbers)), pa.array(numbers, pa.int32()), content]
    yield pa.record_batch(columns, schema=PARCELS)


def content_of(rows: Batch) -> bytes:
    """What is in a parcel: how long it is, and then Arrow's own, compressed.

    Java copies each parcel several times on its way: that costs more than to have it smaller.
    """
    data = rows.serialize()
    size: int = data.size
    content: bytes = size.to_bytes(SIZE_BYTES, "little") + pa.compress(data, CODEC, asbytes=True)
    return content


def rows_of_content(content: Any, schema: Schema) -> Batch:  # noqa: ANN401 pyarrow has no types
    """The rows in a parcel."""
    data = content.as_buffer()
    length = int.from_bytes(data[:SIZE_BYTES], "little")
    whole = pa.decompress(data.slice(SIZE_BYTES), length, CODEC)
    return pa.ipc.read_record_batch(whole, schema)


def row_chunks(
    batches: Iterable[Batch], schema: Schema, *, apart: bool = True
) -> Iterator[tuple[int, Batch]]:
    """The rows in parcels of one sort, many at a time, and their bucket, if those of different
    buckets are to be kept apart."""
    pending: list[Batch] = []
    rows = 0
    current = -1
    for batch in batches:
        for bucket, content in zip(batch["bucket"].to_pylist(), batch["content"], strict=True):
            if pending and ((apart and bucket != current) or rows >= CHUNK_ROWS):
                yield current, concat_batches(pending, schema)
                pending, rows = [], 0
            current = bucket
            pending.append(rows_of_content(content, schema))
            rows += pending[-1].num_rows
    if pending:
        yield current, concat_batches(pending, schema)


def tables_of_partition(
    batches: Iterable[Batch], schemas: Mapping[str, Schema]
) -> tuple[int, dict[str, Batch]]:
    """All rows in these parcels by their sort, and the bucket of the last."""
    found: dict[str, list[Batch]] = {sort: [] for sort in schemas}
    bucket = 0
    for batch in batches:
        columns = (batch["sort"].to_pylist(), batch["bucket"].to_pylist(), batch["content"])
        for sort, number, content in zip(*columns, strict=True):
            bucket = number
            found[sort].append(rows_of_content(content, schemas[sort]))
    return bucket, {sort: concat_batches(rows, schemas[sort]) for sort, rows in found.items()}


def unpacked(batches: Iterable[Batch], schema: Schema) -> Iterator[Batch]:
    """The rows in parcels of one sort."""
    return (rows for _, rows in row_chunks(batches, schema, apart=False))
