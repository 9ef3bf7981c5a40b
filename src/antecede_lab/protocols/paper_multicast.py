"""The basic multicast algorithm with hybrid buffering, conservative (CSPS): Algorithm 3.

As the basic algorithm, but a message has a set of receivers and counts as acked when all of them
have acked it; and as every receiver may act on it before the others have it, a message to more
than one is always flagged, and its permits wait for its own acks too. Sending it as a sequence of
unicasts instead would not be causal.

Paper: P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable
Causal Delivery through Hybrid Buffering", section "Causal multicast".
Cost: two integers and a flag per copy; amortised constant time per copy.

Names are the listing's; lines marked "1:" are those of Algorithm 1, of which the paper lists only
the differences. What differs, or the listing would not run, is what differs in `paper_basic` and:
a `pid` per receiver, read before `ls` changes (E9); a repeated ack changes nothing (E11); a
message with no receiver but its sender is acked from the start (E12, E13); and the permit goes to
the one receiver whose ack is the only one missing, or a unicast would wait a round trip longer
than in Algorithm 1 (E14).
"""

from collections import deque
from collections.abc import Collection, Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.checks import (
    PAYLOAD_LIMIT,
    check_room,
    checked_payload,
    checked_targets,
    split_targets,
)
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.packets import Ack, DataPacket, Message, Permit
from antecede.core.retransmission import PATIENCE_NS
from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.paper_node import PaperNode
from antecede_lab.protocols.sliding_maps import SlidingMap

NOBODY: Final = -1


@final
class Msg:
    """Record Msg, with its receivers in the order of the targets."""

    MADE_OF: ClassVar = ("rcv", "mid", "pid", "per", "message")

    __slots__ = ("flag", "message", "mid", "per", "permitted", "pid", "rcv", "unack")

    def __init__(
        self, rcv: list[int], mid: i64, pid: dict[int, int], per: i64, message: Message | None
    ) -> None:
        self.rcv: Final = rcv
        self.unack: dict[int, bool] = dict.fromkeys(rcv, True)
        self.mid: Final[i64] = mid
        self.pid: Final = pid  # E9: per receiver
        self.per: Final[i64] = per
        self.flag = False
        self.permitted: i64 = NOBODY  # E14: who has had its permit before the others
        self.message = message  # None once acked by all: the listing's pl = bottom

    def packet_to(self, receiver: i64) -> DataPacket:
        """The copy for one receiver."""
        assert self.message is not None, "somebody has not acked it"
        return DataPacket(self.message, self.pid[receiver], self.flag)

    def state(self) -> object:
        """Equal records, equal values."""
        tag = (self.mid, list(self.pid.items()), self.per, self.flag, self.permitted)
        return tag, sorted(self.unack), self.message


@final
class PaperMulticastProcess(PaperNode):
    """Algorithm 3 at process i."""

    STATE: ClassVar[tuple[str, ...]] = ("_me", "_ck", "_u", "_ls", "_sb", "_p", "_pw", "_received")

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
        self._ck: i64 = 1  # 1:21, clock for message ids, E1
        self._u: SlidingArray[Msg] = SlidingArray()  # 1:22, unacked messages, by id
        self._p: SlidingMap[tuple[int, int]] = SlidingMap()  # 1:23, missing permits (snd, mid)
        self._sb: deque[Msg] = deque()  # 1:26, send buffer

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        """Lines 17-23: causalSend."""
        receivers, to_self = split_targets(checked_targets(targets), self._me, self._known)
        message = Message(self._me, self._ck, checked_payload(payload, self._payload_limit))
        check_room(self._ck - self._u.first, self._send_limit)
        effects: list[Effect] = []
        pid = {j: self._ls.get(j, 0) for j in receivers}  # E9
        carried = message if receivers else None  # E12, E13: acked from the start
        m = Msg(receivers, self._ck, pid, self._p.next, carried)
        for j in receivers:
            self._ls[j] = self._ck
        self._ck += 1
        self._sb.append(m)
        self._try_send(now_ns, effects)
        if to_self:
            effects.append(Deliver(message))
        return effects

    def _try_send(self, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 7-16: trySend."""
        u = self._u
        while self._sb:
            m = self._sb[0]
            if self._p.first < m.per:
                return
            self._sb.popleft()
            m.flag = u.first < u.next or len(m.rcv) > 1
            u.add(m)
            for j in m.rcv:
                effects.append(Transmit(j, m.packet_to(j)))
                self._unacked.add(j, m.mid, now_ns)
            if m.message is None and u.first == m.mid:
                u.remove()  # E13: nothing is unacked before it

    def _on_message(self, j: i64, m: DataPacket, now_ns: i64, effects: list[Effect]) -> None:
        """1:44-56, unchanged."""
        if self._received.is_duplicate(j, m):
            effects.append(Transmit(j, Ack(m.carried.sequence)))  # 1:46, E2
            return
        for b in self._received.take(j, m):  # 1:48-52
            mid = b.carried.sequence
            if b.flagged and mid > self._pw.get(j, 0):  # 1:53, E8
                self._p.add((j, mid))
                self._unpermitted.add(j, mid, now_ns)
            effects.append(Deliver(b.carried))
            effects.append(Transmit(j, Ack(mid)))

    def _on_ack(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 24-39."""
        u = self._u
        if n < 1 or n > self._ls.get(j, 0):
            return  # E10: no message to j
        if n < u.first:
            effects.append(Transmit(j, Permit(n)))
            return
        if not self._unacked.answer(j, n, now_ns):
            return  # E10: not to j, or unsent; E11: acked by j before
        acked = u.at(n)
        del acked.unack[j]
        if not acked.unack:
            acked.message = None
        if n == u.first:
            self._remove_acked(effects)

    def _remove_acked(self, effects: list[Effect]) -> None:
        """Lines 32-39, and the permit to the one whose ack is the only one missing (E14)."""
        u = self._u
        while u.first < u.next:
            m = u.peek()
            if m.message is not None:
                if m.flag and len(m.unack) == 1:
                    m.permitted = next(iter(m.unack))
                    effects.append(Transmit(m.permitted, Permit(m.mid)))
                return
            if m.flag:
                for j in m.rcv:
                    if j != m.permitted:
                        effects.append(Transmit(j, Permit(m.mid)))
            u.remove()

    def _on_permit(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None:
        """1:71-73, unchanged."""
        if n > self._pw.get(j, 0):
            self._pw[j] = n  # E8
        if self._p.remove((j, n)):
            self._unpermitted.answer(j, n, now_ns)
            self._try_send(now_ns, effects)

    def _packet_to(self, j: i64, n: i64) -> DataPacket:
        return self._u.at(n).packet_to(j)
