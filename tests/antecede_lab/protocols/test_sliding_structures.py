"""The sliding structures as the paper draws them, beside those that are used: they say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.chunked import (
    CHUNK,
    WORD_BITS,
    BitSlidingMap,
    ChunkedArray,
    ChunkedIndexedMap,
)
from antecede_lab.protocols.sliding_maps import IndexedSlidingMap, SlidingMap

Map = SlidingMap[int] | BitSlidingMap[int] | ChunkedIndexedMap[int]
MAPS = [SlidingMap, IndexedSlidingMap, BitSlidingMap, ChunkedIndexedMap]
ARRAYS = [SlidingArray, ChunkedArray]

# Bursts, so that chunks fill and empty: how many are added, and how many removed.
bursts = st.lists(
    st.tuples(st.integers(0, 3 * CHUNK), st.integers(0, 3 * CHUNK)), min_size=1, max_size=8
)


@pytest.mark.parametrize("array", ARRAYS)
@given(bursts=bursts, first=st.integers(0, 300))
def test_a_sliding_array_is_a_window_of_what_was_added(
    array: type[SlidingArray[int]] | type[ChunkedArray[int]],
    bursts: list[tuple[int, int]],
    first: int,
) -> None:
    window, added, removed = array(first), first, first
    for adding, removing in bursts:
        for _ in range(adding):
            window.add(added * 10)
            added += 1
        for _ in range(min(removing, added - removed)):
            assert window.peek() == removed * 10
            assert window.remove() == removed * 10
            removed += 1
        assert (window.first, window.next, window.size, len(window)) == (
            removed, added, added - removed, added - removed,
        )  # fmt: skip
        assert list(window) == [index * 10 for index in range(removed, added)]
        for outside in (removed - 1, added):
            with pytest.raises(IndexError):
                window[outside]
        if added > removed:
            window[added - 1] = window[added - 1]
    for _ in range(added - removed):
        window.remove()
    with pytest.raises(IndexError):
        window.remove()


@pytest.mark.parametrize("kind", MAPS)
@given(
    choices=st.lists(st.tuples(st.booleans(), st.integers(0, 3 * WORD_BITS)), max_size=200),
    first=st.integers(0, 100),
)
def test_a_sliding_map_slides_over_what_is_removed(
    kind: type[Map], choices: list[tuple[bool, int]], first: int
) -> None:
    window, present = kind(first), dict[int, int]()
    next_index = first
    for adding, key in choices:
        if adding and key not in present:
            window.add(key)
            present[key] = next_index
            next_index += 1
        else:
            assert window.remove(key) == (present.pop(key, -1) >= 0)
        assert window.next == next_index
        assert window.first == min(present.values(), default=next_index)
        assert list(window) == list(present)
        assert len(window) == len(present)
        assert (key in window) == (key in present)
    if isinstance(window, BitSlidingMap):
        held = [index for index in range(first, next_index) if window.bits.has(index)]
        assert held == sorted(present.values())
    if isinstance(window, (IndexedSlidingMap, ChunkedIndexedMap)):
        for key, index in present.items():
            assert window.index(key) == index
            assert window[index] == key
        assert window.index(-1) is None


@pytest.mark.parametrize("kind", MAPS)
def test_the_sliding_map_of_the_figure(kind: type) -> None:
    """Figure "sliding map": after adding a … k and removing a, b, c, d, f, g, i."""
    window = kind()
    for letter in "abcdefghijk":
        window.add(letter)
    for letter in "abcdfgi":
        assert window.remove(letter)

    assert (window.first, window.next) == (5, 12)
    assert list(window) == ["e", "h", "j", "k"]
    if isinstance(window, BitSlidingMap):
        assert [int(window.bits.has(index)) for index in range(5, 12)] == [1, 0, 0, 1, 0, 1, 1]
    if isinstance(window, (IndexedSlidingMap, ChunkedIndexedMap)):
        assert [window[index] for index in range(5, 12)] == ["e", None, None, "h", None, "j", "k"]
    assert not window.remove("a")
    with pytest.raises(KeyError):
        window.add("e")


def test_an_empty_map_of_bits_stops_at_its_sentinel() -> None:
    window: BitSlidingMap[int] = BitSlidingMap()
    for key in range(3 * WORD_BITS):
        window.add(key)
    for key in reversed(range(3 * WORD_BITS)):
        window.remove(key)
    assert window.first == window.next == 3 * WORD_BITS + 1
    assert window.bits.words == 1


def test_chunks_are_dropped_and_pointers_shifted() -> None:
    window: ChunkedArray[int] = ChunkedArray()
    for index in range(10 * CHUNK):
        window.add(index)
    assert (window.chunks, window.moved) == (10, 0)
    for _ in range(CHUNK):
        window.remove()
    assert (window.chunks, window.moved) == (9, 9)
