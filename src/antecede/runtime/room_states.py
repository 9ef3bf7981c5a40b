"""The bytes of a room's state, from the member that takes somebody in to who joins.

The header of a snapshot is a word of the room; the bytes follow it in parts, which the joiner asks
for, a few at a time. A part that does not come is not asked for again: if its sender is gone, the
joiner asks another member, with another attempt.

    which half | room | joiner | attempt | offset | bytes of the part
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, TypeAlias

from librt.strings import BytesWriter
from mypy_extensions import u8

from antecede.core.errors import AntecedeError, RemoteError
from antecede.groups import MemberId
from antecede.groups.names import read_member, read_name, write_member
from antecede.runtime.content import Content
from antecede.wire.envelope import ROOM_STATE, write_short_text
from antecede.wire.varint import WireReader, write_varint

PART_BYTES: Final = 32 << 10
"""A part has 32 KiB."""

PARTS_ASKED: Final = 8
"""Eight parts are asked for before the first of them has come."""

STEPS: Final = 64
"""How far it is, is told some 64 times, however large the state is."""

ASK: Final = 0
PART: Final = 1

Key: TypeAlias = tuple[str, MemberId, int]
"""A room by its name, who joins it, and with which attempt."""

Send: TypeAlias = Callable[[str, Content], Awaitable[object]]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Fetching:
    """A state of which parts are under way."""

    sponsor: str
    length: int
    digest: bytes
    progress: Callable[[int, int], None]
    done: Callable[[bytes | None], None]
    data: bytearray = field(default_factory=bytearray)
    asked: int = 0
    told: int = 0


class RoomStates:
    """The states that one node gives to others, and gets."""

    def __init__(self, name: str, send: Send) -> None:
        self._name: Final = name
        self._send: Final = send
        self._loop: Final = asyncio.get_running_loop()
        self._offered: Final[dict[Key, bytes]] = {}
        self._fetching: Final[dict[Key, Fetching]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    def offer(self, key: Key, data: bytes) -> None:
        """Who joins may ask for this."""
        self._offered[key] = data

    def forget(self, key: Key) -> None:
        """That attempt is over, here or there."""
        self._offered.pop(key, None)
        self._fetching.pop(key, None)

    def forget_of(self, room: str, joiner: MemberId) -> None:
        """It is not there any more."""
        for key in [key for key in self._offered if key[:2] == (room, joiner)]:
            del self._offered[key]

    def bytes_held(self) -> int:
        """How much is kept for those who join."""
        return sum(len(data) for data in self._offered.values())

    def fetch(self, key: Key, fetching: Fetching) -> None:
        """Ask for all parts; `done` gets the whole, or None if it is not what was announced."""
        self._fetching[key] = fetching
        self._ask(key, fetching)

    def close(self) -> None:
        """Nothing is sent any more."""
        self._offered.clear()
        self._fetching.clear()
        for task in self._tasks:
            task.cancel()

    def on_message(self, sender: str, data: bytes) -> None:
        """A part has come, or is asked for; what makes no sense is left."""
        try:
            reader = WireReader(data)
            kind = reader.byte()
            key = (read_name(reader), read_member(reader), int(reader.positive()))
            offset = int(reader.varint())
        except RemoteError as error:
            log.debug("%s: a part of a state from %s: %s", self._name, sender, error)
            return
        if kind == ASK:
            whole = self._offered.get(key)
            if whole is not None and key[1].name == sender:
                self._put(sender, PART, key, offset, whole[offset : offset + PART_BYTES])
                if offset + PART_BYTES >= len(whole):
                    del self._offered[key]  # They are asked for in order, each once.
        elif kind == PART:
            self._on_part(sender, key, offset, reader.rest())

    def _on_part(self, sender: str, key: Key, offset: int, part: bytes) -> None:
        fetching = self._fetching.get(key)
        if fetching is None or fetching.sponsor != sender or offset != len(fetching.data):
            return
        fetching.data += part
        if len(fetching.data) < fetching.length and part:
            if len(fetching.data) >= fetching.told + fetching.length // STEPS:
                fetching.told = len(fetching.data)
                fetching.progress(fetching.told, fetching.length)
            self._ask(key, fetching)
            return
        del self._fetching[key]
        whole = bytes(fetching.data)
        fetching.done(whole if digest_of(whole) == fetching.digest else None)

    def _ask(self, key: Key, fetching: Fetching) -> None:
        limit = min(fetching.length, len(fetching.data) + PARTS_ASKED * PART_BYTES)
        while fetching.asked < limit or fetching.length == fetching.asked == 0:
            self._put(fetching.sponsor, ASK, key, fetching.asked, b"")
            fetching.asked += PART_BYTES

    def _put(self, name: str, kind: int, key: Key, offset: int, part: bytes) -> None:
        """Send it when there is room; those to one node leave in the order of these calls."""
        writer = BytesWriter()
        writer.append(u8(kind))
        write_short_text(writer, key[0])
        write_member(writer, key[1])
        write_varint(writer, key[2])
        write_varint(writer, offset)
        writer.write(part)
        task = self._loop.create_task(self._deliver(name, writer.getvalue()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, name: str, data: bytes) -> None:
        with suppress(AntecedeError):  # Whoever is gone is asked, or asks, no more.
            await self._send(name, Content(data, kind=ROOM_STATE))


def digest_of(data: bytes) -> bytes:
    """What a state must hash to."""
    return blake2b(data, digest_size=32).digest()
