"""Sliding maps: windows from which any element can be removed, by its key.

Some of the protocols that are compared use them; the paper's listings do.
"""

from collections.abc import Hashable, Iterator
from typing import ClassVar, Generic, TypeVar, cast, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.sliding import SlidingArray

Key = TypeVar("Key", bound=Hashable)


class SlidingMap(Generic[Key]):
    """A window of distinct keys: add at the end, remove by key; None stands where one was."""

    MADE_OF: ClassVar = ("first",)

    __slots__ = ("_index_of", "_keys")

    def __init__(self, first: i64 = 1) -> None:
        self._keys: SlidingArray[Key | None] = SlidingArray(first)
        self._index_of: dict[Key, int] = {}

    @property
    def first(self) -> int:
        """The index of the oldest key still present, or `next` if there is none."""
        return self._keys.first

    @property
    def next(self) -> int:
        """The index that the next key to be added will have."""
        return self._keys.next

    @property
    def size(self) -> int:
        """How many keys are present."""
        return len(self._index_of)

    def add(self, key: Key) -> None:
        """Append a key that is not present."""
        if key in self._index_of:
            raise KeyError(f"{key!r} is present already")
        self._index_of[key] = self._keys.next
        self._keys.add(key)

    def remove(self, key: Key) -> bool:
        """Remove a key and slide over the holes; False if it was not present."""
        index = self._index_of.pop(key, -1)
        if index < 0:
            return False
        self._keys[index] = None
        while self._keys.first < self._keys.next and self._keys.peek() is None:
            self._keys.remove()
        return True

    def items(self) -> list[tuple[Key, int]]:
        """The keys present with their indexes, oldest first."""
        return list(self._index_of.items())

    def state(self) -> object:
        """The keys present with their indexes, and the index of the next one."""
        return self.items(), self.next

    def __contains__(self, key: object) -> bool:
        return key in self._index_of

    def __len__(self) -> int:
        return len(self._index_of)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._index_of)


@final
class IndexedSlidingMap(SlidingMap[Key]):
    """A sliding map that can also be read by index, and asked for the index of a key."""

    __slots__ = ()

    def index(self, key: Key) -> int | None:
        """Where `key` is, or None if it is not present."""
        return self._index_of.get(key)

    def peek(self) -> Key:
        """The oldest key."""
        return cast(Key, self._keys.peek())

    def __getitem__(self, index: int) -> Key | None:
        return self._keys[index]


@mypyc_attr(acyclic=True)
class Numbered:
    """Something with an id that its maker sets, for windows in which ids ascend."""

    __slots__ = ("sequence",)

    sequence: i64


NumberedElement = TypeVar("NumberedElement", bound=Numbered)


def find_copy(copies: SlidingArray[NumberedElement], sequence: i64) -> i64:
    """The index of the element with this id, or -1 if it is not among them."""
    index = find_from(copies, sequence)
    if index < copies.next and copies.at(index).sequence == sequence:
        return index
    return -1


def find_from(copies: SlidingArray[NumberedElement], sequence: i64) -> i64:
    """The index of the first element with this id or a higher one; `next` if there is none.

    Doubles its reach from the oldest, then bisects: few steps for what is near the front.
    """
    low = copies.first
    reach: i64 = 1
    while low + reach < copies.next and copies.at(low + reach).sequence <= sequence:
        reach <<= 1
    high = low + reach
    if high > copies.next:
        high = copies.next
    low += reach >> 1
    while low < high:
        middle = (low + high) >> 1
        if copies.at(middle).sequence < sequence:
            low = middle + 1
        else:
            high = middle
    return low
