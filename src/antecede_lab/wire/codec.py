"""Packets of every protocol to bytes and back.

The product's packets are encoded by `antecede.wire.packets`, which says what a frame is; a
`LinkData` is a number and the packet inside. All others have the length of their body after their
kind; `PACKET_KINDS` is the only list of them. To add a packet class:

1. add its row below, with a number that no row ever had (numbers on the wire are for ever; each
   family has room): a `Layout` names its fields in the order of the wire and how each looks, by the
   forms of `wire.forms`;
2. if no layout can say it, write `write_<name>(packet, writer)` and `read_<name>(reader, source)`,
   and a row `ByHand`: the first appends the body and raises `LocalError` for what the second would
   refuse, the second takes the body from the `WireReader`, to its end, and raises `RemoteError` for
   what the first never makes;
3. add a hypothesis strategy for it to the tests of this module, which fail until there is one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, TypeVar, cast, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.checks import check_ids
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import (
    Ack,
    Ask,
    DataPacket,
    IdPacket,
    Message,
    MessagePacket,
    Packet,
    Permit,
)
from antecede.wire import packets
from antecede.wire.packets import payload_size
from antecede.wire.varint import WireReader, write_varint
from antecede_lab.protocols.baldoni import BaldoniAck, BaldoniMessage
from antecede_lab.protocols.bss import BssPacket
from antecede_lab.protocols.cykas import CykasAck, CykasMessage, YouCanTell
from antecede_lab.protocols.facts.packets import FactsAck, FactsAsk, FactsMessage, FactsPermit
from antecede_lab.protocols.ks import KsPacket
from antecede_lab.protocols.link_packets import LinkAck, LinkData
from antecede_lab.protocols.mf import MfAck, MfMessage
from antecede_lab.protocols.newtop import NewtopMessage, NewtopNull
from antecede_lab.protocols.piggyback import PiggybackAck, PiggybackMessage
from antecede_lab.protocols.prs import PrsPacket
from antecede_lab.protocols.psync import PsyncAck, PsyncMessage, PsyncRequest
from antecede_lab.protocols.rst import RstPacket
from antecede_lab.protocols.saturn import SaturnData, SaturnLabel
from antecede_lab.protocols.separators import SeparatorPacket
from antecede_lab.protocols.ses import SesPacket
from antecede_lab.protocols.topology import TopologyPacket
from antecede_lab.protocols.tree import TreePacket
from antecede_lab.protocols.vectors import Vector
from antecede_lab.wire.facts import (
    read_facts_ack,
    read_facts_ask,
    read_facts_message,
    read_facts_permit,
    write_facts_ack,
    write_facts_ask,
    write_facts_message,
    write_facts_permit,
)
from antecede_lab.wire.forms import (
    COUNTERS,
    IDS_OF,
    LOG,
    MATRIX,
    NUMBERS,
    POSITIVE,
    PREDECESSORS,
    PROCESS,
    TARGETS,
    VECTOR,
    Form,
    read_matrix,
    read_process,
    read_targets,
    write_positive,
    write_process,
    write_targets,
)
from antecede_lab.wire.link import (
    LINK_ACK,
    LINK_DATA,
    check_inside,
    read_link_ack,
    write_link_ack,
    write_link_number,
)

CONTROL: Final = 0
OWN: Final = 1
ANYBODYS: Final = 2
DATED: Final = 3
"""What a packet carries: nothing; a message of the process that sends it, whose id comes first;
one of anybody's, whose sender and id come first; one whose id is in its vector `time`. The payload
is the rest of the packet."""

PacketType = TypeVar("PacketType", bound=Packet)


class PacketKind(ABC):
    """A row of the table: the number of a packet class on the wire, and how its body is made."""

    def __init__(self, number: int, packet_class: type[Packet]) -> None:
        self.number: Final = number
        self.packet_class: Final = packet_class

    @abstractmethod
    def write(self, packet: Packet, writer: BytesWriter) -> None:
        """Append the body of a packet of this class."""

    @abstractmethod
    def read(self, reader: WireReader, source: int) -> Packet:
        """What `write` wrote, to the end."""


@final
class Layout(PacketKind):
    """The fields of a packet in the order of the wire; what it is made of is in its class."""

    def __init__(
        self, number: int, packet_class: type[Packet], carries: int = CONTROL, **forms: Form
    ) -> None:
        super().__init__(number, packet_class)
        self._carries: Final[i64] = carries
        self._forms: Final = list(forms.items())
        self._made_of: Final = list(packet_class.FIELDS or ())

    def write(self, packet: Packet, writer: BytesWriter) -> None:
        message = packet.carried if isinstance(packet, MessagePacket) else None
        if message is not None:
            if self._carries == ANYBODYS:
                write_process(writer, message.sender)
            if isinstance(packet, (SesPacket, BssPacket)):
                check_dated(message, packet.time)
            else:
                write_positive(writer, message.sequence)
        for name, form in self._forms:
            form.write(writer, getattr(packet, name))
        if message is not None:
            writer.write(message.payload)

    def read(self, reader: WireReader, source: int) -> Packet:
        sender = read_process(reader) if self._carries == ANYBODYS else source
        sequence = reader.positive() if self._carries in (OWN, ANYBODYS) else 0
        fields: dict[str, object] = {}
        for name, form in self._forms:
            fields[name] = form.read(reader)
        if self._carries == DATED:
            sequence = cast(Vector, fields["time"]).get(source)
            if sequence < 1:
                raise RemoteError(f"a message of {source} that its own vector does not count")
        if self._carries != CONTROL:
            fields["carried"] = Message(sender, sequence, reader.rest())
        make = cast(Callable[..., Packet], self.packet_class)
        return make(*[fields[name] for name in self._made_of])


def check_dated(message: Message, time: Vector) -> None:
    """`LocalError` unless the vector time of `message` counts it as its sender's latest."""
    if time.get(message.sender) != message.sequence or message.sequence < 1:
        raise LocalError(f"message {message.sequence} of {message.sender} is dated {time}")


