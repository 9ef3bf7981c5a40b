"""The controls: `fifo` and `none`, which promise less than causal order.

Both are reliable links to everybody: each copy names its predecessor to the same receiver, and is
repeated until it is acknowledged. There is no order between pairs, so there are no permits, nothing
waits at a sender, and going on without a process concerns nobody else.

Cost: two integers per message; state linear in peers plus messages unacknowledged, and buffered
(`fifo`) or seen beyond a gap (`none`); constant time per copy.
"""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.checks import (
    PAYLOAD_LIMIT,
    check_room,
    checked_payload,
    checked_targets,
    known_processes,
    split_targets,
    with_process,
)
from antecede.core.effects import Deliver, Effect, Report, Transmit
from antecede.core.errors import RemoteError
from antecede.core.expulsion import ExpelledSet
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.in_order import FifoReceiver, check_predecessor
from antecede.core.outstanding import Outstanding
from antecede.core.packets import Ack, DataPacket, Message, Packet, YouAreExpelled
from antecede.core.process import NEVER_NS, EffectList, NodeProcess, Outbox
from antecede.core.retransmission import PATIENCE_NS


@final
class UnackedCopies:
    """The unacknowledged copies, by receiver, and when to transmit them again."""

    MADE_OF: ClassVar = ("_limit", "patience_ns")

    __slots__ = ("_last_sent", "_limit", "_oldest", "_outstanding", "_packets", "_unacked", "bytes")

    def __init__(self, limit: i64, patience_ns: i64) -> None:
        self._limit: Final[i64] = limit
        self._last_sent: dict[int, int] = {}
        self._packets: dict[int, dict[int, DataPacket]] = {}
        self._unacked: dict[int, int] = {}
        # Payloads of the messages that somebody has not acknowledged.
        self.bytes: i64 = 0
        # No message below this one is unacknowledged.
        self._oldest: i64 = 1
        self._outstanding = Outstanding(patience_ns)

    @property
    def patience_ns(self) -> i64:
        """How long to wait for an acknowledgement, the first time."""
        return self._outstanding.patience_ns

    def check_room(self) -> None:
        """`BufferFull` if there are already as many unacknowledged messages as allowed."""
        check_room(len(self._unacked), self._limit)

    def send(self, message: Message, receivers: list[int], now_ns: i64) -> list[Transmit]:
        """The first transmission of every copy."""
        sequence = message.sequence
        if receivers:
            self._unacked[sequence] = len(receivers)
            self.bytes += len(message.payload)
        sent: list[Transmit] = []
        for receiver in receivers:
            packet = DataPacket(message, self._last_sent.get(receiver, 0), False)
            self._last_sent[receiver] = sequence
            self._packets.setdefault(receiver, {})[sequence] = packet
            self._outstanding.add(receiver, sequence, now_ns)
            sent.append(Transmit(receiver, packet))
        return sent

    def acked(self, receiver: i64, sequence: i64, now_ns: i64) -> None:
        """`receiver` has this one; nothing happens if it was not waited for."""
        if self._outstanding.answer(receiver, sequence, now_ns):
            self._forget(receiver, sequence)

    def acked_up_to(self, receiver: i64, sequence: i64, now_ns: i64) -> None:
        """`receiver` has everything up to this one; nothing happens if it was not waited for."""
        if not self._outstanding.is_open(receiver, sequence):
            return
        for number in self._outstanding.answer_up_to(receiver, sequence, now_ns):
            self._forget(receiver, number)

    def unacknowledged(self) -> int:
        """How many messages somebody has not acknowledged."""
        return len(self._unacked)

    def oldest(self, following: i64) -> i64:
        """The oldest message that somebody has not acknowledged, or else the `following` one."""
        while self._oldest < following and self._oldest not in self._unacked:
            self._oldest += 1
        return self._oldest

    def owed_by(self, receiver: i64) -> int:
        """How many messages `receiver` has not acknowledged."""
        return len(self._packets.get(receiver, {}))

    def oldest_owed_by(self, receiver: i64) -> int:
        """The id of the oldest of them, or 0."""
        for sequence in self._packets.get(receiver, {}):
            return sequence
        return 0

    def lost(self, receiver: i64, first: i64, last: i64) -> list[DataPacket]:
        """The copies to `receiver` from id `first` to id `last` that it has not acknowledged."""
        packets = self._packets.get(receiver, {})
        if last - first > len(packets):
            return [packet for number, packet in packets.items() if first <= number <= last]
        numbers = range(first, last + 1)
        return [packets[number] for number in numbers if number in packets]

    def abandon(self, receiver: i64, now_ns: i64) -> list[int]:
        """`receiver` is waited for no more: what it has not acknowledged, oldest first."""
        given_up = self._outstanding.open_ids(receiver)
        for sequence in given_up:
            self.acked(receiver, sequence, now_ns)
        return given_up

    def next_ns(self) -> i64:
        """When to ask for `take_due` again."""
        return self._outstanding.next_ns()

    def take_due(self, now_ns: i64) -> list[Transmit]:
        """What to transmit again now."""
        repeated: list[Transmit] = []
        for due in self._outstanding.due(now_ns):
            packets = self._packets[due.peer]
            for number in due.ids:
                repeated.append(Transmit(due.peer, packets[number]))
        return repeated

    def state(self) -> str:
        """Equal states, equal strings; timers do not count."""
        waiting = [
            (receiver, list(self._packets[receiver].values()))
            for receiver in sorted(self._packets)
            if self._packets[receiver]
        ]
        return repr((sorted(self._last_sent.items()), waiting))

    def _forget(self, receiver: i64, sequence: i64) -> None:
        packet = self._packets[receiver].pop(sequence)
        self._unacked[sequence] -= 1
        if self._unacked[sequence] == 0:
            del self._unacked[sequence]
            self.bytes -= len(packet.carried.payload)


