"""MF (Mattern and Fünfrocken): causal order by sending one message at a time.

A process puts what it submits into a FIFO buffer and transmits the next message only when the one
before it has been acknowledged, which its receiver does after delivering it. So whatever a process
has sent earlier is delivered before anything later leaves, and a receiver can deliver at once. Over
a lossy network a timer transmits again, the receiver delivers only new ids but acknowledges every
copy, and acknowledgements of earlier messages are ignored.

Point-to-point only: sending to several and waiting for all of them is *not* a causal multicast,
because the fast receiver may answer while the slow copy is still travelling.

Paper: F. Mattern, S. Fünfrocken, "A Non-Blocking Lightweight Implementation of Causal Order Message
Delivery", Theory and Practice in Distributed Systems, LNCS 938, 1995.
Cost: one integer per message and per acknowledgement; state is the buffer and one integer per
sender; constant time. One message in transit per sender: b buffered messages take b round trips.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, check_room
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import IdPacket, Message, MessagePacket, Packet
from antecede.core.process import NEVER_NS
from antecede.core.retransmission import PATIENCE_NS, RetransmissionTimer, RetransmissionTimers
from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.group_process import GroupProcess

SEND_LIMIT: Final = 1 << 20
"""Messages that may be buffered or unacknowledged at once; beyond it `submit` raises BufferFull."""


@final
@mypyc_attr(acyclic=True)
class MfMessage(MessagePacket):
    """A message; its id is all that the protocol needs."""

    __slots__ = ()

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, carried: Message) -> None:
        super().__init__(carried)


@final
@mypyc_attr(acyclic=True)
class MfAck(IdPacket):
    """The message with this id has been delivered."""

    __slots__ = ()

    KIND: ClassVar[str] = "ack"

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, sequence: i64) -> None:
        super().__init__(sequence)


@final
@mypyc_attr(acyclic=True)
class MfEntry:
    """A message of our own and where it goes."""

    __slots__ = ("message", "target")

    def __init__(self, message: Message, target: i64) -> None:
        self.message: Final = message
        self.target: Final[i64] = target

    def __repr__(self) -> str:
        return f"MfEntry({self.message!r}, {self.target})"


class MfProcess(GroupProcess):
    """One process; the head of its buffer is in transit, the rest waits."""

    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_buffer", "_delivered")
    ASIDE: ClassVar[tuple[str, ...]] = ("_alarm", "_alarms")
    OPTIONS: ClassVar[tuple[str, ...]] = ("send_limit", "payload_limit", "patience_ns")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        send_limit: int = SEND_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._send_limit: Final[i64] = send_limit
        self._patience_ns: Final[i64] = patience_ns
        self._delivered: dict[int, int] = {}
        self._buffer: SlidingArray[MfEntry] = SlidingArray()
        self._alarm = RetransmissionTimer(0)
        self._alarms = RetransmissionTimers(patience_ns)

    def _check_targets(self, remote: list[int]) -> None:
        self._members.check_one(remote)
        check_room(self._buffer.size, self._send_limit)

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:
        if not remote:
            return []
        self._buffer.add(MfEntry(message, remote[0]))
        if self._buffer.size > 1:
            return []
        self._alarms.start(self._alarm, now_ns)
        return [self._transmit_head()]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        self._members.check_source(source, packet)
        if isinstance(packet, MfMessage):
            return self._on_message(source, packet.carried)
        if isinstance(packet, MfAck):
            return self._on_ack(source, packet.sequence, now_ns)
        raise RemoteError(f"a {packet.kind} from {source} has no meaning here")

    def deadline_ns(self) -> int | None:
        wake_ns = self._alarms.next_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    def expire(self, now_ns: int) -> list[Effect]:
        effects: list[Effect] = []
        for alarm in self._alarms.expired(now_ns):
            effects.append(self._transmit_head())
            self._alarms.restart_with_backoff(alarm, now_ns)
        return effects

    def buffered(self) -> int:
        """How many of our messages are unsent or not acknowledged."""
        return self._buffer.size

    def _transmit_head(self) -> Effect:
        head = self._buffer.peek()
        return Transmit(head.target, MfMessage(head.message))

    def _on_message(self, source: int, message: Message) -> list[Effect]:
        self._members.check_message(source, message, (self._members.me,))
        ack = Transmit(source, MfAck(message.sequence))
        if not is_new(message.sequence, self._delivered.get(source, 0)):
            return [ack]
        self._delivered[source] = message.sequence
        return [Deliver(message), ack]

    def _on_ack(self, source: int, sequence: i64, now_ns: int) -> list[Effect]:
        if sequence < 1 or sequence > self._sequence:
            raise RemoteError(f"{source} acknowledges {sequence}, which was never sent")
        if self._buffer.size == 0 or sequence < self._buffer.peek().message.sequence:
            return []
        head = self._buffer.peek()
        if sequence > head.message.sequence or source != head.target:
            raise RemoteError(f"{source} acknowledges {sequence}, which was not sent to it")
        self._buffer.remove()
        self._alarm.progress(now_ns)
        if self._buffer.size == 0:
            self._alarm.stop()
            return []
        return [self._transmit_head()]


def is_new(sequence: i64, delivered: i64) -> bool:
    """Whether a message may be delivered: ids to a receiver grow, so a lower one is a duplicate."""
    return sequence > delivered
