"""The congestion window against RFC 9438: slow start, one reduction per loss, curve, undo."""

import pytest

from antecede.transport.recovery.cubic import (
    DECREASE,
    INITIAL_DATAGRAMS,
    LEAST_DATAGRAMS,
    RENO_INCREASE,
    SCALE,
    Cubic,
)

MS = 1_000_000
SECOND = 1_000 * MS
SIZE = 1_000
UNCAPPED = 1 << 40


def grown(datagrams: int, cap: int = UNCAPPED) -> Cubic:
    """A window of so many datagrams, still in slow start."""
    cubic = Cubic(SIZE, cap)
    cubic.on_acked((datagrams - INITIAL_DATAGRAMS) * SIZE, 0, 0, MS)
    assert cubic.window == datagrams * SIZE
    return cubic


def one_round_trip(cubic: Cubic, sent_ns: int, trip_ns: int) -> int:
    """All that fits the window leaves at `sent_ns`, and its arrival is known a trip later."""
    now_ns = sent_ns + trip_ns
    left = int(cubic.window)
    portion = max(SIZE, left // 40)
    while left > 0:
        size = min(portion, left)
        cubic.on_acked(size, sent_ns, now_ns, trip_ns)
        left -= size
    return now_ns


def test_slow_start_doubles_the_window_every_round_trip() -> None:
    cubic = Cubic(SIZE, UNCAPPED)
    windows = [int(cubic.window)]
    now_ns = 0
    for _ in range(4):
        now_ns = one_round_trip(cubic, now_ns, 10 * MS)
        windows.append(int(cubic.window))

    assert windows == [INITIAL_DATAGRAMS * SIZE * 2**n for n in range(5)]
    assert cubic.in_slow_start


def test_a_loss_takes_three_tenths_and_ends_slow_start() -> None:
    cubic = grown(100)
    cubic.on_loss(sent_ns=5, now_ns=10)

    assert (cubic.window, cubic.losses) == (70 * SIZE, 1)
    assert not cubic.in_slow_start


def test_everything_that_left_before_a_loss_was_noticed_belongs_to_it() -> None:
    cubic = grown(100)
    cubic.on_loss(sent_ns=5, now_ns=10)
    cubic.on_loss(sent_ns=9, now_ns=12)
    cubic.on_loss(sent_ns=10, now_ns=14)
    cubic.on_acked(50 * SIZE, 10, 15, MS)
    assert (cubic.window, cubic.losses) == (70 * SIZE, 1)

    cubic.on_loss(sent_ns=11, now_ns=20)
    assert (cubic.window, cubic.losses) == (49 * SIZE, 2)


def test_the_window_never_falls_below_a_few_datagrams() -> None:
    cubic = Cubic(SIZE, UNCAPPED)
    for now_ns in range(2, 200, 2):
        cubic.on_loss(now_ns - 1, now_ns)
    assert cubic.window == LEAST_DATAGRAMS * SIZE


def test_after_a_loss_the_window_follows_the_curve() -> None:
    """RFC 9438 section 4.2: W(t) = C (t - K)^3 + W_max, in datagrams and seconds."""
    trip_ns = 50 * MS
    highest = 2_000
    cubic = grown(highest)
    cubic.on_loss(sent_ns=1, now_ns=2)
    turning_s = ((1 - DECREASE) * highest / SCALE) ** (1 / 3)

    start_ns = now_ns = 3
    seen = 0
    while now_ns < start_ns + 1.4 * turning_s * SECOND:
        now_ns = one_round_trip(cubic, now_ns, trip_ns)
        # The curve begins at the first acknowledgement after the loss.
        elapsed_s = (now_ns - start_ns - trip_ns) / SECOND
        curve = SCALE * (elapsed_s - turning_s) ** 3 + highest
        assert abs(cubic.window / SIZE - curve) < 0.02 * highest, f"after {elapsed_s} s"
        seen += 1
    assert seen > 200
    assert cubic.window > highest * SIZE


def test_a_small_window_grows_as_fast_as_renos_would() -> None:
    """Over short trips the curve is flatter than Reno's line (RFC 9438 section 4.3)."""
    cubic = grown(20)
    cubic.on_loss(sent_ns=1, now_ns=2)
    before = int(cubic.window)
    now_ns = 3
    for _ in range(20):
        now_ns = one_round_trip(cubic, now_ns, MS)

    grown_by = (cubic.window - before) / SIZE
    assert 20 * RENO_INCREASE * 0.8 < grown_by < 20 * RENO_INCREASE * 1.3


def test_a_loss_below_the_last_plateau_lowers_it() -> None:
    """Fast convergence (RFC 9438 section 4.7): the curve is flat sooner than at the last loss."""
    trip_ns = 50 * MS
    flat_at = {}
    for window in (1_000, 700):
        cubic = grown(1_000)
        cubic.on_loss(sent_ns=1, now_ns=2)
        now_ns = 3
        if window == 700:
            cubic.on_loss(sent_ns=3, now_ns=4)
            now_ns = 5
        steps = []
        for _ in range(400):
            before = int(cubic.window)
            now_ns = one_round_trip(cubic, now_ns, trip_ns)
            steps.append((int(cubic.window) - before, int(cubic.window) // SIZE))
        flat_at[window] = min(steps)[1]

    assert abs(flat_at[1_000] - 1_000) < 30
    assert abs(flat_at[700] - 700 * (1 + DECREASE) / 2) < 30


def test_a_loss_that_was_none_is_taken_back() -> None:
    cubic = grown(100)
    cubic.on_loss(sent_ns=5, now_ns=10)
    cubic.undo_spurious_loss()

    assert cubic.window == 100 * SIZE
    assert cubic.in_slow_start
    cubic.undo_spurious_loss()
    assert cubic.window == 100 * SIZE


def test_taking_a_loss_back_never_takes_anything_away() -> None:
    cubic = grown(20)
    cubic.on_loss(sent_ns=5, now_ns=10)
    now_ns = 11
    for _ in range(100):
        now_ns = one_round_trip(cubic, now_ns, MS)
    window = int(cubic.window)
    assert window > 20 * SIZE

    cubic.undo_spurious_loss()
    assert cubic.window == window


def test_a_collapsed_window_starts_slowly_up_to_half_of_what_it_was() -> None:
    cubic = grown(100)
    cubic.on_persistent_congestion()
    assert cubic.window == LEAST_DATAGRAMS * SIZE

    now_ns = 10
    while cubic.in_slow_start:
        now_ns = one_round_trip(cubic, now_ns, MS)
    assert 50 * SIZE <= cubic.window < 52 * SIZE
    cubic.undo_spurious_loss()
    assert cubic.window < 52 * SIZE, "a collapse is not taken back"


@pytest.mark.parametrize("cap", [0, 1, SIZE, 15 * SIZE, 1_000 * SIZE])
def test_the_window_never_exceeds_its_cap_unless_that_is_tiny(cap: int) -> None:
    """A peer says how much it can take; nobody is made to stand still by that."""
    least = LEAST_DATAGRAMS * SIZE
    highest = max(cap, least)
    cubic = Cubic(SIZE, cap)
    assert cubic.window == min(highest, INITIAL_DATAGRAMS * SIZE)
    cubic.on_acked(2_000 * SIZE, 1, 2, MS)
    assert cubic.window == highest
    cubic.on_loss(3, 4)
    assert cubic.window == max(int(highest * DECREASE), least)
    for second in range(1, 200):
        cubic.on_acked(100 * SIZE, second * SECOND, second * SECOND + MS, MS)
        assert cubic.window <= highest
    assert cubic.window == highest
    cubic.on_persistent_congestion()
    assert cubic.window == least
