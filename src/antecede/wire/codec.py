"""Packets to bytes and back, and the honest measure of what a protocol adds to a payload.

A packet is a frame: a byte for its kind, then its fields. Nodes put frames one after the other into
datagrams (`wire.frames`), so a frame says where it ends, and what is measured here is what is sent.
The sender's id is not in it: whoever decodes knows where the bytes came from. `decode` accepts
exactly what `encode` makes, and answers anything else with `RemoteError`, so a packet has one form
only.

The hybrid family has short forms of its own (`wire.hybrid`), and a `LinkData` is a number and the
packet inside. All others have the length of their
body after their kind; `PACKET_KINDS` is the only list of them. To add a packet class:

1. write `write_<name>(packet, writer)` and `read_<name>(reader, source)` in the module of its
   family: the first appends the body and raises `LocalError` for what the second would refuse, the
   second takes the body from the `Reader`, to its end, and raises `RemoteError` for what the first
   never makes;
2. add its row below, with a number that no row ever had (numbers on the wire are for ever); each
   family has room;
3. add a hypothesis strategy for it to the tests of this module, which fail until there is one.
"""

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar, cast, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.catalogue import ProtocolInfo
from antecede.core.checks import check_ids
from antecede.core.codec import PacketCodec
from antecede.core.errors import LocalError, RemoteError
from antecede.core.fact_packets import FactsAck, FactsAsk, FactsMessage, FactsPermit
from antecede.core.link_packets import LinkAck, LinkData
from antecede.core.packets import Ack, Ask, DataPacket, Expulsion, Noted, Notice, Permit
from antecede.core.protocols.bss import BssPacket
from antecede.core.protocols.cykas import CykasAck, CykasMessage, YouCanTell
from antecede.core.protocols.ks import KsPacket
from antecede.core.protocols.mf import MfAck, MfMessage
from antecede.core.protocols.newtop import NewtopMessage, NewtopNull
from antecede.core.protocols.piggyback import PiggybackAck, PiggybackMessage
from antecede.core.protocols.prs import PrsPacket
from antecede.core.protocols.psync import PsyncAck, PsyncMessage, PsyncRequest
from antecede.core.protocols.rst import RstPacket
from antecede.core.protocols.separators import SeparatorPacket
from antecede.core.protocols.ses import SesPacket
from antecede.core.protocols.topology import TopologyPacket
from antecede.core.protocols.tree import TreePacket
from antecede.core.values import Packet
from antecede.wire.carrying import (
    read_piggyback,
    read_piggyback_ack,
    read_psync,
    read_psync_ack,
    read_psync_request,
    write_piggyback,
    write_piggyback_ack,
    write_psync,
    write_psync_ack,
    write_psync_request,
)
from antecede.wire.classic import (
    read_bss,
    read_ks,
    read_prs,
    read_rst,
    read_ses,
    write_bss,
    write_ks,
    write_prs,
    write_rst,
    write_ses,
)
from antecede.wire.expulsion import (
    read_expulsion,
    read_noted,
    read_processes,
    write_expulsion,
    write_noted,
    write_processes,
)
from antecede.wire.facts import (
    read_facts_ack,
    read_facts_ask,
    read_facts_message,
    read_facts_permit,
    write_facts_ack,
    write_facts_ask,
    write_facts_message,
    write_facts_permit,
)
from antecede.wire.hybrid import (
    ACK,
    ASK,
    FLAGGED,
    MESSAGE,
    MESSAGE_KINDS,
    PERMIT,
    message_size,
    read_ask,
    read_message,
    write_ack,
    write_ask,
    write_message,
    write_permit,
)
from antecede.wire.link import (
    LINK_ACK,
    LINK_DATA,
    check_inside,
    read_link_ack,
    write_link_ack,
    write_link_number,
)
from antecede.wire.sender_buffering import (
    read_cykas_ack,
    read_cykas_message,
    read_mf_ack,
    read_mf_message,
    read_newtop_message,
    read_newtop_null,
    read_tree_packet,
    read_yct,
    write_cykas_ack,
    write_cykas_message,
    write_mf_ack,
    write_mf_message,
    write_newtop_message,
    write_newtop_null,
    write_tree_packet,
    write_yct,
)
from antecede.wire.topological import (
    read_separator,
    read_topology,
    write_separator,
    write_topology,
)
from antecede.wire.varint import Reader, varint_size, write_varint

