"""The permits that a process still misses, in the order in which it delivered their messages.

A message submitted after that delivery waits for the permit, so each gets a position, and what may
leave is decided by comparing positions: `first` is the oldest missing permit, `second` the oldest
one from a different sender than that. Permits are cumulative per sender, so those of one sender are
chained by their positions, and a permit takes away a prefix of the chain. Both positions only ever
move forward: amortised constant time.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.sliding import SlidingArray


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class MissingPermit:
    """A delivered message whose permit has not come."""

    MADE_OF: ClassVar = ("sender", "sequence", "position")

    __slots__ = ("granted", "later", "position", "sender", "sequence")

    def __init__(self, sender: i64, sequence: i64, position: i64) -> None:
        self.sender: i64 = sender
        self.sequence: i64 = sequence
        self.position: i64 = position
        self.granted = False
        # The position of the next one that its sender owes; 0: this is the last.
        self.later: i64 = 0


@final
class OwedPermits:
    """The permits that one sender owes: a chain, by positions."""

    MADE_OF: ClassVar = ("sender",)

    __slots__ = ("first", "last", "lowest", "sender")

    def __init__(self, sender: i64) -> None:
        self.sender: Final[i64] = sender
        # The lowest id whose permit is missing, or 0 if none is: the rest then means nothing.
        self.lowest: i64 = 0
        self.first: i64 = 0
        self.last: i64 = 0


@final
class MissingPermits:
    """All missing permits of one process."""

    MADE_OF: ClassVar = ()

    __slots__ = ("_all", "second")

    def __init__(self) -> None:
        self._all: SlidingArray[MissingPermit] = SlidingArray()
        self.second: i64 = 1

    @property
    def first(self) -> i64:
        """The position of the oldest missing permit, or `next` if none is missing."""
        return self._all.first

    @property
    def next(self) -> i64:
        """The position that the next missing permit will get."""
        return self._all.next

    def add(self, owed: OwedPermits, sequence: i64) -> None:
        """A flagged message was delivered: its permit is missing from now on."""
        window = self._all
        position = window.next
        if owed.lowest == 0:
            owed.lowest = sequence
            owed.first = position
        else:
            window.at(owed.last).later = position
        owed.last = position
        window.add(MissingPermit(owed.sender, sequence, position))
        if self.second == position and owed.sender == window.peek().sender:
            self.second = position + 1

    def grant(self, owed: OwedPermits, sequence: i64) -> bool:
        """The permits up to `sequence` have come; True if any of them was missing."""
        if owed.lowest == 0 or owed.lowest > sequence:
            return False
        while 0 < owed.lowest <= sequence:
            permit = self._all.at(owed.first)
            permit.granted = True
            owed.first = permit.later
            owed.lowest = self._all.at(permit.later).sequence if permit.later > 0 else 0
        self._slide()
        return True

    def restore(self, owed: OwedPermits, sequence: i64, position: i64) -> None:
        """The permit of `sequence` is missing at `position`, beyond all others and blanks."""
        self.skip_to(position)
        self.add(owed, sequence)

    def skip_to(self, position: i64) -> None:
        """Positions before this one that nothing is missing at stay blank."""
        window = self._all
        while window.next < position:
            blank = MissingPermit(-1, 0, window.next)
            blank.granted = True
            window.add(blank)
        self._slide()

    def first_sender(self) -> i64:
        """Who owes the oldest missing permit."""
        return self._all.peek().sender

    def missing(self) -> list[MissingPermit]:
        """The missing permits, oldest first."""
        return [permit for permit in self._all if not permit.granted]

    def _slide(self) -> None:
        window = self._all
        while window.first < window.next and window.peek().granted:
            window.remove()
        if window.first == window.next:
            self.second = window.next
            return
        owing = window.peek().sender
        position = self.second if self.second > window.first else window.first
        while position < window.next:
            permit = window.at(position)
            if not permit.granted and permit.sender != owing:
                break
            position += 1
        self.second = position
