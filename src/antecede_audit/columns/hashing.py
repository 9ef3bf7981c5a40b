"""The hash that Spark's `xxhash64` takes of texts, for many of them at once.

Texts of one length are hashed together, each step for all of them: a few microseconds a text.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from antecede_audit.columns.arrow_rows import Column, Integers

Words: TypeAlias = npt.NDArray[np.uint64]

SEED: Final = 42
"""What Spark begins with."""

P1: Final = np.uint64(0x9E3779B185EBCA87)
P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
P3: Final = np.uint64(0x165667B19E3779F9)
P4: Final = np.uint64(0x85EBCA77C2B2AE63)
P5: Final = np.uint64(0x27D4EB2F165667C5)

BLOCK: Final = 32
WORD: Final = 8
HALF: Final = 4
MASK: Final = (1 << 64) - 1


def xxhash64(texts: Sequence[str]) -> Integers:
    """The hash of every text in UTF-8."""
    return hash_texts(pa.array(texts, pa.string()))


def hash_texts(texts: Column) -> Integers:
    """The hash of every text in an array of Arrow's; what is null has that of nothing."""
    count = len(texts)
    _, ends, content = texts.buffers()
    if not count or content is None:
        return np.full(count, hashed(np.zeros((1, 0), np.uint8))[0]).view(np.int64)
    bounds = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + count + 1]
    data = np.frombuffer(content, np.uint8)
    lengths = np.diff(bounds)
    found = np.zeros(count, np.uint64)
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        starts = bounds[places]
        if len(places) == count:
            rows = data[starts[0] : starts[0] + count * length].reshape(count, length)
        else:
            rows = data[starts[:, np.newaxis] + np.arange(length)]
        found[places] = hashed(rows)
    return found.view(np.int64)


def hashed(data: npt.NDArray[np.uint8]) -> Words:
    """The hash of every row."""
    rows, length = data.shape
    place = length - length % BLOCK
    value = blocks(data[:, :place]) if place else np.full(rows, np.uint64(SEED) + P5)
    value = value + np.uint64(length)
    while place + WORD <= length:
        value = rotated(value ^ mixed(words(data[:, place : place + WORD])[:, 0]), 27) * P1 + P4
        place += WORD
    if place + HALF <= length:
        half = np.ascontiguousarray(data[:, place : place + HALF]).view("<u4")[:, 0]
        value = rotated(value ^ (half.astype(np.uint64) * P1), 23) * P2 + P3
        place += HALF
    for column in range(place, length):
        value = rotated(value ^ (data[:, column].astype(np.uint64) * P5), 11) * P1
    value = (value ^ (value >> np.uint64(33))) * P2
    value = (value ^ (value >> np.uint64(29))) * P3
    return value ^ (value >> np.uint64(32))


def blocks(data: npt.NDArray[np.uint8]) -> Words:
    """What the whole blocks of 32 bytes at the start of every row come to."""
    lanes = words(data)
    p1, p2 = int(P1), int(P2)
    starts = (SEED + p1 + p2, SEED + p2, SEED, SEED - p1)
    state = [np.full(len(data), start & MASK, np.uint64) for start in starts]
    for column in range(lanes.shape[1]):
        lane = column % 4
        state[lane] = rotated(state[lane] + lanes[:, column] * P2, 31) * P1
    turns = (1, 7, 12, 18)
    value = np.zeros(len(data), np.uint64)
    for one, bits in zip(state, turns, strict=True):
        value = value + rotated(one, bits)
    for one in state:
        value = (value ^ mixed(one)) * P1 + P4
    return value


def words(data: npt.NDArray[np.uint8]) -> Words:
    """The bytes of every row as words."""
    found: Words = np.ascontiguousarray(data).view("<u8").astype(np.uint64)
    return found


def mixed(value: Words) -> Words:
    """One word, well stirred."""
    return rotated(value * P2, 31) * P1


def rotated(value: Words, bits: int) -> Words:
    """The bits of every word, turned to the left."""
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))
