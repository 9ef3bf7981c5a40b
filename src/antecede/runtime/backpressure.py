"""Sends that wait: for room, for targets to be met, and for their turn.

Messages to one target leave in the order in which `send` was called, whichever task called it. A
send that comes while others wait for room joins the line of each of its targets; lines of different
targets do not wait for each other.

A task that also consumes must not wait for room that only its own consuming can make. What has come
is then taken ahead; if nothing moves any more, `WouldDeadlock` says so.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from antecede.endpoint.endpoint import Endpoint
from antecede.membership.contact import ContactState
from antecede.runtime.config.settings import Settings
from antecede.runtime.deliveries import Deliveries
from antecede.runtime.errors import BufferFull, NodeClosed, WouldDeadlock
from antecede.runtime.notifier import Notifier, Waiter, yield_to_loop
from antecede.runtime.targets import Targets
from antecede.units import messages_text

WOKEN_TOGETHER: Final = 256
"""At most 256 sends go on in one turn of the loop when there is room again."""


class Place:
    """The place of one call in the lines of its targets."""

    __slots__ = ("_waiter", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names: Final = tuple(names)
        self._waiter: Waiter[None] | None = None

    async def sleep(self) -> None:
        """Until those in front have gone, or may have."""
        self._waiter = Waiter(loop=asyncio.get_running_loop())
        try:
            await self._waiter
        finally:
            self._waiter = None

    def is_asleep(self) -> bool:
        """Whether nobody has woken it."""
        return self._waiter is not None and not self._waiter.done()

    def wake(self) -> None:
        """Let it look again, in the next turn."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.wake(None)


