"""Sliding structures: the ring that is used, and the chunks and bits that the paper draws.

`python -m bench structures` fills a window to its size, lets it slide, an addition and a removal in
turn, and empties it. It prints, for each structure and size: executed lines per operation while it
slides and in the worst single one of them; what one operation moves when storage is made larger,
smaller or dropped (elements of the ring, pointers to chunks), on average over the whole life and at
worst; bytes that the containers take per element while it slides, and in all when a hundred
elements are left. Elements and the map from keys to indexes are the same for all, and not counted.
Of the maps, every hundredth key is removed late: the window is a hundred times what is in it.
"""

import json
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.chunked import BitSlidingMap, ChunkedArray, ChunkedIndexedMap
from antecede_lab.protocols.sliding_maps import IndexedSlidingMap
from tests.papers.counting import LineCounter

SIZES: Final = (1_000, 10_000, 1_000_000)
TRACED: Final = 2_048
LEFT: Final = 100
LATE: Final = 100
FILES: Final = ("sliding.py", "sliding_maps.py", "chunked.py")

Map: TypeAlias = IndexedSlidingMap[int] | ChunkedIndexedMap[int] | BitSlidingMap[int]
Window: TypeAlias = SlidingArray[int] | ChunkedArray[int] | Map
Ring: TypeAlias = SlidingArray[int] | SlidingArray[int | None]
Chunks: TypeAlias = ChunkedArray[int] | ChunkedArray[int | None]


def storage_of(window: Window) -> Ring | Chunks:
    """The array inside: of elements, of optional keys, or of words of bits."""
    if isinstance(window, BitSlidingMap):
        return window.bits._words
    if isinstance(window, (IndexedSlidingMap, ChunkedIndexedMap)):
        return window._keys
    return window


def bytes_of(window: Window) -> int:
    """What the containers of a window take, without what is in them; words of bits count."""
    inside = storage_of(window)
    if isinstance(inside, SlidingArray):
        return sys.getsizeof(inside._ring)
    total = sys.getsizeof(inside._chunks) + sum(map(sys.getsizeof, inside._chunks))
    return total + (sum(map(sys.getsizeof, inside)) if isinstance(window, BitSlidingMap) else 0)


class Moves:
    """What operations move, told from the outside."""

    def __init__(self, window: Window) -> None:
        self._inside = storage_of(window)
        self.total = self.worst = self.operations = 0
        self._before = self._state()

    def _state(self) -> int:
        inside = self._inside
        return len(inside._ring) if isinstance(inside, SlidingArray) else inside.moved

    def note(self) -> None:
        """One operation is over: a ring of another size has moved all that is in it."""
        now = self._state()
        moved = 0
        if now != self._before:
            ring = isinstance(self._inside, SlidingArray)
            moved = len(self._inside) if ring else now - self._before
        self._before = now
        self.operations += 1
        self.total += moved
        self.worst = max(self.worst, moved)


def measured(window: Window, size: int, remove: Callable[[int], object]) -> dict[str, float]:
    """One life of a window: filled, sliding, emptied. `remove` takes the number of the turn."""
    moves = Moves(window)
    counter = LineCounter(*FILES)
    lines: list[int] = []
    for number in range(size):
        window.add(number)
        moves.note()
    for turn in range(size):
        if turn % max(1, size // TRACED) == 0 or turn < TRACED // 2:
            lines.append(counter.run(window.add, size + turn))
            moves.note()
            lines.append(counter.run(remove, turn))
        else:
            window.add(size + turn)
            moves.note()
            remove(turn)
        moves.note()
    taken = bytes_of(window)
    for turn in range(size, 2 * size - LEFT):
        remove(turn)
        moves.note()
    return {
        "lines": round(sum(lines) / len(lines), 1),
        "lines_worst": max(lines),
        "moved": round(moves.total / moves.operations, 2),
        "moved_worst": moves.worst,
        "bytes_each": round(taken / size, 2),
        "bytes_left": bytes_of(window),
    }


def oldest_of(array: SlidingArray[int] | ChunkedArray[int]) -> Callable[[int], object]:
    """Removes the oldest element in every turn."""

    def remove(_turn: int) -> object:
        return array.remove()

    return remove


def late_keys(window: Map) -> Callable[[int], object]:
    """Removes keys by turn, every hundredth one a hundred turns after those that follow it."""

    def remove(turn: int) -> object:
        return window.remove(turn - LATE if turn % LATE == 0 else turn)

    return remove


def main() -> None:
    """A table as JSON, by structure and size."""
    rows: dict[str, dict[int, dict[str, float]]] = {}
    for size in SIZES:
        for array in (SlidingArray[int](), ChunkedArray[int]()):
            row = measured(array, size, oldest_of(array))
            rows.setdefault(type(array).__name__, {})[size] = row
        for window in (IndexedSlidingMap[int](), ChunkedIndexedMap[int](), BitSlidingMap[int]()):
            row = measured(window, size, late_keys(window))
            rows.setdefault(type(window).__name__, {})[size] = row
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
