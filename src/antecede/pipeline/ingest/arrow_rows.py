"""Between Spark's Arrow batches and plain rows: what every stage that runs in Python needs.

Only columns cross into a Python worker. A stage there reads tuples, group by group where its input
is sorted by a key, and writes tuples; nothing is kept but the group at hand and one batch.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

Batch: TypeAlias = Any
"""A `pyarrow.RecordBatch`; pyarrow has no types."""
Row: TypeAlias = tuple[Any, ...]

BATCH_ROWS: Final = 1 << 13

ARROW_TYPES: Final[dict[type[DataType], Any]] = {
    BinaryType: pa.binary(),
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    StringType: pa.string(),
}


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Meanwhile Python does not look for cycles of objects, which rows never are part of.

    It would look at millions of them again and again: that is more than half of the time.
    """
    was_awake = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_awake:
            gc.enable()


def at_rest(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches, made while the collector is at rest."""
    with collector_at_rest():
        yield from batches


def arrow_type(kind: DataType) -> Any:  # noqa: ANN401 pyarrow has no types
    """The Arrow type that Spark expects for one of its own."""
    if isinstance(kind, ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, MapType):
        return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
    if isinstance(kind, StructType):
        return pa.struct([(field.name, arrow_type(field.dataType)) for field in kind.fields])
    return ARROW_TYPES[type(kind)]


def arrow_schema(schema: StructType) -> Any:  # noqa: ANN401 pyarrow has no types
    """The Arrow schema of a table."""
    return pa.schema([(field.name, arrow_type(field.dataType)) for field in schema.fields])


def rows_of(batches: Iterable[Batch], columns: Sequence[str]) -> Iterator[Row]:
    """The rows of all the batches, with these columns in this order."""
    for batch in batches:
        yield from zip(*[batch.column(name).to_pylist() for name in columns], strict=True)


def groups_of(rows: Iterable[Row], width: int) -> Iterator[tuple[Row, Iterator[Row]]]:
    """The rows that have their first `width` values in common; they must come together already."""
    return groupby(rows, key=lambda row: row[:width])


def batches_of(rows: Iterable[Row], schema: StructType) -> Iterator[Batch]:
    """These rows, a batch at a time."""
    target = arrow_schema(schema)
    remaining = iter(rows)
    while chunk := list(islice(remaining, BATCH_ROWS)):
        columns = zip(*chunk, strict=True)
        arrays = [
            pa.array(values, field.type) for values, field in zip(columns, target, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)
