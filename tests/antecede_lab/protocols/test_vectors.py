"""Sparse vectors are values, and their maximum shares what it can."""

from hypothesis import given
from hypothesis import strategies as st

from antecede_lab.protocols.members import Members
from antecede_lab.protocols.vectors import EMPTY, Vector, counts_of, maximum

vectors = st.dictionaries(st.integers(0, 6), st.integers(1, 5)).map(Vector)


def test_a_vector_counts_zero_where_it_says_nothing() -> None:
    assert Vector({3: 2}).get(3) == 2
    assert Vector({3: 2}).get(4) == 0


def test_plus_makes_a_new_vector_and_leaves_the_old_one() -> None:
    old = Vector({1: 1, 2: 5})

    assert old.plus((2, 3)) == Vector({1: 1, 2: 6, 3: 1})
    assert old == Vector({1: 1, 2: 5})


@given(mine=vectors, theirs=vectors)
def test_the_maximum_is_the_greater_count_of_each(mine: Vector, theirs: Vector) -> None:
    greater = maximum(mine, theirs)

    for process in range(7):
        assert greater.get(process) == max(mine.get(process), theirs.get(process))


@given(mine=vectors, theirs=vectors)
def test_the_maximum_is_one_of_the_two_wherever_it_equals_one(mine: Vector, theirs: Vector) -> None:
    greater = maximum(mine, theirs)

    assert (greater in (mine, theirs)) == (greater is mine or greater is theirs)


@given(start=vectors, steps=st.lists(st.integers(0, 6), max_size=8), at=st.integers(0, 8))
def test_vectors_of_one_line_are_compared_by_their_totals(
    start: Vector, steps: list[int], at: int
) -> None:
    line = object()
    versions = [start.plus((), line)]
    for process in steps:
        versions.append(versions[-1].plus((process,), line))
    earlier, latest = versions[min(at, len(steps))], versions[-1]

    assert maximum(earlier, latest) == maximum(Vector(earlier.counts), Vector(latest.counts))
    assert maximum(latest, earlier) is latest


def test_equal_vectors_are_equal_whatever_their_line_and_order() -> None:
    one, other = Vector({1: 2, 3: 4}, object()), Vector({3: 4, 1: 2})

    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other) == "Vector({1: 2, 3: 4})"
    assert one != Vector({1: 2})
    assert one != {1: 2, 3: 4}


def test_a_column_leaves_out_zeros() -> None:
    assert counts_of({5: Vector({1: 2}), 2: Vector({3: 1}), 4: EMPTY}, 1) == [(5, 2)]


def test_members_know_a_vector_of_their_own_ids_and_positive_counts() -> None:
    for everyone in ((0, 1, 2, 3), (0, 1, 2, 3, 70)):
        members = Members(1, everyone)
        assert members.knows_all(EMPTY)
        assert members.knows_all(Vector({0: 1, 3: 9}))
        assert not members.knows_all(Vector({0: 1, 4: 9}))
        assert not members.knows_all(Vector({-1: 1, 3: 9}))
        assert not members.knows_all(Vector({0: 1, 3: 0}))
        assert not members.knows_all(Vector({0: -1, 3: 5}))
