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

from collections.abc import Collection
from typing import ClassVar, final

from mypy_extensions import i64

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.control_node import ControlNode
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.in_order import check_predecessor
from antecede.core.packets import Ack, DataPacket
from antecede.core.retransmission import PATIENCE_NS


@final
class SeenIds:
    """Which ids have come from one source: all up to `floor`, and `above` by their predecessors."""

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
    """Reliable links to everybody that order nothing."""

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
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
        super().__init__(
            me,
            processes,
            send_limit=send_limit,
            receive_limit=receive_limit,
            payload_limit=payload_limit,
            patience_ns=patience_ns,
        )

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
