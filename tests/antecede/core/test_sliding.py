"""The sliding structures against plain lists and dictionaries, and their cost in counted steps."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.cloning import twin_of
from antecede.core.sliding import RING_SIZE_KEPT, SlidingArray
from antecede_lab.protocols.sliding_maps import IndexedSlidingMap, SlidingMap
from tests.papers.counting import LineCounter, RingCounter, assert_constant, interpreted_only

# True adds an element, False removes the oldest, an integer replaces the element at that place.
array_operations = st.lists(st.one_of(st.booleans(), st.integers(0, 40)), max_size=200)
firsts = st.integers(0, 10)

# Adds a fresh key (None), or removes the key with this number, present or not.
map_operations = st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=200)


@given(operations=array_operations, first=firsts)
def test_an_array_behaves_as_a_list_with_an_offset(
    operations: list[bool | int], first: int
) -> None:
    array: SlidingArray[int] = SlidingArray(first)
    model: list[int] = []
    fresh = 0
    for operation in operations:
        if operation is True:
            array.add(fresh)
            model.append(fresh)
            fresh += 1
        elif operation is False:
            if model:
                assert array.remove() == model.pop(0)
                first += 1
        elif operation < len(model):
            array[first + operation] = model[operation] = -operation
        assert (array.first, array.next) == (first, first + len(model))
        assert array.size == len(array) == len(model)
        assert list(array) == [array[i] for i in range(array.first, array.next)] == model
        if model:
            assert array.peek() == model[0]


@given(operations=array_operations)
def test_a_copy_of_an_array_shares_nothing_with_it(operations: list[bool | int]) -> None:
    array: SlidingArray[int] = SlidingArray()
    for operation in operations:
        if operation is False and array.size:
            array.remove()
        else:
            array.add(operation)
    before = list(array)
    twin = twin_of(array)
    assert (twin.first, twin.next, list(twin)) == (array.first, array.next, before)
    twin.add(1)
    twin[twin.first] = -1
    assert list(array) == before


@given(operations=map_operations, first=firsts)
def test_an_indexed_map_behaves_as_a_dictionary_of_positions(
    operations: list[int | None], first: int
) -> None:
    sliding: IndexedSlidingMap[str] = IndexedSlidingMap(first)
    model: dict[str, int] = {}
    following = first
    for operation in operations:
        if operation is None:
            key = f"key {following - first}"
            sliding.add(key)
            model[key] = following
            following += 1
        else:
            key = f"key {operation}"
            assert sliding.remove(key) == (model.pop(key, None) is not None)
        assert (sliding.first, sliding.next) == (min(model.values(), default=following), following)
        assert sliding.size == len(sliding) == len(model)
        assert sliding.items() == list(model.items())
        assert list(sliding) == list(model)
        at = {index: key for key, index in model.items()}
        for index in range(sliding.first, sliding.next):
            assert sliding[index] == at.get(index)
        for number in range(60):
            key = f"key {number}"
            assert (sliding.index(key), key in sliding) == (model.get(key), key in model)
        if model:
            assert sliding.peek() == next(iter(model))


@given(operations=map_operations, first=firsts)
def test_a_map_behaves_as_a_dictionary_of_positions(
    operations: list[int | None], first: int
) -> None:
    sliding: SlidingMap[int] = SlidingMap(first)
    model: dict[int, int] = {}
    following = first
    for operation in operations:
        if operation is None:
            sliding.add(following - first)
            model[following - first] = following
            following += 1
        else:
            assert sliding.remove(operation) == (model.pop(operation, None) is not None)
        assert (sliding.first, sliding.next) == (min(model.values(), default=following), following)
        assert sliding.size == len(sliding) == len(model)
        assert sliding.items() == list(model.items())
        assert list(sliding) == list(model)
        assert all((key in sliding) == (key in model) for key in range(60))


@pytest.mark.parametrize("kind", [SlidingMap, IndexedSlidingMap])
def test_a_copy_of_a_map_shares_nothing_with_it(
    kind: type[SlidingMap[str]] | type[IndexedSlidingMap[str]],
) -> None:
    sliding = kind()
    for key in "abcd":
        sliding.add(key)
    sliding.remove("b")
    twin = twin_of(sliding)
    assert (twin.first, twin.next, twin.items()) == (1, 5, [("a", 1), ("c", 3), ("d", 4)])
    twin.remove("a")
    twin.add("e")
    assert (twin.first, twin.next) == (3, 6)
    assert (sliding.first, sliding.next, list(sliding)) == (1, 5, ["a", "c", "d"])


def test_the_map_of_the_figure() -> None:
    """Section "The sliding array and sliding map data-structures", the figure's subcaption (b)."""
    sliding: SlidingMap[str] = SlidingMap()
    for key in "abcdefghijk":
        sliding.add(key)
    for key in "abcdfgi":
        sliding.remove(key)
    assert list(sliding) == ["e", "h", "j", "k"]
    assert (sliding.first, sliding.next) == (5, 12)


def test_outside_the_window_there_is_nothing() -> None:
    array: SlidingArray[str] = SlidingArray()
    for element in "abcdef":
        array.add(element)
    array.remove()
    for index in (0, 1, 7, -1):
        with pytest.raises(IndexError, match=f"index {index} is outside 2 <= index < 7"):
            array[index]
        with pytest.raises(IndexError, match="outside"):
            array[index] = "x"


