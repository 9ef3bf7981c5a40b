"""What a reliable link remembers of one other process: packets sent, numbers received."""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.packets import Packet
from antecede.core.retransmission import RetransmissionTimer
from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.link_packets import RANGES_LIMIT, LinkAck, LinkData


@final
class UnackedPacket:
    """A packet that is not acknowledged in order yet, and whether the peer is known to have it."""

    MADE_OF: ClassVar = ("packet",)

    __slots__ = ("held", "packet")

    def __init__(self, packet: LinkData) -> None:
        self.packet: Final = packet
        self.held = False


@final
class ReliableLinkState:
    """Both directions between here and one other process."""

    MADE_OF: ClassVar = ("id",)

    __slots__ = ("alarm", "early", "expected", "id", "queue", "unsent_at")

    def __init__(self, process: i64) -> None:
        self.id: Final[i64] = process
        # Sending: the index in the queue is the packet's number; transmitted ones come first.
        self.queue: SlidingArray[UnackedPacket] = SlidingArray()
        self.unsent_at: i64 = 1
        # Receiving: every number below `expected` is taken in, and those in `early` have arrived.
        # A FIFO link keeps their packets; otherwise they are taken in, and None stands there.
        self.expected: i64 = 1
        self.early: dict[int, Packet | None] = {}
        self.alarm = RetransmissionTimer(process)

    def on_sent(self) -> None:
        """The next packet has left."""
        self.unsent_at += 1

    def on_taken_in(self) -> None:
        """The packet whose turn it was is taken in."""
        self.expected += 1

    def is_early(self, number: i64, window: i64) -> bool:
        """Whether a packet is early, new, and not so early that its sender cannot have sent it."""
        if number <= self.expected or number >= self.expected + window:
            return False
        return number not in self.early

    def mark_held(self, first: i64, last: i64) -> bool:
        """The peer has these numbers, all of which were sent; True if that is news."""
        news = False
        index = first if first > self.queue.first else self.queue.first
        while index <= last:
            sent = self.queue.at(index)
            if not sent.held:
                sent.held = True
                news = True
            index += 1
        return news

    def answer(self) -> LinkAck:
        """What has arrived, in order and beyond; the lowest ranges, if there are too many."""
        ranges: list[tuple[int, int]] = []
        first: i64 = 0
        last: i64 = 0
        for number in sorted(self.early):
            if number == self.expected:
                continue  # It was refused when its turn came, and counts as missing.
            if first > 0 and number == last + 1:
                last = number
                continue
            if first > 0:
                ranges.append((first, last))
            first = number
            last = number
        if first > 0:
            ranges.append((first, last))
        return LinkAck(self.expected - 1, tuple(ranges[:RANGES_LIMIT]))

    def state(self) -> str:
        """Everything but the alarm; empty if nothing was ever exchanged."""
        if self.queue.next == 1 and self.expected == 1 and not self.early:
            return ""
        queue = [(sent.packet, sent.held) for sent in self.queue]
        early = [(number, self.early[number]) for number in sorted(self.early)]
        return repr((self.id, queue, self.queue.next, self.unsent_at, self.expected, early))
