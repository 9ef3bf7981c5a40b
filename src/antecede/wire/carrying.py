"""Protocols whose packets name or bring other messages, on the wire: `piggyback` and
`psync`.

A message that is brought along has its sender, its id, its targets and its payload with its length
before it; the payload of the message itself is the rest of the packet.
"""

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import RemoteError
from antecede.core.protocols.piggyback import PiggybackAck, PiggybackMessage, Predecessor
from antecede.core.protocols.psync import PsyncAck, PsyncMessage, PsyncRequest
from antecede.core.values import Message
from antecede.wire.classic import (
    read_later,
    read_targets,
    write_id,
    write_number,
    write_positive,
    write_targets,
)
from antecede.wire.varint import Reader


def write_piggyback(packet: PiggybackMessage, writer: BytesWriter) -> None:
    """Append id, targets, stable ids, predecessors, payload."""
    write_positive(writer, packet.carried.sequence)
    write_targets(writer, packet.targets)
    write_ids_of(writer, packet.stable)
    write_number(writer, len(packet.before))
    for predecessor in packet.before:
        message = predecessor.message
        write_id(writer, message.sender, -1)
        write_positive(writer, message.sequence)
        write_targets(writer, predecessor.targets)
        write_number(writer, len(message.payload))
        writer.write(message.payload)
    writer.write(packet.carried.payload)


def read_piggyback(reader: Reader, source: i64) -> PiggybackMessage:
    """What `write_piggyback` wrote."""
    sequence = reader.positive()
    targets = read_targets(reader)
    stable = read_ids_of(reader)
    before: list[Predecessor] = []
    for _ in range(reader.count()):
        sender = read_process(reader)
        number = reader.positive()
        pending = read_targets(reader)
        payload = reader.take(reader.varint())
        before.append(Predecessor(Message(sender, number, payload), pending))
    message = Message(source, sequence, reader.rest())
    return PiggybackMessage(message, targets, tuple(before), stable)


def write_piggyback_ack(packet: PiggybackAck, writer: BytesWriter) -> None:
    """Append the id."""
    write_positive(writer, packet.sequence)


def read_piggyback_ack(reader: Reader, source: i64) -> PiggybackAck:  # noqa: ARG001 - one signature
    """What `write_piggyback_ack` wrote."""
    return PiggybackAck(reader.positive())


def write_psync(packet: PsyncMessage, writer: BytesWriter) -> None:
    """Append sender, id, what it follows, payload."""
    write_id(writer, packet.carried.sender, -1)
    write_positive(writer, packet.carried.sequence)
    write_ids_of(writer, packet.follows)
    writer.write(packet.carried.payload)


def read_psync(reader: Reader, source: i64) -> PsyncMessage:  # noqa: ARG001 - the sender is inside
    """What `write_psync` wrote."""
    sender = read_process(reader)
    sequence = reader.positive()
    follows = read_ids_of(reader)
    return PsyncMessage(Message(sender, sequence, reader.rest()), follows)


def write_psync_ack(packet: PsyncAck, writer: BytesWriter) -> None:
    """Append the id."""
    write_positive(writer, packet.sequence)


def read_psync_ack(reader: Reader, source: i64) -> PsyncAck:  # noqa: ARG001 - one signature for all
    """What `write_psync_ack` wrote."""
    return PsyncAck(reader.positive())


def write_psync_request(packet: PsyncRequest, writer: BytesWriter) -> None:
    """Append what is missing."""
    write_ids_of(writer, packet.missing)


def read_psync_request(reader: Reader, source: i64) -> PsyncRequest:  # noqa: ARG001 - one signature
    """What `write_psync_request` wrote."""
    return PsyncRequest(read_ids_of(reader))


def write_ids_of(writer: BytesWriter, ids: tuple[tuple[int, int], ...]) -> None:
    """Append an id of a message for each of some processes, in ascending order of these."""
    write_number(writer, len(ids))
    before = -1
    for process, sequence in ids:
        write_id(writer, process, before)
        write_positive(writer, sequence)
        before = process


def read_ids_of(reader: Reader) -> tuple[tuple[int, int], ...]:
    """What `write_ids_of` wrote."""
    ids: list[tuple[int, int]] = []
    before = -1
    for _ in range(reader.count()):
        before = read_later(reader, before, ID_LIMIT)
        ids.append((before, reader.positive()))
    return tuple(ids)


def read_process(reader: Reader) -> int:
    """A process id on its own."""
    process: int = reader.varint()
    if process >= ID_LIMIT:
        raise RemoteError(f"{process} is no process id")
    return process
