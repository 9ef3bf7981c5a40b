"""Packets to bytes and back; how many of those bytes are not payload."""

from antecede.wire.packets import decode, encode, metadata_size

__all__ = [
    "decode",
    "encode",
    "metadata_size",
]
