"""The hybrid family on the wire: two integers and a flag per message, however many processes.

A message is its id and the distance back to its predecessor, which is short where traffic is
lively; the flag is the distance's lowest bit, and the payload is the rest of the packet. Acks and
permits are one integer, asks are two.
"""

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.values import Message
from antecede.wire.varint import Reader, varint_size, write_varint


def tagged_distance(packet: DataPacket) -> i64:
    """How far back the predecessor is, times two, plus the flag; `LocalError` if it is not back."""
    sequence = packet.carried.sequence
    if packet.previous < 0 or packet.previous >= sequence:
        raise LocalError(f"message {sequence} cannot follow {packet.previous}")
    distance = (sequence - packet.previous) << 1
    return distance | 1 if packet.flagged else distance


def write_message(packet: DataPacket, writer: BytesWriter) -> None:
    """Append id, distance with flag, payload."""
    distance = tagged_distance(packet)
    write_varint(writer, packet.carried.sequence)
    write_varint(writer, distance)
    writer.write(packet.carried.payload)


def read_message(reader: Reader, source: i64) -> DataPacket:
    """What `write_message` wrote."""
    sequence = reader.positive()
    distance = reader.varint()
    back = distance >> 1
    if back < 1 or back > sequence:
        raise RemoteError(f"message {sequence} cannot follow the one {back} before it")
    return DataPacket(
        Message(source, sequence, reader.rest()), sequence - back, (distance & 1) == 1
    )


def message_size(packet: DataPacket) -> i64:
    """How many bytes `write_message` appends, the payload not counted."""
    return varint_size(packet.carried.sequence) + varint_size(tagged_distance(packet))


def write_ack(packet: Ack, writer: BytesWriter) -> None:
    """Append the id."""
    write_varint(writer, packet.sequence)


def read_ack(reader: Reader, source: i64) -> Ack:  # noqa: ARG001 - one signature for all readers
    """What `write_ack` wrote."""
    return Ack(reader.varint())


def write_permit(packet: Permit, writer: BytesWriter) -> None:
    """Append the id."""
    write_varint(writer, packet.sequence)


def read_permit(reader: Reader, source: i64) -> Permit:  # noqa: ARG001 - one signature for all
    """What `write_permit` wrote."""
    return Permit(reader.varint())


def write_ask(packet: Ask, writer: BytesWriter) -> None:
    """Append both ids."""
    write_varint(writer, packet.delivered)
    write_varint(writer, packet.lowest)


def read_ask(reader: Reader, source: i64) -> Ask:  # noqa: ARG001 - one signature for all readers
    """What `write_ask` wrote."""
    delivered = reader.varint()
    return Ask(delivered, reader.varint())
