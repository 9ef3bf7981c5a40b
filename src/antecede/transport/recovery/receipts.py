"""What has come from one peer, and the acknowledgement that is owed for it."""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.transport.recovery.ranges import ReceivedRanges
from antecede.transport.recovery.round_trip import ACK_DELAY_NS
from antecede.wire.varint import write_varint


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
