"""What travels with a payload for applications: requests, replies, headers, whom it was for.

An envelope stands before the payload, inside what the core takes for the payload. So it is ordered,
retransmitted, cut into fragments and written to the journal with it, and counts against the payload
limit. Whoever has nothing to say but the payload sends the payload alone:

    mark (4) | size | kind | flags | number | milliseconds | reply_to | targets | headers | payload

`size` counts the bytes from `kind` up to the payload, and `kind` says what the message is. The
fields from `milliseconds` on are there if their flag is set; `number`, the id of a request, is
there unless the kind is `MESSAGE`. A payload that begins with the mark gets an envelope that says
nothing else, so that nothing is ever taken for what it is not.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.errors import LocalError, RemoteError
from antecede.wire.varint import WireReader, write_varint

MARK: Final = b"\xffA\xce\x01"
"""The first 4 bytes of an envelope. No text in UTF-8 has the first of them."""

MARK_BYTE: Final = 0xFF

MESSAGE: Final = 0
REQUEST: Final = 1
REPLY: Final = 2
REFUSAL: Final = 3
ROOM: Final = 4
ROOM_STATE: Final = 5
EXPULSION: Final = 6
"""Kinds: a message like any other; one that asks for a reply; the reply; a reply which says that
there will be none, where the payload is the reason; a word of a room; a part of the state of a
room, or the request for one; and, which no peer may send, the report of an expulsion in its place
among the deliveries of a node."""

HAS_DEADLINE: Final = 1
HAS_REPLY_TO: Final = 2
HAS_TARGETS: Final = 4
HAS_HEADERS: Final = 8
FLAGS_ALL: Final = 15

TEXT_LIMIT: Final = 200
"""Bytes in a name, and in the name of a header."""

HEADERS_MAX: Final = 256
TARGETS_MAX: Final = 4096
"""An envelope has at most 256 headers and names at most 4,096 targets."""

KNOWN_MAX: Final = 64
KNOWN_SIZE_MAX: Final = 4096
"""Up to 64 envelopes of up to 4,096 bytes are remembered by those who read them, and only these are
left out where messages with the same follow each other."""

NO_HEADERS: Final[dict[str, bytes]] = {}
NO_TARGETS: Final[tuple[str, ...]] = ()


@final
@mypyc_attr(acyclic=True)
class Envelope:
    """What an application is told of a message beside its sender and its payload."""

    __slots__ = ("headers", "kind", "number", "remaining_ms", "reply_to", "targets")

    def __init__(
        self,
        kind: i64 = MESSAGE,
        number: i64 = 0,
        remaining_ms: i64 = -1,
        reply_to: str = "",
        targets: tuple[str, ...] = NO_TARGETS,
        headers: dict[str, bytes] = NO_HEADERS,
    ) -> None:
        self.kind: Final[i64] = kind
        # Which request this is, or which one it replies to.
        self.number: Final[i64] = number
        # How long its sender waited for a reply when it sent this; -1: it did not say.
        self.remaining_ms: Final[i64] = remaining_ms
        self.reply_to: Final = reply_to
        self.targets: Final = targets
        self.headers: Final = headers

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Envelope)
            and self.kind == other.kind
            and self.number == other.number
            and self.remaining_ms == other.remaining_ms
            and self.reply_to == other.reply_to
            and self.targets == other.targets
            and self.headers == other.headers
        )

    def __hash__(self) -> int:
        return hash((int(self.kind), int(self.number), self.reply_to, self.targets))


def envelope_bytes(envelope: Envelope) -> bytes:
    """What stands before the payload; `LocalError` if a field is beyond its limit."""
    fields = BytesWriter()
    fields.append(u8(envelope.kind))
    fields.append(u8(flags_of(envelope)))
    if envelope.kind != MESSAGE:
        write_varint(fields, envelope.number)
    if envelope.remaining_ms >= 0:
        write_varint(fields, envelope.remaining_ms)
    if envelope.reply_to:
        write_short_text(fields, envelope.reply_to)
    if envelope.targets:
        write_count(fields, len(envelope.targets), TARGETS_MAX, "targets")
        for name in envelope.targets:
            write_short_text(fields, name)
    if envelope.headers:
        write_count(fields, len(envelope.headers), HEADERS_MAX, "headers")
        for key, value in envelope.headers.items():
            write_short_text(fields, key)
            write_varint(fields, len(value))
            fields.write(value)
    writer = BytesWriter()
    writer.write(MARK)
    write_varint(writer, len(fields))
    writer.write(fields.getvalue())
    return writer.getvalue()


def seal_envelope(envelope: Envelope, payload: bytes) -> bytes:
    """The payload with an envelope before it."""
    return envelope_bytes(envelope) + payload


def escaped(payload: bytes) -> bytes:
    """A payload as it is sent without an envelope; it needs one if it looks as if it had one."""
    return seal_envelope(Envelope(), payload) if has_envelope(payload) else payload


def has_envelope(data: bytes) -> bool:
    """Whether these bytes begin as an envelope does."""
    return len(data) >= len(MARK) and data[0] == MARK_BYTE and data.startswith(MARK)


def envelope_size(data: bytes) -> i64:
    """How many bytes the envelope of these has; `RemoteError` if it is cut off."""
    reader = WireReader(data, len(MARK))
    size = reader.varint()
    if size > reader.remaining():
        raise RemoteError(f"an envelope of {size} bytes in {reader.remaining()}")
    return reader.position() + size


def leading_envelope(data: bytes) -> bytes:
    """The envelope that a payload begins with; empty if there is none, or only a part of one."""
    if not has_envelope(data):
        return b""
    try:
        size = envelope_size(data)
    except RemoteError:
        return b""
    return data[:size] if size <= KNOWN_SIZE_MAX else b""


def read_envelope(data: bytes) -> Envelope:
    """What `envelope_bytes` was given; `RemoteError` on anything that it does not make."""
    reader = WireReader(data, len(MARK))
    reader.varint()
    kind = reader.byte()
    flags = reader.byte()
    if kind > EXPULSION or flags > FLAGS_ALL:
        raise RemoteError(f"an envelope of kind {kind} with flags {flags}")
    number: i64 = 0 if kind == MESSAGE else reader.varint()
    remaining_ms: i64 = reader.varint() if flags & HAS_DEADLINE else -1
    reply_to = read_short_text(reader) if flags & HAS_REPLY_TO else ""
    targets = read_targets(reader) if flags & HAS_TARGETS else NO_TARGETS
    headers = read_headers(reader) if flags & HAS_HEADERS else NO_HEADERS
    reader.end()
    return Envelope(kind, number, remaining_ms, reply_to, targets, headers)


def flags_of(envelope: Envelope) -> i64:
    """Which fields follow, as bits."""
    flags: i64 = 0
    if envelope.remaining_ms >= 0:
        flags |= HAS_DEADLINE
    if envelope.reply_to:
        flags |= HAS_REPLY_TO
    if envelope.targets:
        flags |= HAS_TARGETS
    if envelope.headers:
        flags |= HAS_HEADERS
    return flags


def write_count(writer: BytesWriter, count: i64, limit: i64, what: str) -> None:
    """Append how many of these follow."""
    if count > limit:
        raise LocalError(f"{count} {what} are too many for one message: {limit} at most")
    write_varint(writer, count)


def write_short_text(writer: BytesWriter, text: str) -> None:
    """Append a name."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = b""  # Half a surrogate pair is no character.
    if not data or len(data) > TEXT_LIMIT:
        raise LocalError(f"a name of 1 to {TEXT_LIMIT} bytes is wanted, not {text[:20]!r}…")
    write_varint(writer, len(data))
    writer.write(data)


