"""Values instead of bytes: a thin layer over a node, for those who want it.

A node carries bytes and does not look at them. `TypedNode` encodes what is sent and decodes what is
received, with JSON (`JsonCodec`, nothing to install), msgspec (`MsgspecCodec`, which also checks
types), or anything else that has the two methods of a `Codec`:

    typed = TypedNode(node, MsgspecCodec(Order))
    await typed.send("bob", Order(item="tea", count=2))
    async for message in typed:
        print(message.sender, message.value)
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.unconfirmed import DONE, InboundMessage
from antecede.runtime.callbacks import check_callable
from antecede.runtime.content import Headers
from antecede.runtime.errors import BadConfiguration, BadPayload
from antecede.runtime.live_room import MakeState, TakeState
from antecede.runtime.node import Node
from antecede.runtime.room import Room

T = TypeVar("T")

NOT_DECODED: Final = "its payload cannot be decoded there"
"""Why a request is refused that is no value."""


class Codec(Protocol[T]):
    """Turns values into bytes and back; either may raise any exception for what it cannot turn."""

    def encode(self, value: T) -> bytes:
        """The bytes that stand for this value."""

    def decode(self, payload: bytes) -> T:
        """The value that these bytes stand for."""


class JsonCodec:
    """Whatever `json` can write: dictionaries, lists, texts, numbers, true, false, None."""

    def encode(self, value: object) -> bytes:
        """Compact JSON in UTF-8; NaN and infinities, which JSON does not have, are refused."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()

    def decode(self, payload: bytes) -> Any:  # noqa: ANN401 - JSON may be anything
        """The value of a JSON text."""
        return json.loads(payload)


class MsgspecCodec(Generic[T]):
    """Values of one type, checked when they are decoded; MessagePack, or JSON with `as_json`."""

    def __init__(self, kind: type[T], *, as_json: bool = False) -> None:
        try:
            library: Any = import_module("msgspec.json" if as_json else "msgspec.msgpack")
        except ImportError as error:
            raise BadConfiguration("MsgspecCodec needs msgspec: pip install msgspec") from error
        self._encoder = library.Encoder()
        self._decoder = library.Decoder(kind)

    def encode(self, value: T) -> bytes:
        """The bytes that stand for this value."""
        encoded: bytes = self._encoder.encode(value)
        return encoded

    def decode(self, payload: bytes) -> T:
        """The value, if it is of the right type."""
        value: T = self._decoder.decode(payload)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedMessage(Generic[T]):
    """A message whose payload has been decoded."""

    sender: str
    sequence: int
    value: T
    again: bool = False
    """Whether it may have been handed over before, by a process that crashed."""
    message: InboundMessage | None = field(default=None, repr=False, compare=False)
    """The message itself: its headers, its targets, `refuse`, and so on; None in tests."""
    codec: Codec[T] | None = field(default=None, repr=False, compare=False)

    def done(self) -> Awaitable[None]:
        """Confirm it, where there is a journal; awaited, it waits until that is on disk."""
        return DONE if self.message is None else self.message.done()

    def reply(self, value: T, headers: Headers | None = None) -> Awaitable[None]:
        """Like `InboundMessage.reply`; `LocalError` if the value cannot be encoded."""
        if self.message is None or self.codec is None:
            raise LocalError("a message that came from nowhere has nobody to reply to")
        return self.message.reply(encoded(self.codec, value), headers)


