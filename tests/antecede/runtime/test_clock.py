"""The clock of an event log: it follows the one that machines share, and always goes on."""

import logging

import pytest

from antecede.eventlog.log import EventLog
from antecede.runtime.observe.event_recorder import SLOWER, SharedClock
from antecede.transport.event_rows import EventRows

SECOND = 1_000_000_000


class Clocks:
    """A clock that goes on, and one that somebody sets."""

    def __init__(self) -> None:
        self.now_ns = 50 * SECOND
        self.ahead_ns = 10**18

    def monotonic(self) -> int:
        return self.now_ns

    def shared(self) -> int:
        return self.now_ns + self.ahead_ns


def started() -> tuple[Clocks, EventRows, SharedClock]:
    clocks = Clocks()
    rows = EventRows(EventLog(), 1)
    clock = SharedClock(rows, clocks.monotonic, clocks.shared)
    clock.follow()
    return clocks, rows, clock


def test_times_go_on_when_the_clock_is_set_back_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clocks, rows, clock = started()
    before_ns = clocks.now_ns + rows.offset_ns
    clocks.ahead_ns -= 30 * SECOND
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            clocks.now_ns += SECOND
            clock.follow()
            time_ns = clocks.now_ns + rows.offset_ns
            assert time_ns - before_ns == SECOND - SECOND // SLOWER
            before_ns = time_ns
    assert [record.getMessage() for record in caplog.records] == [
        "the clock was set back by 30.0 s: the times of the event log go on, a little slower, "
        "until it has caught up"
    ]


def test_the_log_comes_back_to_the_clock() -> None:
    clocks, rows, clock = started()
    clocks.ahead_ns -= 3 * SECOND
    for _ in range(3 * SLOWER + 1):
        clocks.now_ns += SECOND
        clock.follow()
    assert rows.offset_ns == clocks.ahead_ns


def test_a_clock_that_is_set_forward_is_followed_at_once() -> None:
    clocks, rows, clock = started()
    clocks.ahead_ns += 3600 * SECOND
    clock.follow()
    assert rows.offset_ns == clocks.ahead_ns
