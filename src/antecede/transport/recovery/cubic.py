"""How much may be on the way: CUBIC (RFC 9438), which takes loss as the sign of congestion.

The window grows by what is acknowledged until the first loss (slow start). A loss takes three
tenths of it; it then grows along a cubic curve that is flat around the window that last met a loss,
and at least as fast as Reno's would. A loss that turns out to be none is taken back.
"""

from typing import Final, final

from mypy_extensions import i64

INITIAL_DATAGRAMS: Final = 10
LEAST_DATAGRAMS: Final = 4
"""The window in datagrams at the start, and at its smallest."""

DECREASE: Final = 0.7
SCALE: Final = 0.4
RENO_INCREASE: Final = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE)
"""The constants of RFC 9438: what a loss leaves, the curve's steepness, Reno's slope beside it."""

UNBOUNDED: Final = 1 << 62


@final
class Cubic:
    """The congestion window towards one peer, in bytes."""

    __slots__ = (
        "_before_loss",
        "_cap",
        "_datagram",
        "_epoch_ns",
        "_least",
        "_plateau",
        "_recovery_ns",
        "_reno",
        "_slow_start_end",
        "_slow_start_end_before",
        "_turning_s",
        "losses",
        "window",
    )

    def __init__(self, datagram_size: i64, cap: i64) -> None:
        # The smallest window, however little a peer says that it can take.
        self._least: i64 = LEAST_DATAGRAMS * datagram_size
        self._datagram: i64 = datagram_size
        self._cap: i64 = cap if cap > self._least else self._least
        self.window: i64 = INITIAL_DATAGRAMS * datagram_size
        if self.window > self._cap:
            self.window = self._cap
        self.losses: i64 = 0
        self._slow_start_end: i64 = UNBOUNDED
        # What was sent before this moment belongs to a loss already answered.
        self._recovery_ns: i64 = -1
        self._before_loss: i64 = 0
        self._slow_start_end_before: i64 = UNBOUNDED
        self._epoch_ns: i64 = -1
        self._plateau: float = 0.0
        self._turning_s: float = 0.0
        self._reno: float = 0.0

    @property
    def in_slow_start(self) -> bool:
        """Whether no loss has been met at a window of this size."""
        return self.window < self._slow_start_end

    def on_acked(self, size: i64, sent_ns: i64, now_ns: i64, round_trip_ns: i64) -> None:
        """`size` bytes arrived while the window was in full use."""
        if sent_ns <= self._recovery_ns:
            return
        if self.window < self._slow_start_end:
            self.window += size
        else:
            self._follow_curve(size, now_ns, round_trip_ns)
        if self.window > self._cap:
            self.window = self._cap

    def set_window_max(self, cap: i64) -> None:
        """From now on the window grows no further than this."""
        self._cap = cap if cap > self._least else self._least

    def on_loss(self, sent_ns: i64, now_ns: i64) -> None:
        """Something that left at `sent_ns` did not arrive: once a round trip the window shrinks."""
        if sent_ns <= self._recovery_ns:
            return
        self.losses += 1
        self._recovery_ns = now_ns
        self._before_loss = self.window
        self._slow_start_end_before = self._slow_start_end
        plateau = float(self.window)
        if plateau < self._plateau:
            # Others are growing: leave them room sooner (fast convergence).
            plateau *= (1.0 + DECREASE) / 2.0
        self._plateau = plateau
        self._epoch_ns = -1
        self.window = self._at_least(i64(float(self.window) * DECREASE))
        self._slow_start_end = self.window

    def undo_spurious_loss(self) -> None:
        """The last loss was none, only late: take its consequences back."""
        if self._before_loss > self.window:
            self.window = self._before_loss
            self._slow_start_end = self._slow_start_end_before
        self._before_loss = 0
        self._epoch_ns = -1

    def on_persistent_congestion(self) -> None:
        """Nothing arrives at all: begin again with the smallest window."""
        self._slow_start_end = self._at_least(self.window >> 1)
        self.window = self._at_least(0)
        self._before_loss = 0
        self._epoch_ns = -1

    def _at_least(self, window: i64) -> i64:
        return window if window > self._least else self._least

    def _follow_curve(self, size: i64, now_ns: i64, round_trip_ns: i64) -> None:
        window = float(self.window)
        datagram = float(self._datagram)
        if self._epoch_ns < 0:
            self._epoch_ns = now_ns
            self._reno = window
            if self._plateau < window:
                self._plateau = window
            self._turning_s = cube_root((self._plateau - window) / datagram / SCALE)
        elapsed_s = float(now_ns - self._epoch_ns + round_trip_ns) / 1e9
        offset = elapsed_s - self._turning_s
        target = self._plateau + SCALE * offset * offset * offset * datagram
        self._reno += RENO_INCREASE * datagram * float(size) / window
        if target < self._reno:
            target = self._reno
        if target > 1.5 * window:
            target = 1.5 * window
        if target > window:
            self.window += i64((target - window) * float(size) / window) + 1


def cube_root(value: float) -> float:
    """The cube root of a number that is not negative."""
    result: float = value ** (1.0 / 3.0)
    return result
