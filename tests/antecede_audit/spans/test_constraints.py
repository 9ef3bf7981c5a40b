"""Clock offsets against brute force: what is possible is found, what is not is said."""

import itertools
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.columns.clock_offsets import (
    MEDIAN,
    NONE,
    SMALLEST,
    ConstraintSystem,
    Gap,
    bounds_of,
    mended,
    repaired_clocks,
)

NAMES = "abcd"
PAIRS = [pair for pair in itertools.product(NAMES, NAMES) if pair[0] != pair[1]]

bounds_between_few = st.dictionaries(st.sampled_from(PAIRS), st.integers(-4, 6), max_size=7)


def gap(sender: str, receiver: str, smallest: int, median: int | None = None) -> Gap:
    return Gap(
        sender=sender,
        receiver=receiver,
        smallest_ns=smallest,
        median_ns=smallest if median is None else median,
        copies=3,
        negative=1 if smallest < 0 else 0,
    )


def satisfied(offsets: dict[str, int], bounds: dict[tuple[str, str], int]) -> bool:
    return all(offsets[p] - offsets[q] <= bound for (p, q), bound in bounds.items())


def can_be_satisfied(bounds: dict[tuple[str, str], int]) -> bool:
    """No simple cycle of pairs has a negative sum: all cycles, one by one."""
    for length in range(2, len(NAMES) + 1):
        for cycle in itertools.permutations(NAMES, length):
            steps = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
            if all(step in bounds for step in steps) and sum(bounds[step] for step in steps) < 0:
                return False
    return True


@given(bounds=bounds_between_few)
def test_a_contradiction_is_found_exactly_if_there_is_one(
    bounds: dict[tuple[str, str], int],
) -> None:
    cycles = ConstraintSystem(NAMES, bounds).settle(np.zeros(len(NAMES), np.int64))

    assert bool(cycles) is not can_be_satisfied(bounds)
    for cycle in cycles:
        assert sum(bounds[pair] for pair in cycle) < 0
        senders = [sender for sender, _ in cycle]
        assert [receiver for _, receiver in cycle] == senders[1:] + senders[:1]
    involved = [sender for cycle in cycles for sender, _ in cycle]
    assert len(involved) == len(set(involved)), "no two share a process"


@given(bounds=bounds_between_few.filter(can_be_satisfied))
def test_offsets_satisfy_whatever_can_be_satisfied(bounds: dict[tuple[str, str], int]) -> None:
    offsets = mended(NAMES, bounds)

    assert satisfied(offsets, bounds)
    assert all(bound >= 0 for bound in bounds.values()) <= (set(offsets.values()) == {0})


@given(bounds=bounds_between_few, medians=st.lists(st.integers(0, 5), min_size=7, max_size=7))
def test_what_is_kept_of_contradictory_gaps_is_satisfied(
    bounds: dict[tuple[str, str], int], medians: list[int]
) -> None:
    gaps = [
        gap(*pair, bound, bound + more)
        for (pair, bound), more in zip(bounds.items(), medians, strict=False)
    ]
    clocks = repaired_clocks(gaps)

    assert satisfied(clocks.offsets_ns, bounds_of(gaps, clocks.basis))
    assert set(clocks.basis) == {(one.sender, one.receiver) for one in gaps}
    if can_be_satisfied({(one.sender, one.receiver): one.smallest_ns for one in gaps}):
        assert clocks.contradictory == []


def test_one_wrong_clock_among_many_is_the_one_that_is_moved() -> None:
    """b's clock is 50 behind; requests and replies take at least 1 and 2."""
    gaps = [gap("a", "b", 1 - 50), gap("b", "a", 2 + 50)]
    gaps += [gap("c", "b", 1 - 50), gap("b", "c", 2 + 50), gap("a", "c", 1), gap("c", "a", 1)]

    assert repaired_clocks(gaps).offsets_ns == {"a": 0, "b": 49, "c": 0}


def test_a_chain_of_wrong_clocks_is_repaired_along_the_chain() -> None:
    gaps = [gap("a", "b", -10), gap("b", "c", -10), gap("c", "d", -10)]
    offsets = repaired_clocks(gaps).offsets_ns

    assert offsets["b"] - offsets["a"] == 10
    assert offsets["c"] - offsets["b"] == 10
    assert offsets["d"] - offsets["c"] == 10


