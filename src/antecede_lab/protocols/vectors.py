"""Sparse vectors of message counts: what vector and matrix clocks are made of.

A `Vector` is a value: it never changes, so a packet shares it with the process that sent it and
with all that received it, and a matrix is copied by copying references to its rows. It keeps what
a check or a comparison would otherwise have to look for entry by entry. Zeros are left out, which
makes equal vectors look equal.
"""

from collections.abc import Iterable
from typing import Final, final

from mypy_extensions import mypyc_attr


@final
@mypyc_attr(acyclic=True)
class Vector:
    """Counts by process id; a process that is not mentioned counts 0.

    `line` marks vectors that one process made one after the other, none smaller than the one
    before, so that two of them are compared by their totals. Whoever cannot promise that leaves it
    None. `encoded` is a place for the wire to keep this vector's bytes.
    """

    __slots__ = ("counts", "encoded", "highest", "least", "line", "lowest", "total")

    def __init__(self, counts: dict[int, int], line: object | None = None) -> None:
        self.counts: Final = counts
        self.line: Final = line
        self.total: Final = sum(counts.values())
        self.least: Final = min(counts.values()) if counts else 0
        self.lowest: Final = min(counts) if counts else 0
        self.highest: Final = max(counts) if counts else 0
        self.encoded: bytes | None = None

    def remember_encoded(self, encoded: bytes) -> None:
        """These are its bytes on the wire."""
        self.encoded = encoded

    def get(self, process: int) -> int:
        """The count of `process`."""
        return self.counts.get(process, 0)

    def plus(self, processes: Iterable[int], line: object | None = None) -> "Vector":
        """A vector that counts one more for each of `processes`."""
        counts = dict(self.counts)
        for process in processes:
            counts[process] = counts.get(process, 0) + 1
        return Vector(counts, line)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.counts == other.counts

    def __hash__(self) -> int:
        return hash((self.total, len(self.counts)))

    def __repr__(self) -> str:
        return f"Vector({dict(sorted(self.counts.items()))})"


EMPTY: Final = Vector({})
"""Counts nothing."""


def maximum(mine: Vector, theirs: Vector) -> Vector:
    """The greater count of each process; one of the two themselves wherever that is possible."""
    if mine is theirs:
        return mine
    if mine.line is not None and mine.line is theirs.line:
        return mine if mine.total >= theirs.total else theirs
    counts = mine.counts
    if not counts:
        return theirs
    raised: dict[int, int] = {}
    for process, count in theirs.counts.items():
        if count > counts.get(process, 0):
            raised[process] = count
    if not raised:
        return mine
    merged = counts | raised
    return theirs if merged == theirs.counts else Vector(merged)


def counts_of(vectors: dict[int, Vector], of: int) -> list[tuple[int, int]]:
    """The column `of` of a matrix: each row's id and what it counts of `of`, where not 0."""
    column: list[tuple[int, int]] = []
    for process, vector in vectors.items():
        count = vector.counts.get(of, 0)
        if count > 0:
            column.append((process, count))
    return column