KIND_LIMIT: Final = 0x80
"""Kinds of packets are below this; from here on a frame belongs to the link."""

NOTHING: Final = 0
"""Inside a notice: no packet."""

PacketType = TypeVar("PacketType", bound=Packet)
WriteBody: TypeAlias = Callable[[Packet, BytesWriter], None]
ReadBody: TypeAlias = Callable[[Reader, int], Packet]


@final
class PacketKind:
    """A row of the table: the number of a packet class on the wire, and how its body is made."""

    def __init__(
        self, number: int, packet_class: type[Packet], write: WriteBody, read: ReadBody
    ) -> None:
        self.number: Final = number
        self.packet_class: Final = packet_class
        self.write: Final = write
        self.read: Final = read


def row(
    number: int,
    packet_class: type[PacketType],
    write: Callable[[PacketType, BytesWriter], None],
    read: Callable[[Reader, int], PacketType],
) -> PacketKind:
    """A row whose functions fit its class; `write` is only ever called with that class."""
    return PacketKind(number, packet_class, cast(WriteBody, write), read)


# A packet inside another one can only be written here, where all kinds are known.


def write_notice(packet: Notice, writer: BytesWriter) -> None:
    """Append the ids, and the packet inside as it would be alone."""
    write_processes(packet.processes, writer)
    if packet.inner is None:
        writer.append(NOTHING)
    elif isinstance(packet.inner, CARRIED):
        write_packet(packet.inner, writer, 0)
    else:
        raise LocalError(f"{type(packet.inner).__name__} is not carried in a notice")


def read_notice(reader: Reader, source: int) -> Notice:
    """What `write_notice` wrote."""
    processes = read_processes(reader)
    kind = reader.byte()
    if kind == NOTHING:
        return Notice(processes, None)
    inner = read_packet(kind, reader, source, 0) if kind in CARRIED_KINDS else None
    if inner is None:
        raise RemoteError(f"a packet of kind {kind} is not carried in a notice")
    return Notice(processes, inner)


CARRIED: Final = (DataPacket, Permit, FactsMessage, FactsPermit)
CARRIED_KINDS: Final = (MESSAGE, MESSAGE | FLAGGED, PERMIT, 12, 14)
"""What a notice may carry: messages and permits."""

PACKET_KINDS: Final[tuple[PacketKind, ...]] = (
    # 1-15: the hybrid family; those of its packets with short forms are not in this table.
    row(5, Notice, write_notice, read_notice),
    row(6, Noted, write_noted, read_noted),
    row(7, Expulsion, write_expulsion, read_expulsion),
    row(12, FactsMessage, write_facts_message, read_facts_message),
    row(13, FactsAck, write_facts_ack, read_facts_ack),
    row(14, FactsPermit, write_facts_permit, read_facts_permit),
    row(15, FactsAsk, write_facts_ask, read_facts_ask),
    # 16-31: the classic algorithms that buffer at the receiver.
    row(16, RstPacket, write_rst, read_rst),
    row(17, KsPacket, write_ks, read_ks),
    row(18, PrsPacket, write_prs, read_prs),
    row(19, SesPacket, write_ses, read_ses),
    row(20, BssPacket, write_bss, read_bss),
    row(21, TopologyPacket, write_topology, read_topology),
    row(22, SeparatorPacket, write_separator, read_separator),
    row(23, PiggybackMessage, write_piggyback, read_piggyback),
    row(24, PiggybackAck, write_piggyback_ack, read_piggyback_ack),
    row(25, PsyncMessage, write_psync, read_psync),
    row(26, PsyncAck, write_psync_ack, read_psync_ack),
    row(27, PsyncRequest, write_psync_request, read_psync_request),
    # 32-47: the algorithms that buffer at the sender, Newtop and the tree.
    row(32, MfMessage, write_mf_message, read_mf_message),
    row(33, MfAck, write_mf_ack, read_mf_ack),
    row(34, CykasMessage, write_cykas_message, read_cykas_message),
    row(35, CykasAck, write_cykas_ack, read_cykas_ack),
    row(36, YouCanTell, write_yct, read_yct),
    row(37, NewtopMessage, write_newtop_message, read_newtop_message),
    row(38, NewtopNull, write_newtop_null, read_newtop_null),
    row(39, TreePacket, write_tree_packet, read_tree_packet),
    # 48-63: links; 48 is `LinkData`, which ends where the packet inside it does.
    row(LINK_ACK, LinkAck, write_link_ack, read_link_ack),
)

