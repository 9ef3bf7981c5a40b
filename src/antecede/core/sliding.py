"""The paper's sliding data structures: windows over an ever growing sequence.

All three number their elements 1, 2, 3, … for ever and keep those from `first` up to, not
including, `next`. A `SlidingArray` removes only its oldest element; a `SlidingMap` removes any by
key and slides over the holes; an `IndexedSlidingMap` can also be read by index. Every operation
takes amortised constant time.

The paper proposes a small array of pointers to chunks; shifting those pointers costs steps that
grow with the window, so the window lives in a ring instead, whose size is a power of two and which
doubles when full and halves when seven eighths empty, unless it is small.
"""

from collections.abc import Iterator
from typing import ClassVar, Final, Generic, TypeVar, cast, final

from mypy_extensions import i64

from antecede.core.cloning import shown

Element = TypeVar("Element")

RING_SIZE_MIN: Final = 8

RING_SIZE_KEPT: Final = 256
"""A ring of up to 256 places stays as it is when it empties: bursts come again."""


@final
class SlidingArray(Generic[Element]):
    """A window of elements: add at the end, remove at the front, read anywhere."""

    MADE_OF: ClassVar = ("first",)

    __slots__ = ("_mask", "_ring", "first", "next")

    def __init__(self, first: i64 = 1) -> None:
        self.first: i64 = first
        self.next: i64 = first
        self._mask: i64 = RING_SIZE_MIN - 1
        self._ring: list[Element | None] = [None] * RING_SIZE_MIN

    @property
    def size(self) -> int:
        """How many elements are in the window."""
        return self.next - self.first

    def add(self, element: Element) -> None:
        """Append at index `next`."""
        index = self.next
        if index - self.first > self._mask:
            self._resize(2 * (self._mask + 1))
        place = index & self._mask
        self._ring[place] = element
        self.next = index + 1

    def remove(self) -> Element:
        """Remove and return the oldest element."""
        index, mask, ring = self.first, self._mask, self._ring
        if index == self.next:
            raise IndexError("remove from an empty sliding array")
        element = ring[index & mask]
        ring[index & mask] = None
        self.first = index + 1
        if mask >= RING_SIZE_KEPT and 8 * (self.next - index - 1) <= mask + 1:
            self._resize((mask + 1) >> 1)
        return cast(Element, element)

    def peek(self) -> Element:
        """The oldest element."""
        index = self.first
        if index == self.next:
            raise IndexError("peek into an empty sliding array")
        # A place is worked out before the ring is touched: the ring is then only borrowed.
        place = index & self._mask
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

    def __len__(self) -> int:
        return self.next - self.first

    def __iter__(self) -> Iterator[Element]:
        index = self.first
        while index < self.next:
            yield self.at(index)
            index += 1

    def state(self) -> object:
        """Which indexes are in the window, and what is there."""
        return self.first, self.next, [shown(element) for element in self]

    def _resize(self, capacity: i64) -> None:
        ring: list[Element | None] = [None] * capacity
        mask = capacity - 1
        index = self.first
        while index < self.next:
            ring[index & mask] = self._ring[index & self._mask]
            index += 1
        self._ring = ring
        self._mask = mask
