"""How many there are of something, over time."""

from typing import final

from mypy_extensions import i64


@final
class Gauge:
    """A level that goes up and down; what it is for no time at all does not count."""

    __slots__ = ("_area", "_level", "_since_ns", "greatest")

    def __init__(self) -> None:
        self.greatest: i64 = 0
        self._level: i64 = 0
        self._since_ns: i64 = 0
        # Level times nanoseconds: a plain integer, because it need not fit 64 bits.
        self._area: int = 0

    def change(self, by: i64, now_ns: i64) -> None:
        """From now on there are so many more."""
        if now_ns > self._since_ns:
            self.settle(now_ns)
        self._level += by

    def settle(self, now_ns: i64) -> None:
        """Take note of the level as it has been until now."""
        if self._level > self.greatest:
            self.greatest = self._level
        self._area += int(self._level) * int(now_ns - self._since_ns)
        self._since_ns = now_ns

    def mean(self, span_ns: int) -> float:
        """The mean level over a span that covers all changes settled so far."""
        return 0.0 if span_ns <= 0 else self._area / span_ns
