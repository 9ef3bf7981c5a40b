"""What a datagram between two nodes that know each other looks like.

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
"""Where the token and the number begin."""

HEADER_BYTES_MAX: Final = 32
"""A header takes at most 32 bytes."""

FRAME_OVERHEAD_MAX: Final = 256
"""256 bytes of a datagram are kept free of messages, for the header, acks and control."""

PACKETS_MAX: Final = 4000
"""At most 4,000 packets in one datagram, so that 12 bits number them in an event log."""

JOINED_BELOW: Final = 1 << 12
"""Parts of a payload smaller than 4 KiB are joined as they come: each alone would take many times
its size."""

PADDING: Final = 0x00
FIRST_TRANSPORT_KIND: Final = 0x80
ACK_RANGES: Final = 0x80
CREDIT: Final = 0x81
BYE: Final = 0x82
RELEASE: Final = 0x83
PING: Final = 0x84
STOPPED: Final = 0x85
MESSAGE_FRAGMENT: Final = 0x86
FRAME_FRAGMENT: Final = 0x87
EXPULSIONS: Final = 0x88
EXPULSIONS_ACKED: Final = 0x89
SUSPECTS: Final = 0x8A
SEQUENCE_OFFSET: Final = 0x8C
CHALLENGE: Final = 0x8D
RESPONSE: Final = 0x8E
WAITING: Final = 0x8F
MEMBERS: Final = 0x90
"""Frames of the transport: datagrams that came, credit granted, a bye, a release, a ping, the
word that its sender has stopped and delivers nothing more; that the payload of the message in the
next frame goes on in the next message; a piece of a frame that does not fit a datagram; who is
expelled, which comes before every packet of its datagram; that this has been noted; whom its
sender suspects to be dead; by how much the ids of the messages that follow in the datagram are
larger than the numbers that applications see; and a number that nobody can guess, for a peer that
seems to have moved, which shows by its response that it is there (RFC 9000 section 8.2). From
version 3 on, as advice that decides nothing: for whom its sender waits before it can give a permit
that was asked for; and how many nodes are here for its sender, itself included.

0x8B said whom numbers mean in packets that name others. It is refused like every kind that is not
listed, and not to be used for anything else."""


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
