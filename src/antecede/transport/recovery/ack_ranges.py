"""Which datagrams have come, as ranges of numbers, and the acknowledgement that is owed for them.

Ranges are few because networks mostly keep order. A number is taken once; what is repeated, or so
old that its range was given up, is refused, and the sender will find its datagram unacknowledged
and send what was in it in another one.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.core.process import NEVER_NS
from antecede.transport.recovery.round_trip import ACK_DELAY_NS
from antecede.wire.varint import WireReader, write_varint

RANGES_KEPT: Final = 64
"""At most 64 ranges are remembered; with more gaps, the oldest numbers count as received."""

RANGES_SENT: Final = 16
"""At most 16 ranges are named in one acknowledgement, the newest first."""


@final
class ReceivedRanges:
    """The datagram numbers that have come from one peer, as ranges, oldest first."""

    __slots__ = ("_firsts", "_lasts", "floor")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        # Everything up to here is settled: it came, or the sender has given it up.
        self.floor: i64 = 0

    @property
    def largest(self) -> i64:
        """The highest number that has come, or 0."""
        return self._lasts[-1] if self._lasts else 0

    def add(self, number: i64) -> bool:
        """Take a number; False if it has come before, or is too old to tell."""
        if number <= self.floor:
            return False
        if not self._lasts or number > self._lasts[-1]:
            self._append(number)
            return True
        return self._insert(number)

    def has(self, number: i64) -> bool:
        """Whether a number has come before, or is too old to tell."""
        if number <= self.floor:
            return True
        index = len(self._lasts) - 1
        while index >= 0 and self._firsts[index] > number:
            index -= 1
        return index >= 0 and number <= self._lasts[index]

    def forget(self, floor: i64) -> None:
        """The sender waits for nothing up to `floor` any more: forget those numbers."""
        if floor <= self.floor:
            return
        self.floor = floor
        done = 0
        while done < len(self._lasts) and self._lasts[done] <= floor:
            done += 1
        if done > 0:
            del self._firsts[:done]
            del self._lasts[:done]
        if self._firsts and self._firsts[0] <= floor:
            self._firsts[0] = floor + 1

    def ranges(self) -> list[tuple[int, int]]:
        """The ranges kept, oldest first."""
        return list(zip(self._firsts, self._lasts, strict=True))

    def write(self, writer: BytesWriter) -> None:
        """Append the newest ranges: how many, the largest number, then lengths and gaps."""
        count = min(len(self._lasts), RANGES_SENT)
        write_varint(writer, count)
        lowest: i64 = 0
        for back in range(1, count + 1):
            first: i64 = self._firsts[-back]
            last: i64 = self._lasts[-back]
            write_varint(writer, last if back == 1 else lowest - last - 2)
            write_varint(writer, last - first)
            lowest = first

    def _append(self, number: i64) -> None:
        if self._lasts and self._lasts[-1] == number - 1:
            self._lasts[-1] = number
            return
        self._firsts.append(number)
        self._lasts.append(number)
        if len(self._lasts) > RANGES_KEPT:
            self.forget(self._lasts[0])

    def _insert(self, number: i64) -> bool:
        """Take a number that is below the largest."""
        index = len(self._lasts) - 1
        while index >= 0 and self._firsts[index] > number:
            index -= 1
        if index >= 0 and number <= self._lasts[index]:
            return False
        joins_below = index >= 0 and self._lasts[index] == number - 1
        joins_above = self._firsts[index + 1] == number + 1
        if joins_below and joins_above:
            self._lasts[index] = self._lasts[index + 1]
            del self._firsts[index + 1]
            del self._lasts[index + 1]
        elif joins_below:
            self._lasts[index] = number
        elif joins_above:
            self._firsts[index + 1] = number
        else:
            self._firsts.insert(index + 1, number)
            self._lasts.insert(index + 1, number)
            if len(self._lasts) > RANGES_KEPT:
                self.forget(self._lasts[0])
        return True


@final
class AckRanges:
    """What an acknowledgement says: ranges of numbers, newest first."""

    __slots__ = ("firsts", "lasts")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.lasts: list[int] = []


def read_ranges(reader: WireReader) -> AckRanges:
    """What `ReceivedRanges.write` wrote; `RemoteError` where the numbers make no sense."""
    count = reader.varint()
    if count < 1 or count > RANGES_SENT:
        raise RemoteError(f"an acknowledgement of {count} ranges")
    acked = AckRanges()
    last: i64 = 0
    lowest: i64 = 0
    for back in range(count):
        last = reader.positive() if back == 0 else lowest - reader.varint() - 2
        first = last - reader.varint()
        if first < 1:
            raise RemoteError("an acknowledgement of numbers below the first")
        acked.firsts.append(first)
        acked.lasts.append(last)
        lowest = first
    return acked


@final
class AckTracker:
    """The datagrams of one peer that have come."""

    __slots__ = ("_largest_at_ns", "_owed", "ack_at_ns", "datagrams", "duplicates", "numbers")

    def __init__(self) -> None:
        self.numbers: Final = ReceivedRanges()
        self.datagrams: i64 = 0
        self.duplicates: i64 = 0
        # By when an acknowledgement is to leave, and whether there is anything to acknowledge.
        self.ack_at_ns: i64 = NEVER_NS
        self._owed = False
        self._largest_at_ns: i64 = 0

    def count_if_duplicate(self, number: i64) -> bool:
        """Whether this datagram has come before; if so, that it came again is counted."""
        if not self.numbers.has(number):
            return False
        return not self.register(number)

    def register(self, number: i64) -> bool:
        """Whether a datagram that comes has not come before."""
        self.datagrams += 1
        if not self.numbers.has(number):
            return True
        # No answer: nobody sends a number twice, and a network that repeats all it carries would
        # repeat the answers too.
        self.duplicates += 1
        return False

    def record(self, number: i64, floor: i64, now_ns: i64) -> None:
        """A new datagram has been read to its end: only then may it be acknowledged."""
        if number > self.numbers.largest:
            self._largest_at_ns = now_ns
        self.numbers.add(number)
        self.numbers.forget(floor)

    def schedule_ack(self, at_once: bool, now_ns: i64) -> None:
        """The peer waits to hear that its datagram has come."""
        self._owed = True
        if at_once:
            self.ack_at_ns = now_ns
        elif self.ack_at_ns > now_ns + ACK_DELAY_NS:
            self.ack_at_ns = now_ns + ACK_DELAY_NS

    def take_ack(self) -> bool:
        """A datagram is written: whether it should carry an acknowledgement, which it then does."""
        owed = self._owed and self.numbers.largest > 0
        self._owed = False
        self.ack_at_ns = NEVER_NS
        return owed

    def write(self, writer: BytesWriter, now_ns: i64) -> None:
        """Append how long ago the largest number came, in microseconds, and the newest ranges."""
        write_varint(writer, (now_ns - self._largest_at_ns) // 1000)
        self.numbers.write(writer)
