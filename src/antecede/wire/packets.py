"""Encodes and decodes the product's packets, and counts the bytes that they add to a payload.

A packet is a frame: a byte for its kind, then its fields. Nodes put frames one after the other into
datagrams (`antecede.wire.frames`), so a frame says where it ends, and `metadata_size` counts what
is sent. The sender's id is not in it: the receiver knows where the bytes came from. The encoding is
canonical: `decode` accepts exactly what `encode` makes, and raises `RemoteError` otherwise.

A message is its id, the distance back to its predecessor, the length of its payload, and the
payload; the flag is a bit of the frame's kind. In a datagram, a message whose predecessor is the
one in the message frame before it, and whose id is the next one, leaves id and distance out: its
header then takes two bytes. Acks and permits are one integer, asks are two. Packets about
expulsions have the length of their body after their kind. The packets of all other
protocols, and the table of their kinds, are in `antecede_lab.wire`.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.checks import ID_LIMIT, check_ids
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import (
    Ack,
    Ask,
    DataPacket,
    ExpulsionAck,
    ExpulsionNotice,
    Message,
    Packet,
    Permit,
    YouAreExpelled,
)
from antecede.wire.varint import WireReader, varint_size, write_varint

ACK: Final = 0x02
PERMIT: Final = 0x03
ASK: Final = 0x04
MESSAGE: Final = 0x40
FLAGGED: Final = 1
FOLLOWS: Final = 2
MESSAGE_KINDS: Final = 4
"""The kinds of their frames. A message has 4 kinds: `FLAGGED` is added if a permit will follow, and
`FOLLOWS` if it has the next id after the message frame before it."""

ALIKE: Final = 4
MESSAGE_ALIKE: Final = MESSAGE | ALIKE
"""Added to the kind of a message that is for the same as the one before it in the datagram: the
envelope is left out. A packet by itself has none of these 4 kinds."""


def write_message(packet: DataPacket, writer: BytesWriter, last: i64, shared: i64 = 0) -> None:
    """Append a message; `last` is the id in the message frame before it, or 0.

    The first bytes of the payload, so many as are `shared` with that message, are left out.
    """
    message = packet.carried
    sequence = message.sequence
    kind: i64 = (MESSAGE if shared == 0 else MESSAGE_ALIKE) | (FLAGGED if packet.flagged else 0)
    if last > 0 and packet.previous == last and sequence == last + 1:
        writer.append(u8(kind | FOLLOWS))
    else:
        check_order(packet)
        writer.append(u8(kind))
        write_varint(writer, sequence)
        write_varint(writer, sequence - packet.previous)
    write_varint(writer, len(message.payload) - shared)
    writer.write(message.payload if shared == 0 else message.payload[shared:])


def read_message(
    kind: i64, reader: WireReader, source: i64, last: i64, shared: bytes = b""
) -> DataPacket:
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
    payload = shared + reader.take(reader.varint()) if shared else reader.take(reader.varint())
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


KIND_LIMIT: Final = 0x80
"""Kinds of packets are below 0x80; the transport's frames begin there."""

NOTHING: Final = 0
"""Inside a notice: no packet."""

CARRIED: Final = (DataPacket, Permit)

CARRIED_KINDS: Final = (MESSAGE, MESSAGE | FLAGGED, PERMIT)
"""What a notice may carry: messages and permits."""

NOTICE: Final = 0x05
NOTED: Final = 0x06
EXPULSION: Final = 0x07
"""Kinds of the packets about expulsions."""


def write_notice(packet: ExpulsionNotice, writer: BytesWriter) -> None:
    """Append the ids, and the packet inside as it would be alone."""
    write_expelled(writer, packet.processes)
    if packet.inner is None:
        writer.append(NOTHING)
    elif isinstance(packet.inner, CARRIED):
        write_packet(packet.inner, writer, 0)
    else:
        raise LocalError(f"{type(packet.inner).__name__} is not carried in a notice")


def read_notice(reader: WireReader, source: int) -> ExpulsionNotice:
    """What `write_notice` wrote."""
    processes = read_expelled(reader)
    kind = reader.byte()
    if kind == NOTHING:
        return ExpulsionNotice(processes, None)
    if kind not in CARRIED_KINDS:
        raise RemoteError(f"a packet of kind {kind} is not carried in a notice")
    return ExpulsionNotice(processes, read_packet(kind, reader, source, 0))


