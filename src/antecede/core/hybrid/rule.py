"""Hybrid buffering: causal unicast and multicast with a constant number of integers per message.

A sender *flags* a copy if its receiver could not safely act on it yet, because an earlier message
(or another copy of this one) may still be undelivered elsewhere; when all of those are acknowledged
it sends the receiver a *permit*. A receiver delivers in FIFO order per sender, at once, but keeps
what it then wants to send until the permits of everything it has delivered before are there. FIFO
per pair plus this *sender permission to send* (SPS) implies causal delivery.

Paper: P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable
Causal Delivery through Hybrid Buffering": lines of its Algorithm 2 (3 for several targets) stand at
the right. Ours are release in order, SPS-optimal multicast, cumulative acks and permits (both hold
for a prefix of the sender's ids, per ordered pair), and `ask`.

    submit(J, m)      u.add(m to J, after all permits missing now); advance; release       12-18
    message(j, n)     not flagged: as permit(j, n). Delivered already: ack.                72-75
                      Previous one to us not delivered: keep it. Otherwise deliver it      76-87
                      and what waited for it, noting a missing permit for each that is
                      flagged; then ack the last.
    ack(j, n)         all copies to j up to n are acknowledged; advance                    48-52
    permit(j, n)      no permit of j up to n is missing any more; release                  88-93
    ask(j, n, low)    as ack(j, n); then permit(frontier of j), if that is not below low
    timer             transmit again what j has not acknowledged; ask for what j owes      19-24

    advance           remove what everybody has acknowledged from the front of u; pass     53-71
                      over what nobody but one process r has to acknowledge; send every
                      process the permit of its last copy that was passed, if flagged
    frontier of j     up to here everything may be permitted to j, and beyond it copies       33
                      are flagged: the front of u, or, if only j is waited for there,
                      how far was passed over
    release           from the first unsent on, transmit whole messages until one misses   25-37,
                      a permit; one to a single process does not wait for its permits      94-100

Under `rule="sps"`, the paper's own, copies leave one by one and those that miss only permits of
their own target overtake the others: optimal in each decision, and waits are unbounded. Under
"csps" nothing is exempt, and nothing is passed over but the front (Algorithm 1).

Cost: two integers and a flag per message; state linear in peers plus messages buffered, unacked and
missing permits; amortised constant time per copy of a message.

Names against the paper: `_unacked` is u, `_settled` u2, `_released` m1, `_missing` p with p2 as its
`second`; m2 is not needed, because every peer has a queue of its own copies. What is not the rule
(faces, queries, peers, expulsion) is in `node.py`, records are in `state.py`.
"""

from collections.abc import Collection
from typing import final

from mypy_extensions import i64

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.errors import RemoteError
from antecede.core.hybrid.node import (
    CSPS,
    FORGOTTEN_MIN,
    ORDERED,
    RECEIVE_LIMIT,
    RESEND_BATCH,
    RULES,
    SEND_LIMIT,
    SPS,
    HybridNode,
    Rule,
)
from antecede.core.hybrid.records import DELIVERED
from antecede.core.hybrid.state import ACKS, PERMITS, HybridPeer, SentEntry
from antecede.core.in_order import check_predecessor
from antecede.core.packets import Ack, Ask, DataPacket, Message, Packet, Permit
from antecede.core.process import Outbox
from antecede.core.retransmission import PATIENCE_NS

__all__ = [
    "CSPS", "ORDERED", "RECEIVE_LIMIT", "RESEND_BATCH", "RULES", "SEND_LIMIT", "SPS",
    "HybridProcess", "Rule",
]  # fmt: skip


