"""What does not fit a datagram: cut, and joined again.

A large payload is cut into *parts*, consecutive messages to the core, and one message to both
applications, with one number (`numbering`). Each part but the last is marked on the wire. A message
that was in the core already when the way turned out to be narrower is cut into *pieces* of its
frame, of which the core knows nothing.
"""

from heapq import heappop, heappush
from typing import Final, final
from zlib import crc32

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.transport.numbering import MessageNumbers
from antecede.wire.frames import append_part

PARTS_LIMIT: Final = 1 << 17
"""Parts, and numbers, that have come before their turn; beyond that they are not noted, and the
peer is not keeping to the window it was given."""

FRAME_MAX: Final = 1 << 17
PIECEMEAL_MAX: Final = 16
PIECES_MAX: Final = 512
"""The largest frame that comes in pieces, how many of one peer may be under way, and how many
pieces of one are kept that come after a gap, of no more bytes than a frame has; when there are
more, those are forgotten."""


@final
class PayloadFragmenter:
    """A payload on its way into the core, part by part."""

    __slots__ = ("_offset", "_part_size", "payload", "sequence", "targets")

    def __init__(self, targets: list[int], payload: bytes, part_size: i64, first: i64) -> None:
        self.targets: Final = targets
        self.payload: Final = payload
        self._part_size: Final[i64] = part_size
        self._offset: i64 = 0
        self.sequence: Final[i64] = first + (len(payload) - 1) // part_size

    def rest(self) -> bytes:
        """What has not been taken."""
        return self.payload[self._offset :]

    def part_size(self) -> i64:
        """How many bytes each part has but the last."""
        return self._part_size

    def take_part(self) -> bytes:
        """The next part."""
        start = self._offset
        self._offset += self._part_size
        return self.payload[start : self._offset]

    def is_taken(self) -> bool:
        """Whether the last part has been taken."""
        return self._offset >= len(self.payload)

    def withdraw(self, target: int) -> bool:
        """One of the targets gets nothing more; False if it was none."""
        if target not in self.targets:
            return False
        self.targets.remove(target)
        return True


@final
class PayloadAssembler:
    """The payloads of one sender: parts are joined as they are delivered."""

    __slots__ = ("_last_delivered", "_noted", "_numbering", "_pieces", "grown_at", "size")

    def __init__(self) -> None:
        self._last_delivered: i64 = 0
        # Messages that, when they are delivered, are not the end of their payload.
        self._noted: dict[int, bool] = {}
        self._numbering: Final = MessageNumbers()
        self._pieces: list[bytes] = []
        # Bytes of the payload under way; of one that is beyond the limit they are only counted.
        self.size: i64 = 0
        # How many bytes of all parts at this node had come when this payload last grew.
        self.grown_at: i64 = 0

    def delivered_up_to(self, sequence: i64) -> None:
        """Before a crash everything up to this id was delivered."""
        self._last_delivered = sequence

    def note_part(self, sequence: i64) -> None:
        """The message with this id, when it is delivered, is not the end of its payload."""
        if sequence > self._last_delivered and len(self._noted) < PARTS_LIMIT:
            self._noted[sequence] = True

    def note_surplus(self, sequence: i64, surplus: i64) -> None:
        """The message with this id has a number that is so much lower."""
        if surplus >= sequence:
            raise RemoteError(f"message {sequence} is said to be number {sequence - surplus}")
        if sequence > self._last_delivered and len(self._numbering) < PARTS_LIMIT:
            self._numbering.note(sequence, sequence - surplus)

    def in_parts(self) -> bool:
        """Whether parts of payloads are among what has come and waits."""
        return len(self._noted) > 0 or self.size > 0

    def number_of(self, sequence: i64) -> i64:
        """The number of the message with this id, or of the payload that it is a part of."""
        return self._numbering.of(sequence) if self._numbering.used else sequence

    def on_delivered(self, sequence: i64) -> bool:
        """A message is delivered; whether more of its payload follows."""
        self._last_delivered = sequence
        if self._numbering.used:
            self._numbering.forget_below(sequence)
        return len(self._noted) > 0 and self._noted.pop(sequence, False)

    def add(self, piece: bytes, limit: i64) -> bool:
        """Part of a payload that goes on; False if nothing changes but what is beyond the limit.

        The part that goes beyond it has to be known after a crash, or the payload seemed whole.
        """
        within = self.size <= limit
        self.size += len(piece)
        if self.size <= limit:
            append_part(self._pieces, piece)
        else:
            self._pieces.clear()
        return within and len(piece) > 0

    def finish(self, last: bytes) -> bytes:
        """The whole payload, of which this is the last part."""
        self._pieces.append(last)
        whole = b"".join(self._pieces)
        self.drop()
        return whole

    def drop(self) -> None:
        """Forget the payload under way."""
        self._pieces.clear()
        self.size = 0

    def kept(self) -> int:
        """Bytes of memory taken by parts."""
        return sum([len(piece) for piece in self._pieces])

    def is_empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._pieces and not self._noted


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
        """The next piece, of at most so many bytes."""
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
