"""The paper's sliding data structures: windows over an ever growing sequence.

Each numbers its elements 1, 2, 3, … for ever and keeps those from `first` up to, not including,
`next`. A `SlidingArray` removes only its oldest element. Every operation takes amortised constant
time. (`antecede_lab.protocols.sliding_maps` has the paper's maps.)

The paper proposes a small array of pointers to chunks; shifting those pointers costs steps that
grow with the window, so the window lives in a ring instead, whose size is a power of two and which
doubles when full and halves when seven eighths empty, unless it is small.

The ring is a `SlidingWindow`, whatever is in it. `SlidingArray` says so for any type of element; a
class that says so for one type (`SentWindow`) is faster compiled, because compiled code trusts the
fields of a generic class less.
"""

from collections.abc import Iterator
from typing import ClassVar, Final, Generic, TypeVar, cast, final

from mypy_extensions import i64

from antecede.core.cloning import shown

Element = TypeVar("Element")

RING_SIZE_MIN: Final = 8

RING_SIZE_KEPT: Final = 256
"""A ring of up to 256 places stays as it is when it empties: bursts come again."""


class SlidingWindow:
    """The ring: a subclass says what is in it, and reads it."""

    MADE_OF: ClassVar[tuple[str, ...]] = ("first",)

    __slots__ = ("_mask", "_ring", "first", "next")

    def __init__(self, first: i64 = 1) -> None:
        self.first: i64 = first
        self.next: i64 = first
        self._mask: i64 = RING_SIZE_MIN - 1
        self._ring: list[object] = [None] * RING_SIZE_MIN

    def _append(self, element: object) -> None:
        if self.next - self.first > self._mask:
            self._resize(2 * (self._mask + 1))
        # A place is worked out before the ring is touched: the ring is then only borrowed.
        place = self.next & self._mask
        self._ring[place] = element
        self.next += 1

    def _remove_first(self) -> object:
        if self.first == self.next:
            raise IndexError("remove from an empty sliding array")
        place = self.first & self._mask
        element, self._ring[place] = self._ring[place], None
        self.first += 1
        if self._mask >= RING_SIZE_KEPT and 8 * (self.next - self.first) <= self._mask + 1:
            self._resize((self._mask + 1) >> 1)
        return element

    def __len__(self) -> int:
        return self.next - self.first

    def _resize(self, capacity: i64) -> None:
        ring: list[object] = [None] * capacity
        mask = capacity - 1
        index = self.first
        while index < self.next:
            ring[index & mask] = self._ring[index & self._mask]
            index += 1
        self._ring = ring
        self._mask = mask


@final
class SlidingArray(SlidingWindow, Generic[Element]):
    """A window of elements: add at the end, remove at the front, read anywhere."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """How many elements are in the window."""
        return self.next - self.first

    def add(self, element: Element) -> None:
        """Append at index `next`."""
        self._append(element)

    def remove(self) -> Element:
        """Remove and return the oldest element."""
        return cast(Element, self._remove_first())

    def peek(self) -> Element:
        """The oldest element."""
        if self.first == self.next:
            raise IndexError("peek into an empty sliding array")
        place = self.first & self._mask
        return cast(Element, self._ring[place])

    def at(self, index: i64) -> Element:
        """The element at `index`, which must be inside the window."""
        if index < self.first or index >= self.next:
            raise IndexError(f"index {index} is outside {self.first} <= index < {self.next}")
        place = index & self._mask
        return cast(Element, self._ring[place])

    def __getitem__(self, index: int) -> Element:
        return self.at(index)

    def __setitem__(self, index: int, element: Element) -> None:
        if index < self.first or index >= self.next:
            raise IndexError(f"index {index} is outside {self.first} <= index < {self.next}")
        self._ring[index & self._mask] = element

    def __iter__(self) -> Iterator[Element]:
        index = self.first
        while index < self.next:
            yield self.at(index)
            index += 1

    def state(self) -> object:
        """Which indexes are in the window, and what is there."""
        return self.first, self.next, [shown(element) for element in self]
