"""Records of what has changed, one behind the other, until they are taken to be written down.

A turn of a busy node has thousands: they are not made one by one, but written where they will leave
from. Each is behind its length, as in a block of a journal.
"""

from typing import Final, final

from librt.strings import BytesWriter, write_i32_le
from mypy_extensions import i32, i64, u8

from antecede.core.records import append_number

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
