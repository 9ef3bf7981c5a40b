"""The handshake messages of two nodes: hello, welcome, refusal, unknown token.

A hello names its sender and its receiver, the sender's incarnation (a random number of one run of
the program), and a token: "put this into every datagram to me". A welcome says the same about the
other side and echoes the hello's token, which proves that it answers this hello and that the
sender's address is right. A hello to a known peer echoes the token which that peer gave, and the
session goes on. `refuse` says why a hello is not answered; `unknown` says that the token of a
datagram is not known here, as after a restart.
"""

from typing import Final, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import RemoteError
from antecede.wire.varint import WireReader, write_varint

HELLO: Final = 0xA1
WELCOME: Final = 0xA2
REFUSE: Final = 0xA3
UNKNOWN: Final = 0xA4
"""The first byte of a handshake message in plain text."""

KEYED_HELLO: Final = 0xA5
KEYED_WELCOME: Final = 0xA6
KEYED_COOKIE: Final = 0xA7
"""The first byte of an encrypted handshake message: a hello, a welcome, and the cookie that is
answered under load, with which the hello has to be sent again."""

MAGIC: Final = b"antecede"
VERSION: Final = 4
OLDEST_VERSION: Final = 2
"""The versions of datagrams that this node speaks."""

ADVICE_VERSION: Final = 3
"""From this version on nodes understand the frames `WAITING` and `MEMBERS`."""

ENVELOPE_VERSION: Final = 4
"""From this version on nodes open envelopes: requests, headers, names of the other targets."""

HAS_JOURNAL: Final = 1
"""The sender of a greeting has a journal: it may crash and come back as the same incarnation."""

FORMER_IS_OVER: Final = 2
"""The sender has met nobody of the receiver's name since one of that name left or was expelled.

If a peer with a journal has not met a node that had met it, and this bit is not set, its journal
was rolled back."""

HAS_HTTP: Final = 4
"""The greeting ends in the address at which its sender serves HTTP."""

NAME_LIMIT: Final = 200
REASON_LIMIT: Final = 500
"""Bytes in a name, and in the reason of a refusal."""

GREETING_SIZE: Final = 1200
"""A hello is padded to 1,200 bytes, so that no answer is larger (no amplification)."""

UNKNOWN_SIZE: Final = 17
"""17 bytes answer a datagram with an unknown token; one that is smaller gets no answer."""


@final
class Greeting:
    """A hello or a welcome."""

    __slots__ = (
        "delivered",
        "echo",
        "flags",
        "http",
        "incarnation",
        "met",
        "name",
        "newest",
        "oldest",
        "order",
        "payload_limit",
        "process",
        "socket_bytes",
        "target",
        "token",
        "window",
    )

    def __init__(
        self,
        name: str,
        target: str,
        incarnation: i64,
        token: i64,
        *,
        echo: i64 = 0,
        process: i64 = 0,
        window: i64 = 0,
        payload_limit: i64 = 0,
        socket_bytes: i64 = 0,
        order: str = "",
        met: i64 = 0,
        delivered: i64 = 0,
        flags: i64 = 0,
        http: str = "",
    ) -> None:
        self.name: Final = name
        self.target: Final = target
        self.incarnation: Final[i64] = incarnation
        self.token: Final[i64] = token
        # In a welcome: the token of the hello it answers. In a hello: the token that we have of the
        # other side, or 0.
        self.echo: i64 = echo
        self.oldest: i64 = OLDEST_VERSION
        self.newest: i64 = VERSION
        # The sender's id in event logs, its receive window, its limits.
        self.process: i64 = process
        self.window: i64 = window
        self.payload_limit: i64 = payload_limit
        self.socket_bytes: i64 = socket_bytes
        # The protocol that orders its messages; nodes with different ones misunderstand each other.
        self.order = order
        # The incarnation of the one who is greeted that was met here, 0 if none was, and the last
        # id of it that was delivered. Who begins a session anew sends what comes after that.
        self.met: i64 = met
        self.delivered: i64 = delivered
        # Whether the sender has a journal, in bits: `HAS_JOURNAL`, `FORMER_IS_OVER`.
        self.flags: i64 = flags
        # Where the sender serves HTTP, for who looks at the whole; empty if it does not say.
        self.http = http


def write_greeting(kind: i64, greeting: Greeting, size: i64 = GREETING_SIZE) -> bytes:
    """A hello or a welcome as a datagram; a hello has at least `size` bytes."""
    writer = BytesWriter()
    writer.append(u8(kind))
    writer.write(MAGIC)
    write_varint(writer, greeting.oldest)
    write_varint(writer, greeting.newest)
    write_i64_le(writer, greeting.incarnation)
    write_i64_le(writer, greeting.token)
    write_i64_le(writer, greeting.echo)
    write_text(writer, greeting.name)
    write_text(writer, greeting.target)
    write_varint(writer, greeting.process)
    write_varint(writer, greeting.window)
    write_varint(writer, greeting.payload_limit)
    write_varint(writer, greeting.socket_bytes)
    write_text(writer, greeting.order)
    write_varint(writer, greeting.met)
    write_varint(writer, greeting.delivered)
    write_varint(writer, greeting.flags | HAS_HTTP if greeting.http else greeting.flags)
    if greeting.http:
        write_text(writer, greeting.http)
    if kind == HELLO and len(writer) < size:
        writer.write(bytes(size - len(writer)))
    return writer.getvalue()


