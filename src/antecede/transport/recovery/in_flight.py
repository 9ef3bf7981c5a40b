"""What is on the way: every datagram sent, until it is acknowledged or taken for lost.

A datagram is taken for lost when enough later ones have been acknowledged, or when one has and a
little more than a round trip has passed (RFC 9002 section 6.1). If such a one is acknowledged after
all, the network reorders more than was thought, and the threshold grows.
"""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Packet
from antecede.core.process import NEVER_NS
from antecede.core.sliding import SlidingArray
from antecede.transport.recovery.ack_ranges import AckRanges

IN_FLIGHT: Final = 0
ACKED: Final = 1
LOST: Final = 2

OLDEST_LOOKED_AT: Final = 16

REORDERING_LEAST: Final = 3
REORDERING_MAX: Final = 128
"""An earlier datagram counts as lost when one that is 3 to 128 later is acknowledged: the threshold
grows with the reordering that is seen."""


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class SentDatagram:
    """One datagram that left, and what was in it, so that it can be sent again in another one.

    Messages that left for the first time are the ids from `first` to `last` (0: none) of those that
    go to this peer; `again` are the ids of repeated ones.
    """

    __slots__ = (
        "again",
        "controls",
        "delivered",
        "eliciting",
        "first",
        "last",
        "number",
        "packets",
        "permit",
        "probed",
        "sent_ns",
        "size",
        "state",
        "trial",
    )

    def __init__(self, number: i64, now_ns: i64) -> None:
        self.number: Final[i64] = number
        self.sent_ns: Final[i64] = now_ns
        self.size: i64 = 0
        self.first: i64 = 0
        self.last: i64 = 0
        self.again: list[int] | None = None
        # The core's ack and permit it carried (0: none), and other control, as bits.
        self.delivered: i64 = 0
        self.permit: i64 = 0
        self.controls: i64 = 0
        # Further control of the core that is not merged while it waits, and so is kept whole.
        self.packets: list[Packet] | None = None
        # Whether the peer owes an acknowledgement of it.
        self.eliciting = False
        # Whether it only finds out whether a datagram of its size comes through.
        self.trial = False
        self.probed = False
        self.state: i64 = IN_FLIGHT

    def set_size(self, size: i64) -> None:
        """It is written, and has this many bytes."""
        self.size = size

    def elicit(self) -> None:
        """It is to be acknowledged."""
        self.eliciting = True

    def set_trial(self) -> None:
        """It only finds out whether a datagram of its size comes through."""
        self.trial = True
        self.eliciting = True

    def add_transport_control(self, bit: i64) -> None:
        """This control of the transport is in it, and is to be sent again if it is lost."""
        self.controls |= bit
        self.eliciting = True

    def set_ack_and_permit(self, ack: i64, permit: i64) -> None:
        """These of the core are in it (0: none), and perhaps more of its control."""
        self.delivered = ack
        self.permit = permit
        self.eliciting = True

    def set_messages(self, first: i64, last: i64) -> None:
        """The messages from `first` to `last` to this peer leave in it for the first time."""
        self.first = first
        self.last = last
        self.eliciting = True

    def add_retransmission(self, sequence: i64) -> None:
        """A message that had left before is in it."""
        if self.again is None:
            self.again = []
        self.again.append(sequence)
        self.eliciting = True

    def add_control(self, packet: Packet) -> None:
        """This control is in it, and is to be sent again if it is lost."""
        if self.packets is None:
            self.packets = []
        self.packets.append(packet)

    def has_messages(self) -> bool:
        """Whether a message was in it."""
        return self.first > 0 or self.again is not None


