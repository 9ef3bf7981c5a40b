"""A room as the application sees it: who is in it, what is said there, and leaving it.

What is said in a room waits here, in the order in which the node takes it from its one queue, until
somebody reads it. A room that was joined with `in_node=True` is read with the node instead.
"""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, Self

from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.confirming import Confirming, InHand
from antecede.runtime.content import Payload
from antecede.runtime.errors import NotInRoom
from antecede.runtime.notifier import Notifier
from antecede.transport.flow_control import MESSAGE_COST


class RoomLane:
    """The messages of one room that nobody has read."""

    def __init__(self, confirming: Confirming | None, on_read: Callable[[int], None]) -> None:
        self.confirming: Final = confirming
        # To be called with the size of what was taken, and with 0 when a reader is done with it.
        self._on_read: Final = on_read
        self._messages: Final[deque[InboundMessage]] = deque()
        self._changed: Final = Notifier(asyncio.get_running_loop())
        self.bytes = 0
        """How much memory they take."""
        self._in_hand = 0
        self.ended = False
        """Whether nothing more will come."""

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: InboundMessage) -> None:
        """Something was said in the room."""
        if not self.ended:
            self.bytes += MESSAGE_COST + len(message.payload)
            self._messages.append(message)
            self._changed.notify()

    def end(self, *, drop: bool) -> None:
        """Nothing more will come; what nobody has read is dropped, or may still be read."""
        self.ended = True
        if drop:
            for message in self._messages:
                message.done()
            self._messages.clear()
            self.bytes = 0
        self._changed.notify()

    def is_finished(self) -> bool:
        """Whether the application has read everything, and is done with it."""
        return not self._messages and not self._in_hand

    def hold(self) -> None:
        """A reader has something in hand."""
        self._in_hand += 1

    def release(self) -> None:
        """It is done with that."""
        self._in_hand -= 1
        self._on_read(0)

    async def wait(self, timeout: float | None) -> bool:
        """Wait for a message; False if none will come, `TimedOut` if none comes in time."""
        await self._changed.wait_until(
            lambda: bool(self._messages) or self.ended, timeout, "receive", str
        )
        return bool(self._messages)

    def take(self, asked: InHand | None) -> InboundMessage:
        """The next message."""
        message = self._messages.popleft()
        size = MESSAGE_COST + len(message.payload)
        self.bytes -= size
        if self.confirming is not None:
            self.confirming.hand(asked, [message])
        self._on_read(size)
        return message


class RoomReader:
    """One iteration over the messages of a room.

    Asking for the next one, or ending the iteration, says that the application is done with the
    one before; only then is it asked for its state.
    """

    def __init__(self, lane: RoomLane) -> None:
        self._lane: Final = lane
        self._has_one = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> InboundMessage:
        confirming = self._lane.confirming
        asked = None if confirming is None else confirming.ask()
        self._release()
        if not await self._lane.wait(None):
            raise StopAsyncIteration
        self._has_one = True
        self._lane.hold()
        return self._lane.take(asked)

    def __del__(self) -> None:
        self._release()

    def _release(self) -> None:
        if self._has_one:
            self._has_one = False
            self._lane.release()


class RoomKeeper:
    """What a room needs of its node."""

    lane: RoomLane | None
    """None: what is said in the room is read with the node."""

    @abstractmethod
    def members(self) -> tuple[str, ...]:
        """The names of all members, this node included."""

    @abstractmethod
    async def send(self, payload: Payload, timeout: float | None) -> int:
        """Say something to all members."""

    @abstractmethod
    async def leave(self) -> None:
        """Leave, and wait until that is done."""


class Room:
    """A room that this node has joined; `Node.join` makes one."""

    def __init__(self, name: str, keeper: RoomKeeper) -> None:
        self.name: Final = name
        self._keeper: Final = keeper

    def __repr__(self) -> str:
        return f"<Room {self.name!r}: {', '.join(self.members) or 'left'}>"

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members, this node included; nobody once it has left."""
        return self._keeper.members()

    async def send(self, payload: Payload, timeout: float | None = None) -> int:
        """Send to all other members, in one causal order with everything else.

        Returns the number of this message among those of this node in the room, which the others
        see in `message.sequence`. Waits as `Node.send` does, and while somebody who joins is given
        the application's state. A program that has state applies its own message to it as soon as
        this returns, before it awaits anything else.
        """
        return await self._keeper.send(payload, timeout)

    def __aiter__(self) -> RoomReader:
        return RoomReader(self._lane())

    async def __anext__(self) -> InboundMessage:
        try:
            return await self.receive()
        except NotInRoom:
            raise StopAsyncIteration from None

    async def receive(self, timeout: float | None = None) -> InboundMessage:
        """The next message of the room; `TimedOut` if none comes in time, `NotInRoom` if none will.

        It counts as handled when the caller next awaits something. If handling it takes longer
        than that, iterate over the room instead.
        """
        lane = self._lane()
        asked = None if lane.confirming is None else lane.confirming.ask()
        if not await lane.wait(timeout):
            raise NotInRoom(self.name)
        return lane.take(asked)

    async def take(self, timeout: float | None) -> InboundMessage:
        """Like `receive`, and the caller is done with it only when `done_with_it` is called."""
        lane = self._lane()
        message = await self.receive(timeout)
        lane.hold()
        return message

    def done_with_it(self) -> None:
        """See `take`."""
        self._lane().release()

    async def leave(self) -> None:
        """Leave the room. What nobody has read of it is dropped; iterations over it end."""
        await self._keeper.leave()

    def _lane(self) -> RoomLane:
        lane = self._keeper.lane
        if lane is None:
            raise LocalError(
                f"the room {self.name!r} was joined with in_node=True: its messages come with "
                "those of the node"
            )
        return lane
