"""Integers and bytes on the wire: a `BytesWriter` takes them, a `WireReader` that trusts nothing
reads.

An integer is a varint (LEB128): seven bits a byte, lowest first, the top bit set on all bytes but
the last. Every integer has one form only: a padded one is refused, and so is anything from 2**62
up. That is what lets `decode` accept exactly what `encode` makes. Raw bytes and single bytes go
straight into the writer, with `write` and `append`.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.errors import LocalError, RemoteError

VARINT_LIMIT: Final = 1 << 62
"""Integers on the wire are at least 0 and below this."""

VARINT_SIZE_MAX: Final = 9
"""Bytes that the largest integer takes."""


def write_varint(writer: BytesWriter, value: i64) -> None:
    """Append `value`; `LocalError` if it is negative or not below 2**62."""
    if value < 0 or value >= VARINT_LIMIT:
        raise LocalError(f"{value} cannot be encoded: it is outside 0 <= value < 2**62")
    while value > 127:
        writer.append(u8((value & 127) | 128))
        value >>= 7
    writer.append(u8(value))


def varint_size(value: i64) -> i64:
    """How many bytes `write_varint` appends; `LocalError` where that raises."""
    if value < 0 or value >= VARINT_LIMIT:
        raise LocalError(f"{value} cannot be encoded: it is outside 0 <= value < 2**62")
    size: i64 = 1
    while value > 127:
        size += 1
        value >>= 7
    return size


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class WireReader:
    """Reads the bytes of a peer from the left; `RemoteError` where they make no sense."""

    __slots__ = ("_data", "_position", "_size")

    def __init__(self, data: bytes, position: i64 = 0) -> None:
        self._data: Final = data
        self._size: Final[i64] = len(data)
        self._position: i64 = position

    def byte(self) -> i64:
        """The next byte."""
        if self._position >= self._size:
            raise RemoteError("the packet ends too early")
        value: i64 = self._data[self._position]
        self._position += 1
        return value

    def varint(self) -> i64:
        """The next integer, 0 <= value < 2**62."""
        byte = self.byte()
        if byte < 128:
            return byte
        value: i64 = byte & 127
        shift: i64 = 7
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift == 7 * VARINT_SIZE_MAX:
                raise RemoteError("an integer of more than nine bytes")
        if byte == 0:
            raise RemoteError("an integer padded with zeros")
        if value >= VARINT_LIMIT:
            raise RemoteError(f"the integer {value} is not below 2**62")
        return value

    def positive(self) -> i64:
        """The next integer, 1 <= value < 2**62: ids of messages start at 1."""
        value = self.varint()
        if value == 0:
            raise RemoteError("a zero where an id was expected")
        return value

    def count(self) -> i64:
        """The next integer, as a number of items of at least a byte each that must still follow."""
        value = self.varint()
        if value > self._size - self._position:
            raise RemoteError(f"{value} items cannot follow in {self.remaining()} bytes")
        return value

    def position(self) -> i64:
        """How many bytes have been read, with those before the beginning."""
        return self._position

    def remaining(self) -> i64:
        """How many bytes have not been read."""
        return self._size - self._position

    def take(self, size: i64) -> bytes:
        """The next `size` bytes."""
        if size < 0 or size > self._size - self._position:
            raise RemoteError(f"{size} bytes were announced, {self.remaining()} follow")
        start = self._position
        self._position += size
        return self._data[start : self._position]

    def rest(self) -> bytes:
        """All bytes that have not been read."""
        return self.take(self._size - self._position)

    def end(self) -> None:
        """`RemoteError` if anything has not been read."""
        if self._position != self._size:
            raise RemoteError(f"{self.remaining()} bytes follow the end of the packet")
