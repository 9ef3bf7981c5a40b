"""Protocols that know the topology, on the wire: `topology` and `separators`.

The counts of a link travel without ids, because both ends know whose they are. A packet between
domains says who submitted the message and for whom it is, and then what `rst` says inside the
domain, without a second payload.
"""

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.protocols.rst import RstPacket
from antecede.core.protocols.separators import SeparatorPacket
from antecede.core.protocols.topology import TopologyPacket
from antecede.core.values import Message
from antecede.wire.carrying import read_process
from antecede.wire.classic import (
    read_matrix,
    read_targets,
    write_id,
    write_matrix,
    write_number,
    write_positive,
    write_targets,
)
from antecede.wire.varint import Reader


def write_topology(packet: TopologyPacket, writer: BytesWriter) -> None:
    """Append id, the number of counts, the counts, payload."""
    write_positive(writer, packet.carried.sequence)
    write_number(writer, len(packet.counts))
    for count in packet.counts:
        write_number(writer, count)
    writer.write(packet.carried.payload)


def read_topology(reader: Reader, source: i64) -> TopologyPacket:
    """What `write_topology` wrote."""
    sequence = reader.positive()
    counts: list[int] = []
    for _ in range(reader.count()):
        counts.append(reader.varint())
    return TopologyPacket(Message(source, sequence, reader.rest()), tuple(counts))


def write_separator(packet: SeparatorPacket, writer: BytesWriter) -> None:
    """Append origin, id, targets; then id, n, targets and matrix of the hop; payload."""
    hop = packet.hop
    if hop.carried.payload:
        raise LocalError("a hop with a payload of its own cannot be encoded")
    write_id(writer, packet.carried.sender, -1)
    write_positive(writer, packet.carried.sequence)
    write_targets(writer, packet.targets)
    write_positive(writer, hop.carried.sequence)
    write_positive(writer, hop.size)
    write_targets(writer, hop.targets)
    write_matrix(writer, hop.sent)
    writer.write(packet.carried.payload)


def read_separator(reader: Reader, source: i64) -> SeparatorPacket:
    """What `write_separator` wrote."""
    origin = read_process(reader)
    sequence = reader.positive()
    targets = read_targets(reader)
    number = reader.positive()
    size = reader.positive()
    hop_targets = read_targets(reader)
    sent = read_matrix(reader)
    hop = RstPacket(Message(source, number, b""), hop_targets, size, sent)
    return SeparatorPacket(Message(origin, sequence, reader.rest()), targets, hop)
