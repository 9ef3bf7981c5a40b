"""Not a causal multicast, though it looks like one: send to all, wait for all acks, send the next.

Mattern and Fünfrocken's rule makes point-to-point messages causal, because a process sends the next
message only when the last one has been delivered. For several targets that is not enough: one
target may deliver, and tell another target about it, while the copy to that other is still under
way. The scenario `mf-multicast` shows it; nothing else uses this class.
"""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Final, Self, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.checks import checked_payload, checked_targets, known_processes, split_targets
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import Ack, DataPacket
from antecede.core.process import CausalProcess
from antecede.core.values import Message, Packet

PAYLOAD_LIMIT: Final = 1 << 16


@final
class MfMulticastProcess(CausalProcess):
    """One message under way at a time, to all of its targets; for a reliable network."""

    STATE: ClassVar = ("_me", "_sequence", "_buffer", "_unacked")

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        self._me: Final = me
        self._known: Final = known_processes(me, processes)
        self._sequence = 0
        self._buffer: deque[tuple[Message, list[int]]] = deque()
        self._unacked: list[int] = []

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        remote, to_self = split_targets(checked_targets(targets), self._me, self._known)
        data = checked_payload(payload, PAYLOAD_LIMIT)
        self._sequence += 1
        message = Message(self._me, self._sequence, data)
        if remote:
            self._buffer.append((message, remote))
        effects = self._next()
        return [*effects, Deliver(message)] if to_self else effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        if isinstance(packet, DataPacket):
            return [Deliver(packet.carried), Transmit(source, Ack(packet.carried.sequence))]
        if not isinstance(packet, Ack) or source not in self._unacked:
            raise RemoteError(f"unexpected {packet.kind} from {source}")
        self._unacked.remove(source)
        return self._next()

    def _next(self) -> list[Effect]:
        if self._unacked or not self._buffer:
            return []
        message, targets = self._buffer.popleft()
        self._unacked = list(targets)
        return [Transmit(target, DataPacket(message, 0, False)) for target in targets]

    def anew(self) -> Self:
        return MfMulticastProcess(self._me, list(self._known))


MF_MULTICAST: Final = ProtocolInfo(
    "mf-multicast",
    MfMulticastProcess,
    ordering="none",
    multicast=True,
    network="reliable",
    paper="what Mattern and Fünfrocken's rule becomes if it is applied to several targets at once",
)