def test_an_empty_array_has_nothing_to_remove_or_to_peek_at() -> None:
    array: SlidingArray[str] = SlidingArray()
    with pytest.raises(IndexError, match="empty"):
        array.remove()
    with pytest.raises(IndexError):
        array.peek()


@pytest.mark.parametrize("kind", [SlidingMap, IndexedSlidingMap])
def test_a_key_is_added_once(kind: type[SlidingMap[str]] | type[IndexedSlidingMap[str]]) -> None:
    sliding = kind()
    sliding.add("a")
    with pytest.raises(KeyError, match="present already"):
        sliding.add("a")
    assert (sliding.next, sliding.size) == (2, 1)
    assert sliding.remove("a")
    sliding.add("a")
    assert (sliding.first, sliding.next) == (2, 3)


# Cost. The numbers of steps below are exact and repeatable; what matters is that they do not grow.


def oldest_last(size: int) -> list[int]:
    return [*range(1, size), 0]


def newest_first(size: int) -> list[int]:
    return list(range(size - 1, -1, -1))


def alternating(size: int) -> list[int]:
    return [*range(1, size, 2), *range(0, size, 2)]


def shuffled(size: int) -> list[int]:
    order = list(range(size))
    Random(size).shuffle(order)
    return order


Order = Callable[[int], list[int]]
ORDERS: list[Order] = [oldest_last, newest_first, alternating, shuffled]


def fill_and_drain_array(size: int) -> None:
    array: SlidingArray[int] = SlidingArray()
    for element in range(size):
        array.add(element)
    for _ in range(size):
        array.remove()


def slide_array(size: int) -> None:
    """A full window that moves on, one in, one out, at the worst size for its ring."""
    array: SlidingArray[int] = SlidingArray()
    for element in range(size):
        array.add(element)
    for element in range(size):
        array.add(element)
        array.remove()


def fill_and_drain_map(size: int, removals: list[int]) -> None:
    sliding: SlidingMap[int] = SlidingMap()
    for key in range(size):
        sliding.add(key)
    for key in removals:
        sliding.remove(key)
    assert sliding.size == 0


def fill_and_drain_indexed_map(size: int, removals: list[int]) -> None:
    sliding: IndexedSlidingMap[int] = IndexedSlidingMap()
    for key in range(size):
        sliding.add(key)
    for key in removals:
        sliding.remove(key)
    assert sliding.size == 0


@interpreted_only
@pytest.mark.parametrize("use", [fill_and_drain_array, slide_array])
def test_an_array_takes_the_same_steps_per_operation_at_any_size(
    use: Callable[[int], None],
) -> None:
    sizes = [2**7, 2**10, 2**13]
    steps = {
        size: LineCounter("sliding.py", "sliding_maps.py").run(use, size) / size for size in sizes
    }
    assert_constant(steps, 1.2)


@interpreted_only
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("use", [fill_and_drain_map, fill_and_drain_indexed_map])
def test_a_map_takes_the_same_steps_per_operation_whatever_the_order_of_removals(
    use: Callable[[int, list[int]], None], order: Order
) -> None:
    steps = {}
    for size in (100, 1_000, 4_000):
        removals = order(size)
        counter = LineCounter("sliding.py", "sliding_maps.py")
        steps[size] = counter.run(use, size, removals) / size
    assert_constant(steps, 1.5)


@interpreted_only
def test_an_array_of_a_million_costs_per_operation_what_one_of_a_hundred_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter = RingCounter(monkeypatch)
    steps = {}
    for size in (100, 1_000, 10_000, 100_000, 1_000_000):
        steps[size] = counter.run(fill_and_drain_array, size) / size
    assert_constant(steps, 2)


@interpreted_only
def test_a_map_of_a_million_costs_per_operation_what_one_of_a_hundred_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worst order: everything but the oldest is removed, then one removal slides over all."""
    counter = RingCounter(monkeypatch)
    steps = {}
    for size in (100, 1_000, 10_000, 100_000, 1_000_000):
        removals = oldest_last(size)
        steps[size] = counter.run(fill_and_drain_map, size, removals) / size
    assert_constant(steps, 2)


@interpreted_only
def test_growing_and_shrinking_at_the_edge_of_a_ring_does_not_copy_it_each_time() -> None:
    """Around a power of two, adding one and removing one must not resize back and forth."""
    steps = {}
    for size in (128, 1_024, 8_192):
        array: SlidingArray[int] = SlidingArray()
        for element in range(size):
            array.add(element)
        wobble(array)
        steps[size] = LineCounter("sliding.py", "sliding_maps.py").run(wobble, array)
    assert_constant(steps, 1)


def wobble(array: SlidingArray[int]) -> None:
    for _ in range(1_000):
        array.add(0)
        array.remove()


def test_a_ring_gives_memory_back() -> None:
    array: SlidingArray[int] = SlidingArray()
    for element in range(10_000):
        array.add(element)
    while array.size > 10:
        array.remove()
    assert len(array._ring) <= RING_SIZE_KEPT
