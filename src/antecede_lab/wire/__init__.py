"""Packets of every protocol to bytes and back; how many bytes of a packet are not payload."""

from antecede_lab.wire.codec import (
    WireCodec,
    codec_of,
    decode,
    encode,
    metadata_size,
    metadata_size_with,
)

__all__ = [
    "WireCodec",
    "codec_of",
    "decode",
    "encode",
    "metadata_size",
    "metadata_size_with",
]
