"""How many bytes of a packet are not payload, as it is on the wire."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.packets import Packet
from antecede_lab.wire.codec import codec_of, metadata_size_with


@final
class MetadataSize:
    """Remembers the last packet: copies of a multicast, and several observers, ask for the same."""

    __slots__ = ("_bytes", "_codec", "_last")

    def __init__(self, info: ProtocolInfo) -> None:
        self._codec: Final[PacketCodec] = codec_of(info)
        self._last: Packet | None = None
        self._bytes: i64 = 0

    def note(self, packet: Packet, size: i64) -> None:
        """This packet takes so much where it is, in a datagram with others."""
        self._last = packet
        self._bytes = size

    def of(self, packet: Packet) -> i64:
        """The size of everything in the packet but the payload."""
        if packet is not self._last:
            self._bytes = metadata_size_with(self._codec, packet)
            self._last = packet
        return self._bytes