@final
class OnlyId(PacketKind):
    """A packet that is nothing but the id of a message: there are as many of these as messages."""

    def write(self, packet: Packet, writer: BytesWriter) -> None:
        assert isinstance(packet, IdPacket), "its row says so"
        write_positive(writer, packet.sequence)

    def read(self, reader: WireReader, source: int) -> Packet:  # noqa: ARG002 - it names nobody
        return cast(Callable[[int], Packet], self.packet_class)(reader.positive())


@final
class ByHand(PacketKind):
    """A packet with functions of its own."""

    def __init__(
        self,
        number: int,
        packet_class: type[PacketType],
        write: Callable[[PacketType, BytesWriter], None],
        read: Callable[[WireReader, int], PacketType],
    ) -> None:
        super().__init__(number, packet_class)
        # Only ever called with that class.
        self._write: Final = cast(Callable[[Packet, BytesWriter], None], write)
        self._read: Final = read

    def write(self, packet: Packet, writer: BytesWriter) -> None:
        self._write(packet, writer)

    def read(self, reader: WireReader, source: int) -> Packet:
        return self._read(reader, source)


def write_cykas(packet: CykasMessage, writer: BytesWriter) -> None:
    """Append twice the id plus the flag, payload."""
    sequence = packet.carried.sequence
    if sequence < 1 or sequence >= 1 << 61:
        raise LocalError(f"message id {sequence} cannot be encoded: it is not in 1 <= id < 2**61")
    write_varint(writer, (sequence << 1) | (1 if packet.eager else 0))
    writer.write(packet.carried.payload)


def read_cykas(reader: WireReader, source: int) -> CykasMessage:
    """What `write_cykas` wrote."""
    tagged = reader.varint()
    if tagged < 2:
        raise RemoteError("a message with the id 0")
    return CykasMessage(Message(source, tagged >> 1, reader.rest()), (tagged & 1) == 1)


def write_separator(packet: SeparatorPacket, writer: BytesWriter) -> None:
    """Append origin, id, targets; then what `rst` says inside the domain, without a payload."""
    hop = packet.hop
    if hop.carried.payload:
        raise LocalError("a hop with a payload of its own cannot be encoded")
    write_process(writer, packet.carried.sender)
    write_positive(writer, packet.carried.sequence)
    write_targets(writer, packet.targets)
    RST.write(hop, writer)
    writer.write(packet.carried.payload)


def read_separator(reader: WireReader, source: int) -> SeparatorPacket:
    """What `write_separator` wrote."""
    origin = read_process(reader)
    sequence = reader.positive()
    targets = read_targets(reader)
    number = reader.positive()
    size = reader.positive()
    hop_targets = read_targets(reader)
    hop = RstPacket(Message(source, number, b""), hop_targets, size, read_matrix(reader))
    return SeparatorPacket(Message(origin, sequence, reader.rest()), targets, hop)


