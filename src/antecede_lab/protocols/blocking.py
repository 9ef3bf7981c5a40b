"""The blocking send: nothing more is taken until the last message is known to be delivered.

The caller of a blocking send waits for the delivery. The core never waits, so a submission that
would have to is refused with `BufferFull`, and whoever drives the process tries again when there
is room. When a message leaves, everything its sender ever sent has been delivered, so a receiver
delivers at once. This is `mf` with the queue moved into the caller: the same packets, the same
acknowledgements after delivery, the same timer over a lossy network.

Point-to-point only, for the reason `mf` is: waiting for the acknowledgements of all targets holds
back the sender, not the fast target, whose next message may overtake the slow copy.

Paper: the strategy that F. Mattern, S. Fünfrocken, "A Non-Blocking Lightweight Implementation of
Causal Order Message Delivery", LNCS 938, 1995, set out to improve on.
Cost: one integer per message and per acknowledgement; state is one message and one integer per
sender; constant time. The caller waits a round trip for each message. Deliveries go on while it
waits; a process that took in nothing until its own message is acknowledged would deadlock.
"""

from collections.abc import Sequence
from typing import ClassVar, final

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.errors import BufferFull
from antecede.core.retransmission import PATIENCE_NS
from antecede_lab.protocols.mf import MfProcess


@final
class BlockingProcess(MfProcess):
    """One process; at most one message of its own is under way."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("payload_limit", "patience_ns")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        super().__init__(me, processes, payload_limit=payload_limit, patience_ns=patience_ns)

    def _check_targets(self, remote: list[int]) -> None:
        """`BufferFull` until the last message is acknowledged, whoever the next one is for."""
        self._members.check_one(remote)
        if self._buffer.size > 0:
            sequence = self._buffer.peek().message.sequence
            raise BufferFull(f"message {sequence} is not acknowledged yet; try later")
