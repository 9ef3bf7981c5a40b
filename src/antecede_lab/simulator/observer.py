"""Who watches a run, and how many bytes of a packet are not payload."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.packets import Message, Packet
from antecede_lab.wire.codec import codec_of, metadata_size_with


@mypyc_attr(allow_interpreted_subclasses=True)
class Observer:
    """Does nothing; a subclass overrides what it cares about."""

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        """`process` has sent `message` to all of `targets`."""

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        """`packet` has left `process` for `target`; `number` is its own in this run."""

    def arrived(self, process: i64, source: i64, packet: Packet, number: i64, now_ns: i64) -> None:
        """`packet` from `source` has reached `process`."""

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        """`message` has been handed to the application at `process`."""


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
