"""The codec of a user's protocol over a reliable link: the link's packets around its own."""

from typing import Final, final

from librt.strings import BytesWriter

from antecede.core.catalogue import PacketCodec
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Packet
from antecede.wire.varint import WireReader
from antecede_lab.protocols.link_packets import LinkAck, LinkData
from antecede_lab.wire.codec import decode, encode
from antecede_lab.wire.link import LINK_DATA, write_link_number


@final
class LinkCodec(PacketCodec):
    """Writes what is inside a `LinkData` with the codec of the protocol inside."""

    def __init__(self, inner: PacketCodec) -> None:
        self._inner: Final = inner

    def encode(self, packet: Packet) -> bytes:
        if isinstance(packet, LinkAck):
            return encode(packet)
        if not isinstance(packet, LinkData):
            raise LocalError(f"{packet!r} is not a packet of a link")
        writer = BytesWriter()
        writer.append(LINK_DATA)
        write_link_number(packet, writer)
        writer.write(self._inner.encode(packet.inner))
        return writer.getvalue()

    def decode(self, data: bytes, source: int) -> Packet:
        if data[:1] == bytes([LINK_DATA]):
            reader = WireReader(data, 1)
            number = reader.positive()
            return LinkData(number, self._inner.decode(reader.rest(), source))
        packet = decode(data, source)
        if not isinstance(packet, LinkAck):
            raise RemoteError(f"a {packet.kind} from {source} came without a number")
        return packet
