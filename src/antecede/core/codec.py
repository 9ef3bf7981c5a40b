"""How packets become bytes, as far as the core knows: somebody above it does that.

The packets of our own protocols are encoded by `antecede.wire`. A user's protocol with packets of
its own brings a `PacketCodec` for them in its `ProtocolInfo`.
"""

from abc import ABC, abstractmethod

from mypy_extensions import mypyc_attr

from antecede.core.values import Packet


@mypyc_attr(allow_interpreted_subclasses=True)
class PacketCodec(ABC):
    """Encodes and decodes the packets of one protocol."""

    @abstractmethod
    def encode(self, packet: Packet) -> bytes:
        """The bytes of `packet`."""

    @abstractmethod
    def decode(self, data: bytes, source: int) -> Packet:
        """The packet that `source` encoded as `data`; `RemoteError` on anything malformed."""
