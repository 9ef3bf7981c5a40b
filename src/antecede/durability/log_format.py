"""A journal's file: a header, then blocks; a block is one commit, a group of records.

    header   8 bytes "ANTEJRNL", 4 bytes version
    block    4 bytes mark, 4 bytes length of the body, 4 bytes CRC-32, 8 bytes number, body
    body     records, each behind its length (4 bytes)

Numbers are little-endian. The CRC covers number and body. Block 0 is the snapshot that the file
begins with; the others are numbered in a row. A crash can only spoil the end of a file: what does
not check out at the end is a *torn tail*, and if a crash left it there, it was never promised to
anybody. A bad block with a good one behind it is *corruption*: something that was promised is gone.
A file that somebody cut off at its end cannot be told from one that a crash left: peers can.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final
from zlib import crc32

from antecede.core.records import join_records, split_records
from antecede.durability.errors import JournalCorrupt

MAGIC: Final = b"ANTEJRNL"
VERSION: Final = 1
FILE_HEADER: Final = Struct("<8sI")
BLOCK_HEADER: Final = Struct("<4sIIQ")
MARK: Final = b"\xa7\x4a\x4e\x4c"

BODY_BYTES_MAX: Final = 1 << 30
"""No block has more than 1 GiB: a greater length is not one that we wrote."""


def file_header() -> bytes:
    """How every journal file begins."""
    return FILE_HEADER.pack(MAGIC, VERSION)


def encode_block(number: int, records: Sequence[bytes]) -> bytes:
    """A group of records, as one block."""
    return encode_body(number, join_records(records))


def encode_body(number: int, body: bytes) -> bytes:
    """The same, of records that are joined already."""
    return BLOCK_HEADER.pack(MARK, len(body), checksum(number, body), number) + body


def checksum(number: int, body: bytes) -> int:
    """What shows whether a block is the one that was written."""
    return crc32(body, crc32(number.to_bytes(8, "little")))


@dataclass(frozen=True, slots=True)
class LogBlock:
    """One commit, as read."""

    number: int
    start: int
    """Where it begins in the file."""
    stop: int
    records: list[bytes]


@dataclass(frozen=True, slots=True)
class LogContents:
    """What is in a journal file."""

    blocks: list[LogBlock]
    good: int
    """Up to where the file is good; the rest is a torn tail."""
    size: int

    @property
    def torn(self) -> int:
        """How many bytes at the end are of no whole commit."""
        return self.size - self.good


def read_blocks(data: bytes, name: str) -> LogContents:
    """All blocks of a file; `JournalCorrupt` if something promised is gone."""
    check_header(data, name)
    blocks: list[LogBlock] = []
    at = FILE_HEADER.size
    while at < len(data):
        block = block_at(data, at, len(blocks))
        if block is None:
            break
        blocks.append(block)
        at = block.stop
    if not blocks:
        raise JournalCorrupt(f"{name}: the snapshot that it begins with cannot be read")
    later = find_block(data, at + 1, len(blocks)) if at < len(data) else None
    if later is not None:
        raise JournalCorrupt(
            f"{name}: commit {len(blocks)} at byte {at:,} cannot be read, but commit "
            f"{later.number} at byte {later.start:,} can: the file has been changed since it was "
            "written. `antecede journal check` shows what is left"
        )
    return LogContents(blocks, at, len(data))


def check_header(data: bytes, name: str) -> None:
    """Whether this is a journal file that this version understands."""
    if len(data) < FILE_HEADER.size:
        raise JournalCorrupt(f"{name}: too short for a journal")
    magic, version = FILE_HEADER.unpack_from(data)
    if magic != MAGIC:
        raise JournalCorrupt(f"{name}: not a journal")
    if version != VERSION:
        raise JournalCorrupt(
            f"{name}: written by a version of antecede that uses journals of version {version}; "
            f"this one reads version {VERSION}"
        )


def block_at(data: bytes, at: int, number: int | None) -> LogBlock | None:
    """The block that begins at `at`, if there is a good one (with this number, if one is given)."""
    body_at = at + BLOCK_HEADER.size
    if body_at > len(data):
        return None
    mark, length, check, found = BLOCK_HEADER.unpack_from(data, at)
    if mark != MARK or length > BODY_BYTES_MAX or body_at + length > len(data):
        return None
    body = data[body_at : body_at + length]
    if checksum(found, body) != check or (number is not None and found != number):
        return None
    records = split_records(body)
    return None if records is None else LogBlock(found, at, body_at + length, records)


def find_block(data: bytes, at: int, least: int) -> LogBlock | None:
    """The first good block from `at` on whose number is at least `least`."""
    while True:
        at = data.find(MARK, at)
        if at < 0:
            return None
        block = block_at(data, at, None)
        if block is not None and block.number >= least:
            return block
        at += 1
