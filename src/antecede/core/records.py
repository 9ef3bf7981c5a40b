"""Records of what must survive a crash: a kind, some numbers, and perhaps bytes at the end.

Numbers are not negative and take seven bits a byte, lowest first. What cannot be read is the
journal's fault, and so a `LocalError`: whoever hands over records has checked that they are whole.
"""

from collections.abc import Sequence
from typing import final

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
