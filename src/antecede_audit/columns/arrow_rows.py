"""Between Arrow's columns and plain rows: what every stage that runs in Python needs.

Only columns cross into a Python worker. Where a stage has to look at rows there, it reads tuples,
group by group if its input is sorted by a key, and writes tuples.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Batch: TypeAlias = Any
"""A `pyarrow.RecordBatch`; pyarrow has no types."""
DataType: TypeAlias = Any
"""A type of Arrow's."""
Schema: TypeAlias = Any
"""A `pyarrow.Schema`."""
ArrowTable: TypeAlias = Any
"""A `pyarrow.Table`."""
Column: TypeAlias = Any
"""A `pyarrow.Array`."""
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Row: TypeAlias = tuple[Any, ...]

BATCH_ROWS: Final = 1 << 13


@contextmanager
def gc_disabled() -> Iterator[None]:
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


def conform(schema: Schema, known: Mapping[str, Any], others: Batch | None = None) -> Batch:
    """A batch of this schema: of columns that are known, in Arrow's form or numpy's; or else those
    of other rows; or else of nulls."""
    count = len(next(iter(known.values()))) if others is None else others.num_rows
    there = () if others is None else others.schema.names
    columns = []
    for field in schema:
        if field.name in known:
            value = known[field.name]
            is_plain = isinstance(value, np.ndarray)
            columns.append(pa.array(value, field.type) if is_plain else value)
        elif field.name in there:
            assert others is not None, "it has this column"
            columns.append(others[field.name])
        else:
            columns.append(pa.nulls(count, field.type))
    return pa.record_batch(columns, schema=schema)


def batch_of_columns(columns: Iterable[Any], schema: Schema) -> Batch:
    """A batch of values that Python or numpy has, column by column."""
    arrays = [pa.array(one, field.type) for one, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


def batch_of_rows(rows: Sequence[Row], schema: Schema) -> Batch:
    """The same of rows."""
    return batch_of_columns(zip(*rows, strict=True) if rows else [[]] * len(schema), schema)


def batches_of(rows: Iterable[Row], schema: Schema) -> Iterator[Batch]:
    """These rows, a batch at a time."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, BATCH_ROWS)):
        yield batch_of_rows(chunk, schema)


def rows_of(batches: Iterable[Batch], columns: Sequence[str]) -> Iterator[Row]:
    """The rows of all the batches, with these columns in this order."""
    for batch in batches:
        yield from zip(*[batch.column(name).to_pylist() for name in columns], strict=True)


def groups_of(rows: Iterable[Row], width: int) -> Iterator[tuple[Row, Iterator[Row]]]:
    """The rows that have their first `width` values in common; they must come together already."""
    return groupby(rows, key=lambda row: row[:width])


def are_valid(column: Column) -> Flags:
    """Which values are not null."""
    valid: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def concat_batches(batches: Sequence[Batch], schema: Schema) -> Batch:
    """All rows of some batches in one."""
    if len(batches) == 1:
        return batches[0]
    joined = pa.Table.from_batches(batches, schema).combine_chunks().to_batches()
    return joined[0] if joined else batch_of_rows([], schema)


def repeated(text: str, count: int) -> Any:  # noqa: ANN401 pyarrow has no types
    """The same text many times, which takes no more room than to say so."""
    return pa.DictionaryArray.from_arrays(pa.repeat(0, count).cast(pa.int32()), pa.array([text]))
