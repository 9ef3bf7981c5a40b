"""Rows and copies as columns: what crosses from Spark into Python, and from there to the kernel.

A copy is a message at one process: submitted to it, delivered at it, or, as it should be, both.
Everything is a 64-bit integer; a position of `NEVER` says that the event does not exist. Times come
twice: as they were recorded, for reports, and by the clock that events are judged by, which is the
same unless clocks had to be repaired.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self, TypeAlias

import numpy as np

from antecede_audit.columns.arrays import (
    ABSENT,
    dense_ranks,
    pair_keys,
    scattered,
    stable_order,
)
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.columns.packed_batch import pack_integers, unpack_integers

ArrowBatch: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

NEVER: Final = ABSENT
"""The position of an event that does not exist."""
INT_BITS: Final = 32
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
