"""What waits to leave for one peer: new messages in order, repeated ones, and control.

New messages leave in the order in which the core released them, as long as the peer's credit is not
used up (the last may take more than is left of it); repeated ones go first. Acks and permits are
cumulative, so only the latest of each waits, however many the core asked for.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.values import Packet

MESSAGE_COST: Final = 64
"""What a message costs of a receiver's window beside its payload: the memory around it."""

COMPACT_AT: Final = 1024
"""Packets that have left are dropped from the queue when there are so many of them."""


def cost_of(packet: DataPacket) -> i64:
    """What a message takes of its receiver's window."""
    return MESSAGE_COST + len(packet.carried.payload)


def forget_left(queue: list[DataPacket], head: i64) -> i64:
    """Drop what is before `head` if that is worth it; where the head is then."""
    if head == len(queue):
        queue.clear()
        return 0
    if head >= COMPACT_AT and 2 * head > len(queue):
        del queue[:head]
        return 0
    return head


@final
class Outgoing:
    """The queue of one session."""

    __slots__ = (
        "_head",
        "_queue",
        "_repeat_head",
        "_repeating",
        "_repeats",
        "acks",
        "ask",
        "credit_limit",
        "credit_used",
        "cumulative",
        "delivered_due",
        "delivered_last",
        "highest_left",
        "highest_queued",
        "peer_delivered",
        "permit_due",
        "permit_last",
    )

    def __init__(self, cumulative: bool) -> None:
        # Whether an ack covers all messages before it, so that the latest is enough.
        self.cumulative: Final = cumulative
        self._queue: list[DataPacket] = []
        self._head: i64 = 0
        self._repeats: list[DataPacket] = []
        self._repeat_head: i64 = 0
        self._repeating: set[int] = set()
        self.highest_queued: i64 = 0
        self.highest_left: i64 = 0
        self.peer_delivered: i64 = 0
        self.credit_limit: i64 = 0
        self.credit_used: i64 = 0
        self.delivered_due: i64 = 0
        self.delivered_last: i64 = 0
        self.permit_due: i64 = 0
        self.permit_last: i64 = 0
        self.acks: list[int] = []
        self.ask: Ask | None = None

    def put(self, packet: Packet) -> None:
        """The core wants this transmitted."""
        if isinstance(packet, DataPacket):
            self._put_message(packet)
        elif isinstance(packet, Ack):
            if self.cumulative:
                if packet.sequence > self.delivered_due:
                    self.delivered_due = packet.sequence
            else:
                self.acks.append(packet.sequence)
        elif isinstance(packet, Permit):
            if packet.sequence > self.permit_due:
                self.permit_due = packet.sequence
        elif isinstance(packet, Ask):
            self.ask = packet

    def has_control(self) -> bool:
        """Whether an ack, a permit or an ask waits."""
        return (
            self.delivered_due > 0
            or self.permit_due > 0
            or self.ask is not None
            or len(self.acks) > 0
        )

    def has_messages(self) -> bool:
        """Whether a message waits that the peer has credit for."""
        return self.next_repeat() is not None or self.next_new() is not None

    def waits_for_credit(self) -> bool:
        """Whether new messages wait for nothing but the peer's credit."""
        return self._head < len(self._queue) and not self.has_messages()

    def queued(self) -> int:
        """How many messages wait here."""
        return len(self._queue) - self._head + len(self._repeats) - self._repeat_head

    def next_repeat(self) -> DataPacket | None:
        """The next message to repeat that the peer may still miss; `repeat_left` removes it."""
        while self._repeat_head < len(self._repeats):
            packet = self._repeats[self._repeat_head]
            if packet.carried.sequence > self.peer_delivered or not self.cumulative:
                return packet
            self.repeat_left()
        return None

    def repeat_left(self) -> None:
        """The message that `next_repeat` answered has left, or is not needed."""
        self._repeating.discard(self._repeats[self._repeat_head].carried.sequence)
        self._repeat_head = forget_left(self._repeats, self._repeat_head + 1)

    def next_new(self) -> DataPacket | None:
        """The next new message, if the peer has credit for it; `new_left` removes it."""
        if self._head >= len(self._queue) or self.credit_used >= self.credit_limit:
            return None
        return self._queue[self._head]

    def new_left(self, packet: DataPacket) -> None:
        """The message that `next_new` answered has left."""
        self.credit_used += cost_of(packet)
        self.highest_left = packet.carried.sequence
        self._head = forget_left(self._queue, self._head + 1)

    def repeat_control(self) -> None:
        """The last ack and permit may be lost: let them leave again."""
        if self.delivered_due == 0:
            self.delivered_due = self.delivered_last
        if self.permit_due == 0:
            self.permit_due = self.permit_last

    def clear(self) -> None:
        """The peer is gone: nothing will leave."""
        self._queue.clear()
        self._head = 0
        self._repeats.clear()
        self._repeat_head = 0
        self._repeating.clear()
        self.acks.clear()
        self.ask = None
        self.delivered_due = 0
        self.permit_due = 0

    def _put_message(self, packet: DataPacket) -> None:
        sequence = packet.carried.sequence
        if sequence > self.highest_queued:
            self.highest_queued = sequence
            self._queue.append(packet)
            return
        # What still waits in the queue need not be repeated.
        if sequence > self.highest_left or sequence in self._repeating:
            return
        # Each waits once, so there are never more than the sender's buffer holds.
        self._repeating.add(sequence)
        self._repeats.append(packet)
