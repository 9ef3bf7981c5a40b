"""State that the members of a room share: a dictionary and a counter.

Both are examples of how to build on a room. What one member changes every other member changes
once, after its causes, and a late joiner begins with a copy. So a counter is a number, and a
dictionary needs a rule only for writes of which neither happened before the other.

    prices = await SharedDict.join(node, "prices", via="alice")
    await prices.set("apple", 3)
    prices["apple"]

Not promised: if a member dies while its last changes are under way, some members may have got them
and others not. They differ in these until somebody writes again.
"""

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self, TypeAlias

from antecede.core.errors import LocalError
from antecede.runtime.node import Node
from antecede.runtime.room import Room

log = logging.getLogger(__name__)

Json: TypeAlias = Any
"""What JSON can say: text, numbers, booleans, None, lists, and dictionaries with text as keys."""

Stamp: TypeAlias = tuple[int, str, int]
"""When and by whom something was written: a logical clock, the writer's name and incarnation."""


class SharedState(ABC):
    """What is the same for everything that the members of a room share."""

    room: Room
    _reading: asyncio.Task[None]

    def __init__(self, node: Node) -> None:
        self._node: Final = node
        self.refused = 0
        """How many publications in this room were no change that we understand."""

    @classmethod
    async def join(cls, node: Node, name: str, via: str | None = None) -> Self:
        """Join the room of that name through a member; without one a new room is made."""
        shared = cls(node)
        shared.room = await node.join(
            name, via=via, snapshot=shared._snapshot, restore=shared._restore
        )
        shared._reading = asyncio.create_task(shared._read())
        return shared

    async def leave(self) -> None:
        """Leave the room; what is here stays as it is, and is nobody else's."""
        await self.room.leave()
        await self._reading

    async def _publish(self, change: Json) -> None:
        """Tell the others, and make the change here.

        Nothing happens between the two: a room gives no copy to a joiner before `send` has returned
        and its caller waits for something else.
        """
        try:
            data = json.dumps(change, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise LocalError(f"this cannot be shared, as JSON cannot say it: {error}") from None
        await self.room.send(data)
        self._apply(json.loads(data))

    async def _read(self) -> None:
        async for message in self.room:
            try:
                self._apply(json.loads(message.payload))
            except (ValueError, TypeError, LookupError) as error:
                self.refused += 1
                log.warning("%s: not a change, from %s: %s", self.room.name, message.sender, error)

    def _snapshot(self) -> bytes:
        return json.dumps(self._state()).encode()

    def _restore(self, data: bytes) -> None:
        self._begin_with(json.loads(data))

    @abstractmethod
    def _apply(self, change: Json) -> None:
        """Make a change of somebody's; an error before anything has changed if it is none."""

    @abstractmethod
    def _state(self) -> Json:
        """A copy for a late joiner."""

    @abstractmethod
    def _begin_with(self, state: Json) -> None:
        """What `_state` has made at a member."""


class SharedDict(SharedState, Mapping[str, Json]):
    """A dictionary of which every member has a copy; reading it costs what a `dict` costs.

    The last writer of a key wins: of two writes, the one that happened after the other. If neither
    did, the one with the higher clock counts, and with equal clocks the one of the writer whose
    name is last in the alphabet; all members decide alike. A deleted key still costs its name.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        # By key its stamp and its value, or nothing instead of the value once it is deleted.
        self._entries: dict[str, tuple[Stamp, tuple[Json] | None]] = {}
        self._present = 0
        self._clock = 0

    def __getitem__(self, key: str) -> Json:
        _, value = self._entries[key]
        if value is None:
            raise KeyError(key)
        return value[0]

    def __iter__(self) -> Iterator[str]:
        return (key for key, (_, value) in self._entries.items() if value is not None)

    def __len__(self) -> int:
        return self._present

    async def set(self, key: str, value: Json) -> None:
        """Write a value; returns when it is here, and on its way to the others."""
        await self._write(key, [value])

    async def delete(self, key: str) -> None:
        """Delete a key that is there; else `KeyError`."""
        if key not in self:
            raise KeyError(key)
        await self._write(key, [])

    async def _write(self, key: str, value: list[Json]) -> None:
        if not isinstance(key, str):
            raise LocalError(f"a key of a shared dictionary is text, not {key!r}")
        self._clock += 1
        stamp = (self._clock, self._node.name, self._node.incarnation)
        await self._publish({"key": key, "stamp": stamp, "value": value})

    def _apply(self, change: Json) -> None:
        key, stamp, value = str(change["key"]), read_stamp(change["stamp"]), tuple(change["value"])
        if len(value) > 1:
            raise ValueError(f"{len(value)} values for one key")
        self._clock = max(self._clock, stamp[0])
        if key not in self._entries or self._entries[key][0] < stamp:
            self._present += bool(value) - (key in self)
            self._entries[key] = (stamp, value or None)

    def _state(self) -> Json:
        return {key: [stamp, value or []] for key, (stamp, value) in self._entries.items()}

    def _begin_with(self, state: Json) -> None:
        self._entries.clear()
        self._present = 0
        for key, (stamp, value) in state.items():
            self._apply({"key": key, "stamp": stamp, "value": value})


class SharedCounter(SharedState):
    """A number to which every member may add; no update is lost, and none counts twice."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.value = 0

    async def add(self, amount: int = 1) -> None:
        """Add this much, or take it away, at every member."""
        if type(amount) is not int:
            raise LocalError(f"a counter counts in whole numbers, not {amount!r}")
        await self._publish(amount)

    def _apply(self, change: Json) -> None:
        if type(change) is not int:
            raise TypeError(f"{change!r} is not a whole number")
        self.value += change

    def _state(self) -> Json:
        return self.value

    def _begin_with(self, state: Json) -> None:
        self.value = int(state)


def read_stamp(stamp: Json) -> Stamp:
    """The stamp of a write; `ValueError` or `TypeError` if it is none."""
    clock, name, incarnation = stamp
    return int(clock), str(name), int(incarnation)
