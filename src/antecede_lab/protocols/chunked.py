"""The sliding structures as the paper draws them, to compare with those that are used.

A sliding array is a short array of pointers to chunks of fixed size: a full last chunk is followed
by a new one, and when `first` has passed the oldest chunk, that is dropped and the other pointers
are shifted. A sliding map is a map from keys to indexes and a sliding array of bits that says which
indexes are present; a one that belongs to nothing stands at `next`, so that the search for the next
element needs no comparison. An indexable one has the optional elements themselves instead of bits.

`antecede.core.sliding` and `sliding_maps` have a ring in their place; `python -m bench structures`
counts what each costs.
"""

from collections.abc import Hashable, Iterator
from typing import ClassVar, Final, Generic, TypeVar, final

from mypy_extensions import i64

Element = TypeVar("Element")
Key = TypeVar("Key", bound=Hashable)

CHUNK: Final = 64
"""Elements of one chunk."""

WORD_BITS: Final = 32
"""Bits of one element of the array of bits."""


class ChunkedArray(Generic[Element]):
    """A window of elements in chunks: add at the end, remove at the front, read anywhere."""

    MADE_OF: ClassVar = ("first",)

    __slots__ = ("_base", "_chunks", "first", "moved", "next")

    def __init__(self, first: i64 = 1) -> None:
        self.first: i64 = first
        self.next: i64 = first
        # The index of the first element of the oldest chunk.
        self._base: i64 = first
        self._chunks: list[list[Element]] = []
        # How many pointers were shifted, ever.
        self.moved: i64 = 0

    @property
    def size(self) -> int:
        """How many elements are in the window."""
        return self.next - self.first

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return len(self._chunks)

    def add(self, element: Element) -> None:
        """Append at index `next`."""
        if self.next - self._base == len(self._chunks) * CHUNK:
            self._chunks.append([])
        self._chunks[-1].append(element)
        self.next += 1

    def remove(self) -> Element:
        """Remove and return the oldest element."""
        if self.first == self.next:
            raise IndexError("remove from an empty sliding array")
        element = self._chunks[0][self.first - self._base]
        self.first += 1
        if self.first - self._base == CHUNK:
            self.moved += len(self._chunks) - 1
            del self._chunks[0]
            self._base += CHUNK
        return element

    def peek(self) -> Element:
        """The oldest element."""
        return self[self.first]

    def __getitem__(self, index: int) -> Element:
        if not self.first <= index < self.next:
            raise IndexError(f"index {index} is outside {self.first} <= index < {self.next}")
        place = index - self._base
        return self._chunks[place // CHUNK][place % CHUNK]

    def __setitem__(self, index: int, element: Element) -> None:
        if not self.first <= index < self.next:
            raise IndexError(f"index {index} is outside {self.first} <= index < {self.next}")
        place = index - self._base
        self._chunks[place // CHUNK][place % CHUNK] = element

    def __iter__(self) -> Iterator[Element]:
        return iter([self[index] for index in range(self.first, self.next)])

    def __len__(self) -> int:
        return self.next - self.first


@final
class SlidingBits:
    """A sliding array of bits with a one at `next` that belongs to nothing."""

    __slots__ = ("_base", "_words", "first", "next")

    def __init__(self, first: i64 = 1) -> None:
        self.first: i64 = first
        self.next: i64 = first
        # The index of the lowest bit of the oldest word.
        self._base: i64 = first
        self._words: ChunkedArray[int] = ChunkedArray(0)
        self._words.add(1)

    @property
    def words(self) -> int:
        """How many words there are."""
        return self._words.size

    @property
    def moved(self) -> int:
        """How many pointers to chunks were shifted, ever."""
        return self._words.moved

    def add(self) -> None:
        """A one at `next`, which has been there all along; the sentinel moves on."""
        self.next += 1
        word = self._word_of(self.next)
        if word == self._words.next:
            self._words.add(0)
        self._words[word] |= 1 << ((self.next - self._base) % WORD_BITS)

    def clear(self, index: i64) -> None:
        """A zero at `index`; whoever was first there is followed by the next one."""
        self._words[self._word_of(index)] &= ~(1 << ((index - self._base) % WORD_BITS))
        if index == self.first:
            self._slide()

    def has(self, index: i64) -> bool:
        """Whether there is a one that belongs to something."""
        if not self.first <= index < self.next:
            return False
        word = self._words[self._word_of(index)]
        return (word >> ((index - self._base) % WORD_BITS)) & 1 == 1

    def _slide(self) -> None:
        """To the next one: there is always one, so nothing is compared with `next`."""
        while not (self._words[self._word_of(self.first)] >> self._bit_of(self.first)) & 1:
            self.first += 1
            if self._word_of(self.first) > self._words.first:
                self._words.remove()

    def _word_of(self, index: i64) -> i64:
        return (index - self._base) // WORD_BITS

    def _bit_of(self, index: i64) -> i64:
        return (index - self._base) % WORD_BITS


@final
class BitSlidingMap(Generic[Key]):
    """A sliding map: a map of indexes, and bits that say which are present."""

    __slots__ = ("_bits", "_index_of")

    def __init__(self, first: i64 = 1) -> None:
        self._bits = SlidingBits(first)
        self._index_of: dict[Key, int] = {}

    @property
    def first(self) -> int:
        """The index of the oldest key still present, or `next` if there is none."""
        return self._bits.first

    @property
    def next(self) -> int:
        """The index that the next key to be added will have."""
        return self._bits.next

    @property
    def bits(self) -> SlidingBits:
        """What says which indexes are present."""
        return self._bits

    def add(self, key: Key) -> None:
        """Append a key that is not present."""
        if key in self._index_of:
            raise KeyError(f"{key!r} is present already")
        self._index_of[key] = self._bits.next
        self._bits.add()

    def remove(self, key: Key) -> bool:
        """Remove a key; False if it was not present."""
        index = self._index_of.pop(key, -1)
        if index < 0:
            return False
        self._bits.clear(index)
        return True

    def __contains__(self, key: object) -> bool:
        return key in self._index_of

    def __iter__(self) -> Iterator[Key]:
        return iter(self._index_of)

    def __len__(self) -> int:
        return len(self._index_of)


@final
class ChunkedIndexedMap(Generic[Key]):
    """An indexable sliding map: a map of indexes, and the optional elements in chunks."""

    __slots__ = ("_index_of", "_keys")

    def __init__(self, first: i64 = 1) -> None:
        self._keys: ChunkedArray[Key | None] = ChunkedArray(first)
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
    def keys(self) -> ChunkedArray[Key | None]:
        """The window, with None where a key was removed."""
        return self._keys

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
        while self._keys.size and self._keys.peek() is None:
            self._keys.remove()
        return True

    def index(self, key: Key) -> int | None:
        """Where `key` is, or None if it is not present."""
        return self._index_of.get(key)

    def __getitem__(self, index: int) -> Key | None:
        return self._keys[index]

    def __contains__(self, key: object) -> bool:
        return key in self._index_of

    def __iter__(self) -> Iterator[Key]:
        return iter(self._index_of)

    def __len__(self) -> int:
        return len(self._index_of)
