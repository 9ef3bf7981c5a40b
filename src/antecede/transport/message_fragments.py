"""Payloads above the size of a datagram: cut before the core, joined after it; and message numbers.

A large payload is cut into *parts*, consecutive messages to the core, and one message to both
applications, with one number. Each part but the last is marked on the wire.

Numbers of messages are 1, 2, 3, … per sender, whatever their parts are called in the core: from the
second part of a payload on, ids run ahead of numbers. Receivers are told by how much
(`SEQUENCE_OFFSET` in `antecede.wire.frames`): they do not see the parts that are for others.
"""

from bisect import bisect_right
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.wire.frames import append_part

HISTORY: Final = 64
"""The ids of 64 payloads are remembered although everybody has them, for those who ask late."""


@final
class MessageNumbers:
    """Which number the messages of one sender have."""

    __slots__ = ("_firsts", "_lasts", "_numbers", "used")

    def __init__(self) -> None:
        # Payloads in the order of ids: the first and the last id of each, and its number.
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._numbers: list[int] = []
        # Whether any number differs from its id.
        self.used = False

    def __len__(self) -> int:
        return len(self._firsts)

    def of(self, sequence: i64) -> i64:
        """The number of the message with this id, or of the payload that it is a part of."""
        if not self.used:
            return sequence
        place = bisect_right(self._firsts, sequence) - 1
        if place < 0:
            return sequence
        number: i64 = self._numbers[place]
        after: i64 = sequence - self._lasts[place]
        return number + after if after > 0 else number

    def payload(self, first: i64, last: i64) -> i64:
        """The next payload has these ids; its number."""
        number = self.of(first)
        self._put(len(self._firsts), first, last, number)
        return number

    def ends_with(self, last: i64) -> None:
        """The newest payload has no ids beyond this one after all."""
        self._lasts[-1] = last

    def recall(self, first: i64, last: i64, number: i64) -> None:
        """Before a crash the payload with these ids, the newest so far, had this number."""
        if self._firsts and self._firsts[-1] == first:
            self._lasts[-1] = last
        else:
            self._put(len(self._firsts), first, last, number)

    def note(self, sequence: i64, number: i64) -> None:
        """A message with this id has this number; numbers and ids after it go on in step."""
        if self.of(sequence) != number:
            place = bisect_right(self._firsts, sequence)
            self._put(place, sequence, sequence, number)

    def forget_below(self, oldest: i64) -> None:
        """Nobody will ask for ids below this one, except for the latest of them."""
        firsts = self._firsts
        if len(firsts) > HISTORY and firsts[HISTORY] < oldest:
            count = bisect_right(firsts, oldest) - HISTORY
            del self._firsts[:count]
            del self._lasts[:count]
            del self._numbers[:count]

    def _put(self, place: int, first: i64, last: i64, number: i64) -> None:
        self.used = True
        self._firsts.insert(place, int(first))
        self._lasts.insert(place, int(last))
        self._numbers.insert(place, int(number))


@final
class OwnFragments:
    """Which of a node's own messages are parts of payloads, and how those are numbered."""

    __slots__ = ("more", "numbering")

    def __init__(self) -> None:
        # Ids of messages that are parts, and not the last, of a large payload.
        self.more: Final[dict[int, bool]] = {}
        self.numbering: Final = MessageNumbers()

    def add(self, sequence: i64) -> None:
        """The payload of this message goes on in the next one."""
        self.more[sequence] = True

    def forget(self, sequence: i64) -> None:
        """Everybody has delivered this message."""
        self.more.pop(sequence, None)

    def surplus_of(self, sequence: i64) -> i64:
        """By how much the id of this message is larger than its number."""
        return sequence - self.numbering.of(sequence)

    def continues(self, sequence: i64) -> bool:
        """Whether the payload of this message goes on in the next one."""
        return len(self.more) > 0 and sequence in self.more


PARTS_LIMIT: Final = 1 << 17
"""At most 131,072 parts, and numbers, that have come before their turn are noted; with more, the
peer is not keeping to the window it was given."""


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

    def on_grown(self, come: i64) -> None:
        """It has got a part, when `come` bytes of parts had come from all peers."""
        self.grown_at = come

    def delivered_up_to(self, sequence: i64) -> None:
        """Before a crash everything up to this id was delivered."""
        self._last_delivered = sequence

    def note_part(self, sequence: i64) -> None:
        """The message with this id, when it is delivered, is not the end of its payload."""
        if sequence > self._last_delivered and len(self._noted) < PARTS_LIMIT:
            self._noted[sequence] = True

    def note_surplus(self, sequence: i64, surplus: i64) -> None:
        """The message with this id has a number that is lower by `surplus`."""
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
