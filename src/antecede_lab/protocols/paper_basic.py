"""The basic algorithm with hybrid buffering, unicast and conservative (CSPS): Algorithm 1.

A message sent while an earlier one is unacked is flagged, and its receiver keeps what it submits
after delivering it until the sender's permit says that all earlier ones have been delivered. FIFO
per pair plus this implies causal delivery. It stays as close to the listing as it can, to be
compared with: acks and permits are for one message each, and a lost permit is asked for by acking
once more.

Paper: P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable
Causal Delivery through Hybrid Buffering", section "The basic unicast algorithm".
Cost: two integers and a flag per message; amortised constant time.

Names and line numbers are the listing's. Five things differ, or the listing would not run: ids
start at 1, for 0 means none (E1); a duplicate is acked with its own id (E2); a permit that
overtakes its message is remembered in `pw` (E8); acks that cannot be true are ignored (E10); a
message to oneself is delivered at once and enters `u` as acked (E13). Of an acked message no
payload is left, which is not the same as an empty payload; a message is delivered before it is
acked; and "periodically" (lines 74-79) means per peer, with patience that grows. The option
`watermark=False` leaves E8 unmended, for the scenario that shows what it does.
"""

from collections import deque
from collections.abc import Collection, Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.checks import PAYLOAD_LIMIT, check_room, checked_payload, unicast_receiver
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.packets import Ack, DataPacket, Message, Permit
from antecede.core.retransmission import PATIENCE_NS
from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.paper_node import PaperNode
from antecede_lab.protocols.sliding_maps import SlidingMap


@final
class Msg:
    """Record Msg: `per` is its index in the send buffer, `flag` its boolean elsewhere."""

    MADE_OF: ClassVar = ("rcv", "mid", "pid", "per", "message")

    __slots__ = ("flag", "message", "mid", "per", "pid", "rcv")

    def __init__(self, rcv: i64, mid: i64, pid: i64, per: i64, message: Message | None) -> None:
        self.rcv: Final[i64] = rcv
        self.mid: Final[i64] = mid
        self.pid: Final[i64] = pid
        self.per: Final[i64] = per
        self.flag = False
        self.message = message  # None once acked: the listing's pl = bottom


@final
class PaperBasicProcess(PaperNode):
    """Algorithm 1 at process i."""

    STATE: ClassVar[tuple[str, ...]] = ("_me", "_ck", "_u", "_ls", "_sb", "_p", "_pw", "_received")
    OPTIONS: ClassVar[tuple[str, ...]] = (*PaperNode.OPTIONS, "watermark")

    def __init__(
        self,
        me: int,
        processes: Collection[int],
        *,
        send_limit: int = SEND_LIMIT,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
        watermark: bool = True,
    ) -> None:
        super().__init__(
            me,
            processes,
            send_limit=send_limit,
            receive_limit=receive_limit,
            payload_limit=payload_limit,
            patience_ns=patience_ns,
        )
        self._watermark: Final = watermark

    def _begin(self) -> None:
        self._ck: i64 = 1  # line 21: clock for message ids, E1
        self._u: SlidingArray[Msg] = SlidingArray()  # line 22: unacked messages, by id
        self._p: SlidingMap[tuple[int, int]] = SlidingMap()  # line 23: missing permits (snd, mid)
        self._sb: deque[Msg] = deque()  # line 26: send buffer

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        """Lines 37-43: causalSend."""
        j, to_self = unicast_receiver(targets, self._me, self._known)
        message = Message(self._me, self._ck, checked_payload(payload, self._payload_limit))
        check_room(self._ck - self._u.first, self._send_limit)
        effects: list[Effect] = []
        carried = message if j != self._me else None  # E13: acked from the start
        m = Msg(j, self._ck, self._ls.get(j, 0), self._p.next, carried)
        if carried is not None:
            self._ls[j] = self._ck
        self._ck += 1
        self._sb.append(m)
        self._try_send(now_ns, effects)
        if to_self:
            effects.append(Deliver(message))
        return effects

    def _try_send(self, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 28-36: trySend."""
        u = self._u
        while self._sb:
            m = self._sb[0]
            if self._p.first < m.per:
                return
            self._sb.popleft()
            m.flag = u.first < u.next and m.message is not None
            u.add(m)
            if m.message is not None:
                effects.append(Transmit(m.rcv, DataPacket(m.message, m.pid, m.flag)))
                self._unacked.add(m.rcv, m.mid, now_ns)
            elif u.first == m.mid:
                u.remove()  # E13: nothing is unacked before it

    def _on_message(self, j: i64, m: DataPacket, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 44-56."""
        if self._received.is_duplicate(j, m):
            effects.append(Transmit(j, Ack(m.carried.sequence)))  # line 46, E2
            return
        for b in self._received.take(j, m):  # lines 48-52
            mid = b.carried.sequence
            if b.flagged and mid > self._pw.get(j, 0):  # line 53, E8
                self._p.add((j, mid))
                self._unpermitted.add(j, mid, now_ns)
            effects.append(Deliver(b.carried))
            effects.append(Transmit(j, Ack(mid)))

    def _on_ack(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 57-70."""
        u = self._u
        if n < 1 or n > self._ls.get(j, 0):
            return  # E10: no message to j
        if n < u.first:
            effects.append(Transmit(j, Permit(n)))
            return
        if not self._unacked.answer(j, n, now_ns):
            return  # E10: to somebody else, or unsent; or acked before
        u.at(n).message = None
        if n == u.first:
            u.remove()
            while u.first < u.next:
                m = u.peek()
                if m.flag:
                    effects.append(Transmit(m.rcv, Permit(m.mid)))
                if m.message is not None:
                    return
                u.remove()

    def _on_permit(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 71-73."""
        if self._watermark and n > self._pw.get(j, 0):
            self._pw[j] = n  # E8
        if self._p.remove((j, n)):
            self._unpermitted.answer(j, n, now_ns)
            self._try_send(now_ns, effects)

    def _packet_to(self, j: i64, n: i64) -> DataPacket:  # noqa: ARG002 - it has one receiver
        m = self._u.at(n)
        assert m.message is not None, "an open id is unacked"
        return DataPacket(m.message, m.pid, m.flag)