@final
class InFlight:
    """The datagrams on the way to one peer."""

    __slots__ = (
        "_loss_from",
        "acked_eliciting",
        "acked_largest",
        "acked_sent_ns",
        "acked_size",
        "acked_trial",
        "eliciting",
        "largest_acked",
        "loss_check_ns",
        "lost_count",
        "records",
        "reordering",
        "settled_controls",
        "size",
        "spurious",
    )

    def __init__(self) -> None:
        self.records: SlidingArray[SentDatagram] = SlidingArray()
        self.size: i64 = 0
        self.eliciting: i64 = 0
        self.largest_acked: i64 = 0
        self.reordering: i64 = REORDERING_LEAST
        self.lost_count: i64 = 0
        self.spurious: i64 = 0
        # Everything below this number has been acknowledged or taken for lost.
        self._loss_from: i64 = 1
        # When to look for lost ones again.
        self.loss_check_ns: i64 = NEVER_NS
        # Results of the last `acknowledge`.
        self.acked_size: i64 = 0
        self.acked_sent_ns: i64 = -1
        self.acked_eliciting = False
        self.acked_largest: i64 = 0
        self.acked_trial = False
        self.settled_controls: i64 = 0

    def add(self, sent: SentDatagram) -> None:
        """`sent` has left; its number must be the next one."""
        self.records.add(sent)
        if sent.eliciting:
            self.size += sent.size
            self.eliciting += 1
        else:
            # Nobody will acknowledge it in its own right, and nothing in it needs to be repeated.
            sent.state = ACKED
            self.forget_settled(-1)

    def acknowledge(self, acked: AckRanges) -> bool:
        """Take in an acknowledgement; True if it says anything new.

        Leaves the bytes that arrived, whether the largest number was newly acknowledged and when it
        had left, and the control bits that arrived.
        """
        self.acked_size = 0
        self.acked_sent_ns = -1
        self.acked_eliciting = False
        self.acked_largest = 0
        self.acked_trial = False
        self.settled_controls = 0
        news = False
        for index in range(len(acked.lasts)):
            number: i64 = acked.firsts[index]
            last: i64 = acked.lasts[index]
            if number < self.records.first:
                number = self.records.first
            while number <= last:
                sent = self.records.at(number)
                if sent.state != ACKED:
                    news = True
                    self._arrived(sent)
                number += 1
        if acked.lasts[0] > self.largest_acked:
            self.largest_acked = acked.lasts[0]
        return news

    def is_plausible(self, acked: AckRanges) -> bool:
        """Whether everything it names has been sent."""
        return acked.lasts[0] < self.records.next

    def find_lost(self, now_ns: i64, patience_ns: i64, keep_ns: i64) -> list[SentDatagram] | None:
        """What is to be taken for lost by now, None if nothing; says when to look again."""
        lost: list[SentDatagram] | None = None
        again_ns: i64 = NEVER_NS
        number = self._loss_from
        contiguous = True
        while number < self.largest_acked:
            sent = self.records.at(number) if number >= self.records.first else None
            if sent is not None and sent.state == IN_FLIGHT:
                late = number + self.reordering <= self.largest_acked
                if late or sent.sent_ns + patience_ns <= now_ns:
                    self._take_for_lost(sent)
                    if lost is None:
                        lost = []
                    lost.append(sent)
                else:
                    contiguous = False
                    if sent.sent_ns + patience_ns < again_ns:
                        again_ns = sent.sent_ns + patience_ns
            number += 1
            if contiguous:
                self._loss_from = number
        self.forget_settled(now_ns - keep_ns)
        self.loss_check_ns = again_ns
        return lost

    def forget_loss_check(self) -> None:
        """Nothing is on the way: nothing can be lost."""
        self.loss_check_ns = NEVER_NS

    def take_oldest_with_messages(self) -> SentDatagram | None:
        """The oldest datagram on the way with messages in it that no probe has repeated yet."""
        number = self.records.first
        while number < self.records.next:
            sent = self.records.at(number)
            if sent.state == IN_FLIGHT and not sent.probed and sent.has_messages():
                sent.probed = True
                return sent
            number += 1
        return None

    def largest_of_oldest(self) -> i64:
        """The size of the largest among the oldest few datagrams on the way."""
        largest: i64 = 0
        number = self.records.first
        stop = number + OLDEST_LOOKED_AT
        while number < self.records.next and number < stop:
            sent = self.records.at(number)
            if sent.state == IN_FLIGHT and sent.size > largest:
                largest = sent.size
            number += 1
        return largest

    def forget_settled(self, before_ns: i64) -> None:
        """Slide over what is acknowledged, or lost for so long that it will not turn up."""
        records = self.records
        while records.first < records.next:
            sent = records.peek()
            if sent.state == IN_FLIGHT or (sent.state == LOST and sent.sent_ns > before_ns):
                break
            records.remove()
        if self._loss_from < records.first:
            self._loss_from = records.first

    def _arrived(self, sent: SentDatagram) -> None:
        if sent.state == LOST:
            self.spurious += 1
            if self.reordering < REORDERING_MAX:
                self.reordering *= 2
        elif sent.eliciting:
            self.size -= sent.size
            self.eliciting -= 1
            self.acked_size += sent.size
        sent.state = ACKED
        sent.again = None
        sent.packets = None
        if sent.size > self.acked_largest:
            self.acked_largest = sent.size
        if sent.trial:
            self.acked_trial = True
        self.settled_controls |= sent.controls
        if sent.number > self.largest_acked and sent.sent_ns > self.acked_sent_ns:
            self.acked_sent_ns = sent.sent_ns
            self.acked_eliciting = sent.eliciting

    def _take_for_lost(self, sent: SentDatagram) -> None:
        sent.state = LOST
        self.size -= sent.size
        self.eliciting -= 1
        self.lost_count += 1