KIND_OF_CLASS: Final[dict[type[Packet], PacketKind]] = {
    kind.packet_class: kind for kind in PACKET_KINDS
}
KIND_OF_NUMBER: Final[dict[int, PacketKind]] = {kind.number: kind for kind in PACKET_KINDS}


def encode(packet: Packet) -> bytes:
    """The bytes of `packet`; `LocalError` if it has no form on the wire."""
    writer = BytesWriter()
    write_packet(packet, writer, 0)
    return writer.getvalue()


def decode(data: bytes, source: int) -> Packet:
    """The packet that `source` encoded as `data`; `RemoteError` if `encode` makes no such bytes."""
    check_ids(source, source)
    reader = Reader(data)
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
    elif isinstance(packet, LinkData):
        writer.append(u8(LINK_DATA))
        write_link_number(packet, writer)
        write_packet(packet.inner, writer, 0)
    else:
        kind = KIND_OF_CLASS.get(type(packet))
        if kind is None:
            raise LocalError(f"{type(packet).__name__} has no form on the wire")
        body = BytesWriter()
        kind.write(packet, body)
        writer.append(u8(kind.number))
        write_varint(writer, len(body))
        writer.write(body.getvalue())


def read_packet(number: i64, reader: Reader, source: int, last: i64) -> Packet:
    """Read what follows the kind of a frame; also of a packet inside another one."""
    if MESSAGE <= number < MESSAGE + MESSAGE_KINDS:
        return read_message(number, reader, source, last)
    if number == ACK:
        return Ack(reader.varint())
    if number == PERMIT:
        return Permit(reader.varint())
    if number == ASK:
        return read_ask(reader)
    if number == LINK_DATA:
        inside = reader.positive()
        kind_inside = reader.byte()
        check_inside(kind_inside)
        return LinkData(inside, read_packet(kind_inside, reader, source, 0))
    kind = KIND_OF_NUMBER.get(number)
    if kind is None:
        raise RemoteError(f"no packet is of kind {number}")
    body = Reader(reader.take(reader.varint()))
    packet = kind.read(body, source)
    body.end()
    return packet


@final
class WireCodec(PacketCodec):
    """The codec of our own packets, for drivers that take any."""

    def encode(self, packet: Packet) -> bytes:
        return encode(packet)

    def decode(self, data: bytes, source: int) -> Packet:
        return decode(data, source)


def codec_of(info: ProtocolInfo) -> PacketCodec:
    """The codec that a user's protocol brings, or else ours."""
    return WireCodec() if info.codec is None else info.codec


def metadata_size_with(codec: PacketCodec, packet: Packet) -> int:
    """Like `metadata_size`, by the given codec."""
    if isinstance(codec, WireCodec):
        return metadata_size(packet)
    return len(codec.encode(packet)) - payload_size(packet)
