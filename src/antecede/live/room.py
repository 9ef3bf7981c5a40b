"""Room for what is sent: whether there is any, and waiting for it.

A task that also consumes must not wait for room that only its consuming can make; what has come is
then taken ahead, and if nothing moves any more, that is said.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from antecede.link.endpoint import Endpoint
from antecede.link.notation import messages_text
from antecede.live.deliveries import Deliveries
from antecede.live.errors import NodeClosed, WouldDeadlock
from antecede.live.explaining import messages_buffered
from antecede.live.settings import Settings
from antecede.live.waiting import Notifier

STANDSTILL_SECONDS: Final = 1.0
"""So long nothing may move, with all buffers full, before it is called a deadlock."""


class Room:
    """The room of one node."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        deliveries: Deliveries,
        progress: Notifier,
        check_open: Callable[[], None],
    ) -> None:
        self._settings: Final = settings
        self._endpoint: Final = endpoint
        self._deliveries: Final = deliveries
        self._progress: Final = progress
        self._check_open: Final = check_open
        self._loop: Final = asyncio.get_running_loop()
        self.careful = False
        """Whether a message cannot just be sent: the node is closing, or a consumer is behind."""
        self.closing = False
        self.closed = False

    def close(self) -> None:
        """Who waits for room is told that there will be none."""
        self.closing = self.careful = True
        self._progress.notify()

    def has_room_for(self, payload: bytes, to_self: bool) -> bool:
        """Whether this payload may be sent now."""
        sending = self._endpoint.sending
        free = self._settings.send_bytes - sending.bytes_held
        return sending.has_room(to_self) and len(payload) <= free

    def fullness(self, to_self: bool) -> str:
        """Why there is no room."""
        endpoint = self._endpoint
        if to_self and not endpoint.inbox.has_room_for_own(self._settings.receive_window):
            return f"{self._deliveries.unread():,} messages wait here to be received"
        held = messages_text(messages_buffered(endpoint))
        return f"{held} with {endpoint.sending.bytes_held:,} bytes are not delivered yet"

    async def wait(self, to_self: bool) -> None:
        """Until there is room for another message; `WouldDeadlock` if there never will be."""
        await self._give_way()
        begun = self._loop.time()
        while not self._endpoint.sending.has_room(to_self):
            if not self._would_deadlock(to_self):
                await self._progress.wait()
            elif self._deliveries.take_ahead(self._ahead_limit()):
                self.careful = True
            else:
                left = begun + STANDSTILL_SECONDS - self._loop.time()
                if left <= 0:
                    raise WouldDeadlock(self._settings.name)
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._progress.wait()
            self._check_open()

    async def _give_way(self) -> None:
        """Let a consumer that is behind catch up first, or whatever room it gets would be lost."""
        while self._deliveries.is_ahead and not self._is_consuming():
            await self._progress.wait()
            self._check_open()
        if not self._deliveries.is_ahead:
            self.careful = self.closing

    def _is_consuming(self) -> bool:
        return self._deliveries.is_consumer(asyncio.current_task(self._loop))

    def _ahead_limit(self) -> int:
        """How many bytes may be taken in for a consumer that waits for room itself."""
        return (1 + len(self._endpoint.directory.by_name)) * self._settings.receive_window

    async def wait_for_large(self) -> None:
        """Until the last part of a large payload is buffered; it will be, even if nobody waits."""
        while not self._endpoint.sending.large_is_done():
            if self.closed:
                raise NodeClosed(self._settings.name)
            if self._would_deadlock(to_self=False):
                return
            await self._progress.wait()

    def _would_deadlock(self, to_self: bool) -> bool:
        """Whether a consumer would wait for room that only consuming can make, here or there."""
        if not self._is_consuming():
            return False
        inbox = self._endpoint.inbox
        if to_self and not inbox.has_room_for_own(self._settings.receive_window):
            return True
        return inbox.holds_up_a_peer()
