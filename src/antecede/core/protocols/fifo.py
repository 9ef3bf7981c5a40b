"""A control: exactly once and in order per ordered pair of processes, but not causal.

Every copy names its predecessor from the same sender to the same receiver; the receiver delivers
along that chain and acknowledges the last one delivered, which covers all before it; the sender
repeats what is not acknowledged. This is what hybrid buffering stands on, without permits: what
causal order adds to it, in delay and in packets, is the difference between the two.

Cost: two integers per message; state linear in peers plus messages buffered and unacked; constant
time per copy.
"""

from collections.abc import Collection, Sequence
from typing import Final, Self, final

from mypy_extensions import i64

from antecede.core.alarms import PATIENCE_NS
from antecede.core.checks import (
    PAYLOAD_LIMIT,
    checked_payload,
    checked_targets,
    joined,
    known_processes,
    split_targets,
)
from antecede.core.copies import Copies
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.in_order import InOrder
from antecede.core.packets import Ack, DataPacket
from antecede.core.process import NEVER_NS, NodeProcess, Outbox
from antecede.core.protocols.hybrid import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.values import Message, Packet


@final
class FifoProcess(NodeProcess):
    """Reliable FIFO links to everybody."""

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
        self._payload_limit: Final[i64] = payload_limit
        self._next_sequence: i64 = 1
        self._copies = Copies(send_limit, patience_ns)
        self._received = InOrder(receive_limit)

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        remote, to_self = split_targets(checked_targets(targets), self._me, self._known)
        content = checked_payload(payload, self._payload_limit)
        self._copies.check_room()
        message = Message(self._me, self._next_sequence, content)
        self._next_sequence += 1
        effects: list[Effect] = []
        effects.extend(self._copies.send(message, remote, now_ns))
        if to_self:
            effects.append(Deliver(message))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        if source not in self._known or source == self._me:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, DataPacket):
            return self._on_message(source, packet)
        if isinstance(packet, Ack):
            self._copies.acked_up_to(source, packet.sequence, now_ns)
            return []
        raise RemoteError(f"a {packet.kind} from {source} has no meaning here")

    def _on_message(self, source: i64, packet: DataPacket) -> list[Effect]:
        effects: list[Effect] = []
        repeated = self._received.is_duplicate(source, packet)
        if not repeated:
            for in_turn in self._received.take(source, packet):
                effects.append(Deliver(in_turn.carried))
        if repeated or effects:
            effects.append(Transmit(source, Ack(self._received.last_delivered(source))))
        return effects

    def expire(self, now_ns: int) -> list[Effect]:
        return [*self._copies.due(now_ns)]

    def deadline_ns(self) -> int | None:
        wake_ns = self._copies.next_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    def buffered(self) -> int:
        return self._copies.unacknowledged()

    def buffered_bytes(self) -> int:
        return self._copies.bytes

    def oldest(self) -> i64:
        return self._copies.oldest(self._next_sequence)

    def owes(self, target: int) -> int:
        return self._copies.owed_by(target)

    def forget_into(self, target: int, now_ns: i64, outbox: Outbox) -> list[int]:  # noqa: ARG002 - nothing waited for it here
        return self._copies.abandon(target, now_ns)

    def add_process(self, process: int) -> None:
        self._known = joined(process, self._known)

    def expected(self, source: int) -> tuple[int, int]:
        return int(self._received.last_delivered(source)), self._received.waiting(source)

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        for packet in self._copies.lost(target, first, last):
            outbox.transmit(target, packet)

    def clone(self) -> Self:
        twin = FifoProcess(self._me, self._known, payload_limit=self._payload_limit)
        twin._next_sequence = self._next_sequence
        twin._copies = self._copies.copy()
        twin._received = self._received.copy()
        return twin

    def fingerprint(self) -> bytes:
        sending = (self._next_sequence, self._copies.state())
        return repr((self._me, sending, self._received.state())).encode()