RST: Final = Layout(16, RstPacket, OWN, size=POSITIVE, targets=TARGETS, sent=MATRIX)

PACKET_KINDS: Final[tuple[PacketKind, ...]] = (
    ByHand(12, FactsMessage, write_facts_message, read_facts_message),
    ByHand(13, FactsAck, write_facts_ack, read_facts_ack),
    ByHand(14, FactsPermit, write_facts_permit, read_facts_permit),
    ByHand(15, FactsAsk, write_facts_ask, read_facts_ask),
    # 16-31: the classic algorithms that buffer at the receiver.
    RST,
    Layout(17, KsPacket, OWN, targets=TARGETS, log=LOG),
    Layout(18, PrsPacket, OWN, targets=TARGETS, barriers=MATRIX),
    Layout(19, SesPacket, DATED, size=POSITIVE, targets=TARGETS, time=VECTOR, latest=MATRIX),
    Layout(20, BssPacket, DATED, size=POSITIVE, time=VECTOR),
    # The counts of a link travel without ids, because both ends know whose they are.
    Layout(21, TopologyPacket, OWN, counts=NUMBERS),
    ByHand(22, SeparatorPacket, write_separator, read_separator),
    Layout(23, PiggybackMessage, OWN, targets=TARGETS, stable=IDS_OF, before=PREDECESSORS),
    OnlyId(24, PiggybackAck),
    Layout(25, PsyncMessage, ANYBODYS, follows=IDS_OF),
    OnlyId(26, PsyncAck),
    Layout(27, PsyncRequest, missing=IDS_OF),
    Layout(28, BaldoniMessage, OWN, counters=COUNTERS),
    OnlyId(29, BaldoniAck),
    # 32-47: the algorithms that buffer at the sender, Newtop and the tree.
    Layout(32, MfMessage, OWN),
    OnlyId(33, MfAck),
    ByHand(34, CykasMessage, write_cykas, read_cykas),
    OnlyId(35, CykasAck),
    Layout(36, YouCanTell),
    Layout(37, NewtopMessage, OWN, clock=POSITIVE),
    Layout(38, NewtopNull, clock=POSITIVE),
    Layout(39, TreePacket, ANYBODYS, targets=TARGETS),
    Layout(40, SaturnData, OWN),
    Layout(41, SaturnLabel, origin=PROCESS, sequence=POSITIVE, targets=TARGETS),
    # 48-63: links; 48 is `LinkData`, which ends where the packet inside it does.
    ByHand(LINK_ACK, LinkAck, write_link_ack, read_link_ack),
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
    reader = WireReader(data)
    packet = read_packet(reader.byte(), reader, source, 0)
    reader.end()
    return packet


def metadata_size(packet: Packet) -> int:
    """What the protocol adds to the payload: len(encode(packet)) - len(payload)."""
    if isinstance(packet, (DataPacket, Ack, Permit, Ask)):
        return packets.metadata_size(packet)
    return len(encode(packet)) - payload_size(packet)


def write_packet(packet: Packet, writer: BytesWriter, last: i64) -> None:
    """Append a packet; `last` is the id in the message frame before it in a datagram, or 0."""
    kind = KIND_OF_CLASS.get(type(packet))
    if kind is not None:
        body = BytesWriter()
        kind.write(packet, body)
        writer.append(u8(kind.number))
        write_varint(writer, len(body))
        writer.write(body.getvalue())
    elif isinstance(packet, LinkData):
        writer.append(u8(LINK_DATA))
        write_link_number(packet, writer)
        write_packet(packet.inner, writer, 0)
    else:
        packets.write_packet(packet, writer, last)


def read_packet(number: i64, reader: WireReader, source: int, last: i64) -> Packet:
    """Read what follows the kind of a frame; also of a packet inside another one."""
    if number == LINK_DATA:
        inside = reader.positive()
        kind_inside = reader.byte()
        check_inside(kind_inside)
        return LinkData(inside, read_packet(kind_inside, reader, source, 0))
    kind = KIND_OF_NUMBER.get(number)
    if kind is None:
        return packets.read_packet(number, reader, source, last)
    body = WireReader(reader.take(reader.varint()))
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
