"""Payloads that say who wrote them, how many answers may follow, and whether they are whole."""

import struct
import zlib
from random import Random
from typing import NamedTuple

HEADER = struct.Struct("<IIH")
"""Checksum of all that follows, a number that is unique per writer, and how many hops are left."""


class Content(NamedTuple):
    """What is in a payload."""

    number: int
    hops: int
    size: int


NOISE = Random(1).randbytes(4096)


def written(number: int, hops: int, size: int) -> bytes:
    """A payload of at least the header's size."""
    body = HEADER.pack(0, number, hops)[4:] + noise(number, max(0, size - HEADER.size))
    return zlib.crc32(body).to_bytes(4, "little") + body


def noise(number: int, size: int) -> bytes:
    """Bytes that differ from one number to the next; quickly, if they are few."""
    start = number % 997
    return NOISE[start : start + size] if size <= 2048 else Random(number).randbytes(size)


def read(payload: bytes) -> Content:
    """What was written; `ValueError` if it arrived damaged."""
    checksum, number, hops = HEADER.unpack_from(payload)
    if zlib.crc32(payload[4:]) != checksum:
        raise ValueError(f"a damaged payload of {len(payload)} bytes")
    return Content(number, hops, len(payload))
