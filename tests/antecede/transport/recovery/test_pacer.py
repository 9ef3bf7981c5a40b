"""How fast a window may be spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.transport.recovery.pacer import BURST_DATAGRAMS, BURST_NS, UNPACED_NS, Pacer

MS = 1_000_000
SECOND = 1_000 * MS
SIZE = 1_400


@pytest.mark.parametrize("trip_ns", [1, UNPACED_NS - 1])
def test_short_round_trips_are_not_paced(trip_ns: int) -> None:
    pace = Pacer()
    for _ in range(3):
        assert pace.room(1_000_000, trip_ns, SIZE, 5) == 1_000_000
        pace.spent(1_000_000)


@pytest.mark.parametrize(
    ("window", "burst"),
    [(100 * SIZE, BURST_DATAGRAMS * SIZE), (10_000 * SIZE, 10_000 * SIZE * 5 // 4 // 25)],
    ids=["a few datagrams", "what may leave in two milliseconds"],
)
def test_a_burst_is_limited(window: int, burst: int) -> None:
    pace = Pacer()
    trip_ns = 25 * BURST_NS
    assert pace.room(window, trip_ns, SIZE, 5) == burst
    assert pace.room(window, trip_ns, SIZE, 10 * SECOND) == burst, "rest saves nothing up"


@given(
    datagrams=st.integers(4, 2_000),
    trip_ns=st.integers(UNPACED_NS, SECOND),
    step_ns=st.integers(1_000, 20 * MS),
)
def test_a_round_trip_lets_through_a_quarter_more_than_the_window(
    datagrams: int, trip_ns: int, step_ns: int
) -> None:
    pace = Pacer()
    window = datagrams * SIZE
    burst = int(pace.room(window, trip_ns, SIZE, 0))
    pace.spent(burst)
    sent = steps = 0
    for steps in range(1, 400):
        if steps * step_ns > trip_ns:
            break
        room = int(pace.room(window, trip_ns, SIZE, steps * step_ns))
        pace.spent(room)
        sent += room

    allowed = window * 5 / 4 * min(steps * step_ns, trip_ns) / trip_ns
    assert sent <= allowed
    if window * 5 / 4 * step_ns / trip_ns < burst:
        assert sent >= window * 5 / 4 * (steps - 1) * step_ns / trip_ns - steps


@given(
    datagrams=st.integers(4, 2_000),
    trip_ns=st.integers(UNPACED_NS, SECOND),
    spent=st.integers(0, 20 * SIZE),
)
def test_it_knows_when_there_will_be_room(datagrams: int, trip_ns: int, spent: int) -> None:
    pace = Pacer()
    window = datagrams * SIZE
    pace.room(window, trip_ns, SIZE, 0)
    pace.spent(spent)

    wait_ns = int(pace.wait_ns(SIZE, window, trip_ns))
    if wait_ns > 0:
        assert pace.room(window, trip_ns, SIZE, wait_ns) in range(SIZE - 1, SIZE + SIZE // 10)
    else:
        assert pace.room(window, trip_ns, SIZE, 0) >= SIZE


@pytest.mark.parametrize("trip_ns", [50 * MS, UNPACED_NS // 2], ids=["paced", "not paced"])
def test_what_leaves_without_asking_for_room_leaves_no_debt(trip_ns: int) -> None:
    """Thousands of acknowledgements, and then something to say: no waiting for minutes."""
    pace = Pacer()
    window = BURST_DATAGRAMS * SIZE
    pace.room(window, 50 * MS, SIZE, 0)
    for number in range(10_000):
        if trip_ns < UNPACED_NS:
            pace.room(window, trip_ns, SIZE, number)
        pace.spent(40)

    assert pace.wait_ns(SIZE, window, 50 * MS) <= 50 * MS
    assert pace.room(window, 50 * MS, SIZE, 10 * SECOND) == BURST_DATAGRAMS * SIZE
