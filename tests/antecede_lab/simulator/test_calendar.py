"""The calendar queue against a heap: the same order, whatever comes."""

from heapq import heappop, heappush
from random import Random
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from antecede_lab.simulator.calendar import BUCKETS_MIN, WAKE, Calendar, CalendarEvent

FAR_NS = 3_600_000_000_000
LATEST_NS = 1 << 61

delays = st.one_of(
    st.just(0),
    st.integers(0, 3),
    st.integers(0, 5_000),
    st.integers(0, 2_000_000),
    st.integers(0, FAR_NS),
    st.just(LATEST_NS),
)
# Add that many events, each after such a delay; then take that many.
steps = st.lists(
    st.tuples(st.lists(delays, max_size=30), st.integers(0, 30)), min_size=1, max_size=20
)

Taken: TypeAlias = tuple[int, int]


class Model:
    """A calendar and a heap that are told the same."""

    def __init__(self) -> None:
        self.calendar = Calendar()
        self.heap: list[Taken] = []
        self.added = 0
        self.now_ns = 0

    def add(self, delay_ns: int) -> None:
        time_ns = self.now_ns + delay_ns
        event = self.calendar.add(time_ns, WAKE, 0)
        event.number = self.added
        heappush(self.heap, (time_ns, self.added))
        self.added += 1

    def take(self) -> None:
        event = self.calendar.take()
        if not self.heap:
            assert event is None
            return
        assert event is not None
        expected = heappop(self.heap)
        assert (event.time_ns, event.number) == expected
        self.now_ns = expected[0]
        self.calendar.recycle(event)

    def drain(self) -> None:
        while self.heap:
            self.take()
        self.take()
        assert self.calendar.size == 0


@given(steps=steps)
def test_events_come_in_the_order_of_time_and_then_of_addition(
    steps: list[tuple[list[int], int]],
) -> None:
    model = Model()
    for added, taken in steps:
        for delay_ns in added:
            model.add(min(delay_ns, LATEST_NS - model.now_ns))
        assert model.calendar.size == len(model.heap)
        for _ in range(taken):
            model.take()
    model.drain()


@given(seed=st.integers(0, 2**32), spread=st.sampled_from([1, 50, 10_000, 10**9]))
def test_a_busy_calendar_grows_shrinks_and_keeps_the_order(seed: int, spread: int) -> None:
    """Enough events to lay the calendar anew several times, in both directions."""
    random = Random(seed)
    model = Model()
    for _ in range(3):
        for _ in range(20 * BUCKETS_MIN):
            model.add(random.randrange(spread))
        for _ in range(18 * BUCKETS_MIN):
            model.take()
            if random.random() < 0.1:
                model.add(random.randrange(spread))
    model.drain()


def test_a_burst_at_one_instant_keeps_its_order() -> None:
    model = Model()
    for _ in range(5_000):
        model.add(1_000)
    model.drain()


def test_far_timers_do_not_disturb_near_traffic() -> None:
    model = Model()
    random = Random(1)
    for _ in range(2_000):
        model.add(FAR_NS + random.randrange(1_000_000))
    for _ in range(3_000):
        model.add(random.randrange(1_000))
        model.take()
    model.drain()


def test_a_burst_followed_by_a_quiet_time_is_taken_in_order() -> None:
    """Days measured in the burst are far too short for what comes after it."""
    model = Model()
    for _ in range(3_000):
        model.add(0)
    for number in range(3_000):
        model.add(1_000_000_000 * number)
    model.drain()


def test_an_event_before_all_pending_ones_comes_first() -> None:
    model = Model()
    model.add(10**9)
    model.add(5)
    model.take()
    model.add(0)
    model.add(1)
    model.drain()


def test_events_are_used_again() -> None:
    calendar = Calendar()
    first = calendar.add(1, WAKE, 0)
    taken = calendar.take()
    assert taken is first
    calendar.recycle(taken)

    assert calendar.add(2, WAKE, 0) is first


def test_a_cleared_calendar_is_empty_and_usable() -> None:
    calendar = Calendar()
    for number in range(1_000):
        calendar.add(number, WAKE, 0)
    calendar.clear()

    assert calendar.size == 0
    assert calendar.take() is None
    event = calendar.add(5_000, WAKE, 3)
    assert isinstance(event, CalendarEvent)
    assert calendar.take() is event