@final
class HybridProcess(HybridNode):
    """The product's own protocol, under one of three rules of release."""

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(
        self,
        me: int,
        processes: Collection[int],
        *,
        rule: Rule = ORDERED,
        send_limit: int = SEND_LIMIT,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
        forgotten_min: int = FORGOTTEN_MIN,
    ) -> None:
        super().__init__(
            me,
            processes,
            rule=rule,
            send_limit=send_limit,
            receive_limit=receive_limit,
            payload_limit=payload_limit,
            patience_ns=patience_ns,
            forgotten_min=forgotten_min,
        )

    # Submit.

    def submit_into(self, targets: list[int], payload: bytes, now_ns: i64, outbox: Outbox) -> None:
        places, to_self = self._admit(targets, payload)
        message = Message(self._me, self._next_sequence, payload)
        self._next_sequence += 1
        if self._fence.expelled:
            places = self._without_expelled(places, message.sequence)
        if self._kept is not None:
            self._keep_submission(message, places)
        if len(places) > 0:
            self._append(SentEntry(message, self._missing.next, places), len(payload))
            self._advance(outbox)
            self._release(now_ns, outbox)
        if to_self:
            outbox.deliver(message)
        if self._met:
            self._notify_new_peers(now_ns, outbox)

    def arrive_into(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        if self._fence.barring and self._fence.turn_away(source, packet, outbox):
            return
        peer = self._cached_peer(source)
        if peer is None:
            if self._peer(source) is None:
                raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
            self.arrive_into(source, packet, now_ns, outbox)
            self._notify_new_peers(now_ns, outbox)
            return
        if isinstance(packet, DataPacket):
            self._on_message(peer, packet, now_ns, outbox)
        elif isinstance(packet, Ack):
            self._on_ack(peer, packet.sequence, now_ns, outbox)
        elif isinstance(packet, Permit):
            self._on_permit(peer, packet.sequence, now_ns, outbox)
        elif isinstance(packet, Ask):
            self._on_ask(peer, packet, now_ns, outbox)
        else:
            self._on_expulsion_packet(peer, packet, now_ns, outbox)

    # A message arrives.

    def _on_message(
        self, peer: HybridPeer, packet: DataPacket, now_ns: i64, outbox: Outbox
    ) -> None:
        sequence = packet.carried.sequence
        check_predecessor(peer.id, packet, peer.delivered)
        if not packet.flagged:
            self._on_permit(peer, sequence, now_ns, outbox)
        if sequence <= peer.delivered:
            outbox.transmit(peer.id, Ack(peer.delivered))
        elif packet.previous == peer.delivered:
            self._deliver_chain(peer, packet, now_ns, outbox)
        else:
            self._buffer_out_of_order(peer, packet)

    def _buffer_out_of_order(self, peer: HybridPeer, packet: DataPacket) -> None:
        if peer.early is None:
            peer.early = {}
        if len(peer.early) < self._receive_limit:
            peer.early[packet.previous] = packet

    def _deliver_chain(
        self, peer: HybridPeer, packet: DataPacket, now_ns: i64, outbox: Outbox
    ) -> None:
        following: DataPacket | None = packet
        while following is not None:
            sequence = following.carried.sequence
            peer.delivered = sequence
            missing = following.flagged and sequence > peer.permitted
            if missing:
                self._start_waiting(peer, PERMITS, now_ns)
                self._missing.add(peer.permits_owed(), sequence)
            if self._kept is not None:
                self._kept.put_three(DELIVERED, peer.id, sequence, 1 if missing else 0)
            outbox.deliver(following.carried)
            following = None if peer.early is None else peer.early.pop(sequence, None)
        if peer.early is not None and not peer.early:
            peer.early = None
        outbox.transmit(peer.id, Ack(peer.delivered))

    # An ack arrives.

    def _on_ack(self, peer: HybridPeer, sequence: i64, now_ns: i64, outbox: Outbox) -> None:
        copies = peer.copies
        if sequence > peer.last_transmitted or copies.first == peer.unsent_at:
            return
        oldest = copies.peek().sequence
        # Nobody delivers what was not sent to it: such an ack is a mistake, or a trick to make us
        # forget what is before it.
        if sequence < oldest or (sequence > oldest and copies.find(sequence) < 0):
            return
        while copies.first < peer.unsent_at and copies.peek().sequence <= sequence:
            entry = copies.remove()
            self._acknowledged(entry, peer)
            peer.acked = entry.sequence
        self._on_progress(peer, ACKS, now_ns)
        self._advance(outbox)
        # Only acknowledgements leave entries behind that are not needed.
        if self._unacked.next - self._unacked.first > 2 * self._open + self._forgotten_min:
            self._forget_acknowledged()

    def _advance(self, outbox: Outbox) -> None:
        """After an acknowledgement or an append: forget what is settled, send the permits due."""
        unacked = self._unacked
        while unacked.first < unacked.next:
            head = unacked.peek()
            if head.unacked > 0:
                if head.unacked == 1:
                    self._settle(self._roster[head.only_waits_for()])
                break
            unacked.remove()
            if self._settled < unacked.first:
                self._settled = unacked.first
            for place in head.targets:
                self._due.note(self._roster[place], head.sequence)
            if head.due_behind is not None:
                for place, sequence in head.due_behind.items():
                    self._due.note(self._roster[place], sequence)
        if self._due.first is not None:
            self._send_due(outbox)

    def _send_due(self, outbox: Outbox) -> None:
        peer = self._due.take()
        while peer is not None:
            peer.permitted_up_to = peer.due
            peer.transmit(Permit(peer.due), outbox)
            peer.due = 0
            peer = self._due.take()

    def _settle(self, waited_for: HybridPeer) -> None:
        """Pass over entries that nobody but `waited_for` may still have to acknowledge."""
        unacked = self._unacked
        stop = unacked.next if self._sps else unacked.first + 1
        while self._settled < stop:
            entry = unacked.at(self._settled)
            if not entry.is_only_unacked_by(waited_for.place):
                break
            for place in entry.targets:
                if place == waited_for.place and entry.sequence <= waited_for.last_transmitted:
                    self._due.note(waited_for, entry.sequence)
            if self._sps and entry.due_behind is not None:
                behind = entry.due_behind.pop(waited_for.place, 0)
                if behind > 0:
                    self._due.note(waited_for, behind)
            self._settled += 1

    def _frontier(self, peer: HybridPeer) -> i64:
        """The highest id up to which `peer` may be permitted everything from here."""
        unacked = self._unacked
        if unacked.first == unacked.next:
            return self._next_sequence - 1
        head = unacked.peek()
        if head.unacked > 1 or head.only_waits_for() != peer.place:
            return head.sequence - 1
        if not self._sps:
            return head.sequence
        if self._settled == unacked.next:
            return self._next_sequence - 1
        return unacked.at(self._settled).sequence - 1

    # A permit arrives, or is asked for.

    def _on_permit(self, peer: HybridPeer, sequence: i64, now_ns: i64, outbox: Outbox) -> None:
        if sequence <= peer.permitted:
            return
        peer.permitted = sequence
        owed = peer.owed_permits
        if owed is not None and self._missing.grant(owed, sequence):
            self._on_progress(peer, PERMITS, now_ns)
            self._release(now_ns, outbox)

    def _on_ask(self, peer: HybridPeer, packet: Ask, now_ns: i64, outbox: Outbox) -> None:
        if peer.last_transmitted == 0:
            return
        self._on_ack(peer, packet.delivered, now_ns, outbox)
        frontier = self._frontier(peer)
        if frontier >= packet.lowest:
            if peer.permitted_up_to < frontier:
                peer.permitted_up_to = frontier
            peer.transmit(Permit(frontier), outbox)

    def _release(self, now_ns: i64, outbox: Outbox) -> None:
        """Transmit the copies that no missing permit holds back any more."""
        unacked = self._unacked
        index = self._released
        if index < unacked.first:
            index = unacked.first
        first_missing = self._missing.first
        while index < unacked.next:
            entry = unacked.at(index)
            if entry.unsent > 0:
                if entry.permits_before > first_missing and not self._is_exempt(entry):
                    break
                for place in entry.targets:
                    peer = self._roster[place]
                    if peer.last_transmitted < entry.sequence:
                        self._transmit_first(peer, entry, now_ns, outbox)
            index += 1
        self._released = index
        if self._overtakes and first_missing < self._missing.next:
            self._release_to(self._peers[self._missing.first_sender()], now_ns, outbox)

    def _is_exempt(self, entry: SentEntry) -> bool:
        """Whether all permits missing before the head are owed by its only target."""
        return (
            self._ordered
            and len(entry.targets) == 1
            and entry.permits_before <= self._missing.second
            and self._roster[entry.targets[0]].id == self._missing.first_sender()
        )

    def _release_to(self, owing: HybridPeer, now_ns: i64, outbox: Outbox) -> None:
        """Plain SPS: what waits only for permits of its own receiver overtakes the rest."""
        while owing.unsent_at < owing.copies.next:
            entry = owing.copies.at(owing.unsent_at)
            if entry.permits_before > self._missing.second:
                break
            self._transmit_first(owing, entry, now_ns, outbox)

    def _transmit_first(
        self, peer: HybridPeer, entry: SentEntry, now_ns: i64, outbox: Outbox
    ) -> None:
        if peer.copies.first == peer.unsent_at:
            peer.acks_since_ns = now_ns
        self._alarms.start(peer, now_ns)
        previous = peer.last_transmitted
        entry.unsent -= 1
        peer.unsent_at += 1
        peer.last_transmitted = entry.sequence
        self._transmit_copy(peer, entry, previous, outbox)

    def _transmit_copy(
        self, peer: HybridPeer, entry: SentEntry, previous: i64, outbox: Outbox
    ) -> None:
        sequence = entry.sequence
        flagged = sequence > self._frontier(peer)
        if not flagged and peer.permitted_up_to < sequence:
            peer.permitted_up_to = sequence
        message = entry.message
        assert message is not None, "a copy that is not acknowledged keeps its message"
        peer.transmit(DataPacket(message, previous, flagged), outbox)

    # The timer.

    def expire_into(self, now_ns: i64, outbox: Outbox) -> None:
        for alarm in self._alarms.expired(now_ns):
            peer = self._peers[alarm.owner]
            due_since_ns = now_ns - (self._alarms.patience_ns << peer.doublings)
            if peer.awaits_acks() and peer.acks_since_ns <= due_since_ns:
                peer.acks_since_ns = now_ns
                oldest = peer.copies.first
                self._transmit_again(peer, oldest, oldest + RESEND_BATCH, outbox)
            lowest = peer.lowest_missing()
            if lowest > 0 and peer.permits_since_ns <= due_since_ns:
                peer.permits_since_ns = now_ns
                outbox.transmit(peer.id, Ask(peer.delivered, lowest))
            if peer.unnoted is not None and peer.notices_since_ns <= due_since_ns:
                peer.notices_since_ns = now_ns
                peer.transmit_notice(outbox)
            self._alarms.restart_with_backoff(peer, now_ns)
            peer.rearm()

    def _transmit_again(self, peer: HybridPeer, start: i64, stop: i64, outbox: Outbox) -> None:
        """The copies from index `start` to before `stop`, as far as they were transmitted."""
        copies = peer.copies
        previous = peer.acked if start == copies.first else copies.at(start - 1).sequence
        for index in range(start, min(stop, peer.unsent_at)):
            entry = copies.at(index)
            self._transmit_copy(peer, entry, previous, outbox)
            previous = entry.sequence
