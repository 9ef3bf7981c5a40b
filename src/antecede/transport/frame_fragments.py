"""Frames that no longer fit a datagram, in pieces below the core.

A message that was in the core already when the way turned out to be narrower is cut into pieces of
its frame, of which the core knows nothing.
"""

from heapq import heappop, heappush
from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.errors import RemoteError

FRAME_MAX: Final = 1 << 17
PIECEMEAL_MAX: Final = 16
PIECES_MAX: Final = 512
"""A frame in pieces has at most 128 KiB, and at most 16 frames of one peer are under way. Of each
up to 512 pieces (and 128 KiB) that come after a gap are kept; when there are more, all those are
forgotten."""


@final
class FrameFragmenter:
    """A frame on its way to a peer, piece by piece."""

    __slots__ = ("_data", "check", "offset", "sequence", "size")

    def __init__(self, sequence: i64, data: bytes) -> None:
        self.sequence: Final[i64] = sequence
        self._data: Final = data
        self.size: Final[i64] = len(data)
        # A message that is sent again may be written otherwise: those pieces do not fit these.
        self.check: Final[i64] = crc32(data)
        self.offset: i64 = 0

    def take(self, room: i64) -> bytes:
        """The next piece, of at most `room` bytes."""
        start = self.offset
        piece = self._data[start : start + room]
        self.offset += len(piece)
        return piece

    def is_taken(self) -> bool:
        """Whether that was the last one."""
        return self.offset >= self.size


@final
class FrameAssembler:
    """A frame of which some pieces have come.

    What follows its beginning without a gap is joined at once, the rest waits: a piece costs the
    same however many there are.
    """

    __slots__ = ("_early", "_early_bytes", "_joined", "_offsets", "check", "size")

    def __init__(self, size: i64, check: i64) -> None:
        self.size: Final[i64] = size
        self.check: Final[i64] = check
        self._joined: Final = BytesWriter()
        # Pieces that come after a gap by their offsets, which are a heap.
        self._early: Final[dict[int, bytes]] = {}
        self._early_bytes: i64 = 0
        self._offsets: Final[list[int]] = []

    def add(self, offset: i64, piece: bytes) -> None:
        """A piece has come; of two that begin in one place the longer one counts."""
        if offset > len(self._joined):
            self._keep(offset, piece)
            return
        self._append(offset, piece)
        while self._offsets and self._offsets[0] <= len(self._joined):
            start = heappop(self._offsets)
            early = self._early.pop(start)
            self._early_bytes -= len(early)
            self._append(start, early)

    def whole(self) -> bytes | None:
        """The frame, if nothing of it is missing."""
        return self._joined.getvalue() if len(self._joined) == self.size else None

    def kept(self) -> int:
        """Bytes that are kept of it."""
        return int(self._early_bytes) + len(self._joined)

    def _append(self, offset: i64, piece: bytes) -> None:
        known = len(self._joined) - offset
        if known < len(piece):
            self._joined.write(piece[known:])

    def _keep(self, offset: i64, piece: bytes) -> None:
        if len(self._early) >= PIECES_MAX or self._early_bytes + len(piece) > FRAME_MAX:
            self._early.clear()
            self._offsets.clear()
            self._early_bytes = 0
        before = self._early.get(offset)
        if before is None:
            heappush(self._offsets, offset)
        elif len(before) >= len(piece):
            return
        else:
            self._early_bytes -= len(before)
        self._early[offset] = piece
        self._early_bytes += len(piece)


@final
class FrameAssemblers:
    """The frames of one peer that come in pieces."""

    __slots__ = ("_joining",)

    def __init__(self) -> None:
        self._joining: dict[int, FrameAssembler] = {}

    def add(self, sequence: i64, size: i64, check: i64, offset: i64, piece: bytes) -> bytes | None:
        """A piece of the frame of message `sequence` has come; the whole, if it is complete."""
        if size > FRAME_MAX or offset + len(piece) > size or not piece:
            raise RemoteError(f"a piece of {len(piece)} bytes at {offset} of {size}")
        joining = self._joining.get(sequence)
        if joining is None or joining.size != size or joining.check != check:
            joining = FrameAssembler(size, check)
            self._joining[sequence] = joining
            if len(self._joining) > PIECEMEAL_MAX:
                del self._joining[next(iter(self._joining))]
        joining.add(offset, piece)
        whole = joining.whole()
        if whole is not None:
            del self._joining[sequence]
            if crc32(whole) != check:
                raise RemoteError("pieces that do not fit together")
        return whole

    def kept(self) -> int:
        """Bytes of memory taken by pieces."""
        return sum([joining.kept() for joining in self._joining.values()])
