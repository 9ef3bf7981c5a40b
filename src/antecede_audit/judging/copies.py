"""Rows and copies as columns: what crosses from Spark into Python, and from there to the kernel.

A copy is a message at one process: submitted to it, delivered at it, or, as it should be, both.
Everything is a 64-bit integer; a position of `NEVER` says that the event does not exist. Times come
twice: as they were recorded, for reports, and by the clock that events are judged by, which is the
same unless clocks had to be repaired.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from antecede_audit.columns.packed_batch import pack_integers, unpack_integers

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
ArrowBatch: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

NEVER: Final = -1
INT_BITS: Final = 32
LATEST: Final = int(np.iinfo(np.int64).max)
GAPS_MAX: Final = 4
"""Numbers are looked up in a table if it has at most so many entries for each that is used."""

CLUSTER_MAX: Final = 1 << 40
"""Numbers further apart than this are renumbered first, so that sums of them cannot overflow."""

SORTED_BITS: Final = 62
"""So many bits of a key and of its place fit an integer."""

SHORT_BITS: Final = 16
"""Keys of so many bits are put in order without comparing them."""

CLOCK: Final = "clock_ns"
TRACE: Final = "trace"
ROW_COLUMNS: Final = ("run", "channel", "sequence", "delivered", "position", "time_ns")
"""What is needed of each row; `CLOCK` and `TRACE` come along where there are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Submissions, one for each target, and deliveries."""

    run: Integers
    """A number that stands for the run."""
    sender: Integers
    sequence: Integers
    process: Integers
    """Where the copy is to be, or was, delivered; `NEVER` for a message to nobody."""
    delivered: Flags
    """Whether this is the delivery; else it is the submission."""
    position: Integers
    time_ns: Integers
    """As it was recorded."""
    clock_ns: Integers
    """As it is judged."""
    trace: Integers
    """A number that stands for the trace; 0 if there is none."""

    def __len__(self) -> int:
        return len(self.run)

    def chosen(self, which: Flags | Integers | slice) -> Self:
        """The rows that are flagged, or those with these numbers."""
        return type(self)(**{name: getattr(self, name)[which] for name in ROW_FIELDS})

    def packed(self) -> bytes:
        """The rows as `of_packed` takes them."""
        return pack_integers(
            [
                self.run,
                self.sender,
                self.process,
                self.sequence,
                (self.position << 1) | self.delivered,
                self.time_ns,
                # Mostly zeros, which take no room.
                self.clock_ns - self.time_ns,
                self.trace,
            ]
        )

    @classmethod
    def of_packed(cls, contents: Iterable[Any]) -> Self:
        """All the rows in packed batches, one below the other."""
        run, sender, process, sequence, step, time_ns, moved_ns, trace = unpack_integers(
            contents, 8
        )
        return cls(
            run=run,
            sender=sender,
            sequence=sequence,
            process=process,
            delivered=(step & 1).astype(np.bool_),
            position=step >> 1,
            time_ns=time_ns,
            clock_ns=time_ns + moved_ns if moved_ns.any() else time_ns,
            trace=trace,
        )


def offset_of_each(process: Integers, offsets: Mapping[int, int]) -> Integers:
    """What is added to the clock of each of these processes: 0 unless it is said."""
    known = np.array(sorted(offsets.items()), np.int64).reshape(-1, 2)
    if not len(known):
        return np.zeros_like(process)
    place = np.minimum(np.searchsorted(known[:, 0], process), len(known) - 1)
    return np.where(known[place, 0] == process, known[place, 1], 0)


ROW_FIELDS: Final = tuple(field.name for field in fields(Rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Some copies, a column each of equal length."""

    run: Integers
    sender: Integers
    sequence: Integers
    process: Integers
    """Where it is to be, or was, delivered; `NEVER` for a message to nobody."""
    submitted_position: Integers
    submitted_ns: Integers
    submitted_clock_ns: Integers
    submitted_trace: Integers
    delivered_position: Integers
    """Of the first delivery."""
    delivered_ns: Integers
    delivered_clock_ns: Integers
    delivered_trace: Integers
    deliveries: Integers
    last_delivered_ns: Integers

    def __len__(self) -> int:
        return len(self.run)

    def chosen(self, which: Flags | Integers) -> Self:
        """The copies that are flagged, or those with these numbers."""
        return type(self)(**{name: getattr(self, name)[which] for name in COLUMNS})

    def replaced(self, **columns: Integers) -> Self:
        """The same copies, some columns of which are these instead."""
        return replace(self, **columns)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All of them, one below the other."""
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
        )

    def packed(self) -> bytes:
        """The copies as `of_packed` takes them."""
        return pack_integers([getattr(self, name) for name in COLUMNS])

    @classmethod
    def of_packed(cls, content: Any) -> Self:  # noqa: ANN401 pyarrow has no types
        """The copies in a packed batch."""
        columns = unpack_integers([content], len(COLUMNS))
        return cls(**dict(zip(COLUMNS, columns, strict=True)))


COLUMNS: Final = tuple(field.name for field in fields(Copies))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiesOfRows:
    """Rows put together: their copies, and which row is part of which."""

    copies: Copies
    of_row: Integers
    """The number of each row's copy."""
    messages: Integers
    """The number of each copy's message; those of one message follow each other."""


