"""A room for code without asyncio."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final, Protocol, TypeVar

from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.content import Payload, payload_bytes
from antecede.runtime.errors import NodeClosed, NotInRoom
from antecede.runtime.room import Room

T = TypeVar("T")


class Call(Protocol):
    """Runs a coroutine in the loop of the node, and waits for it."""

    def __call__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine returns."""


class BlockingRoom:
    """A room that this node has joined; `BlockingNode.join` makes one.

    One thread reads it. Asking for the next message says that it is done with the one before: only
    then is the application asked for its state, in the thread of the node.
    """

    def __init__(self, room: Room, call: Call, *, confirms: bool) -> None:
        self.name: Final = room.name
        self._room: Final = room
        self._call: Final = call
        # With a journal: whether asking for the next message confirms the last.
        self._confirms: Final = confirms
        self._last: InboundMessage | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members, this node included."""

        async def members() -> tuple[str, ...]:
            return self._room.members

        return self._call(members)

    def send(self, payload: Payload, timeout: float | None = None) -> int:
        """Send to all other members, in one causal order with everything else."""
        copied = payload_bytes(payload)
        return self._call(lambda: self._room.send(copied, timeout))

    def receive(self, timeout: float | None = None) -> InboundMessage:
        """The next message; `TimedOut` if none comes in time, `NotInRoom` if none will."""

        async def take() -> InboundMessage:
            self._end_last()
            return await self._room.take(timeout)

        self._last = self._call(take)
        return self._last

    def __iter__(self) -> Iterator[InboundMessage]:
        return self

    def __next__(self) -> InboundMessage:
        try:
            return self.receive()
        except (NotInRoom, NodeClosed):
            raise StopIteration from None

    def leave(self) -> None:
        """Leave the room; what nobody has read of it is dropped."""

        async def leave() -> None:
            self._end_last()
            await self._room.leave()

        self._call(leave)

    def _end_last(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            if self._confirms:
                last.done()
            self._room.done_with_it()
