"""Hybrid buffering: causal unicast and multicast with a constant number of integers per message.

A sender *flags* a copy if its receiver could not safely act on it yet, because an earlier message
(or another copy of this one) may still be undelivered elsewhere; when all of those are acknowledged
it sends the receiver a *permit*. A receiver delivers in FIFO order per sender, at once, but keeps
what it then wants to send until the permits of everything it has delivered before are there. FIFO
per pair plus this *sender permission to send* (SPS) implies causal delivery.

Paper: P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable
Causal Delivery through Hybrid Buffering": lines of its Algorithm 2 (3 for several targets) stand at
the right. Ours are release in order, SPS-optimal multicast, cumulative acks and permits (both hold
for a prefix of the sender's ids, per ordered pair), and `ask`. The methods below stand in the order
of this table, and the steps of each are in its docstring.

    admit(J, m)       refuse what cannot be sent; nothing has changed then
    submit(J, m)      u.add(m to J, after all permits missing now); advance; release       12-18
    message(j, n)     not flagged: as permit(j, n). Delivered already: ack.                72-75
                      Previous one to us not delivered: keep it. Otherwise deliver it      76-87
                      and what waited for it, noting a missing permit for each that is
                      flagged; then ack the last.
    ack(j, n)         all copies to j up to n are acknowledged; advance                    48-52
    permit(j, n)      no permit of j up to n is missing any more; release                  88-93
    ask(j, n, low)    as ack(j, n); then permit(frontier of j), if that is not below low
    timer             transmit again what j has not acknowledged; ask for what j owes      19-24

    advance           remove what everybody has acknowledged from the front of u; settle;  53-71
                      send every process the permit of its last copy that was settled,
                      if flagged
    settle            pass over what nobody but one process r has to acknowledge
    frontier of j     up to here everything may be permitted to j, and beyond it copies       33
                      are flagged: the front of u, or, if only j is waited for there,
                      how far was passed over
    forget            what everybody has acknowledged in the middle of u goes; the permits
                      that it leaves due are deferred to the entry before it
    release           from the first unsent on, transmit whole messages until one misses   25-37,
                      a permit; one to a single process does not wait for its permits      94-100

Under `rule="sps"`, the paper's own, copies leave one by one and those that miss only permits of
their own target overtake the others: optimal in each decision, and waits are unbounded. Under
"csps" nothing is exempt, and nothing is passed over but the front (Algorithm 1).

Cost: two integers and a flag per message; state linear in peers plus messages buffered, unacked and
missing permits; amortised constant time per copy of a message.

Names against the paper: `_unacked` is u, `_settled` u2, `_released` m1, `_missing` p with p2 as its
`second`; of a peer, `last_submitted` is ls, `delivered` ld, `permitted` pw, `early` rb and `copies`
out. m2 is not needed, because every peer has a queue of its own copies.

E4 to E15 are errata of the paper's listings (docs/protocols/paper.md).

`state.py` has what there is of a message and of a peer, and `permits.py` p; the methods called here
that change them are one step each. `records.py` has what survives a crash, and `node.py`
everything that is no rule.
"""

from abc import abstractmethod
from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from librt.vecs import append, vec
from mypy_extensions import i64

from antecede.core.checks import (
    ID_LIMIT,
    PAYLOAD_LIMIT,
    check_distinct,
    checked_payload,
    known_processes,
)
from antecede.core.errors import BufferFull, LocalError
from antecede.core.expulsion import ExpulsionProcess
from antecede.core.hybrid.permits import MissingPermits
from antecede.core.hybrid.state import (
    HybridPeer,
    Peers,
    PermitsToSend,
    SentEntry,
    SentWindow,
    TargetPlaces,
)
from antecede.core.in_order import check_predecessor
from antecede.core.packets import Ack, Ask, DataPacket, Message, Permit
from antecede.core.process import NEVER_NS, Outbox
from antecede.core.retransmission import PATIENCE_NS

SEND_LIMIT: Final = 1 << 20
"""At most 1,048,576 messages are buffered or unacknowledged; `submit` then raises BufferFull."""

RECEIVE_LIMIT: Final = 1 << 12
"""At most 4,096 messages of a source wait for a gap to close; others are dropped, to come again."""

FORGOTTEN_MIN: Final = 32
"""Up to 32 acknowledged entries may stay among the others before they are forgotten."""

RESEND_BATCH: Final = 64
"""At most 64 copies go to one peer again when its timer expires, the oldest first."""

