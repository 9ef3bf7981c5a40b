"""Packets and frames to bytes and back; how many bytes of a packet are not payload."""

from antecede.wire.packets import decode, encode, metadata_size

__all__ = [
    "decode",
    "encode",
    "metadata_size",
]
