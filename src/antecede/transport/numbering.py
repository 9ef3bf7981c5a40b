"""Numbers of messages: 1, 2, 3, … per sender, whatever their parts are called in the core.

A large payload is several messages to the core, each with an id of its own, and one message to
applications. So from its second part on, ids run ahead of numbers. Receivers are told by how much
(`NUMBERED` in `antecede.wire.frames`): they do not see the parts that are for others.
"""

from bisect import bisect_right
from typing import Final, final

from mypy_extensions import i64

HISTORY: Final = 64
"""Payloads whose ids are remembered although everybody has them, for those who ask late."""


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
        """A message with this id has this number, and so have those after it, less so many."""
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

    def continues(self, sequence: i64) -> bool:
        """Whether the payload of this message goes on in the next one."""
        return len(self.more) > 0 and sequence in self.more