@given(bounds=bounds_between_few.filter(can_be_satisfied), unit=st.sampled_from([1, 1 << 60]))
def test_no_clock_could_be_closer_to_0_alone(bounds: dict[tuple[str, str], int], unit: int) -> None:
    """Also where sums do not fit 64 bits."""
    wide = {pair: bound * unit for pair, bound in bounds.items()}
    offsets = mended(NAMES, wide)

    assert satisfied(offsets, wide)
    for name, offset in offsets.items():
        if offset:
            closer = offset - (1 if offset > 0 else -1)
            assert not satisfied(offsets | {name: closer}, wide)


def test_among_hundreds_few_clocks_are_moved_if_few_are_wrong() -> None:
    """A tenth of 300 clocks is wrong by up to 5 ms; messages take 0.1 to 1 ms."""
    chance = Random(4)
    wrong = {f"{n:03}": chance.randint(-5_000, 5_000) * (n % 10 == 0) for n in range(300)}
    gaps = []
    for name in wrong:
        for other in chance.sample(sorted(set(wrong) - {name}), 6):
            for p, q in ((name, other), (other, name)):
                gaps.append(gap(p, q, chance.randint(100, 1_000) + wrong[q] - wrong[p]))
    by_pair = {(one.sender, one.receiver): one for one in gaps}
    offsets = repaired_clocks(list(by_pair.values())).offsets_ns

    assert sum(offset != 0 for offset in offsets.values()) < 90
    for name, behind in wrong.items():
        assert abs(offsets[name] + behind) <= 1_000, "no further from right than a message takes"


def test_right_clocks_are_left_alone() -> None:
    gaps = [gap("a", "b", 0), gap("b", "a", 3), gap("b", "c", 9)]

    assert repaired_clocks(gaps).offsets_ns == {"a": 0, "b": 0, "c": 0}


def test_spans_that_close_late_do_not_move_clocks() -> None:
    """The worst reply seems to come 300 early; half of them and all requests are fine."""
    gaps = [gap("a", "b", 1, 2), gap("b", "a", -300, 1)]
    clocks = repaired_clocks(gaps)

    assert clocks.offsets_ns == {"a": 0, "b": 0}
    assert clocks.basis == {("a", "b"): MEDIAN, ("b", "a"): MEDIAN}


def test_a_wrong_clock_is_repaired_though_some_spans_close_late() -> None:
    """b is 50 ahead: requests seem to take 51 or more, replies -49, the worst of them -349."""
    gaps = [gap("a", "b", 51, 53), gap("b", "a", -349, -47)]

    offsets = repaired_clocks(gaps).offsets_ns
    assert offsets["a"] - offsets["b"] == 47


def test_medians_that_contradict_each_other_count_for_nothing() -> None:
    clocks = repaired_clocks([gap("a", "b", 1, 2), gap("b", "a", -300, -200), gap("b", "c", -5)])

    assert clocks.basis == {("a", "b"): NONE, ("b", "a"): NONE, ("b", "c"): SMALLEST}
    assert clocks.contradictory == [("a", "b"), ("b", "a")]
    assert clocks.offsets_ns["c"] - clocks.offsets_ns["b"] == 5


def test_a_contradiction_around_three_processes_is_found() -> None:
    gaps = [gap("a", "b", -5, 1), gap("b", "c", 1), gap("c", "a", 1)]
    clocks = repaired_clocks(gaps)

    assert clocks.basis == dict.fromkeys([("a", "b"), ("b", "c"), ("c", "a")], MEDIAN)
    assert clocks.offsets_ns == {"a": 0, "b": 0, "c": 0}


def test_a_long_chain_of_wrong_clocks_is_repaired() -> None:
    processes = 300
    names = [f"{number:03}" for number in range(processes)]
    ring = list(zip(names, names[1:] + names[:1], strict=True))
    gaps = [gap(p, q, -3) for p, q in ring[:-1]] + [gap(*ring[-1], 3 * processes)]
    offsets = repaired_clocks(gaps).offsets_ns

    assert all(offsets[p] - offsets[q] <= -3 for p, q in ring[:-1])


def test_on_a_mixed_cycle_the_smallest_gaps_give_way_before_the_medians() -> None:
    """a and b contradict each other; so do, then, their medians and what c's smallest gaps say."""
    gaps = [gap("a", "b", 1, 1), gap("b", "a", -9, 1), gap("b", "c", -5, 4), gap("c", "a", 1, 2)]
    clocks = repaired_clocks(gaps)

    assert set(clocks.basis.values()) == {MEDIAN}