def read_short_text(reader: WireReader) -> str:
    """What `write_short_text` wrote."""
    size = reader.positive()
    if size > TEXT_LIMIT:
        raise RemoteError(f"a name of {size} bytes in an envelope")
    try:
        return reader.take(size).decode()
    except UnicodeDecodeError:
        raise RemoteError("a name in an envelope that is not UTF-8") from None


def read_targets(reader: WireReader) -> tuple[str, ...]:
    """For whom a message was."""
    names: list[str] = []
    for _ in range(checked_count(reader, TARGETS_MAX)):
        names.append(read_short_text(reader))
    return tuple(names)


def read_headers(reader: WireReader) -> dict[str, bytes]:
    """What the sender put beside the payload."""
    headers: dict[str, bytes] = {}
    for _ in range(checked_count(reader, HEADERS_MAX)):
        key = read_short_text(reader)
        if key in headers:
            raise RemoteError(f"the header {key!r} stands twice in an envelope")
        headers[key] = reader.take(reader.varint())
    return headers


def checked_count(reader: WireReader, limit: i64) -> i64:
    """How many items follow: at least one, since the flag is set otherwise."""
    count = reader.count()
    if count == 0 or count > limit:
        raise RemoteError(f"{count} items in an envelope, where 1 to {limit} are possible")
    return count


@final
class KnownEnvelope:
    """An envelope, and the bytes that it was read from."""

    __slots__ = ("data", "envelope", "size")

    def __init__(self, data: bytes, envelope: Envelope) -> None:
        self.data: Final = data
        self.size: Final[i64] = len(data)
        self.envelope: Final = envelope


@final
class EnvelopeMemory:
    """Envelopes that were read: who sends to several sends to the same ones again and again."""

    __slots__ = ("_known", "_last")

    def __init__(self) -> None:
        self._known: Final[dict[bytes, KnownEnvelope]] = {}
        self._last = KnownEnvelope(envelope_bytes(Envelope()), Envelope())

    def open(self, data: bytes) -> tuple[Envelope, bytes]:
        """What `seal_envelope` was given; `RemoteError` on anything that it does not make."""
        last = self._last
        if data.startswith(last.data):
            return last.envelope, data[last.size :]
        size = envelope_size(data)
        written = data[:size]
        known = self._known.get(written)
        if known is None:
            known = KnownEnvelope(written, read_envelope(written))
            if known.envelope.kind == MESSAGE and size <= KNOWN_SIZE_MAX:
                if len(self._known) >= KNOWN_MAX:
                    self._known.clear()
                self._known[written] = known
        if known.envelope.kind == MESSAGE:
            self._last = known
        return known.envelope, data[size:]


MEMORY: Final = EnvelopeMemory()
"""One for all nodes of a process: what is read from the same bytes is the same."""


def open_envelope(data: bytes) -> tuple[Envelope, bytes]:
    """What `seal_envelope` was given; `RemoteError` on anything that it does not make."""
    return MEMORY.open(data)
