"""How fast the window may be spent: a bucket of bytes that fills with the window per round trip.

Without it a whole window leaves in one burst and overruns the shortest queue on the way. Short
round trips are not paced: no event loop wakes often enough.
"""

from typing import Final, final

from mypy_extensions import i64

UNPACED_NS: Final = 2_000_000
"""Round trips shorter than 2 ms are not paced."""

BURST_NS: Final = 2_000_000
"""The bucket holds what may leave in 2 ms, and at least 10 datagrams (`BURST_DATAGRAMS`)."""

BURST_DATAGRAMS: Final = 10


@final
class Pacer:
    """The bucket of one path."""

    __slots__ = ("_budget", "_filled_ns")

    def __init__(self) -> None:
        self._budget: i64 = 0
        self._filled_ns: i64 = -1

    def room(self, window: i64, round_trip_ns: i64, datagram: i64, now_ns: i64) -> i64:
        """How many bytes may leave now."""
        if round_trip_ns < UNPACED_NS:
            return window
        # A quarter more than the window per round trip, so that pacing is never what limits.
        burst = BURST_DATAGRAMS * datagram
        in_time = (window * 5 // 4) * BURST_NS // round_trip_ns
        if in_time > burst:
            burst = in_time
        if self._filled_ns < 0:
            self._budget = burst
        else:
            elapsed_ns = now_ns - self._filled_ns
            if elapsed_ns > round_trip_ns:
                elapsed_ns = round_trip_ns
            self._budget += (window * 5 // 4) * elapsed_ns // round_trip_ns
        self._filled_ns = now_ns
        if self._budget > burst:
            self._budget = burst
        return self._budget

    def spent(self, size: i64) -> None:
        """`size` bytes have left, with room or, if they were control, without."""
        self._budget -= size
        if self._budget < 0:
            # What need not ask for room leaves no debt: it could never be paid off.
            self._budget = 0

    def wait_ns(self, size: i64, window: i64, round_trip_ns: i64) -> i64:
        """How long until `size` bytes may leave."""
        short = size - self._budget
        if short <= 0:
            return 0
        return short * round_trip_ns // (window * 5 // 4) + 1
