"""Records of what must survive a crash: a kind, some numbers, and perhaps bytes at the end.

Numbers are not negative and take seven bits a byte, lowest first. What cannot be read is the
journal's fault, and so a `LocalError`: whoever hands over records has checked that they are whole.

A turn of a busy node has thousands of changes: `ChangeLog` writes their records one behind the
other, each behind its length, as in a block of a journal, until they are taken.
"""

from collections.abc import Sequence
from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64, u8

from antecede.core.errors import LocalError


def encode_record(kind: i64, numbers: Sequence[int], rest: bytes = b"") -> bytes:
    """One record."""
    writer = BytesWriter()
    writer.append(u8(kind))
    for number in numbers:
        append_number(writer, number)
    writer.write(rest)
    return writer.getvalue()


def append_number(writer: BytesWriter, number: i64) -> None:
    """Append a number, which is not negative."""
    while number > 0x7F:
        writer.append(u8(number & 0x7F | 0x80))
        number >>= 7
    writer.append(u8(number))


def join_records(records: Sequence[bytes]) -> bytes:
    """Records in a row, each behind its length in four bytes."""
    writer = BytesWriter()
    for written in records:
        write_i32_le(writer, i32(len(written)))
        writer.write(written)
    return writer.getvalue()


def split_records(body: bytes) -> list[bytes] | None:
    """What `join_records` joined, or None if the lengths make no sense."""
    records: list[bytes] = []
    at: i64 = 0
    while at < len(body):
        start = at + 4
        if start > len(body):
            return None
        stop = start + i64(read_i32_le(body, at))
        if stop < start or stop > len(body):
            return None
        records.append(body[start:stop])
        at = stop
    return records


@final
class RecordReader:
    """Reads a record from its beginning."""

    def __init__(self, written: bytes) -> None:
        if not written:
            raise LocalError("an empty record")
        self._written = written
        self._at = 1
        self.kind: int = written[0]

    def number(self) -> int:
        """The next number."""
        value, shift = 0, 0
        while self._at < len(self._written):
            byte = self._written[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise LocalError("a record that is cut short")

    def numbers(self) -> list[int]:
        """All numbers that follow, to the end."""
        found: list[int] = []
        while self._at < len(self._written):
            found.append(self.number())
        return found

    def rest(self) -> bytes:
        """What follows the numbers."""
        return self._written[self._at :]


LENGTH_BYTES: Final[i64] = 4


@final
class ChangeLog:
    """What has changed since it was last taken."""

    __slots__ = ("_writer", "urgent")

    def __init__(self) -> None:
        self._writer = BytesWriter()
        self.urgent = False
        """Whether it must be on disk before anything shows. If not, all that it says is that
        something is over: who has lost that goes through the end once more."""

    def put_urgent(self, written: bytes) -> None:
        """A record that was made before."""
        write_i32_le(self._writer, i32(len(written)))
        self._writer.write(written)
        self.urgent = True

    def put_deferrable(self, written: bytes) -> None:
        """The same, if it says that something is over."""
        write_i32_le(self._writer, i32(len(written)))
        self._writer.write(written)

    def put_three(self, kind: i64, first: i64, second: i64, third: i64) -> None:
        """A record of three numbers."""
        writer = self._writer
        start = len(writer)
        begin_record(writer, kind)
        append_number(writer, first)
        append_number(writer, second)
        append_number(writer, third)
        end_record(writer, start)
        self.urgent = True

    def put_four(
        self,
        kind: i64,
        first: i64,
        second: i64,
        third: i64,
        fourth: i64,
        name: bytes,
        rest: bytes,
    ) -> None:
        """A record of four numbers and bytes: such are written for every message."""
        writer = self._writer
        start = len(writer)
        begin_record(writer, kind)
        append_number(writer, first)
        append_number(writer, second)
        append_number(writer, third)
        append_number(writer, fourth)
        writer.write(name)
        writer.write(rest)
        end_record(writer, start)
        self.urgent = True

    def take(self) -> bytes:
        """Everything so far, which is then not here any more."""
        taken = self._writer.getvalue()
        self._writer = BytesWriter()
        self.urgent = False
        return taken

    def clone(self) -> "ChangeLog":
        """One with the same records."""
        twin = ChangeLog()
        twin._writer.write(self._writer.getvalue())
        twin.urgent = self.urgent
        return twin


def begin_record(writer: BytesWriter, kind: i64) -> None:
    """Room for a length, and the kind."""
    write_i32_le(writer, i32(0))
    writer.append(u8(kind))


def end_record(writer: BytesWriter, start: i64) -> None:
    """The record that began at `start` is complete: put its length there."""
    size = len(writer) - start - LENGTH_BYTES
    writer[start] = u8(size & 0xFF)
    writer[start + 1] = u8(size >> 8 & 0xFF)
    writer[start + 2] = u8(size >> 16 & 0xFF)
    writer[start + 3] = u8(size >> 24 & 0xFF)
