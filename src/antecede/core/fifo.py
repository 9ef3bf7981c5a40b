"""A control: exactly once and in order per ordered pair of processes, but not causal.

Every copy names its predecessor from the same sender to the same receiver; the receiver delivers
along that chain and acknowledges the last one delivered, which covers all before it; the sender
repeats what is not acknowledged. This is what hybrid buffering stands on, without permits: what
causal order adds to it, in delay and in packets, is the difference between the two.

Cost: two integers per message; state linear in peers plus messages buffered and unacked; constant
time per copy.
"""

from collections.abc import Collection
from typing import final

from mypy_extensions import i64

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.control_node import ControlNode
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.in_order import FifoReceiver
from antecede.core.packets import Ack, DataPacket
from antecede.core.retransmission import PATIENCE_NS


@final
class FifoProcess(ControlNode):
    """Reliable FIFO links to everybody."""

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
