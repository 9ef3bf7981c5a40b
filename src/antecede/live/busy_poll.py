"""Staying awake for an answer, where answers come soon.

To wake a sleeping process takes tens of microseconds, which is more than everything else in a round
trip on one machine. So the loop goes on turning for a moment after something was sent, if that has
lately been worth it: if something came while it did. Now and then it tries, to find out.
"""

import asyncio
from time import monotonic_ns
from typing import Final, final

AWAKE_NS: Final = 100_000
"""How long nobody sleeps after sending; what comes later is worth a sleep."""

TRIAL_EVERY: Final = 16
"""Of so many times that something is sent, one is a trial where it was not worth it before."""


@final
class BusyPoll:
    """Keeps one loop awake."""

    __slots__ = ("_heard", "_loop", "_sent", "_until_ns", "awake", "worthwhile")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._sent = 0
        self._until_ns = 0
        self._heard = False
        self.awake = False
        self.worthwhile = False

    def sent(self) -> None:
        """Something has left that may be answered soon."""
        self._sent += 1
        if self._heard:
            self.worthwhile = True
            self._heard = False
        if self.worthwhile or self._sent % TRIAL_EVERY == 0:
            self._until_ns = monotonic_ns() + AWAKE_NS
            if not self.awake:
                self.awake = True
                self._loop.call_soon(self._turn)

    def heard(self) -> None:
        """Something has come."""
        self._heard = self.awake

    def _turn(self) -> None:
        """As long as this is called again at once, the loop does not sleep."""
        if not self._heard and monotonic_ns() < self._until_ns:
            self._loop.call_soon(self._turn)
            return
        self.awake = False
        self.worthwhile = self._heard
