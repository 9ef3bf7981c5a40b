"""One timer on an asyncio loop, in the nanoseconds of the monotonic clock."""

import asyncio
from collections.abc import Callable
from time import monotonic_ns
from typing import Final, final

NEVER_NS: Final = 1 << 62
FAR_NS: Final = NEVER_NS >> 1
"""Beyond this nothing is planned. A timer that is cancelled stays in the loop until its time."""


@final
class LoopTimer:
    """Calls back at the earliest time that was asked for since it last rang."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop: Final = loop
        self._ring: Final = ring
        self._handle: asyncio.TimerHandle | None = None
        self.time_ns = NEVER_NS
        """When it rings next."""

    def wake_at(self, time_ns: int) -> None:
        """Ring then, or earlier, which is harmless, and cheaper than another timer."""
        if time_ns >= self.time_ns or time_ns >= FAR_NS:
            return
        self.cancel()
        self.time_ns = time_ns
        delay = max(0, time_ns - monotonic_ns()) / 1e9
        self._handle = self._loop.call_later(delay, self._on_time)

    def cancel(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
        self.time_ns = NEVER_NS

    def _on_time(self) -> None:
        self._handle = None
        self.time_ns = NEVER_NS
        self._ring()
