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
from typing import ClassVar, Final, Self, final

from mypy_extensions import i64

from antecede.core.alarms import PATIENCE_NS, Alarm, Alarms
from antecede.core.checks import PAYLOAD_LIMIT, checked_payload
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.members import Members
from antecede.core.process import NEVER_NS, CausalProcess
from antecede.core.protocols.mf import MfAck, MfMessage, Outgoing, is_new
from antecede.core.values import Message, Packet


@final
class BlockingProcess(CausalProcess):
    """One process; at most one message of its own is under way."""

    STATE: ClassVar[tuple[str, ...]] = ("_members", "_next_sequence", "_under_way", "_delivered")
    ASIDE: ClassVar[tuple[str, ...]] = ("_alarm", "_alarms")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        self._members: Final = Members(me, processes)
        self._payload_limit: Final[i64] = payload_limit
        self._delivered: dict[int, int] = {}
        self._next_sequence: i64 = 1
        self._under_way: Outgoing | None = None
        self._alarm = Alarm(0)
        self._alarms = Alarms(patience_ns)

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        """Like every `submit`; `BufferFull` until the last message is acknowledged."""
        remote, to_self = self._members.split(targets)
        content = checked_payload(payload, self._payload_limit)
        if len(remote) > 1:
            raise LocalError(f"blocking is unicast only: one remote target, not {remote}")
        if self._under_way is not None:
            sequence = self._under_way.message.sequence
            raise BufferFull(f"message {sequence} is not acknowledged yet; try later")
        message = Message(self._members.me, self._next_sequence, content)
        self._next_sequence += 1
        effects: list[Effect] = []
        if remote:
            self._under_way = Outgoing(message, remote[0])
            self._alarms.start(self._alarm, now_ns)
            effects.append(Transmit(remote[0], MfMessage(message)))
        if to_self:
            effects.append(Deliver(message))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - an ack stops the timer
        if source == self._members.me or not self._members.knows(source):
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, MfMessage):
            return self._on_message(source, packet.carried)
        if isinstance(packet, MfAck):
            self._on_ack(source, packet.sequence)
            return []
        raise RemoteError(f"a {packet.kind} from {source} has no meaning here")

    def deadline_ns(self) -> int | None:
        wake_ns = self._alarms.next_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    def expire(self, now_ns: int) -> list[Effect]:
        effects: list[Effect] = []
        for alarm in self._alarms.ringing(now_ns):
            last = self._under_way
            assert last is not None, "the alarm is on only while a message is under way"
            effects.append(Transmit(last.target, MfMessage(last.message)))
            self._alarms.again(alarm, now_ns)
        return effects

    def buffered(self) -> int:
        """How many of our messages are not acknowledged: one or none."""
        return 0 if self._under_way is None else 1

    def _on_message(self, source: int, message: Message) -> list[Effect]:
        self._members.check_message(source, message, (self._members.me,))
        ack = Transmit(source, MfAck(message.sequence))
        if not is_new(message.sequence, self._delivered.get(source, 0)):
            return [ack]
        self._delivered[source] = message.sequence
        return [Deliver(message), ack]

    def _on_ack(self, source: int, sequence: i64) -> None:
        if sequence < 1 or sequence >= self._next_sequence:
            raise RemoteError(f"{source} acknowledges {sequence}, which was never sent")
        last = self._under_way
        if last is None or sequence < last.message.sequence:
            return
        if sequence > last.message.sequence or source != last.target:
            raise RemoteError(f"{source} acknowledges {sequence}, which was not sent to it")
        self._under_way = None
        self._alarm.on = False

    def anew(self) -> Self:
        return BlockingProcess(
            self._members.me,
            self._members.ids(),
            payload_limit=self._payload_limit,
            patience_ns=self._alarms.patience_ns,
        )
