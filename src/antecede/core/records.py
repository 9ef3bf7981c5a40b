"""Records of what must survive a crash: a kind, some numbers, and perhaps bytes at the end.

Numbers are not negative and take seven bits a byte, lowest first. What cannot be read is the
journal's fault, and so a `LocalError`: whoever hands over records has checked that they are whole.
"""

from collections.abc import Sequence
from typing import final

from mypy_extensions import i64

from antecede.core.errors import LocalError


def record(kind: i64, numbers: Sequence[int], rest: bytes = b"") -> bytes:
    """One record."""
    written = bytearray([kind])
    for number in numbers:
        left = number
        while left > 0x7F:
            written.append(left & 0x7F | 0x80)
            left >>= 7
        written.append(left)
    written += rest
    return bytes(written)


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

    def rest(self) -> bytes:
        """What follows the numbers."""
        return self._written[self._at :]