def encode(packet: Packet) -> bytes:
    """The bytes of `packet`; `LocalError` if it has no form on the wire."""
    writer = BytesWriter()
    write_packet(packet, writer, 0)
    return writer.getvalue()


def decode(data: bytes, source: int) -> Packet:
    """The packet that `source` encoded as `data`; `RemoteError` if `encode` makes no such bytes."""
    check_ids(source, source)
    reader = WireReader(data)
    packet = read_packet(reader.byte(), reader, source, 0)
    reader.end()
    return packet


def metadata_size(packet: Packet) -> int:
    """What the protocol adds to the payload: len(encode(packet)) - len(payload)."""
    if isinstance(packet, DataPacket):
        return message_size(packet)
    if isinstance(packet, Ack):
        return 1 + varint_size(packet.sequence)
    if isinstance(packet, Permit):
        return 1 + varint_size(packet.sequence)
    if isinstance(packet, Ask):
        return 1 + varint_size(packet.delivered) + varint_size(packet.lowest)
    return len(encode(packet)) - payload_size(packet)


def payload_size(packet: Packet) -> int:
    """Bytes of application data that `packet` carries."""
    message = packet.message
    return 0 if message is None else len(message.payload)


def write_packet(packet: Packet, writer: BytesWriter, last: i64) -> None:
    """Append a packet; `last` is the id in the message frame before it in a datagram, or 0."""
    if isinstance(packet, DataPacket):
        write_message(packet, writer, last)
    elif isinstance(packet, Ack):
        write_ack(packet, writer)
    elif isinstance(packet, Permit):
        write_permit(packet, writer)
    elif isinstance(packet, Ask):
        write_ask(packet, writer)
    else:
        body = BytesWriter()
        kind = write_expulsion_packet(packet, body)
        writer.append(u8(kind))
        write_varint(writer, len(body))
        writer.write(body.getvalue())


def write_expulsion_packet(packet: Packet, body: BytesWriter) -> i64:
    """Append the body of a packet about expulsions; the number of its kind."""
    if isinstance(packet, ExpulsionNotice):
        write_notice(packet, body)
        return NOTICE
    if isinstance(packet, ExpulsionAck):
        write_expelled(body, packet.processes)
        return NOTED
    if isinstance(packet, YouAreExpelled):
        return EXPULSION
    raise LocalError(f"{type(packet).__name__} has no form on the wire")


def read_packet(number: i64, reader: WireReader, source: int, last: i64) -> Packet:
    """Read what follows the kind of a frame; also of a packet inside another one."""
    if MESSAGE <= number < MESSAGE + MESSAGE_KINDS:
        return read_message(number, reader, source, last)
    if number == ACK:
        return Ack(reader.varint())
    if number == PERMIT:
        return Permit(reader.varint())
    if number == ASK:
        return read_ask(reader)
    if number not in (NOTICE, NOTED, EXPULSION):
        raise RemoteError(f"no packet is of kind {number}")
    body = WireReader(reader.take(reader.varint()))
    packet = read_expulsion_packet(number, body, source)
    body.end()
    return packet


def read_expulsion_packet(number: i64, body: WireReader, source: int) -> Packet:
    """The packet about expulsions whose body this is."""
    if number == NOTICE:
        return read_notice(body, source)
    if number == NOTED:
        return ExpulsionAck(read_expelled(body))
    return YouAreExpelled()


def read_positive(reader: WireReader) -> int:
    """What `write_positive` wrote."""
    return int(reader.positive())


def write_expelled(writer: BytesWriter, processes: list[int]) -> None:
    """Append ids of the expelled, at least one, each as the step to it, which is never 0."""
    if not processes:
        raise LocalError("news of an expulsion must name somebody")
    write_varint(writer, len(processes))
    before = -1
    for process in processes:
        if process <= before or process >= ID_LIMIT:
            raise LocalError(f"expelled processes must ascend and fit 31 bits: {processes}")
        write_varint(writer, process - before)
        before = process


def read_expelled(reader: WireReader) -> list[int]:
    """What `write_expelled` wrote."""
    processes: list[int] = []
    before = -1
    for _ in range(reader.count()):
        before += read_positive(reader)
        if before >= ID_LIMIT:
            raise RemoteError(f"an expelled process beyond the last id, {ID_LIMIT - 1}")
        processes.append(before)
    if not processes:
        raise RemoteError("news of an expulsion that name nobody")
    return processes
