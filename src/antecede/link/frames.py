"""What a datagram between two nodes that know each other looks like.

A header (the kind of datagram, the id of the key it is protected with, the receiver's token, the
datagram's number, and how far back the oldest unsettled number is), then frames until the end. A
frame is a byte for its kind and its fields, all varints. Control comes before messages; a message
frame whose predecessor is the message frame before it in the same datagram leaves both ids out.

Two bytes are enough around most messages, and no frame names a process.
"""

from typing import Final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64, u8

from antecede.core.packets import DataPacket
from antecede.wire.varint import varint_size, write_varint

DATAGRAM: Final = 0xA0
"""The first byte of a datagram that carries frames; those of greetings are in `greeting`."""

NO_KEY: Final = 0
"""The second byte: no authentication, no encryption. Other values are for keys to come."""

TOKEN_AT: Final = 2
NUMBER_AT: Final = 10
"""Where the token and the number begin."""

HEADER_MOST: Final = 32
"""Bytes that a header takes at most."""

PADDING: Final = 0x00
NUMBERS: Final = 0x01
CREDIT: Final = 0x02
DELIVERED: Final = 0x03
PERMITTED: Final = 0x04
ASKED: Final = 0x05
BYE: Final = 0x06
RELEASE: Final = 0x07
PING: Final = 0x08
MESSAGE: Final = 0x10
"""The kinds of frames; a message's kind has the bits below added to it."""

FLAGGED: Final = 1
MORE: Final = 2
FOLLOWS: Final = 4
MESSAGE_KINDS: Final = 8
"""A permit will come; the payload goes on in the next message; the ids are the next ones."""

MESSAGE_FRAME_MOST: Final = 24
"""Bytes that a message frame takes at most beside its payload."""

PACKETS_MOST: Final = 4000
"""Packets in one datagram, so that twelve bits number them in an event log."""


def write_header(writer: BytesWriter, token: i64, number: i64, oldest: i64) -> None:
    """Append the header of datagram `number`; below `oldest` everything is settled."""
    writer.append(u8(DATAGRAM))
    writer.append(u8(NO_KEY))
    write_i64_le(writer, token)
    write_varint(writer, number)
    write_varint(writer, number - oldest)


def write_frame(writer: BytesWriter, kind: i64, value: i64) -> None:
    """Append a frame of one integer."""
    writer.append(u8(kind))
    write_varint(writer, value)


def message_frame_size(packet: DataPacket, last: i64) -> i64:
    """How many bytes `write_message_frame` appends beside the payload."""
    message = packet.carried
    size = 1 + varint_size(len(message.payload))
    if last == 0 or packet.previous != last or message.sequence != last + 1:
        size += varint_size(message.sequence) + varint_size(message.sequence - packet.previous)
    return size


def write_message_frame(writer: BytesWriter, packet: DataPacket, more: bool, last: i64) -> None:
    """Append a message; `last` is the id in the message frame before it, or 0."""
    message = packet.carried
    sequence = message.sequence
    kind: i64 = MESSAGE
    if packet.flagged:
        kind |= FLAGGED
    if more:
        kind |= MORE
    if packet.previous == last and sequence == last + 1 and last > 0:
        writer.append(u8(kind | FOLLOWS))
    else:
        writer.append(u8(kind))
        write_varint(writer, sequence)
        write_varint(writer, sequence - packet.previous)
    write_varint(writer, len(message.payload))
    writer.write(message.payload)
