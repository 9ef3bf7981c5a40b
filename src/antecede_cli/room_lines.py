"""Rooms in the lines of a node.

    in   {"join": "lobby", "via": "alice", "history": true}
    out  {"event": "snapshot", "room": "lobby", "messages": [{"from": "alice", "text": "hello"}]}
    out  {"event": "joined", "room": "lobby", "peer": "bob"}
    in   {"room": "lobby", "text": "hello, all", "id": 7}
    out  {"sent": 7, "sequence": 1}
    out  {"from": "alice", "room": "lobby", "text": "hello, bob"}
    in   {"leave": "lobby"}

A member with history keeps what is said in the room, its own words among it, and gives that to
those whom it takes in. Nobody reads its own words back.
"""

import base64
import json
from collections.abc import Callable
from typing import Final, TypeAlias

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.errors import JournalFull
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.node import Node
from antecede.runtime.room import Room
from antecede_cli.request_lines import failure

Record: TypeAlias = dict[str, object]

HISTORY_BYTES: Final = 256 << 20
"""Of one room 256 MiB of words are kept; the oldest give way."""

WORD_COST: Final = 100
"""What a word costs beside its text."""


class History:
    """What was said in one room."""

    def __init__(self) -> None:
        self._words: list[tuple[str, bytes]] = []
        self._bytes = 0

    def add(self, sender: str, payload: bytes) -> None:
        """One more."""
        self._words.append((sender, payload))
        self._bytes += len(payload) + WORD_COST
        while self._bytes > HISTORY_BYTES:
            self._bytes -= len(self._words.pop(0)[1]) + WORD_COST

    def snapshot(self) -> bytes:
        """All of it."""
        words = [(sender, base64.b64encode(said).decode()) for sender, said in self._words]
        return json.dumps(words).encode()

    def restore(self, state: bytes) -> list[tuple[str, bytes]]:
        """What another member gave; `ValueError` if that is no history."""
        words = [(str(sender), base64.b64decode(said)) for sender, said in json.loads(state)]
        for sender, said in words:
            self.add(sender, said)
        return words


class RoomLines:
    """The rooms of one node, by lines."""

    def __init__(
        self,
        node: Node,
        put: Callable[[Record], None],
        text_of: Callable[[bytes], Record],
    ) -> None:
        self._node: Final = node
        self._put: Final = put
        # A payload as part of a record.
        self._text_of: Final = text_of
        self._rooms: Final[dict[str, Room]] = {}

    async def join(self, name: object, via: object, history: object = False) -> None:
        """Join a room; the event `joined` tells when that is done."""
        if not isinstance(name, str) or not (via is None or isinstance(via, str)):
            raise LocalError('"join" is the name of a room, and "via" that of a member')
        kept = History()

        def restore(state: bytes) -> None:
            words = [{"from": one, **self._text_of(said)} for one, said in kept.restore(state)]
            self._put({"event": "snapshot", "room": name, "messages": words})

        self._rooms[name] = await self._node._rooms.join(
            name,
            via,
            kept.snapshot if history is True else None,
            restore,
            in_node=True,
            observe=kept.add if history is True else None,
        )

    def members(self) -> dict[str, tuple[str, ...]]:
        """The rooms of this node, and who is in them."""
        return {name: room.members for name, room in self._rooms.items() if room.members}

    async def send(self, name: object, payload: bytes) -> int:
        """Say something in a room: its number among what this node has said there."""
        self._room(name)
        rooms = self._node._rooms
        return await rooms.publish(rooms.room(str(name)), payload)

    async def leave(self, name: object) -> None:
        """Leave a room; the event `left` tells when that is done."""
        await self._room(name).leave()

    def _room(self, name: object) -> Room:
        room = self._rooms.get(name) if isinstance(name, str) else None
        if room is None:
            raise LocalError(f"this node is not in the room {name!r}: join it first")
        return room

    async def answer(
        self, request: Record, read_payload: Callable[[Record, object], bytes]
    ) -> Record | None:
        """Do what a line about a room asks for; the record to answer with."""
        identity = request.get("id")
        try:
            if "join" in request:
                await self.join(request["join"], request.get("via"), request.get("history"))
            elif "leave" in request:
                await self.leave(request["leave"])
            else:
                number = await self.send(request["room"], read_payload(request, identity))
                if "id" in request:
                    return {"sent": identity, "sequence": number}
        except (AntecedeError, JournalFull) as error:
            return failure(error, identity)
        return None

    def delivered(self, message: InboundMessage) -> Record:
        """The record of something that was said in a room."""
        record = {"from": message.sender, "room": message.room, **self._text_of(message.payload)}
        if message.again:
            record["again"] = True
        return record


def is_of_rooms(request: Record) -> bool:
    """Whether a line is about a room."""
    return "join" in request or "leave" in request or "room" in request