def is_encrypted(data: bytes) -> bool:
    """Whether a handshake message is encrypted."""
    return data[0] in (KEYED_HELLO, KEYED_WELCOME, KEYED_COOKIE)


def read_versions(reader: WireReader) -> tuple[int, int]:
    """The oldest and newest version spoken; what follows may be read only if one is known here."""
    if reader.take(len(MAGIC)) != MAGIC:
        raise RemoteError("a greeting of something else than antecede")
    oldest = reader.varint()
    return int(oldest), int(reader.varint())


def read_greeting(reader: WireReader, oldest: int, newest: int) -> Greeting:
    """The rest of a greeting, after `read_versions`; what follows it is padding."""
    incarnation = read_i64_le(reader.take(8), 0)
    token = read_i64_le(reader.take(8), 0)
    echo = read_i64_le(reader.take(8), 0)
    name = read_text(reader, NAME_LIMIT)
    if not name.isprintable():
        raise RemoteError("a name that no terminal should show")
    greeting = Greeting(name, read_text(reader, NAME_LIMIT), incarnation, token)
    if incarnation <= 0 or token <= 0 or echo < 0:
        raise RemoteError("a greeting without an incarnation or a token")
    greeting.oldest = oldest
    greeting.newest = newest
    greeting.echo = echo
    greeting.process = reader.varint()
    greeting.window = reader.varint()
    greeting.payload_limit = reader.varint()
    greeting.socket_bytes = reader.varint()
    greeting.order = read_text(reader, NAME_LIMIT)
    greeting.met = reader.varint()
    greeting.delivered = reader.varint()
    flags: i64 = reader.varint()
    greeting.flags = flags & ~HAS_HTTP
    if flags & HAS_HTTP:
        greeting.http = escape_controls(read_text(reader, NAME_LIMIT))
    if greeting.process >= ID_LIMIT:
        raise RemoteError(f"a process id of {greeting.process}, which fits no event log")
    return greeting


def write_refusal(name: str, reason: str, stamp: i64 = 0) -> bytes:
    """A refusal by `name`, with the versions it speaks and its reason.

    Where keys are used and the hello was made before one that was answered: also when that was.
    """
    writer = BytesWriter()
    writer.append(u8(REFUSE))
    writer.write(MAGIC)
    write_varint(writer, OLDEST_VERSION)
    write_varint(writer, VERSION)
    write_text(writer, name)
    write_text(writer, reason)
    if stamp > 0:
        write_varint(writer, stamp)
    return writer.getvalue()


def read_refusal(reader: WireReader) -> tuple[str, str, int]:
    """Who refuses, and why, without control characters; and the stamp, or 0."""
    read_versions(reader)
    name = read_text(reader, NAME_LIMIT)
    reason = escape_controls(read_text(reader, REASON_LIMIT))
    stamp: i64 = reader.varint() if reader.remaining() > 0 else 0
    return name, reason, int(stamp)


def write_unknown(token: i64) -> bytes:
    """The answer to a datagram with a token that means nothing here."""
    writer = BytesWriter()
    writer.append(u8(UNKNOWN))
    writer.write(MAGIC)
    write_i64_le(writer, token)
    return writer.getvalue()


def read_unknown(reader: WireReader) -> i64:
    """The token that means nothing to the peer."""
    if reader.take(len(MAGIC)) != MAGIC:
        raise RemoteError("a greeting of something else than antecede")
    return read_i64_le(reader.take(8), 0)


def escape_controls(text: str) -> str:
    """The text with control characters escaped: they could command a terminal."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def cut_text(text: str, limit: i64) -> str:
    """The beginning of a text, of at most `limit` bytes."""
    encoded = text.encode()
    return text if len(encoded) <= limit else encoded[: max(0, limit)].decode(errors="ignore")


def write_text(writer: BytesWriter, text: str) -> None:
    """Append a string, its length first."""
    encoded = text.encode()
    write_varint(writer, len(encoded))
    writer.write(encoded)


def read_text(reader: WireReader, limit: i64) -> str:
    """What `write_text` wrote, of at most `limit` bytes."""
    size = reader.varint()
    if size > limit:
        raise RemoteError(f"a text of {size} bytes; {limit} are allowed")
    try:
        return reader.take(size).decode()
    except UnicodeDecodeError:
        raise RemoteError("a text that is not UTF-8") from None
