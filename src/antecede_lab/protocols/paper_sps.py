"""The SPS-optimal algorithm with hybrid buffering, unicast: Algorithm 2.

It does better than the basic algorithm wherever only one other process matters: a message to j
needs no permit for what is unacked by j alone, gets its permit as soon as only j's acks are
missing, and leaves for j although permits from j are missing. Messages then no longer leave in
the order in which they were submitted, so one unified buffer holds the unsent and the unacked,
with four indexes into it and into the missing permits that only ever move forward.

Paper: P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable
Causal Delivery through Hybrid Buffering", section "An SPS-optimal algorithm".
Cost: two integers and a flag per message; amortised constant time.

Names and line numbers are the listing's. What differs, or the listing would not run, is what
differs in `paper_basic` and: the index `per` and the boolean `flag` are two fields (E3); `u2`
follows a message appended behind it (E4); `m2` never falls behind `m1` (E5, E6); a permit is sent
once (E7).
"""

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
from antecede_lab.protocols.sliding_maps import IndexedSlidingMap


@final
class Msg:
    """Record Msg of the unified buffer: unsent, then sent, then acked."""

    MADE_OF: ClassVar = ("rcv", "mid", "pid", "per", "message")

    __slots__ = ("flag", "message", "mid", "per", "pid", "rcv", "sent")

    def __init__(self, rcv: i64, mid: i64, pid: i64, per: i64, message: Message | None) -> None:
        self.rcv: Final[i64] = rcv
        self.mid: Final[i64] = mid
        self.pid: Final[i64] = pid
        self.per: Final[i64] = per
        self.flag = False  # E3
        self.message = message  # None once acked: the listing's pl = bottom
        self.sent = message is None  # E13: a message to oneself never leaves


@final
class PaperSpsProcess(PaperNode):
    """Algorithm 2 at process i."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_me",
        "_u",
        "_p",
        "_p2",
        "_m1",
        "_m2",
        "_u2",
        "_ls",
        "_pw",
        "_received",
    )

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
        # Lines 1-11. The clock ck is u.next: every id is in the unified buffer at once.
        self._u: SlidingArray[Msg] = SlidingArray()
        self._p: IndexedSlidingMap[tuple[int, int]] = IndexedSlidingMap()
        self._p2: i64 = 1  # first permit from another sender than the first
        self._m1: i64 = 1  # first buffered message
        self._m2: i64 = 1  # first message requiring p2
        self._u2: i64 = 1  # first unacked message to another receiver than the first

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        """Lines 12-18: causalSend."""
        u = self._u
        j, to_self = unicast_receiver(targets, self._me, self._known)
        k = u.next
        message = Message(self._me, k, checked_payload(payload, self._payload_limit))
        check_room(k - u.first, self._send_limit)
        effects: list[Effect] = []
        carried = message if j != self._me else None  # E13: acked from the start
        m = Msg(j, k, self._ls.get(j, 0), self._p.next, carried)
        if carried is not None:
            self._ls[j] = k
        u.add(m)
        if self._u2 == k and (carried is None or j == u.peek().rcv):
            self._u2 = k + 1  # E4
        self._send_interval(k, self._p2, now_ns, effects)
        if u.peek().message is None:
            u.remove()  # E13: nothing is unacked before it
        if to_self:
            effects.append(Deliver(message))
        return effects

    def _send_interval(self, k: i64, p: i64, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 25-37: sendInterval."""
        u = self._u
        p1 = self._p.first
        s = self._p.peek()[0] if p1 < self._p.next else -1
        r = u.peek().rcv if u.first < u.next else -1
        while k < u.next and u.at(k).per <= p:
            m = u.at(k)
            if m.message is not None and not m.sent and (m.per <= p1 or m.rcv == s):
                m.sent = True
                m.flag = self._u2 < k or m.rcv != r
                effects.append(Transmit(m.rcv, DataPacket(m.message, m.pid, m.flag)))
                self._unacked.add(m.rcv, m.mid, now_ns)
            k += 1
        while self._m1 < u.next and u.at(self._m1).sent:
            self._m1 += 1

    def _update_p2_m2(self) -> None:
        """Lines 38-47: updateP2M2."""
        u = self._u
        p = self._p
        if p.first == p.next:
            return
        s = p.peek()[0]
        while self._p2 < p.next:
            missing = p[self._p2]
            if missing is not None and missing[0] != s:
                break
            self._p2 += 1
        while self._m2 < u.next and u.at(self._m2).per <= self._p2:
            self._m2 += 1

    def _on_ack(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 48-62, then 63-71 in `_move_u2`."""
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
                if m.sent and m.flag and m.rcv != j:
                    send_permit(m, effects)
                if m.message is not None:
                    break
                u.remove()
            n = u.first
        if n == self._u2 and n < u.next:
            self._move_u2(u.peek().rcv, effects)

    def _move_u2(self, r: i64, effects: list[Effect]) -> None:
        """Lines 65-71."""
        u = self._u
        while self._u2 < u.next:
            m = u.at(self._u2)
            if m.message is not None and m.rcv != r:
                break
            if m.sent and m.flag and m.rcv == r:
                send_permit(m, effects)
            self._u2 += 1

    def _on_message(self, j: i64, m: DataPacket, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 72-87."""
        if self._received.is_duplicate(j, m):
            effects.append(Transmit(j, Ack(m.carried.sequence)))  # line 74, E2
            return
        for r in self._received.take(j, m):  # lines 76-80
            mid = r.carried.sequence
            if r.flagged and mid > self._pw.get(j, 0):  # line 81, E8
                k = self._p.next
                self._p.add((j, mid))
                self._unpermitted.add(j, mid, now_ns)
                if self._p2 == k and j == self._p.peek()[0]:
                    self._p2 = k + 1
            effects.append(Deliver(r.carried))
            effects.append(Transmit(j, Ack(mid)))

    def _on_permit(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None:
        """Lines 88-100."""
        if n > self._pw.get(j, 0):
            self._pw[j] = n  # E8
        k = self._p.index((j, n))
        if k is None:
            return
        p1 = self._p.first
        self._p.remove((j, n))
        self._unpermitted.answer(j, n, now_ns)
        if k == p1:
            k = self._p.first
            self._send_interval(self._m1, k, now_ns, effects)
        if k == self._p2:
            if self._m2 < self._m1:
                self._m2 = self._m1  # E5, E6
            start = self._m2
            self._update_p2_m2()
            self._send_interval(start, self._p2, now_ns, effects)

    def _packet_to(self, j: i64, n: i64) -> DataPacket:  # noqa: ARG002 - it has one receiver
        m = self._u.at(n)
        assert m.message is not None, "an open id is unacked"
        return DataPacket(m.message, m.pid, m.flag)


def send_permit(m: Msg, effects: list[Effect]) -> None:
    """The permit of `m`, once (E7)."""
    m.flag = False
    effects.append(Transmit(m.rcv, Permit(m.mid)))
