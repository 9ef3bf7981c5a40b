"""Reading what comes, peer by peer, and no longer at a time than others can wait."""

import asyncio
from collections.abc import Callable
from typing import Final

from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.receive_queue import FairReceiveQueue

READING_NS: Final = 100_000
MESSAGES: Final = 64
"""Queued datagrams are read, one round of peers after another, for at most 100 µs or until 64
messages wait to be handed over; then the socket is read again."""


class FairReader:
    """What a carrier calls, in front of a node."""

    def __init__(
        self,
        on_input_end: Callable[[int], None],
        on_time: Callable[[int], None],
        endpoint: Endpoint,
        clock: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        # What a node does when everything that had come has been read, or waits for its turn.
        self._after_reading: Final = on_input_end
        self._clock: Final = clock
        self._loop: Final = loop
        self._planned = False
        self._came = False
        self._inbox: Final = endpoint.inbox
        self.queue: Final = FairReceiveQueue(endpoint)
        # On the way of every datagram: looked up once.
        self.on_datagram: Final = self.queue.receive
        self.on_joined: Final = self.queue.receive_joined
        self.is_queueing: Final = self.queue.has_waiting
        self.sender_of: Final = self.queue.sender_of
        self.is_over: Final = endpoint.is_over
        self.on_time: Final = on_time

    def on_input_end(self, now_ns: int) -> None:
        """That was all for now: read for a while, then look for what else has come."""
        self._came = True
        self._read(now_ns)

    def _read(self, now_ns: int) -> None:
        queue = self.queue
        if queue.has_waiting():
            until_ns = now_ns + READING_NS
            queue.drain_round(now_ns)
            now_ns = self._clock()
            while queue.peer_waits() and now_ns < until_ns and len(self._inbox.messages) < MESSAGES:
                queue.drain_round(now_ns)
                now_ns = self._clock()
            if queue.has_waiting() and not self._planned:
                self._planned = True
                self._loop.call_soon(self._read_on)
        self._after_reading(now_ns)

    def _read_on(self) -> None:
        """Read on if nothing comes in this turn of the loop: what comes is told after this."""
        if self._came:
            # More is likely to come, and then it is read on. Twice in a turn would be twice as
            # long before it is looked for somebody else.
            self._came = False
            self._loop.call_soon(self._read_on)
            return
        self._planned = False
        self._read(self._clock())
