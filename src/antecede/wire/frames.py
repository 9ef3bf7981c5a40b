"""The layout of datagrams between two nodes that have completed a handshake.

A header: the kind of datagram, the id of the key it is protected with, the receiver's token, the
datagram's number. Then, protected where there is a key: how far back the oldest number is that the
sender still waits for, and frames until the end. A frame is a byte for its kind and its fields.

Kinds below 0x80 are packets of protocols, in the very form that `antecede.wire.encode` gives them.
Those from 0x80 on belong to the transport, and are listed here. Zero ends a datagram early.
"""

from typing import Final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64, u8

from antecede.wire.varint import write_varint

DATAGRAM: Final = 0xA0
"""The first byte of a datagram that carries frames; those of greetings are in `handshake`."""

NO_KEY: Final = 0
"""The second byte: no authentication, no encryption. Other values say which key seals it."""

TOKEN_AT: Final = 2
NUMBER_AT: Final = 10
"""The offsets of the token and of the number."""

HEADER_BYTES_MAX: Final = 32
"""A header takes at most 32 bytes."""

FRAME_OVERHEAD_MAX: Final = 256
"""256 bytes of a datagram are reserved for the header, acks and control."""

PACKETS_MAX: Final = 4000
"""At most 4,000 packets in one datagram, so that 12 bits number them in an event log."""

JOINED_BELOW: Final = 1 << 12
"""Fragments of a payload below 4 KiB are joined as they arrive: a list of them would take many
times their size."""

PADDING: Final = 0x00
"""Ends a datagram early."""

FIRST_TRANSPORT_KIND: Final = 0x80
"""Frames of the transport have kinds from 0x80 on."""

ACK_RANGES: Final = 0x80
"""The numbers of datagrams that arrived."""

CREDIT: Final = 0x81
"""How much more the peer may send."""

BYE: Final = 0x82
"""The sender will submit nothing more."""

RELEASE: Final = 0x83
"""The peer that said bye may close."""

PING: Final = 0x84
"""An answer is wanted."""

STOPPED: Final = 0x85
"""The sender has stopped, and delivers nothing more."""

MESSAGE_FRAGMENT: Final = 0x86
"""The payload of the message in the next frame goes on in the next message."""

FRAME_FRAGMENT: Final = 0x87
"""A piece of a frame that does not fit a datagram."""

EXPULSIONS: Final = 0x88
"""Who is expelled; it stands before every packet of its datagram."""

EXPULSIONS_ACKED: Final = 0x89
"""Which of them the sender has noted."""

SUSPECTS: Final = 0x8A
"""Whom the sender suspects to have failed."""

SEQUENCE_OFFSET: Final = 0x8C
"""By how much the ids of the messages that follow in the datagram are larger than the numbers that
applications see. (0x8B is not to be used: it named processes until version 2.)"""

CHALLENGE: Final = 0x8D
"""A number that nobody can guess, for a peer that seems to have moved (RFC 9000 section 8.2)."""

RESPONSE: Final = 0x8E
"""The same number back: the peer is at that address."""

WAITING: Final = 0x8F
"""From version 3 on, advisory: which peer the sender waits for before it can give a permit."""

MEMBERS: Final = 0x90
"""From version 3 on, advisory: how many nodes are here for the sender, itself included."""


def write_header(writer: BytesWriter, token: i64, number: i64, mark: i64) -> None:
    """Append the header of datagram `number`; `mark` says which key it will be sealed with.

    How far back the oldest number is that is waited for comes next, and may be sealed.
    """
    writer.append(u8(DATAGRAM))
    writer.append(u8(mark))
    write_i64_le(writer, token)
    write_varint(writer, number)


def write_frame(writer: BytesWriter, kind: i64, value: i64) -> None:
    """Append a frame of one integer."""
    writer.append(u8(kind))
    write_varint(writer, value)


def append_part(parts: list[bytes], part: bytes) -> None:
    """Append a part of a payload to those before it; small ones become one."""
    if parts and len(parts[-1]) < JOINED_BELOW and len(part) < JOINED_BELOW:
        parts[-1] += part
    elif part:
        parts.append(part)