class ControlNode(NodeProcess):
    """Reliable links to everybody; a subclass delivers and acknowledges."""

    STATE: ClassVar[tuple[str, ...]] = ("_me", "_next_sequence", "_copies", "_fence", "_received")
    ASIDE: ClassVar[tuple[str, ...]] = ("_known",)
    OPTIONS: ClassVar[tuple[str, ...]] = ("receive_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Collection[int],
        *,
        send_limit: int = SEND_LIMIT,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        self._known = known_processes(me, processes)
        self._me: Final[i64] = me
        self._receive_limit: Final[i64] = receive_limit
        self._payload_limit: Final[i64] = payload_limit
        self._next_sequence: i64 = 1
        self._copies = UnackedCopies(send_limit, patience_ns)
        self._fence = ExpelledSet(me)
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Nothing has been received."""

    @abstractmethod
    def _on_message(self, source: i64, packet: DataPacket) -> list[Effect]: ...

    @abstractmethod
    def _on_ack(self, source: i64, sequence: i64, now_ns: i64) -> None: ...

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        self._fence.check_running()
        remote, to_self = split_targets(checked_targets(targets), self._me, self._known)
        content = checked_payload(payload, self._payload_limit)
        self._copies.check_room()
        message = Message(self._me, self._next_sequence, content)
        self._next_sequence += 1
        if self._fence.expelled:
            remote = self._fence.without_expelled(remote, message.sequence)
        effects: list[Effect] = []
        effects.extend(self._copies.send(message, remote, now_ns))
        if to_self:
            effects.append(Deliver(message))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        if self._fence.barring:
            outbox = EffectList()
            if self._fence.turn_away(source, packet, outbox):
                return outbox.effects
        if source not in self._known or source == self._me:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, DataPacket):
            return self._on_message(source, packet)
        if isinstance(packet, Ack):
            self._on_ack(source, packet.sequence, now_ns)
        elif isinstance(packet, YouAreExpelled):
            self._fence.stop_self(source)
        else:
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        return []

    def expire(self, now_ns: int) -> list[Effect]:
        return [] if self._fence.stopped else [*self._copies.take_due(now_ns)]

    def deadline_ns(self) -> int | None:
        wake_ns = self._copies.next_ns()
        return None if wake_ns == NEVER_NS or self._fence.stopped else wake_ns

    def buffered(self) -> int:
        return self._copies.unacknowledged()

    def buffered_bytes(self) -> int:
        return self._copies.bytes

    def oldest_unacked(self) -> i64:
        return self._copies.oldest(self._next_sequence)

    def unacked_by(self, target: int) -> int:
        return self._copies.owed_by(target)

    def oldest_owed(self, target: int) -> int:
        return self._copies.oldest_owed_by(target)

    def add_process(self, process: int) -> None:
        self._known = with_process(process, self._known)

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        for packet in self._copies.lost(target, first, last):
            outbox.transmit(target, packet)

    def abandon_into(self, target: int, now_ns: i64, outbox: Outbox) -> list[int]:  # noqa: ARG002 - nothing waited for it here
        return self._copies.abandon(target, now_ns)

    def expel_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:  # noqa: ARG002 - nobody else need know
        self._fence.check_may_expel(process)
        if self._fence.add([process]):
            delivered = self.receive_position(process)[0]
            self._fence.report_expelled(process, delivered, self._copies.abandon(process, now_ns))

    def reports(self) -> list[Report]:
        return self._fence.take_reports()

    def _constructor_arguments(self) -> tuple[int, Collection[int]]:
        return int(self._me), self._known


@final
class FifoProcess(ControlNode):
    """Exactly once and in order per ordered pair of processes, but not causal.

    The receiver delivers along the chain of predecessors and acknowledges the last message that it
    delivered, which covers all before it. This is what hybrid buffering stands on, without permits:
    the difference between the two is what causal order costs, in delay and in packets.
    """

    def _begin(self) -> None:
        self._received = FifoReceiver(self._receive_limit)

    def _on_message(self, source: i64, packet: DataPacket) -> list[Effect]:
        effects: list[Effect] = []
        repeated = self._received.is_duplicate(source, packet)
        if not repeated:
            for in_turn in self._received.take(source, packet):
                effects.append(Deliver(in_turn.carried))
        if repeated or effects:
            effects.append(Transmit(source, Ack(self._received.last_delivered(source))))
        return effects

    def _on_ack(self, source: i64, sequence: i64, now_ns: i64) -> None:
        self._copies.acked_up_to(source, sequence, now_ns)

    def receive_position(self, source: int) -> tuple[int, int]:
        return int(self._received.last_delivered(source)), self._received.waiting(source)


@final
class SeenIds:
    """Which ids have come from one source: all up to `floor`, and `above` by their predecessors.

    Ids to one receiver need not be consecutive, since a sender numbers its messages to all, so the
    floor moves along the chain of predecessors.
    """

    MADE_OF: ClassVar = ()

    __slots__ = ("above", "floor")

    def __init__(self) -> None:
        self.floor: i64 = 0
        self.above: dict[int, int] = {}

    def add(self, previous: i64, sequence: i64) -> None:
        """One more has come, which follows `previous`."""
        if previous != self.floor:
            self.above[previous] = sequence
            return
        following = sequence
        while following > 0:
            self.floor = following
            following = self.above.pop(self.floor, 0)


@final
class NoneProcess(ControlNode):
    """Exactly once, on arrival, in whatever order messages come.

    The receiver delivers what it has not delivered before and acknowledges each message by its own
    id. No message ever waits at either end, so its delays are the network's: the difference to this
    is what any order costs.
    """

    def _begin(self) -> None:
        self._received: dict[int, SeenIds] = {}

    def _on_message(self, source: i64, packet: DataPacket) -> list[Effect]:
        sequence = packet.carried.sequence
        seen = self._received.get(source)
        if seen is None:
            seen = SeenIds()
        check_predecessor(source, packet, seen.floor)
        known = seen.above.get(packet.previous, 0)
        if known not in (0, sequence):
            raise RemoteError(f"both {known} and {sequence} claim to follow {packet.previous}")
        acknowledgement = Transmit(source, Ack(sequence))
        if sequence <= seen.floor or known == sequence:
            return [acknowledgement]
        if packet.previous != seen.floor and len(seen.above) >= self._receive_limit:
            return []  # dropped: it will come again, and there is room when the gap has closed
        seen.add(packet.previous, sequence)
        self._received[source] = seen
        return [Deliver(packet.carried), acknowledgement]

    def _on_ack(self, source: i64, sequence: i64, now_ns: i64) -> None:
        self._copies.acked(source, sequence, now_ns)

    def receive_position(self, source: int) -> tuple[int, int]:
        seen = self._received.get(source)
        return (0, 0) if seen is None else (int(seen.floor), 0)
