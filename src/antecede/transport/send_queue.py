"""What waits to leave for one peer: new messages in order, repeated ones, and control.

New messages leave in the order in which the core released them, as long as the peer's credit
lasts; repeated ones go first. Acks and permits are cumulative, so only the latest of each waits,
however many the core asked for. Control of protocols that are not known here waits in order.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.packets import Ack, Ask, DataPacket, Packet, Permit
from antecede.transport.flow_control import FlowControl
from antecede.transport.frame_fragments import FrameFragmenter

COMPACT_AT: Final = 1024
"""Packets that have left are dropped from the queue when there are 1,024 of them."""


def sequence_of(packet: Packet) -> i64:
    """The id of the message that a packet carries, or 0."""
    if isinstance(packet, DataPacket):
        return packet.carried.sequence
    message = packet.message
    return 0 if message is None else message.sequence


def compact(queue: list[Packet], head: i64) -> i64:
    """Drop what is before `head` if that is worth it; where the head is then."""
    if head == len(queue):
        queue.clear()
        return 0
    if head >= COMPACT_AT and 2 * head > len(queue):
        del queue[:head]
        return 0
    return head


@final
class SendQueue:
    """The queue of one session."""

    __slots__ = (
        "_ack_last",
        "_controls",
        "_cumulative",
        "_flow_control",
        "_head",
        "_highest_left",
        "_highest_queued",
        "_peer_delivered",
        "_permit_last",
        "_queue",
        "_repeat_head",
        "_repeating",
        "_repeats",
        "ack_due",
        "ask",
        "blocked",
        "fragmenter",
        "permit_due",
    )

    def __init__(
        self,
        cumulative: bool,
        flow_control: FlowControl,
        ack: i64 = 0,
        permit: i64 = 0,
        blocked: bool = False,
    ) -> None:
        # Whether an ack covers all messages before it, so that the latest is enough.
        self._cumulative: Final = cumulative
        self._flow_control: Final = flow_control
        self._queue: list[Packet] = []
        self._head: i64 = 0
        self._repeats: list[Packet] = []
        self._repeat_head: i64 = 0
        self._repeating: set[int] = set()
        # A message that has left in part: its frame does not fit a datagram.
        self.fragmenter: FrameFragmenter | None = None
        self._highest_queued: i64 = 0
        self._highest_left: i64 = 0
        self._peer_delivered: i64 = 0
        # The core's ack and permit that wait (0: none), and those that left last.
        self.ack_due: i64 = ack
        self.permit_due: i64 = permit
        self._ack_last: i64 = 0
        self._permit_last: i64 = 0
        self.ask: Ask | None = None
        # Whether messages and permits have to wait: the peer must note an expulsion first.
        self.blocked = blocked
        self._controls: list[Packet] = []

    def put(self, packet: Packet) -> None:
        """The core wants this transmitted."""
        if isinstance(packet, DataPacket):
            self._put_message(packet, packet.carried.sequence)
        elif isinstance(packet, Ack) and self._cumulative:
            if packet.sequence > self.ack_due:
                self.ack_due = packet.sequence
        elif isinstance(packet, Permit):
            if packet.sequence > self.permit_due:
                self.permit_due = packet.sequence
        elif isinstance(packet, Ask):
            self.ask = packet
        elif packet.message is not None:
            self._put_message(packet, sequence_of(packet))
        else:
            self._controls.append(packet)

    def block(self, blocked: bool) -> None:
        """Let messages and permits wait, or leave again."""
        self.blocked = blocked

    # Control.

    def has_control(self) -> bool:
        """Whether anything but a message waits."""
        return (
            self.ack_due > 0
            or (self.permit_due > 0 and not self.blocked)
            or self.ask is not None
            or len(self._controls) > 0
        )

    def take_ack(self) -> i64:
        """The ack that is to leave, or 0."""
        ack = self.ack_due
        if ack > 0:
            self._ack_last = ack
            self.ack_due = 0
        return ack

    def take_permit(self) -> i64:
        """The permit that is to leave, or 0."""
        permit: i64 = 0 if self.blocked else self.permit_due
        if permit > 0:
            self._permit_last = permit
            self.permit_due = 0
        return permit

    def take_ask(self) -> Ask | None:
        """The ask that is to leave."""
        ask = self.ask
        self.ask = None
        return ask

    def controls(self) -> list[Packet]:
        """Control that may leave as it is, oldest first; `control_left` removes it."""
        return self._controls

    def control_left(self, packets: list[Packet]) -> None:
        """These have left."""
        self._controls = [packet for packet in self._controls if packet not in packets]

    def repeat_control(self) -> None:
        """The last ack and permit may be lost: let them leave again."""
        self.ack_due = self.newest_ack()
        self.permit_due = self.newest_permit()

    def newest_ack(self) -> i64:
        """The ack that waits, or else the one that left last."""
        return self.ack_due if self.ack_due > 0 else self._ack_last

    def newest_permit(self) -> i64:
        """The permit that waits, or else the one that left last."""
        return self.permit_due if self.permit_due > 0 else self._permit_last

    # Messages.

    def has_messages(self) -> bool:
        """Whether a message waits that the peer has credit for."""
        if self.blocked:
            return False
        if self.fragmenter is not None:
            return True
        return self.peek_retransmission() is not None or self.peek_new() is not None

    def waits_for_credit(self) -> bool:
        """Whether new messages wait for nothing but the peer's credit."""
        return self._head < len(self._queue) and not self.has_messages()

    def unsent(self) -> list[Packet]:
        """The messages that have not left yet."""
        return self._queue[self._head :]

    def queued(self) -> int:
        """How many messages wait here."""
        return len(self._queue) - self._head + len(self._repeats) - self._repeat_head

    def peek_retransmission(self) -> Packet | None:
        """The next message to repeat that the peer may still miss; `pop_retransmission` removes
        it.
        """
        while self._repeat_head < len(self._repeats):
            packet = self._repeats[self._repeat_head]
            if sequence_of(packet) > self._peer_delivered or not self._cumulative:
                return packet
            self.pop_retransmission()
        return None

    def pop_retransmission(self) -> None:
        """The message that `peek_retransmission` answered has left, or is not needed."""
        self._repeating.discard(sequence_of(self._repeats[self._repeat_head]))
        self._repeat_head = compact(self._repeats, self._repeat_head + 1)

    def repeat_oldest_first(self) -> None:
        """Nothing is answered: what all that has come may wait for leaves before the rest."""
        waiting = self._repeats[self._repeat_head :]
        waiting.sort(key=sequence_of)
        self._repeats = waiting
        self._repeat_head = 0

    def peek_new(self) -> Packet | None:
        """The next new message, if the peer has credit for it; `pop_new` removes it."""
        if self._head >= len(self._queue) or not self._flow_control.can_send():
            return None
        return self._queue[self._head]

    def pop_new(self, sequence: i64, payload_size: i64) -> None:
        """The message that `peek_new` answered has left."""
        self._flow_control.spend(payload_size)
        self._highest_left = sequence
        self._head = compact(self._queue, self._head + 1)

    def begin_fragmenting(self, sequence: i64, frame: bytes) -> FrameFragmenter:
        """A message leaves in pieces, before anything else does."""
        self.fragmenter = FrameFragmenter(sequence, frame)
        return self.fragmenter

    def end_fragmenting(self) -> None:
        """Its last piece has left."""
        self.fragmenter = None

    def delivered_up_to(self, sequence: i64) -> None:
        """The peer says what it has: that need not be repeated any more."""
        if sequence > self._peer_delivered:
            self._peer_delivered = sequence

    def clear(self) -> None:
        """The peer is gone: nothing will leave."""
        self._queue.clear()
        self._head = 0
        self._repeats.clear()
        self._repeat_head = 0
        self._repeating.clear()
        self._controls.clear()
        self.fragmenter = None
        self.ask = None
        self.ack_due = 0
        self.permit_due = 0

    def _put_message(self, packet: Packet, sequence: i64) -> None:
        if sequence > self._highest_queued:
            self._highest_queued = sequence
            self._queue.append(packet)
            return
        # What still waits in the queue need not be repeated.
        if sequence > self._highest_left or sequence in self._repeating:
            return
        # Each waits once, so there are never more than the sender's buffer holds.
        self._repeating.add(sequence)
        self._repeats.append(packet)