def gather_copies(rows: Rows) -> CopiesOfRows:
    """The copies of these rows: one for each message and process, with the first of its events."""
    copy_key, message = copy_keys(rows)
    key = 2 * copy_key + rows.delivered
    order = stable_order(key)
    changes = np.diff(key[order], prepend=NEVER) != 0
    if not changes.all():
        # Something is submitted or delivered twice: the first by position counts.
        order = np.lexsort((rows.position, key))
        changes = np.diff(key[order], prepend=NEVER) != 0
    is_new = np.diff(key[order] >> 1, prepend=NEVER) != 0
    number = np.cumsum(is_new) - 1
    count = int(number[-1]) + 1 if len(number) else 0
    first = order[is_new]
    of_row = np.empty(len(order), np.int64)
    of_row[order] = number
    is_delivery = rows.delivered[order]
    begins, ends = order[changes & ~is_delivery], order[changes & is_delivery]
    columns = {"deliveries": np.bincount(number[is_delivery], minlength=count)}
    traced = rows.trace.any()
    for name, chosen in (("submitted", begins), ("delivered", ends)):
        at = of_row[chosen]
        columns[f"{name}_position"] = scattered(count, at, rows.position[chosen], NEVER)
        columns[f"{name}_ns"] = times_ns = scattered(count, at, rows.time_ns[chosen])
        columns[f"{name}_clock_ns"] = (
            times_ns
            if rows.clock_ns is rows.time_ns
            else scattered(count, at, rows.clock_ns[chosen])
        )
        columns[f"{name}_trace"] = (
            scattered(count, at, rows.trace[chosen]) if traced else np.zeros(count, np.int64)
        )
    last = np.zeros(count, np.int64)
    last[number[is_delivery]] = rows.time_ns[order[is_delivery]]
    copies = Copies(
        run=rows.run[first],
        sender=rows.sender[first],
        sequence=rows.sequence[first],
        process=rows.process[first],
        last_delivered_ns=last,
        **columns,
    )
    return CopiesOfRows(copies=copies, of_row=of_row, messages=message[first])


def scattered(count: int, at: Integers, values: Integers, missing: int = 0) -> Integers:
    """So many numbers, with these values at these places."""
    numbers: Integers = np.full(count, missing, np.int64)
    numbers[at] = values
    return numbers


def extremes(group: Integers, values: Integers, count: int) -> tuple[Integers, Integers]:
    """The least and the greatest value of each of so many groups."""
    low, high = np.full(count, LATEST), np.full(count, -LATEST)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return low, high


def copy_keys(rows: Rows) -> tuple[Integers, Integers]:
    """Equal for rows about the same message and process, different for others; and for messages.

    Messages are numbered from 0, and keys grow with them.
    """
    senders, _ = dense_ranks(process_keys(rows.run, rows.sender))
    processes, count = dense_ranks(process_keys(rows.run, rows.process))
    messages, _ = dense_ranks(pair_keys(senders, rows.sequence))
    return messages * max(1, count) + processes, messages


def process_keys(run: Integers, process: Integers) -> Integers:
    """A number for each process of each run."""
    low = int(run.min(initial=0))
    if int(run.max(initial=0)) == low:
        return process
    return (run - low) * (int(process.max(initial=0)) + 2) + process


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


def column_of(table: ArrowBatch, name: str) -> Integers:
    """A column of an Arrow table as 64-bit integers; where there is none, `NEVER`."""
    values: Integers = table.column(name).fill_null(NEVER).to_numpy().astype(np.int64, copy=False)
    return values
