"""Columns of numbers: ranked, sorted, grouped, and out of Arrow's columns."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Flags, Integers

LATEST: Final = int(np.iinfo(np.int64).max)
"""After any time."""

ABSENT: Final = -1
"""What stands for a null: no number, position or code of a text is less than 0."""

GAPS_MAX: Final = 4
"""Numbers are looked up in a table if it has at most 4 entries for each that is used."""

CLUSTER_MAX: Final = 1 << 40
"""Numbers further apart than this are renumbered first, so that sums of them cannot overflow."""

SORTED_BITS: Final = 62
"""A key and its place fit an integer if they have at most 62 bits together."""

SHORT_BITS: Final = 16
"""Keys of at most 16 bits are put in order without comparing them."""


def dense_ranks(keys: Integers) -> tuple[Integers, int]:
    """Equal keys as equal numbers, from 0 in the order of the keys, and how many there are."""
    if not len(keys):
        return keys, 0
    low = keys.min()
    span = int(keys.max()) - int(low) + 1
    if span > GAPS_MAX * len(keys):
        unique, numbers = np.unique(keys, return_inverse=True)
        return numbers, len(unique)
    used = np.zeros(span, np.int64)
    used[keys - low] = 1
    number = np.cumsum(used) - 1
    return number[keys - low], int(number[-1]) + 1


def stable_order(keys: Integers) -> Integers:
    """Where the smallest key stands, the next one, and so on; equal ones as they stand."""
    bits = len(keys).bit_length()
    span = (int(keys.max()) - int(keys.min())).bit_length() if len(keys) else 0
    if span <= SHORT_BITS and len(keys):
        return np.argsort((keys - keys.min()).astype(np.uint16), kind="stable")
    if not len(keys) or span + bits > SORTED_BITS:
        return np.argsort(keys, kind="stable")
    # Sorting numbers is twice as fast as sorting places by them.
    packed = ((keys - keys.min()) << bits) | np.arange(len(keys))
    packed.sort()
    order: Integers = packed & ((1 << bits) - 1)
    return order


def equal_runs(numbers: Integers) -> list[tuple[int, int]]:
    """Where each stretch of equal numbers begins and ends."""
    if not len(numbers):
        return []
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
    return list(zip(starts, [*starts[1:], len(numbers)], strict=True))


def pair_keys(first: Integers, second: Integers) -> Integers:
    """A key for each pair, with few gaps: `first` are small numbers, `second` cluster by them."""
    if len(second) and float(second.max()) - float(second.min()) > CLUSTER_MAX:
        second, _ = dense_ranks(second)
    groups = int(first.max()) + 1 if len(first) else 0
    low, high = extremes(first, second, groups)
    width = np.maximum(high - low + 1, 0)
    base = np.cumsum(width) - width
    keys: Integers = base[first] + second - low[first]
    return keys


def scattered(count: int, at: Integers, values: Integers, missing: int = 0) -> Integers:
    """An array of `count` numbers, with these values at these places."""
    numbers: Integers = np.full(count, missing, np.int64)
    numbers[at] = values
    return numbers


def extremes(group: Integers, values: Integers, count: int) -> tuple[Integers, Integers]:
    """The least and the greatest value of each of `count` groups."""
    low, high = np.full(count, LATEST), np.full(count, -LATEST)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return low, high


def offset_of_each(process: Integers, offsets: Mapping[int, int]) -> Integers:
    """What is added to the clock of each of these processes: 0 unless it is said."""
    known = np.array(sorted(offsets.items()), np.int64).reshape(-1, 2)
    if not len(known):
        return np.zeros_like(process)
    place = np.minimum(np.searchsorted(known[:, 0], process), len(known) - 1)
    return np.where(known[place, 0] == process, known[place, 1], 0)


def dictionary_codes(column: Any) -> tuple[Integers, list[str]]:  # noqa: ANN401 pyarrow has no types
    """A number for each row's text, `NEVER` for none; and the texts."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(texts, pa.ChunkedArray):  # No chunk is left.
        return np.zeros(0, np.int64), []
    if not pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_encode()
    return integers_of(texts.indices, ABSENT), texts.dictionary.to_pylist()


def integers_of(column: Any, missing: int) -> Integers:  # noqa: ANN401 pyarrow has no types
    """A column as 64-bit integers."""
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.int64())
    filled = pc.fill_null(column, missing) if column.null_count else column
    values: Integers = filled.to_numpy(**copy_allowed(filled)).astype(np.int64, copy=False)
    return values


def valid(column: Any) -> Flags:  # noqa: ANN401 pyarrow has no types
    """Which rows have something in this column."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    flags = pc.is_valid(column)
    found: Flags = flags.to_numpy(**copy_allowed(flags)).astype(np.bool_)
    return found


def copy_allowed(column: Any) -> dict[str, bool]:  # noqa: ANN401 pyarrow has no types
    """Arrays, unlike chunked ones, must be told that they may be copied."""
    return {} if isinstance(column, pa.ChunkedArray) else {"zero_copy_only": False}


def column_of(table: Any, name: str) -> Integers:  # noqa: ANN401 pyarrow has no types
    """A column of an Arrow table as 64-bit integers; where there is none, `ABSENT`."""
    return integers_of(table.column(name), ABSENT)
