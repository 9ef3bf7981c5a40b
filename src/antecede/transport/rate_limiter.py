"""A token bucket, for what costs a peer little: n at once, then one per interval."""

from typing import Final, final

from mypy_extensions import i64


@final
class RateLimiter:
    """What is left of it grows with time, up to `at_once`."""

    __slots__ = ("_ahead_ns", "_every_ns", "_used_up_to_ns")

    def __init__(self, at_once: i64, every_ns: i64) -> None:
        self._every_ns: Final[i64] = every_ns
        # How far what was taken may be ahead of time.
        self._ahead_ns: Final[i64] = (at_once - 1) * every_ns
        self._used_up_to_ns: i64 = 0

    def available(self, now_ns: i64) -> bool:
        """Whether one more is allowed now."""
        return self._used_up_to_ns <= now_ns + self._ahead_ns

    def acquire(self, now_ns: i64) -> None:
        """One has happened."""
        if self._used_up_to_ns < now_ns:
            self._used_up_to_ns = now_ns
        self._used_up_to_ns += self._every_ns

    def try_acquire(self, now_ns: i64) -> bool:
        """Take one if it is allowed."""
        if not self.available(now_ns):
            return False
        self.acquire(now_ns)
        return True