class TypedNode(Generic[T]):
    """A node that sends and receives values; everything else is at `node`."""

    def __init__(self, node: Node, codec: Codec[T]) -> None:
        self.node = node
        self.codec = codec

    async def send(
        self,
        target: str | Sequence[str],
        value: T,
        timeout: float | None = None,
        *,
        headers: Headers | None = None,
        reply_to: str | None = None,
    ) -> int:
        """Like `Node.send`; `LocalError` if the value cannot be encoded."""
        payload = self._encoded(value)
        return await self.node.send(target, payload, timeout, headers=headers, reply_to=reply_to)

    def try_send(
        self,
        target: str | Sequence[str],
        value: T,
        *,
        headers: Headers | None = None,
        reply_to: str | None = None,
    ) -> int:
        """Like `Node.try_send`; `LocalError` if the value cannot be encoded."""
        payload = self._encoded(value)
        return self.node.try_send(target, payload, headers=headers, reply_to=reply_to)

    async def request(
        self,
        name: str,
        value: T,
        timeout: float | None = None,
        *,
        headers: Headers | None = None,
    ) -> TypedMessage[T]:
        """Like `Node.request`; `BadPayload` if the reply cannot be decoded."""
        payload = self._encoded(value)
        return self._decoded(await self.node.request(name, payload, timeout, headers=headers))

    def receive(self, timeout: float | None = None) -> Coroutine[None, None, TypedMessage[T]]:
        """Like `Node.receive`; `BadPayload` for a message that cannot be decoded, once."""
        return self._received(self.node.receive(timeout))

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[None, None, TypedMessage[T]]:
        return self._received(anext(self.node))

    async def _received(self, asked: Awaitable[InboundMessage]) -> TypedMessage[T]:
        message = await asked
        try:
            return self._decoded(message)
        except BadPayload:
            if message.is_request:  # Whoever asked need not wait for what nobody can reply to.
                with suppress(AntecedeError):
                    await message.refuse(NOT_DECODED)
            raise

    def on_message(self, handler: Callable[[TypedMessage[T]], Awaitable[None] | None]) -> None:
        """Like `Node.on_message`; what cannot be decoded is logged, and the next message comes."""

        check_callable(handler, "a message handler")

        def decode_and_handle(message: InboundMessage) -> Awaitable[None] | None:
            return handler(self._decoded(message))

        self.node.on_message(decode_and_handle)

    async def join(
        self,
        room: str,
        via: str | None = None,
        *,
        snapshot: MakeState | None = None,
        restore: TakeState | None = None,
        timeout: float | None = None,
    ) -> "TypedRoom[T]":
        """Like `Node.join`; values are said and read in the room."""
        joined = await self.node.join(
            room, via, snapshot=snapshot, restore=restore, timeout=timeout
        )
        return TypedRoom(joined, self)

    def _encoded(self, value: T) -> bytes:
        return encoded(self.codec, value)

    def decoded(self, message: InboundMessage) -> TypedMessage[T]:
        """The message with its value; `BadPayload` if it has none."""
        return self._decoded(message)

    def _decoded(self, message: InboundMessage) -> TypedMessage[T]:
        sequence = int(message.sequence)
        try:
            value = self.codec.decode(message.payload)
        except Exception as error:
            raise BadPayload(message.sender, sequence, str(error)) from error
        return TypedMessage(
            sender=message.sender,
            sequence=sequence,
            value=value,
            again=message.again,
            message=message,
            codec=self.codec,
        )


class TypedRoom(Generic[T]):
    """A room in which values are said; everything else is at `room`."""

    def __init__(self, room: Room, node: TypedNode[T]) -> None:
        self.room = room
        self._node = node

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members, this node included."""
        return self.room.members

    async def send(self, value: T, timeout: float | None = None) -> int:
        """Like `Room.send`; `LocalError` if the value cannot be encoded."""
        return await self.room.send(encoded(self._node.codec, value), timeout)

    async def receive(self, timeout: float | None = None) -> TypedMessage[T]:
        """Like `Room.receive`; `BadPayload` for a message that cannot be decoded, once."""
        return self._node.decoded(await self.room.receive(timeout))

    async def __aiter__(self) -> AsyncIterator[TypedMessage[T]]:
        async for message in self.room:
            yield self._node.decoded(message)

    async def leave(self) -> None:
        """Like `Room.leave`."""
        await self.room.leave()


def encoded(codec: Codec[T], value: T) -> bytes:
    """The bytes that stand for a value; `LocalError` if there are none."""
    try:
        return codec.encode(value)
    except Exception as error:
        raise LocalError(f"{value!r:.200} cannot be encoded: {error}") from error
