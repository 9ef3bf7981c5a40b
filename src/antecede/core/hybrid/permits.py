"""The permits that a process still misses, in the order in which it delivered their messages.

A message submitted after that delivery waits for the permit, so each gets a position, and what may
leave is decided by comparing positions: `first` is the oldest missing permit, `second` the oldest
one from a different sender than that. Permits are cumulative per sender, so those of one sender are
chained by their positions, and a permit takes away a prefix of the chain. Both positions only ever
move forward: amortised constant time.

The window from `first` to `next` lives in a ring, as in a sliding array; of plain numbers, because
a permit comes and goes with nearly every message and an object for each costs more than the rest.
"""

from typing import ClassVar, Final, final

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from antecede.core.sliding import RING_SIZE_KEPT, RING_SIZE_MIN

NOBODY: Final = -1
"""Stands for the sender at a position where no permit is missing, or no longer."""


@final
@mypyc_attr(acyclic=True)
class MissingPermit:
    """A delivered message whose permit has not come."""

    __slots__ = ("position", "sender", "sequence")

    def __init__(self, sender: i64, sequence: i64, position: i64) -> None:
        self.sender: Final[i64] = sender
        self.sequence: Final[i64] = sequence
        self.position: Final[i64] = position


@final
class PermitsOwedBy:
    """The permits that one sender owes: a chain, by positions."""

    MADE_OF: ClassVar = ("sender",)

    __slots__ = ("first", "highest", "last", "lowest", "sender")

    def __init__(self, sender: i64) -> None:
        self.sender: Final[i64] = sender
        # The lowest id whose permit is missing, or 0 if none is: the rest then means nothing; and
        # the highest.
        self.lowest: i64 = 0
        self.highest: i64 = 0
        self.first: i64 = 0
        self.last: i64 = 0


@final
class MissingPermits:
    """All missing permits of one process."""

    __slots__ = ("_later", "_mask", "_senders", "_sequences", "first", "next", "second")

    def __init__(self) -> None:
        # The position of the oldest missing permit, or `next` if none is missing; of the oldest
        # one of another sender; and the position that the next missing permit will get.
        self.first: i64 = 1
        self.second: i64 = 1
        self.next: i64 = 1
        self._mask: i64 = RING_SIZE_MIN - 1
        # Whose permit it is, for which id, and where the next is that the same sender owes; 0:
        # this is the last.
        self._senders = empty_ring(RING_SIZE_MIN)
        self._sequences = empty_ring(RING_SIZE_MIN)
        self._later = empty_ring(RING_SIZE_MIN)

    def add(self, owed: PermitsOwedBy, sequence: i64) -> None:
        """A flagged message was delivered: its permit is missing from now on."""
        position = self.next
        self._put(owed.sender, sequence)
        if owed.lowest == 0:
            owed.lowest = sequence
            owed.first = position
        else:
            self._later[owed.last & self._mask] = position
        owed.last = position
        owed.highest = sequence
        if self.second == position and owed.sender == self.first_sender():
            self.second = position + 1

    def grant(self, owed: PermitsOwedBy, sequence: i64) -> bool:
        """The permits up to `sequence` have come; True if any of them was missing."""
        if owed.lowest == 0 or owed.lowest > sequence:
            return False
        while 0 < owed.lowest <= sequence:
            place = owed.first & self._mask
            self._senders[place] = NOBODY
            owed.first = self._later[place]
            owed.lowest = 0
            if owed.first > 0:
                owed.lowest = self._sequences[owed.first & self._mask]
        self._slide()
        return True

    def restore(self, owed: PermitsOwedBy, sequence: i64, position: i64) -> None:
        """The permit of `sequence` is missing at `position`, beyond all others and blanks."""
        self.skip_to(position)
        self.add(owed, sequence)

    def skip_to(self, position: i64) -> None:
        """Positions before this one that nothing is missing at stay blank."""
        while self.next < position:
            self._put(NOBODY, 0)
        self._slide()

    def first_sender(self) -> i64:
        """Who owes the oldest missing permit; there must be one."""
        return self._senders[self.first & self._mask]

    def missing(self) -> list[MissingPermit]:
        """The missing permits, oldest first."""
        found: list[MissingPermit] = []
        position = self.first
        while position < self.next:
            place = position & self._mask
            if self._senders[place] != NOBODY:
                found.append(MissingPermit(self._senders[place], self._sequences[place], position))
            position += 1
        return found

    def clone(self) -> "MissingPermits":
        """An independent copy."""
        twin = MissingPermits()
        twin.first, twin.second, twin.next = self.first, self.second, self.next
        twin._mask = self._mask
        twin._senders = vec[i64](self._senders)
        twin._sequences = vec[i64](self._sequences)
        twin._later = vec[i64](self._later)
        return twin

    def _put(self, sender: i64, sequence: i64) -> None:
        if self.next - self.first > self._mask:
            self._resize(2 * (self._mask + 1))
        place = self.next & self._mask
        self._senders[place] = sender
        self._sequences[place] = sequence
        self._later[place] = 0
        self.next += 1

    def _slide(self) -> None:
        position = self.first
        while position < self.next and self._senders[position & self._mask] == NOBODY:
            position += 1
        self.first = position
        if position == self.next:
            self.second = position
        else:
            self._slide_second(self._senders[position & self._mask])
        while self._mask >= RING_SIZE_KEPT and 8 * (self.next - position) <= self._mask + 1:
            self._resize((self._mask + 1) >> 1)

    def _slide_second(self, owing: i64) -> None:
        position = self.second if self.second > self.first else self.first
        while position < self.next:
            sender = self._senders[position & self._mask]
            if sender != NOBODY and sender != owing:
                break
            position += 1
        self.second = position

    def _resize(self, capacity: i64) -> None:
        senders, sequences, later = empty_ring(capacity), empty_ring(capacity), empty_ring(capacity)
        position = self.first
        while position < self.next:
            place, before = position & (capacity - 1), position & self._mask
            senders[place] = self._senders[before]
            sequences[place] = self._sequences[before]
            later[place] = self._later[before]
            position += 1
        self._senders, self._sequences, self._later = senders, sequences, later
        self._mask = capacity - 1


def empty_ring(capacity: i64) -> vec[i64]:
    """A ring with this many places."""
    return vec[i64]([0] * capacity)
