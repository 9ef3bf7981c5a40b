"""What was delivered, until the application is done with it; and what it writes down meanwhile.

With a journal every delivery has a number. It is confirmed when the application is done with it,
together with the values that were put while it was handled; what is not confirmed comes again
after a crash.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError, RemoteError
from antecede.core.records import ChangeLog, RecordReader, encode_record
from antecede.durability.record_kinds import CONFIRMED, INBOUND, PUT, REMOVED
from antecede.wire.envelope import (
    MESSAGE,
    NO_HEADERS,
    REFUSAL,
    REPLY,
    REQUEST,
    ROOM,
    Envelope,
    has_envelope,
    open_envelope,
    seal_envelope,
)


@final
class Done:
    """May be awaited, and need not: there is nothing to wait for."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


DONE: Final = Done()


Payload: TypeAlias = bytes | bytearray | memoryview


class Answering(Protocol):
    """How requests are answered, each once."""

    def answer(
        self,
        request: "InboundMessage",
        kind: int,
        payload: Payload,
        headers: Mapping[str, bytes] | None,
    ) -> Awaitable[None]:
        """Reply with this, or refuse."""


REASON_BYTES: Final = 500
"""A refusal carries at most 500 bytes of its reason."""

NO_REQUEST: Final = "this message is no request: it was sent with send(), and wants no reply"


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class InboundMessage:
    """A message as its receiver sees it."""

    __slots__ = (
        "_answering",
        "_deliveries",
        "again",
        "answered",
        "deadline",
        "envelope",
        "number",
        "payload",
        "room",
        "sender",
        "sender_id",
        "sequence",
        "size",
    )

    def __init__(
        self,
        sender: str,
        sequence: i64,
        data: bytes,
        number: i64 = 0,
        deliveries: "UnconfirmedDeliveries | None" = None,
        again: bool = False,
        sender_id: i64 = 0,
        room: str = "",
    ) -> None:
        # As it was sent: that is what flow control counts.
        self.size: Final[i64] = len(data)
        envelope: Envelope | None = None
        if has_envelope(data):
            try:
                envelope, data = open_envelope(data)
            except RemoteError:
                envelope = None  # It only begins like one: no peer of this version sends that.
        self.sender: Final = sender
        self.sequence: Final[i64] = sequence
        self.payload: Final = data
        self.envelope: Final = envelope
        # With a journal: which delivery it is, of whom, and who has to know when it is confirmed.
        self.number: Final[i64] = number
        self.sender_id: Final[i64] = sender_id
        self._deliveries: Final = deliveries
        # Whether it may have been handed over before, by a process that crashed.
        self.again: Final = again
        # The name of the room that it was sent to; empty if it was sent to this node.
        self.room: Final = room
        self._answering: Answering | None = None
        # Whether it was replied to or refused, or is at the moment.
        self.answered = False
        # Of a request: when nobody waits for the reply any more, in the time of the event loop.
        self.deadline: float | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """For whom it was, by name, if its sender said so: it does where there are several."""
        return () if self.envelope is None else self.envelope.targets

    @property
    def headers(self) -> Mapping[str, bytes]:
        """What its sender put beside the payload."""
        return MappingProxyType(NO_HEADERS if self.envelope is None else self.envelope.headers)

    @property
    def reply_to(self) -> str:
        """To whom an answer should go: its sender, if that did not name somebody else."""
        if self.envelope is None or not self.envelope.reply_to:
            return self.sender
        return self.envelope.reply_to

    def in_room(self, room: str, sender: str, number: i64, data: bytes) -> "InboundMessage":
        """What a member has sent to a room, which this word of the room has brought.

        Confirming it confirms the word.
        """
        return InboundMessage(
            sender, number, data, self.number, self._deliveries, self.again, self.sender_id, room
        )

    @property
    def is_of_rooms(self) -> bool:
        """Whether it is a word of a room, or a report that rooms need; no reader gets it."""
        return self.envelope is not None and self.envelope.kind >= ROOM

    @property
    def is_call(self) -> bool:
        """Whether the node itself looks at it first: a request, a reply, or a word of a room."""
        return self.envelope is not None and self.envelope.kind != MESSAGE

    @property
    def is_reply(self) -> bool:
        """Whether it replies to a request, or refuses it: whoever asked gets it, and no reader."""
        return self.envelope is not None and self.envelope.kind in (REPLY, REFUSAL)

    @property
    def is_request(self) -> bool:
        """Whether its sender waits for a reply."""
        return self.envelope is not None and self.envelope.kind == REQUEST

    @property
    def is_refusal(self) -> bool:
        """Whether it says that a request gets no reply; the payload says why."""
        return self.envelope is not None and self.envelope.kind == REFUSAL

    @property
    def is_answered(self) -> bool:
        """Whether it wants no reply, or has got one."""
        return self._answering is None or self.answered

    @property
    def call(self) -> int:
        """Which request it is, or replies to; 0 if neither."""
        return 0 if self.envelope is None else int(self.envelope.number)

    def answer_with(self, answering: Answering, deadline: float | None) -> None:
        """This is how the request is answered, and until when somebody waits for that."""
        self._answering = answering
        self.deadline = deadline

    def mark_answered(self, answered: bool) -> None:
        """It is replied to or refused now, or could not be."""
        self.answered = answered

    def reply(
        self, payload: Payload, headers: Mapping[str, bytes] | None = None
    ) -> Awaitable[None]:
        """Answer a request, once; that also confirms it. `LocalError` if it is none."""
        if self._answering is None:
            raise LocalError(NO_REQUEST)
        return self._answering.answer(self, REPLY, payload, headers)

    def refuse(self, reason: str) -> Awaitable[None]:
        """Answer a request with a refusal, once; its sender is told the reason."""
        if self._answering is None:
            raise LocalError(NO_REQUEST)
        text = reason.encode(errors="replace")[:REASON_BYTES]
        return self._answering.answer(self, REFUSAL, text, None)

    def data(self) -> bytes:
        """The payload as it was sent, with its envelope if it has one."""
        if self.envelope is None:
            return self.payload
        return seal_envelope(self.envelope, self.payload)

    def done(self) -> Awaitable[None]:
        """Confirm: with a journal it does not come again after a crash. Once is enough.

        It is confirmed when this returns. Whoever awaits the answer waits until that is on disk.
        """
        if self._deliveries is None:
            return DONE
        self._deliveries.confirm(self.number)
        return self._deliveries.on_disk

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InboundMessage)
            and self.sender == other.sender
            and self.sequence == other.sequence
            and self.payload == other.payload
        )

    def __hash__(self) -> int:
        return hash((self.sender, int(self.sequence)))

    def __repr__(self) -> str:
        return f"Message(sender={self.sender!r}, sequence={self.sequence}, {self.payload!r})"


