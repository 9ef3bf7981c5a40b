"""The bytes of a room's state, from the member that takes somebody in to who joins.

The header of a snapshot is a word of the room; the bytes follow it. Large ones come on a connection
of their own if one can be made (`room_streams`), so that no message waits for them. Others come in
messages, in parts that the joiner asks for, a few at a time. If their sender is gone, the joiner
asks another member, with another attempt.

    what | room | joiner | attempt | offset of a part, or a port | bytes of a part, or a secret
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
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
from antecede.runtime.room_streams import DIGEST_BYTES, StateStream, fetch_stream
from antecede.wire.envelope import ROOM_STATE, write_short_text
from antecede.wire.varint import WireReader, write_varint

PART_BYTES: Final = 16 << 10
"""A part has 16 KiB."""

PARTS_ASKED: Final = 4
"""Four parts are asked for before the first of them has come: other messages wait no longer than
for those."""

STREAM_BYTES: Final = 256 << 10
"""From 256 KiB on a state is worth a connection."""

STEPS: Final = 64
"""How far it is, is told some 64 times, however large the state is."""

ID_BYTES: Final = 16

ASK_STREAM: Final = 0
STREAM: Final = 1
ASK: Final = 2
PART: Final = 3
LAST_PART: Final = 4
NO_STATE: Final = 5
"""What a message about a state is. `STREAM`: where to connect; with port 0 nowhere. `NO_STATE`: the
member has forgotten it, for it was restarted meanwhile."""

Key: TypeAlias = tuple[str, MemberId, int]
"""A room by its name, who joins it, and with which attempt."""

Send: TypeAlias = Callable[[str, Content], Awaitable[object]]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Offer:
    """A state that somebody may fetch."""

    data: bytes
    stream: StateStream | None = None
    digest: blake2b = field(default_factory=lambda: blake2b(digest_size=DIGEST_BYTES))


@dataclass(slots=True)
class Fetching:
    """A state that is under way."""

    sponsor: str
    length: int
    progress: Callable[[int, int], None]
    done: Callable[[bytes | None], None]
    data: bytearray = field(default_factory=bytearray)
    received: int = 0
    asked: int = 0
    told: int = 0
    task: asyncio.Task[None] | None = None


class RoomStates:
    """The states that one node gives to others, and gets."""

    def __init__(
        self,
        name: str,
        send: Send,
        bound_to: str,
        host_of: Callable[[str], str],
        *,
        sealed: bool,
    ) -> None:
        self._name: Final = name
        self._send: Final = send
        # Where connections may be made here, and to a peer; empty: nowhere.
        self._bound_to: Final = bound_to
        self._host_of: Final = host_of
        self._sealed: Final = sealed
        self._loop: Final = asyncio.get_running_loop()
        self._offers: Final[dict[Key, Offer]] = {}
        self._fetching: Final[dict[Key, Fetching]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    # Giving.

    def offer(self, key: Key, data: bytes) -> bytes:
        """Who joins may ask for this, which is known by the answer."""
        self._offers[key] = Offer(data)
        return secrets.token_bytes(ID_BYTES)

    def forget(self, key: Key) -> None:
        """That attempt is over, here or there."""
        offer = self._offers.pop(key, None)
        if offer is not None and offer.stream is not None:
            offer.stream.close()
        fetching = self._fetching.pop(key, None)
        if fetching is not None and fetching.task is not None:
            fetching.task.cancel()

    def forget_of(self, room: str, joiner: MemberId) -> None:
        """It is not there any more."""
        for key in [key for key in self._offers if key[:2] == (room, joiner)]:
            self.forget(key)

    def bytes_held(self) -> int:
        """How much is kept for those who join."""
        return sum(len(offer.data) for offer in self._offers.values())

    def close(self) -> None:
        """Nothing is sent any more."""
        for key in [*self._offers, *self._fetching]:
            self.forget(key)
        for task in self._tasks:
            task.cancel()

    async def _open_stream(self, sender: str, key: Key, offer: Offer) -> None:
        """Tell who joins where it can connect."""
        port = 0
        if self._bound_to and offer.stream is None:
            stream = StateStream(offer.data, sealed=self._sealed, ended=lambda: self.forget(key))
            with suppress(OSError):
                port = await stream.listen(self._bound_to)
                offer.stream = stream
                if self._offers.get(key) is not offer:
                    stream.close()  # Nobody wants it any more.
        secret = b"" if offer.stream is None else offer.stream.secret
        self._put(sender, STREAM, key, port, secret)

    def _give_part(self, sender: str, key: Key, offset: int, offer: Offer) -> None:
        """They are asked for in order, each once."""
        part = offer.data[offset : offset + PART_BYTES]
        offer.digest.update(part)
        if offset + PART_BYTES < len(offer.data):
            self._put(sender, PART, key, offset, part)
        else:
            self._put(sender, LAST_PART, key, offset, offer.digest.digest() + part)
            self.forget(key)

    # Getting.

    def fetch(self, key: Key, fetching: Fetching) -> None:
        """Get a state; `done` is given the whole, or None if it came damaged."""
        self._fetching[key] = fetching
        if fetching.length >= STREAM_BYTES and self._host_of(fetching.sponsor):
            self._put(fetching.sponsor, ASK_STREAM, key, 0, b"")
        else:
            self._ask(key, fetching)

    async def _fetch_stream(self, key: Key, fetching: Fetching, port: int, secret: bytes) -> None:
        host = self._host_of(fetching.sponsor)
        try:
            whole = await fetch_stream(
                host,
                port,
                secret,
                fetching.length,
                lambda received: self._tell(fetching, received),
                sealed=self._sealed,
            )
        except (OSError, EOFError, RemoteError) as error:
            log.info(
                "%s: no connection to %s:%d for the state of a room (%s): it comes in messages",
                self._name,
                host,
                port,
                error,
            )
            fetching.task = None
            self._ask(key, fetching)
            return
        fetching.task = None
        self._end(key, fetching, whole)

    def received(self, key: Key) -> int:
        """How much of a state has come; -1 if it is not under way."""
        fetching = self._fetching.get(key)
        return -1 if fetching is None else fetching.received

    def _tell(self, fetching: Fetching, received: int) -> None:
        fetching.received = received
        if fetching.told + fetching.length // STEPS <= received < fetching.length:
            fetching.told = received
            fetching.progress(received, fetching.length)

    def _end(self, key: Key, fetching: Fetching, whole: bytes | None) -> None:
        if self._fetching.pop(key, None) is not None:
            fetching.done(whole)

    def _on_part(
        self, key: Key, fetching: Fetching, offset: int, part: bytes, *, last: bool
    ) -> None:
        if offset != len(fetching.data):
            return
        digest = part[:DIGEST_BYTES] if last else b""
        fetching.data += part[len(digest) :]
        self._tell(fetching, len(fetching.data))
        if not last:
            self._ask(key, fetching)
            return
        whole = bytes(fetching.data)
        genuine = blake2b(whole, digest_size=DIGEST_BYTES).digest() == digest
        self._end(key, fetching, whole if genuine and len(whole) == fetching.length else None)

    def _ask(self, key: Key, fetching: Fetching) -> None:
        limit = min(fetching.length, len(fetching.data) + PARTS_ASKED * PART_BYTES)
        while fetching.asked < limit or fetching.length == fetching.asked == 0:
            self._put(fetching.sponsor, ASK, key, fetching.asked, b"")
            fetching.asked += PART_BYTES

    # Messages.

    def on_message(self, sender: str, data: bytes) -> None:
        """A part has come, or is asked for; what makes no sense is left."""
        try:
            reader = WireReader(data)
            kind = reader.byte()
            key = (read_name(reader), read_member(reader), int(reader.positive()))
            number = int(reader.varint())
        except RemoteError as error:
            log.debug("%s: about a state, from %s: %s", self._name, sender, error)
            return
        offer, fetching = self._offers.get(key), self._fetching.get(key)
        if offer is not None and key[1].name == sender:
            if kind == ASK_STREAM:
                self._run(self._open_stream(sender, key, offer))
            elif kind == ASK:
                self._give_part(sender, key, number, offer)
        elif fetching is not None and fetching.sponsor == sender:
            if kind == STREAM:
                self._on_stream(key, fetching, number, reader.rest())
            elif kind in (PART, LAST_PART):
                self._on_part(key, fetching, number, reader.rest(), last=kind == LAST_PART)
            elif kind == NO_STATE:
                self._end(key, fetching, None)
        elif kind in (ASK_STREAM, ASK) and key[1].name == sender:
            self._put(sender, NO_STATE, key, 0, b"")

    def _on_stream(self, key: Key, fetching: Fetching, port: int, secret: bytes) -> None:
        if port == 0:
            self._ask(key, fetching)
        elif fetching.task is None:
            fetching.task = self._run(self._fetch_stream(key, fetching, port, secret))

    def _put(self, name: str, kind: int, key: Key, number: int, body: bytes) -> None:
        """Send it when there is room; those to one node leave in the order of these calls."""
        writer = BytesWriter()
        writer.append(u8(kind))
        write_short_text(writer, key[0])
        write_member(writer, key[1])
        write_varint(writer, key[2])
        write_varint(writer, number)
        writer.write(body)
        self._run(self._deliver(name, writer.getvalue()))

    def _run(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _deliver(self, name: str, data: bytes) -> None:
        with suppress(AntecedeError):  # Whoever is gone is asked, or asks, no more.
            await self._send(name, Content(data, kind=ROOM_STATE))