Rule: TypeAlias = Literal["ordered", "sps", "csps"]

ORDERED: Final = "ordered"
SPS: Final = "sps"
CSPS: Final = "csps"
RULES: Final = (ORDERED, SPS, CSPS)
"""When a copy may leave: `hybrid`, `hybrid-sps` and `hybrid-csps` of the catalogue."""


class HybridRule(ExpulsionProcess):
    """The steps of the protocol, and the state that they share."""

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
        if rule not in RULES:
            raise LocalError(f"rule must be one of {', '.join(RULES)}, not {rule!r}")
        self._known: Final = known_processes(me, processes)
        self._rule: Final = rule
        self._ordered: Final = rule == ORDERED
        self._overtakes: Final = rule == SPS
        # Permits are conservative (CSPS) or not; the ordered rule shares them with SPS.
        self._sps: Final = rule != CSPS
        self._send_limit: Final[i64] = send_limit
        self._receive_limit: Final[i64] = receive_limit
        self._payload_limit: Final[i64] = payload_limit
        self._forgotten_min: Final[i64] = forgotten_min
        self._peers = Peers()
        # The entries that are not acknowledged by all, oldest first, and few others among them:
        # `_open` counts the former. Positions in it are not ids.
        self._unacked = SentWindow()
        self._open: i64 = 0
        self._open_bytes: i64 = 0
        self._next_sequence: i64 = 1
        self._settled: i64 = 1
        self._released: i64 = 1
        self._missing = MissingPermits()
        self._due = PermitsToSend()
        # The targets of the last message to several: peers keep their places for good.
        self._several: TargetPlaces | None = None
        # Last, for what is set before it is known to be there, and compiled code does not ask.
        super().__init__(me, patience_ns)

    # What survives a crash, in records.py; asked for only if there is a log of changes.

    @abstractmethod
    def _log_submission(self, message: Message, places: vec[i64]) -> None: ...

    @abstractmethod
    def _log_delivery(self, peer: HybridPeer, sequence: i64, missing: bool) -> None: ...

    @abstractmethod
    def _log_acks(self, peer: HybridPeer) -> None: ...

    @abstractmethod
    def _log_permits(self, peer: HybridPeer) -> None: ...

    # Admit.

    def _admit(self, targets: list[int], payload: bytes) -> tuple[vec[i64], bool]:
        """The places of the targets, and whether we are one of them; an error changes nothing.

        One target that was met needs nothing more; the rest is looked at one by one.
        """
        self._fence.check_running()
        checked_payload(payload, self._payload_limit)
        if self._open >= self._send_limit:
            raise BufferFull(f"{self._send_limit} messages are not acknowledged yet; try later")
        # An int of any size may be asked for, and only an id fits an i64.
        if len(targets) == 1:
            target = targets[0]
            known = self._peers.find(target) if 0 <= target < ID_LIMIT else None
            if known is not None:
                return known.alone, False
        several = self._several
        if several is not None and targets == several.targets:
            return several.places, several.to_self
        return self._places_of(targets)

    def _places_of(self, targets: list[int]) -> tuple[vec[i64], bool]:
        """J without me, and whether I am in J."""
        check_distinct(targets)
        to_self = False
        places = vec[i64]()
        for target in targets:
            peer = self._peer(target)
            if peer is not None:
                places = peer.alone if len(targets) == 1 else append(places, peer.place)
            elif target in self._known:
                to_self = True
            else:
                raise LocalError(f"unknown target {target}: it is not one of the processes")
        if len(places) > 1:
            self._several = TargetPlaces(list(targets), places, to_self)
        return places, to_self

    # Submit.

    def submit_into(self, targets: list[int], payload: bytes, now_ns: i64, outbox: Outbox) -> None:
        """ck += 1; u.add(entry, per = p.next); advance; release; deliver to oneself at once.

        Only to oneself, or to nobody who is not expelled: an id, and nothing else.
        """
        places, to_self = self._admit(targets, payload)
        message = Message(self._me, self._next_sequence, payload)
        self._next_sequence += 1
        if self._fence.expelled:
            places = self._without_expelled(places, message.sequence)
        if self._change_log is not None:
            self._log_submission(message, places)
        if len(places) > 0:
            self._append(SentEntry(message, self._missing.next, places), len(payload))
            self._advance(outbox)
            self._release(now_ns, outbox)
        if to_self:
            outbox.deliver(message)
        if self._met:
            self._notify_new_peers(now_ns, outbox)

    def _append(self, entry: SentEntry, payload_bytes: i64) -> None:
        """u.add(entry); for each of its targets: ls = its id, out += its id."""
        self._unacked.add(entry)
        self._open += 1
        self._open_bytes += payload_bytes
        for place in entry.targets:
            self._peers.all[place].submit_copy(entry)

    # A message arrives.

    def _on_message(
        self, peer: HybridPeer, packet: DataPacket, now_ns: i64, outbox: Outbox
    ) -> None:
        """A malformed chain is refused before anything changes; an unflagged n is permit(n)."""
        sequence = packet.carried.sequence
        check_predecessor(peer.id, packet, peer.delivered)
        if not packet.flagged:
            self._on_permit(peer, sequence, now_ns, outbox)
        if sequence <= peer.delivered:
            outbox.transmit(peer.id, Ack(peer.delivered))
        elif packet.previous == peer.delivered:
            self._deliver_chain(peer, packet, now_ns, outbox)
        else:
            peer.buffer_early(packet, self._receive_limit)

    def _deliver_chain(
        self, peer: HybridPeer, packet: DataPacket, now_ns: i64, outbox: Outbox
    ) -> None:
        """While ld is in rb: ld = id; a permit that has not come is missing; deliver. Then ack."""
        following: DataPacket | None = packet
        while following is not None:
            sequence = following.carried.sequence
            peer.on_delivered(sequence)
            missing = following.flagged and sequence > peer.permitted
            if missing:
                self._alarms.start(peer, now_ns)
                self._missing.add(peer.owe_permit(now_ns), sequence)
            if self._change_log is not None:
                self._log_delivery(peer, sequence, missing)
            outbox.deliver(following.carried)
            following = None if peer.early is None else peer.take_early(sequence)
        outbox.transmit(peer.id, Ack(peer.delivered))

    # An ack arrives.

    def _on_ack(self, peer: HybridPeer, sequence: i64, now_ns: i64, outbox: Outbox) -> None:
        """While the first of out is <= n: unack -= j. Then advance, and forget.

        Ignored if n was never sent to j, or if there is nothing new in it (E10).
        """
        copies = peer.copies
        if sequence > peer.last_transmitted or copies.first == peer.unsent_at:
            return
        oldest = copies.peek().sequence
        # Nobody delivers what was not sent to it: such an ack is a mistake, or a trick to make us
        # forget what is before it.
        if sequence < oldest or (sequence > oldest and copies.find(sequence) < 0):
            return
        self._take_acks(peer, peer.unsent_at, sequence)
        peer.on_acks(now_ns)
        if self._change_log is not None:
            self._log_acks(peer)
        self._advance(outbox)
        # Only acknowledgements leave entries behind that are not needed.
        if self._unacked.next - self._unacked.first > 2 * self._open + self._forgotten_min:
            self._forget_acknowledged()

    def _take_acks(self, peer: HybridPeer, stop: i64, sequence: i64) -> None:
        """The copies to `peer` up to this id are acknowledged, as far as they are before `stop`."""
        copies = peer.copies
        while copies.first < stop and copies.peek().sequence <= sequence:
            entry = peer.take_ack()
            if entry.unacked == 0:
                self._close(entry)

    def _close(self, entry: SentEntry) -> None:
        """Everybody has it: the payload is not needed any more."""
        self._open -= 1
        self._open_bytes -= entry.drop_payload()

    # A permit arrives.

    def _on_permit(self, peer: HybridPeer, sequence: i64, now_ns: i64, outbox: Outbox) -> None:
        """If n > pw: pw = n, and release if p.permit(j, n) removed something."""
        if sequence <= peer.permitted:
            return
        peer.on_permitted(sequence)
        owed = peer.owed_permits
        if owed is not None and self._missing.grant(owed, sequence):
            peer.on_permits(now_ns)
            if self._change_log is not None:
                self._log_permits(peer)
            self._release(now_ns, outbox)

    # Permits are asked for.

    def _on_ask(self, peer: HybridPeer, packet: Ask, now_ns: i64, outbox: Outbox) -> None:
        """As ack(n); then the permit as far as it goes, if that is what is missing (E15)."""
        if peer.last_transmitted == 0:
            return
        self._on_ack(peer, packet.delivered, now_ns, outbox)
        frontier = self._frontier(peer)
        if frontier >= packet.lowest:
            peer.raise_permitted_up_to(frontier)
            peer.transmit(Permit(frontier), outbox)

    # The timer.

    def expire_into(self, now_ns: i64, outbox: Outbox) -> None:
        """Messages again, with their present flags; asks; notices of expulsions again."""
        for alarm in self._alarms.expired(now_ns):
            peer = self._peers.known(alarm.owner)
            due_since_ns = now_ns - (self._alarms.patience_ns << peer.doublings)
            if peer.restart_acks(due_since_ns, now_ns):
                oldest = peer.copies.first
                self._transmit_again(peer, oldest, oldest + RESEND_BATCH, outbox)
            if peer.restart_permits(due_since_ns, now_ns):
                outbox.transmit(peer.id, Ask(peer.delivered, peer.lowest_missing()))
            if peer.restart_notices(due_since_ns, now_ns):
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

    # Advance.

    def _advance(self, outbox: Outbox) -> None:
        """After an ack or an append: while nobody has to acknowledge the head of u, remove it.

        Its permits are due, and those deferred to it. If one process alone has to, settle.
        """
        unacked = self._unacked
        while unacked.first < unacked.next:
            head = unacked.peek()
            if head.unacked > 0:
                if head.unacked == 1:
                    self._settle(self._peers.all[head.only_waits_for()])
                break
            unacked.remove()
            if self._settled < unacked.first:
                self._settled = unacked.first
            for place in head.targets:
                self._due.note(self._peers.all[place], head.sequence)
            if head.deferred_permits is not None:
                for place, sequence in head.deferred_permits.items():
                    self._due.note(self._peers.all[place], sequence)
        if self._due.first is not None:
            self._send_due(outbox)

    def _send_due(self, outbox: Outbox) -> None:
        """One permit to each: it covers all ids before it (E7)."""
        peer = self._due.take()
        while peer is not None:
            peer.transmit(Permit(peer.permitted_up_to), outbox)
            peer = self._due.take()

    def _settle(self, waited_for: HybridPeer) -> None:
        """While nobody but r has to acknowledge u[u2]: the permit of r is due; u2 += 1.

        `stop` is the end of u; under CSPS it is the entry behind the head.
        """
        unacked = self._unacked
        stop = unacked.next if self._sps else unacked.first + 1
        while self._settled < stop:
            entry = unacked.at(self._settled)
            if not entry.is_only_unacked_by(waited_for.place):
                break
            for place in entry.targets:
                if place == waited_for.place and entry.sequence <= waited_for.last_transmitted:
                    self._due.note(waited_for, entry.sequence)
            if self._sps and entry.deferred_permits is not None:
                deferred = entry.take_deferred_permit(waited_for.place)
                if deferred > 0:
                    self._due.note(waited_for, deferred)
            self._settled += 1

    def _frontier(self, peer: HybridPeer) -> i64:
        """The highest id up to which `peer` may be permitted everything from here.

        The one before u[u2] if nobody but j has to acknowledge the head of u, and the one before
        the head otherwise; the one that was submitted last if there is no such entry.
        """
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

    # Forget.

    def _forget_acknowledged(self) -> None:
        """Remove the entries that everybody has acknowledged behind the head; few stay at a time.

        What it costs is paid by the acks since the last time: as many as there are entries.
        """
        unacked = self._unacked
        remaining = SentWindow()
        settled: i64 = 0
        released: i64 = 0
        before = unacked.peek()
        index = unacked.first
        while index < unacked.next:
            entry = unacked.at(index)
            if index == self._settled:
                settled = remaining.next
            if index == self._released:
                released = remaining.next
            if entry.unacked > 0:
                remaining.add(entry)
                before = entry
            else:
                self._defer_permits(entry, before)
            index += 1
        self._unacked = remaining
        self._settled = settled if settled > 0 else remaining.next
        self._released = released if released > 0 else remaining.next

    def _defer_permits(self, forgotten: SentEntry, before: SentEntry) -> None:
        """The permits that `forgotten` leaves due come once the entry `before` it is settled."""
        for place in forgotten.targets:
            if forgotten.sequence > self._peers.all[place].permitted_up_to:
                before.defer_permit(place, forgotten.sequence)
        if forgotten.deferred_permits is not None:
            for at, sequence in forgotten.deferred_permits.items():
                before.defer_permit(at, sequence)

    def _forget_given_up(self) -> None:
        """Entries that will never leave go: what is left among the unsent ones waits."""
        if len(self._unacked) > self._open > 0:
            self._forget_acknowledged()

    # Release.

    def _release(self, now_ns: i64, outbox: Outbox) -> None:
        """From m1 on: stop at an entry with per > p.first, unless it is exempt; else first_send.

        Whole messages, and never past one with unsent copies; under SPS single copies overtake.
        """
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
                if len(entry.targets) > 1:
                    self._transmit_to_several(entry, now_ns, outbox)
                else:
                    self._transmit_first(self._peers.all[entry.targets[0]], entry, now_ns, outbox)
            index += 1
        self._released = index
        if self._overtakes and first_missing < self._missing.next:
            self._release_to(self._peers.known(self._missing.first_sender()), now_ns, outbox)

    def _is_exempt(self, entry: SentEntry) -> bool:
        """Whether all permits missing before the head are owed by its only target."""
        return (
            self._ordered
            and len(entry.targets) == 1
            and entry.permits_before <= self._missing.second
            and self._peers.all[entry.targets[0]].id == self._missing.first_sender()
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
        """first_send(entry, j): unsent -= j, then the copy."""
        self._alarms.start(peer, now_ns)
        previous = peer.transmit_first(entry, now_ns)
        self._transmit_copy(peer, entry, previous, outbox)

    def _transmit_to_several(self, entry: SentEntry, now_ns: i64, outbox: Outbox) -> None:
        """first_send to each that it was not sent to; copies that are alike share a packet."""
        packet: DataPacket | None = None
        for place in entry.targets:
            peer = self._peers.all[place]
            if peer.last_transmitted < entry.sequence:
                self._alarms.start(peer, now_ns)
                previous = peer.transmit_first(entry, now_ns)
                packet = self._transmit_copy(peer, entry, previous, outbox, packet)

    def _transmit_copy(
        self,
        peer: HybridPeer,
        entry: SentEntry,
        previous: i64,
        outbox: Outbox,
        like: DataPacket | None = None,
    ) -> DataPacket:
        """Flagged if its permit does not hold yet, also when it is transmitted again.

        A packet `like` this one that has left for another is this one.
        """
        sequence = entry.sequence
        flagged = sequence > self._frontier(peer)
        if not flagged:
            peer.raise_permitted_up_to(sequence)
        if like is None or like.previous != previous or like.flagged != flagged:
            message = entry.message
            assert message is not None, "a copy that is not acknowledged keeps its message"
            like = DataPacket(message, previous, flagged)
        peer.transmit(like, outbox)
        return like

    # Without a peer: gone for good, or expelled.

    def _give_up(self, peer: HybridPeer) -> list[int]:
        """Its acks count as given; the ids of ours that it has not acknowledged, oldest first."""
        given_up = peer.abandon()
        for entry in given_up:
            if entry.unacked == 0:
                self._close(entry)
        return [int(entry.sequence) for entry in given_up]

    def _give_up_expelled(self, process: i64) -> None:
        """Everything to and from an expelled process, but for the permits that it owes."""
        peer = self._peers.get(process)
        if peer is None:
            self._fence.report_expelled(process, 0, [])
            return
        peer.on_expelled()
        unconfirmed = self._give_up(peer)
        self._fence.report_expelled(process, peer.delivered, unconfirmed)

    def _waive_permits(self, process: i64) -> None:
        """The permits that it owes count as given."""
        peer = self._peers.get(process)
        if peer is not None and peer.owed_permits is not None:
            self._missing.grant(peer.owed_permits, NEVER_NS)
            peer.rearm()

    def _without_expelled(self, places: vec[i64], sequence: i64) -> vec[i64]:
        targets = [int(self._peers.all[place].id) for place in places]
        spared = self._fence.without_expelled(targets, sequence)
        return vec[i64]([self._peers.known(process).place for process in spared])

    # Who is there.

    def _peer(self, process: int) -> HybridPeer | None:
        """The record of another process, or None if there is no such process."""
        peer = self._peers.get(process)
        # Membership first: an int of any size may be asked for, and only a known one fits an i64.
        if peer is None and process in self._known and process != self._me:
            peer = self._meet(process)
        return peer

    def _meet(self, process: i64) -> HybridPeer:
        peer = self._peers.add(process)
        self._on_new_peer(peer)
        return peer

    # After a crash: see records.py.

    def _count_from(self, sequence: i64) -> None:
        """Ids up to this one are taken."""
        if self._next_sequence <= sequence:
            self._next_sequence = sequence + 1
