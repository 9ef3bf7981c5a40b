"""Busy polling: after sending, the loop stays awake for an answer where answers come soon.

Waking a sleeping process takes tens of microseconds, more than everything else in a round trip on
one machine. So after something was sent the loop does not sleep for 100 µs, if something came
within that time lately. Where nothing did, one send in 16 is a trial.

A turn of the loop takes ten times as long as a poll of one socket. So after a single small
datagram, in a turn in which nothing was sent, the socket is polled for up to 40 µs, and what comes
is read at once. Everybody else in the loop waits meanwhile, so this is done only where it pays: not
where the answer needs other tasks of the loop, and not within a stream, where waiting for more
saves work.
"""

import asyncio
from collections.abc import Callable
from time import monotonic_ns
from typing import Final, final

AWAKE_NS: Final = 100_000
"""The loop does not sleep for 100 µs after sending."""

LOOKING_NS: Final = 40_000
"""One turn polls the socket for at most 40 µs; everybody else in the loop waits that long."""

TRIAL_EVERY: Final = 16
"""Where busy polling did not pay lately, one send in 16 tries it again."""

VAIN_LOOKS: Final = 4
LOOK_EVERY: Final = 128
"""After 4 polls in a row that found nothing, only one send in 128 polls."""


@final
class BusyPoll:
    """Keeps one loop awake, and looks for what comes at one socket."""

    __slots__ = (
        "_alone",
        "_has_come",
        "_heard",
        "_idle",
        "_loop",
        "_read",
        "_sent",
        "_until_ns",
        "_vain",
        "awake",
        "worthwhile",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        has_come: Callable[[], object],
        read: Callable[[], None],
    ) -> None:
        self._loop: Final = loop
        # Whether something has come that can be read, and how it is.
        self._has_come: Final = has_come
        self._read: Final = read
        # Whether what was sent last may be a question, and a turn has passed since.
        self._alone = False
        self._idle = False
        # How often in a row it has looked in vain.
        self._vain = 0
        self._sent = 0
        self._until_ns = 0
        self._heard = False
        self.awake = False
        self.worthwhile = False

    def sent(self, alone: bool) -> None:
        """Something has left that may be answered soon; `alone`: it is no part of a stream."""
        self._sent += 1
        self._alone = alone
        self._idle = False
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

    def stop(self) -> None:
        """The socket is closed: sleep."""
        self._until_ns = 0

    def _turn(self) -> None:
        """As long as this is called again at once, the loop does not sleep."""
        if not self._heard:
            now_ns = monotonic_ns()
            if now_ns < self._until_ns:
                self._loop.call_soon(self._turn)
                if not self._idle:
                    self._idle = True
                elif self._alone:
                    self._look(now_ns + LOOKING_NS)
                return
        self.awake = False
        self.worthwhile = self._heard

    def _look(self, until_ns: int) -> None:
        """Look for something to read, for a while."""
        if self._vain >= VAIN_LOOKS and self._sent % LOOK_EVERY != 0:
            return
        if self._has_come():
            return  # The loop sees that without help.
        while not self._has_come():
            if monotonic_ns() >= until_ns:
                self._vain += 1
                return
        self._vain = 0
        self._read()
