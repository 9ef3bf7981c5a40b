"""The hybrid family on the wire: two integers and a flag per message, however many processes.

A message is its id, the distance back to its predecessor, the length of its payload, and the
payload; the flag is a bit of the frame's kind. In a datagram, a message whose predecessor is the
one in the message frame before it, and whose id is the next one, leaves id and distance out: two
bytes are then enough around it. Acks and permits are one integer, asks are two.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Ack, Ask, DataPacket, Message, Permit
from antecede.wire.varint import WireReader, varint_size, write_varint

ACK: Final = 0x02
PERMIT: Final = 0x03
ASK: Final = 0x04
MESSAGE: Final = 0x40
FLAGGED: Final = 1
FOLLOWS: Final = 2
MESSAGE_KINDS: Final = 4
"""The kinds of their frames; that of a message has the bits added: a permit will come, the ids are
those that follow the message before it."""


def write_message(packet: DataPacket, writer: BytesWriter, last: i64) -> None:
    """Append a message; `last` is the id in the message frame before it, or 0."""
    message = packet.carried
    sequence = message.sequence
    kind: i64 = MESSAGE | FLAGGED if packet.flagged else MESSAGE
    if last > 0 and packet.previous == last and sequence == last + 1:
        writer.append(u8(kind | FOLLOWS))
    else:
        check_order(packet)
        writer.append(u8(kind))
        write_varint(writer, sequence)
        write_varint(writer, sequence - packet.previous)
    write_varint(writer, len(message.payload))
    writer.write(message.payload)


def read_message(kind: i64, reader: WireReader, source: i64, last: i64) -> DataPacket:
    """What `write_message` wrote after the kind."""
    if kind & FOLLOWS:
        if last == 0:
            raise RemoteError("a message follows another that is not there")
        previous = last
        sequence = last + 1
    else:
        sequence = reader.positive()
        previous = sequence - reader.positive()
        if previous < 0:
            raise RemoteError(f"message {sequence} follows one before the first")
    payload = reader.take(reader.varint())
    return DataPacket(Message(source, sequence, payload), previous, (kind & FLAGGED) != 0)


def message_size(packet: DataPacket) -> i64:
    """How many bytes a message takes that follows no other, the payload not counted."""
    check_order(packet)
    message = packet.carried
    return (
        1
        + varint_size(message.sequence)
        + varint_size(message.sequence - packet.previous)
        + varint_size(len(message.payload))
    )


def check_order(packet: DataPacket) -> None:
    """`LocalError` if a message does not come after its predecessor."""
    if packet.previous < 0 or packet.previous >= packet.carried.sequence:
        raise LocalError(f"message {packet.carried.sequence} cannot follow {packet.previous}")


def write_ack(packet: Ack, writer: BytesWriter) -> None:
    """Append an ack: the id."""
    writer.append(u8(ACK))
    write_varint(writer, packet.sequence)


def write_permit(packet: Permit, writer: BytesWriter) -> None:
    """Append a permit: the id."""
    writer.append(u8(PERMIT))
    write_varint(writer, packet.sequence)


def write_ask(packet: Ask, writer: BytesWriter) -> None:
    """Append an ask: both ids."""
    writer.append(u8(ASK))
    write_varint(writer, packet.delivered)
    write_varint(writer, packet.lowest)


def read_ask(reader: WireReader) -> Ask:
    """What `write_ask` wrote after the kind."""
    delivered = reader.varint()
    return Ask(delivered, reader.varint())
