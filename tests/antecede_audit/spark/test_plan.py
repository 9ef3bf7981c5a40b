"""How logs are cut: everything is seen by the right slices, and by no more of them than needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.judging.slice_plan import (
    CELLS_MAX,
    GROWTH_MAX,
    RunExtent,
    SlicePlan,
    overlap_of,
    plan_slices,
)
from antecede_audit.spark.survey import moved_flights


def run_of(
    copies: int, *, first_ns: int = 0, span_ns: int = 1_000_000, flight_ns: int = 100
) -> RunExtent:
    """Copies spread evenly, all of them equally long under way."""
    begin = np.linspace(first_ns, first_ns + span_ns - flight_ns, copies).astype(np.int64)
    return RunExtent(
        copies=copies,
        first_ns=first_ns,
        last_ns=first_ns + span_ns,
        sample=np.stack([begin, begin + flight_ns], axis=1),
    )


def slices_at(plan: SlicePlan, run: int, time_ns: int) -> range:
    """The slices that see this time."""
    cell = plan.base[run] + (time_ns - plan.start_ns[run]) // plan.width_ns[run]
    return range(plan.first[cell], plan.last[cell] + 1)


def test_small_runs_share_slices_and_stay_whole() -> None:
    plan = plan_slices([run_of(40) for _ in range(10)], slice_copies=100)

    assert plan.slices == {}
    assert plan.first == plan.last == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert plan.count == 5


def test_a_large_run_has_slices_of_its_own_between_small_ones() -> None:
    plan = plan_slices([run_of(10), run_of(1_000), run_of(10)], slice_copies=250)

    assert slices_at(plan, 0, 500) == range(1)
    assert slices_at(plan, 1, 0) == range(1, 2)
    assert slices_at(plan, 1, 1_000_000) == range(4, 5)
    assert slices_at(plan, 2, 500)[0] not in plan.slices
    assert sorted(plan.slices) == [1, 2, 3, 4]


@given(
    copies=st.integers(101, 5_000),
    first_ns=st.integers(-(10**9), 2 * 10**18),
    span_ns=st.integers(1, 10**15),
    share=st.floats(0, 1),
    data=st.data(),
)
def test_every_time_belongs_to_one_slice_and_is_seen_by_those_that_reach_it(
    copies: int, first_ns: int, span_ns: int, share: float, data: st.DataObject
) -> None:
    run = run_of(copies, first_ns=first_ns, span_ns=span_ns, flight_ns=int(share * span_ns))
    plan = plan_slices([run], slice_copies=100)
    time_ns = first_ns + data.draw(st.integers(0, span_ns))

    seen_by = [
        number
        for number, stretch in plan.slices.items()
        if stretch.start_ns <= time_ns < stretch.end_ns
    ]
    owned_by = [
        number
        for number, stretch in plan.slices.items()
        if stretch.start_ns <= time_ns < stretch.next_ns
    ]
    assert list(slices_at(plan, 0, time_ns)) == seen_by
    assert owned_by == seen_by[-1:]


def test_an_overlap_takes_in_the_longest_flights_if_they_are_short() -> None:
    run = run_of(1_000, flight_ns=1_000)
    assert overlap_of(run, 250) == (250, 2_000)


def test_slices_grow_where_flights_are_long() -> None:
    copies, overlap_ns = overlap_of(run_of(10_000, flight_ns=300_000), 1_000)
    assert (copies, overlap_ns) == (8_000, 300_000)


def test_slices_do_not_grow_for_a_few_long_flights() -> None:
    run = run_of(10_000, flight_ns=1_000)
    run.sample[17, 1] += 900_000
    copies, overlap_ns = overlap_of(run, 1_000)
    assert copies == 1_000
    assert 1_000 < overlap_ns < 100_000


def test_slices_grow_only_so_far() -> None:
    copies, _ = overlap_of(run_of(1_000_000, flight_ns=999_999), 1_000)
    assert copies == GROWTH_MAX * 1_000


def test_a_burst_is_cut_as_finely_as_a_steady_run() -> None:
    """Nearly everything happens in a thousandth of the time."""
    run = run_of(10_000, span_ns=10**9)
    run.sample[100:] = 500_000_000 + run.sample[100:] // 1_000
    plan = plan_slices([run], slice_copies=1_000)

    sizes = [
        int(np.sum((run.sample[:, 0] >= s.start_ns) & (run.sample[:, 0] < s.next_ns)))
        for s in plan.slices.values()
    ]
    assert len(sizes) == 10
    assert max(sizes) < 2_000


@pytest.mark.parametrize("span_ns", [0, 1])
def test_events_of_one_time_cannot_be_cut(span_ns: int) -> None:
    begin = np.zeros(1_000, np.int64)
    run = RunExtent(
        copies=1_000, first_ns=0, last_ns=span_ns, sample=np.stack([begin, begin], axis=1)
    )
    plan = plan_slices([run], slice_copies=10)

    assert slices_at(plan, 0, 0)[-1] < plan.count
    assert len(plan.first) < CELLS_MAX


def test_flights_are_moved_with_the_clocks_of_both_ends() -> None:
    flights = np.array([[10, 20, 1, 2], [5, 9, 3, 1], [7, 8, 4, 4]])

    moved = moved_flights(flights, {2: -5, 1: 100})

    assert moved.tolist() == [[110, 15, 1, 2], [5, 109, 3, 1], [7, 8, 4, 4]]
    assert moved_flights(flights, {}).tolist() == flights.tolist()
