"""MF, Cykas, Newtop and the tree on the wire: an integer or two per message, plus a tree's targets.

The payload is the rest of the packet. A Cykas message has its flag in the lowest bit of its id, a
YCT is nothing but its kind. The targets of a tree packet ascend, so each is written as its distance
from the one before.
"""

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import LocalError, RemoteError
from antecede.core.protocols.cykas import CykasAck, CykasMessage, YouCanTell
from antecede.core.protocols.mf import MfAck, MfMessage
from antecede.core.protocols.newtop import NewtopMessage, NewtopNull
from antecede.core.protocols.tree import TreePacket
from antecede.core.values import Message
from antecede.wire.varint import Reader, write_varint


def write_positive(writer: BytesWriter, value: i64) -> None:
    """Append an id or a clock; `LocalError` if it is not at least 1."""
    if value < 1:
        raise LocalError(f"{value} cannot be encoded: ids and clocks start at 1")
    write_varint(writer, value)


def write_mf_message(packet: MfMessage, writer: BytesWriter) -> None:
    """Append id, payload."""
    write_positive(writer, packet.carried.sequence)
    writer.write(packet.carried.payload)


def read_mf_message(reader: Reader, source: i64) -> MfMessage:
    """What `write_mf_message` wrote."""
    sequence = reader.positive()
    return MfMessage(Message(source, sequence, reader.rest()))


def write_mf_ack(packet: MfAck, writer: BytesWriter) -> None:
    """Append the id."""
    write_positive(writer, packet.sequence)


def read_mf_ack(reader: Reader, source: i64) -> MfAck:  # noqa: ARG001 - one signature for all
    """What `write_mf_ack` wrote."""
    return MfAck(reader.positive())


def write_cykas_message(packet: CykasMessage, writer: BytesWriter) -> None:
    """Append twice the id plus the flag, payload."""
    sequence = packet.carried.sequence
    if sequence < 1 or sequence >= 1 << 61:
        raise LocalError(f"message id {sequence} cannot be encoded: it is not in 1 <= id < 2**61")
    write_varint(writer, (sequence << 1) | (1 if packet.eager else 0))
    writer.write(packet.carried.payload)


def read_cykas_message(reader: Reader, source: i64) -> CykasMessage:
    """What `write_cykas_message` wrote."""
    tagged = reader.varint()
    if tagged < 2:
        raise RemoteError("a message with the id 0")
    return CykasMessage(Message(source, tagged >> 1, reader.rest()), (tagged & 1) == 1)


def write_cykas_ack(packet: CykasAck, writer: BytesWriter) -> None:
    """Append the id."""
    write_positive(writer, packet.sequence)


def read_cykas_ack(reader: Reader, source: i64) -> CykasAck:  # noqa: ARG001 - one signature for all
    """What `write_cykas_ack` wrote."""
    return CykasAck(reader.positive())


def write_yct(packet: YouCanTell, writer: BytesWriter) -> None:
    """Append nothing: its kind says it all."""


def read_yct(reader: Reader, source: i64) -> YouCanTell:  # noqa: ARG001 - it has no body
    """What `write_yct` wrote."""
    return YouCanTell()


def write_newtop_message(packet: NewtopMessage, writer: BytesWriter) -> None:
    """Append id, clock, payload."""
    write_positive(writer, packet.carried.sequence)
    write_positive(writer, packet.clock)
    writer.write(packet.carried.payload)


def read_newtop_message(reader: Reader, source: i64) -> NewtopMessage:
    """What `write_newtop_message` wrote."""
    sequence = reader.positive()
    clock = reader.positive()
    return NewtopMessage(Message(source, sequence, reader.rest()), clock)


def write_newtop_null(packet: NewtopNull, writer: BytesWriter) -> None:
    """Append the clock."""
    write_positive(writer, packet.clock)


def read_newtop_null(reader: Reader, source: i64) -> NewtopNull:  # noqa: ARG001 - one signature
    """What `write_newtop_null` wrote."""
    return NewtopNull(reader.positive())


def write_tree_packet(packet: TreePacket, writer: BytesWriter) -> None:
    """Append origin, id, the number of targets, the distances between them, payload."""
    message = packet.carried
    if message.sender < 0 or message.sender >= ID_LIMIT:
        raise LocalError(f"origin {message.sender} cannot be encoded: it is no process id")
    check_targets(packet.targets)
    write_varint(writer, message.sender)
    write_positive(writer, message.sequence)
    write_varint(writer, len(packet.targets))
    previous: i64 = -1
    for target in packet.targets:
        write_varint(writer, target - previous - 1)
        previous = target
    writer.write(message.payload)


def read_tree_packet(reader: Reader, source: i64) -> TreePacket:  # noqa: ARG001 - origin is inside
    """What `write_tree_packet` wrote."""
    origin = reader.varint()
    sequence = reader.positive()
    count = reader.count()
    if origin >= ID_LIMIT or count == 0:
        raise RemoteError(f"a message of {origin} to {count} targets")
    targets: list[int] = []
    previous: i64 = -1
    while len(targets) < count:
        distance = reader.varint()
        if distance >= ID_LIMIT or previous + 1 + distance >= ID_LIMIT:
            raise RemoteError("a target that is no process id")
        previous += 1 + distance
        targets.append(previous)
    return TreePacket(Message(origin, sequence, reader.rest()), tuple(targets))


def check_targets(targets: tuple[int, ...]) -> None:
    """`LocalError` unless they are process ids, at least one, ascending."""
    previous: i64 = -1
    for target in targets:
        if target <= previous or target >= ID_LIMIT:
            raise LocalError(f"targets {targets} cannot be encoded: they are not ascending ids")
        previous = target
    if previous < 0:
        raise LocalError("a message without targets cannot be encoded")
