"""Copies as columns: what crosses from Spark into Python, and from there to the kernel.

A copy is a message at one process: submitted to it, delivered at it, or, as it should be, both.
Everything is a 64-bit integer; a position of `NEVER` says that the event does not exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
ArrowBatch: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

NEVER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Some copies, a column each of equal length."""

    run: Integers
    """A number that stands for the run."""
    sender: Integers
    sequence: Integers
    process: Integers
    """Where it is to be, or was, delivered; `NEVER` for a message to nobody."""
    submitted_position: Integers
    submitted_ns: Integers
    delivered_position: Integers
    """Of the first delivery."""
    delivered_ns: Integers
    deliveries: Integers
    last_delivered_ns: Integers
    overtaken: Integers
    """1 if it was delivered after something submitted later or at the same time, else 0."""

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

    @classmethod
    def of_batches(cls, batches: list[ArrowBatch]) -> Self:
        """The copies in Arrow batches, which may have other columns, too."""
        table = pa.Table.from_batches(batches)
        return cls(**{name: column_of(table, name) for name in COLUMNS})


COLUMNS: Final = tuple(field.name for field in fields(Copies))


def column_of(table: ArrowBatch, name: str) -> Integers:
    """A column of an Arrow table, without nulls, as 64-bit integers."""
    values: Integers = table.column(name).to_numpy().astype(np.int64, copy=False)
    return values