class Lines:
    """The lines of one node."""

    def __init__(self) -> None:
        self._lines: Final[dict[str, OrderedDict[Place, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def join(self, names: Sequence[str]) -> Place:
        """Stand at the end of the lines of these targets."""
        place = Place(names)
        for name in names:
            self._lines.setdefault(name, OrderedDict())[place] = None
        return place

    def leave(self, place: Place) -> None:
        """Go, with or without having sent: those behind move up."""
        for name in place.names:
            line = self._lines[name]
            del line[place]
            if not line:
                del self._lines[name]
            elif next(iter(line)).is_asleep():
                for behind in islice(line, WOKEN_TOGETHER):
                    behind.wake()

    def is_first(self, place: Place) -> bool:
        """Whether nobody stands in front of it."""
        return all(next(iter(self._lines[name])) is place for name in place.names)

    def length(self, names: Iterable[str]) -> int:
        """How many stand in the longest of these lines."""
        return max((len(self._lines[name]) for name in names if name in self._lines), default=0)


STANDSTILL_SECONDS: Final = 1.0
"""If nothing moves for 1 s while all buffers are full, it is called a deadlock."""


class Backpressure:
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
        self._lines: Final = Lines()
        self.slow_path = False
        """Whether a message cannot just be sent: the node is closing, a consumer is behind, or
        others wait to send."""
        self.closing = False
        self.closed = False

    def close(self) -> None:
        """Who waits for room is told that there will be none."""
        self.closing = self.slow_path = True
        self._progress.notify()

    def end(self) -> None:
        """The node is closed."""
        self.closed = self.closing = self.slow_path = True

    def must_wait(self, targets: Targets) -> bool:
        """Whether this has to wait: to meet a target, for room, for those who came before, or for
        a consumer."""
        if targets.awaited:
            return True
        if not self.slow_path:
            return not self._fits(targets)
        return self._deliveries.is_ahead or not self._may_overtake(targets)

    def _fits(self, targets: Targets) -> bool:
        sending = self._endpoint.sending
        return sending.has_room_for(targets.contacts, targets.to_self, len(targets.data))

    def _may_overtake(self, targets: Targets) -> bool:
        """Whether this may be sent now, and nobody waits to send to the same targets."""
        return not self._lines.length(self._names(targets)) and self._fits(targets)

    def sends_waiting(self, name: str) -> int:
        """How many calls wait to send to a peer."""
        return self._lines.length((name,))

    def check(self, targets: Targets) -> None:
        """`BufferFull` if this would have to wait, or does not find room at once."""
        free = self._settings.send_bytes - self._endpoint.sending.bytes_held
        enough = len(targets.data) <= free
        if targets.awaited or not enough or not self._may_overtake(targets):
            raise BufferFull(f"{self._obstacle(targets)}; try later, or use send(), which waits")

    def _obstacle(self, targets: Targets) -> str:
        """Why this cannot be sent now."""
        endpoint = self._endpoint
        if targets.awaited:
            name = targets.awaited[0]
            if endpoint.directory.by_name[name].state == ContactState.NEW:
                return f"{name} has not been met yet"
            return f"{name} is away"
        if targets.to_self and not endpoint.inbox.has_room_for_own(self._settings.receive_window):
            return f"{self._deliveries.unread():,} messages wait here to be received"
        waiting = self._lines.length(self._names(targets))
        if waiting:
            return f"{waiting:,} calls of send() wait for room already"
        for contact in targets.contacts:
            if endpoint.sending.has_room() and not endpoint.sending.has_share(contact.session):
                owed = messages_text(endpoint.sending.messages_owed(contact.session))
                return f"{contact.name} has its share of the buffer: {owed} not delivered to it yet"
        held = messages_text(endpoint.sending.messages_buffered())
        return f"{held} with {endpoint.sending.bytes_held:,} bytes are not delivered yet"

    async def wait(self, resolve: Callable[[], Targets], paced: bool) -> Targets:
        """Until it is the turn of this message, its targets are met and there is room.

        The caller sends it at once, to the targets that are answered: after every wait all of them
        are looked at again. `paced`: the loop gets a turn first. `WouldDeadlock` if there never
        will be room.
        """
        targets = resolve()
        place = self._lines.join(self._names(targets))
        self.slow_path = True
        try:
            if paced:
                await yield_to_loop()
                self._check_open()
            await self._yield_to_consumer()
            begun = self._loop.time()
            targets = resolve()
            while not self._may_go(place, targets):
                await self._for_progress(place, targets, begun)
                self._check_open()
                targets = resolve()
            return targets
        finally:
            self._lines.leave(place)
            self.slow_path = self.closing or self._deliveries.is_ahead or bool(self._lines)
            if self._progress.waiters:
                self._progress.notify()  # A consumer behind waits for progress, not for its turn.

    def _names(self, targets: Targets) -> list[str]:
        names = [contact.name for contact in targets.contacts]
        return [*names, self._settings.name] if targets.to_self else names

    def _may_go(self, place: Place, targets: Targets) -> bool:
        if targets.awaited or not self._fits(targets):
            return False
        # Those in front may wait until the consumer, which sends this, has caught up.
        return self._lines.is_first(place) or (self._deliveries.is_ahead and self._is_consuming())

    async def _for_progress(self, place: Place, targets: Targets, begun: float) -> None:
        """Wait for something that may make room, bring a target, or for one's turn."""
        if targets.awaited or not self._would_deadlock(targets.to_self):
            if self._lines.is_first(place) or self._is_consuming():
                await self._progress.wait()
            else:
                await place.sleep()
        elif not self._take_ahead():
            left = begun + STANDSTILL_SECONDS - self._loop.time()
            if left <= 0:
                raise WouldDeadlock(self._settings.name)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._progress.wait()

    async def _yield_to_consumer(self) -> None:
        """Let a consumer that is behind catch up first, or whatever room it gets would be lost."""
        while self._deliveries.is_ahead and not self._is_consuming():
            await self._progress.wait()
            self._check_open()

    def _is_consuming(self) -> bool:
        return self._deliveries.is_consumer(asyncio.current_task(self._loop))

    def take_ahead(self) -> bool:
        """Take in what has come for a consumer that reads nothing now, if a peer waits for that."""
        return self._endpoint.inbox.blocks_a_peer() and self._take_ahead()

    def _take_ahead(self) -> bool:
        if not self._deliveries.prefetch(self._ahead_limit()):
            return False
        self.slow_path = True
        return True

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
        return inbox.blocks_a_peer()
