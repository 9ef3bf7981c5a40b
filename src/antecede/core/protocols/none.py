"""A control: exactly once, on arrival, in whatever order messages come.

The receiver delivers what it has not delivered before and acknowledges each message by its own
id; the sender repeats what is not acknowledged. No message ever waits at either end, so its
delays are the network's: what any order adds, in delay and in packets, is the difference from
this.

Ids that came from a source are remembered as a floor, below which everything to us has come, and
the few above it. They need not be consecutive, since a sender numbers its messages to all
receivers, so each names its predecessor, as in `fifo`, and the floor moves along that chain.

Cost: two integers per message; state linear in peers plus unacked messages plus gaps; constant
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
from antecede.core.in_order import check_chain
from antecede.core.packets import Ack, DataPacket
from antecede.core.process import NEVER_NS, NodeProcess, Outbox
from antecede.core.protocols.hybrid import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.values import Message, Packet


@final
class Seen:
    """Which ids have come from one source: all up to `floor`, and `above` by their predecessors."""

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

    def copy(self) -> "Seen":
        """An independent copy."""
        twin = Seen()
        twin.floor = self.floor
        twin.above = dict(self.above)
        return twin


@final
class NoneProcess(NodeProcess):
    """Reliable links to everybody that order nothing."""

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
        self._copies = Copies(send_limit, patience_ns)
        self._seen: dict[int, Seen] = {}

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
            self._copies.acked(source, packet.sequence, now_ns)
            return []
        raise RemoteError(f"a {packet.kind} from {source} has no meaning here")

    def _on_message(self, source: i64, packet: DataPacket) -> list[Effect]:
        sequence = packet.carried.sequence
        seen = self._seen.get(source)
        if seen is None:
            seen = Seen()
        check_chain(source, packet, seen.floor)
        known = seen.above.get(packet.previous, 0)
        if known not in (0, sequence):
            raise RemoteError(f"both {known} and {sequence} claim to follow {packet.previous}")
        acknowledgement = Transmit(source, Ack(sequence))
        if sequence <= seen.floor or known == sequence:
            return [acknowledgement]
        if packet.previous != seen.floor and len(seen.above) >= self._receive_limit:
            return []  # dropped: it will come again, and there is room when the gap has closed
        seen.add(packet.previous, sequence)
        self._seen[source] = seen
        return [Deliver(packet.carried), acknowledgement]

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
        seen = self._seen.get(source)
        return (0, 0) if seen is None else (int(seen.floor), 0)

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        for packet in self._copies.lost(target, first, last):
            outbox.transmit(target, packet)

    def clone(self) -> Self:
        twin = NoneProcess(
            self._me,
            self._known,
            receive_limit=self._receive_limit,
            payload_limit=self._payload_limit,
        )
        twin._next_sequence = self._next_sequence
        twin._copies = self._copies.copy()
        for source, seen in self._seen.items():
            twin._seen[source] = seen.copy()
        return twin

    def fingerprint(self) -> bytes:
        received = [
            (source, self._seen[source].floor, sorted(self._seen[source].above.items()))
            for source in sorted(self._seen)
        ]
        sending = (self._next_sequence, self._copies.state())
        return repr((self._me, sending, received)).encode()