@final
class UnconfirmedDeliveries:
    """With a journal: the deliveries that are not confirmed, and the application's values."""

    __slots__ = (
        "_changes",
        "_confirmed_from",
        "_confirmed_to",
        "_held",
        "_pending",
        "_quiet",
        "delivered",
        "in_hand",
        "on_disk",
        "pass_on",
        "values",
        "wake",
    )

    def __init__(self, changes: ChangeLog) -> None:
        self._changes: Final = changes
        # To be called when something changes that nobody else would notice.
        self.wake: Callable[[], None] | None = None
        self._quiet = True
        # Where other threads confirm: passes a number on to the thread in which everything runs.
        self.pass_on: Callable[[int], None] | None = None
        # Awaited, it ends when everything that was confirmed before is on disk.
        self.on_disk: Awaitable[None] = DONE
        # How many payloads were delivered, and those that are not confirmed by their numbers.
        self.delivered: i64 = 0
        self._pending: dict[int, InboundMessage] = {}
        self._confirmed_from: i64 = 0
        self._confirmed_to: i64 = 0
        # What a plain function is called with now.
        self.in_hand: InboundMessage | None = None
        # What the application wrote down.
        self.values: dict[str, bytes] = {}
        # What is to be written with the next confirmation; None: struck out.
        self._held: dict[str, bytes | None] = {}

    def begin(
        self,
        wake: Callable[[], None],
        pass_on: Callable[[int], None],
        on_disk: Awaitable[None],
    ) -> None:
        """Call `wake` when something changes that nobody else notices, and `pass_on` to confirm;
        `on_disk`, awaited, ends when everything that was confirmed before is on disk."""
        self.wake = wake
        self.pass_on = pass_on
        self.on_disk = on_disk

    # Deliveries.

    def deliver(
        self,
        sender_id: i64,
        sender: str,
        written_sender: bytes,
        sequence: i64,
        last: bytes,
        whole: bytes,
    ) -> InboundMessage:
        """A payload was delivered, of which `last` came last."""
        self.delivered += 1
        number = self.delivered
        self._changes.put_four(
            INBOUND, number, sender_id, sequence, len(written_sender), written_sender, last
        )
        message = InboundMessage(sender, sequence, whole, number, self, False, sender_id)
        self._pending[number] = message
        return message

    def set_delivered(self, count: i64) -> None:
        """A journal says how many payloads were delivered."""
        self.delivered = count

    def call_handler(
        self,
        messages: deque[InboundMessage],
        handler: Callable[[InboundMessage], object],
        most: i64,
        confirms: bool,
    ) -> object:
        """Call a plain function with the first of `messages`, the next, and so on.

        What it returns from is confirmed, if returning `confirms`, unless it answers something:
        that is returned. Then, and if it raises, `in_hand` is the message in question.
        """
        while most > 0 and messages:
            message = messages.popleft()
            self.in_hand = message
            answer = handler(message)
            if answer is not None:
                return answer
            if confirms:
                self.confirm_here(message.number)
            most -= 1
        self.in_hand = None
        return None

    def clear_in_hand(self) -> None:
        """No plain function is called now."""
        self.in_hand = None

    def confirm(self, number: i64) -> None:
        """The application is done with a payload; once is enough."""
        # Read once: another thread may be ending this.
        pass_on = self.pass_on
        if pass_on is not None:
            pass_on(number)
        else:
            self.confirm_here(number)

    def confirm_here(self, number: i64) -> None:
        """The same, in the thread in which everything runs."""
        if number not in self._pending:
            return
        del self._pending[number]
        if number != self._confirmed_to + 1:
            self.write_confirmed()
            self._confirmed_from = number
        self._confirmed_to = number
        if self._held:
            self._write_held()
        if self._quiet:
            self.has_changed()

    def pending(self) -> list[InboundMessage]:
        """What comes again, in order."""
        return [
            InboundMessage(
                old.sender, old.sequence, old.data(), old.number, self, True, old.sender_id
            )
            for old in self._pending.values()
        ]

    def is_unconfirmed(self, number: i64) -> bool:
        """Whether this one would come again."""
        return number in self._pending

    def unconfirmed(self) -> int:
        """How many would come again."""
        return len(self._pending)

    def end(self, on_disk: Awaitable[None]) -> None:
        """The journal is closed: what is not confirmed stays so. `on_disk` is awaited from now on.

        The garbage collector does not look into messages, so that they cost it nothing: messages
        that anything here holds, or is held by, would keep the whole node for ever.
        """
        self.on_disk = on_disk
        self.wake = None
        self.pass_on = too_late
        self._pending = {
            number: InboundMessage(
                old.sender, old.sequence, old.data(), number, None, old.again, old.sender_id
            )
            for number, old in self._pending.items()
        }

    # Values.

    def put(self, key: str, value: bytes | None, during: i64) -> None:
        """The application writes something down, or strikes it out with None.

        If it does so during the handling of a payload (its number, or 0), that is written when it
        confirms one.
        """
        self._held[key] = value
        if during == 0 or during not in self._pending:
            self._write_held()

    def value(self, key: str) -> bytes | None:
        """What the application wrote down last."""
        return self._held[key] if key in self._held else self.values.get(key)

    def keys(self) -> list[str]:
        """All keys under which something is written down."""
        names = [key for key in self.values if key not in self._held]
        return names + [key for key, value in self._held.items() if value is not None]

    def has_changed(self) -> None:
        """Nobody else notices: say so, once until it is asked for."""
        if self._quiet and self.wake is not None:
            self._quiet = False
            self.wake()

    # Records.

    def write_confirmed(self) -> None:
        """What is confirmed so far is part of what is written next."""
        if self._confirmed_from > 0:
            self._changes.put_deferrable(
                encode_record(CONFIRMED, [self._confirmed_from, self._confirmed_to])
            )
        self._confirmed_from = 0
        self._confirmed_to = -1

    def mark_taken(self) -> None:
        """What has changed is being written: say so again when more has."""
        self.write_confirmed()
        self._quiet = True

    def snapshot(self) -> list[bytes]:
        """What comes again, and the values."""
        records = [inbound_record(message) for message in self._pending.values()]
        return records + [value_record(key, value) for key, value in self.values.items()]

    def replay(self, reader: RecordReader, pieces: dict[int, list[bytes]]) -> None:
        """One of our own records happens again; `pieces`, by sender, came before payloads."""
        kind = reader.kind
        if kind == INBOUND:
            message = read_inbound(reader, pieces)
            self._pending[message.number] = message
            self.delivered = message.number
        elif kind == CONFIRMED:
            first, last = reader.number(), reader.number()
            for number in range(first, last + 1):
                self._pending.pop(number, None)
        elif kind == REMOVED:
            self.values.pop(reader.rest().decode(), None)
        else:
            size = reader.number()
            text = reader.rest()
            self.values[text[:size].decode()] = text[size:]

    def _write_held(self) -> None:
        for key, value in self._held.items():
            if value is None:
                self.values.pop(key, None)
                self._changes.put_urgent(encode_record(REMOVED, [], key.encode()))
            else:
                self.values[key] = value
                self._changes.put_urgent(value_record(key, value))
        self._held = {}
        self.has_changed()


def too_late(_number: int) -> None:
    """What is confirmed once the journal is closed comes again all the same."""


def value_record(key: str, value: bytes) -> bytes:
    """What the application wrote down."""
    name = key.encode()
    return encode_record(PUT, [len(name)], name + value)


def inbound_record(message: InboundMessage) -> bytes:
    """A payload that was delivered and is not confirmed."""
    name = message.sender.encode()
    numbers = [int(message.number), int(message.sender_id), int(message.sequence), len(name)]
    return encode_record(INBOUND, numbers, name + message.data())


def read_inbound(reader: RecordReader, pieces: dict[int, list[bytes]]) -> InboundMessage:
    """What was written of a delivery; pieces of its payload may have been written before."""
    number, sender_id, sequence, size = [reader.number() for _ in range(4)]
    text = reader.rest()
    payload = b"".join(pieces.pop(sender_id, [])) + text[size:]
    return InboundMessage(text[:size].decode(), sequence, payload, number, None, True, sender_id)
