"""Hybrid buffering: causal unicast and multicast with a constant number of integers per message.

A sender flags a copy if its receiver could not safely act on it yet, because an earlier message (or
another copy of this one) may still be undelivered elsewhere; when all of those are acknowledged it
sends the receiver a *permit*. A receiver delivers in FIFO order per sender, at once, but keeps what
it then wants to send in a buffer until the permits of everything it has delivered before are there.
FIFO per pair plus this *sender permission to send* (SPS) implies causal delivery. Messages leave
whole and in the order of their submission (`rule="ordered"`), which bounds every wait; the paper's
own rule ("sps") lets copies overtake and is optimal in each decision, but unbounded.

Paper: P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable
Causal Delivery through Hybrid Buffering", extended by SPS-optimal multicast and by cumulative acks
and permits (both hold for a prefix of the sender's ids, per ordered pair of processes).
Cost: two integers and a flag per message; state linear in peers plus messages buffered, unacked and
missing permits; amortised constant time per copy of a message.

Names against the paper: `_unacked` is u, `_settled` u2, `_released` m1, `_missing` p with p2 as its
`second`; m2 is not needed, because every peer has a queue of its own copies.
"""

from collections.abc import Collection, Sequence
from typing import Final, Literal, Self, TypeAlias, final

from mypy_extensions import i64

from antecede.core.alarms import PATIENCE_NS, Alarms
from antecede.core.checks import (
    PAYLOAD_LIMIT,
    check_distinct,
    checked_payload,
    checked_targets,
    known_processes,
)
from antecede.core.effects import Effect
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.in_order import check_chain
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.permits import Debt, MissingPermit, MissingPermits
from antecede.core.process import NEVER_NS, EffectList, HeldBack, NodeProcess, Outbox
from antecede.core.protocols.hybrid_state import (
    Entry,
    Peer,
    find_copy,
    find_from,
    holding_back,
    note_due,
)
from antecede.core.sliding import SlidingArray
from antecede.core.values import Message, Packet

SEND_LIMIT: Final = 1 << 20
"""Messages that may be buffered or unacknowledged at once; beyond it `submit` raises BufferFull."""

RECEIVE_LIMIT: Final = 1 << 12
"""Messages of one source held for a gap to close; beyond it packets are dropped, and come again."""

FORGOTTEN_MIN: Final = 32
"""Acknowledged entries among the others that may stay without a look at whether to forget them."""

RESEND_BATCH: Final = 64
"""Copies transmitted again to one peer when its alarm rings, oldest first."""


Rule: TypeAlias = Literal["ordered", "sps", "csps"]

ORDERED: Final = "ordered"
SPS: Final = "sps"
CSPS: Final = "csps"
RULES: Final = (ORDERED, SPS, CSPS)
"""When a copy may leave: `hybrid`, `hybrid-sps` and `hybrid-csps` of the catalogue."""


@final
class HybridProcess(NodeProcess):
    """The product's own protocol, under one of three rules of release."""

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
    ) -> None:
        # Peers come into being at first contact: state follows who talks, not who exists.
        self._known: Final = known_processes(me, processes)
        self._me: Final[i64] = me
        if rule not in RULES:
            raise LocalError(f"rule must be one of {', '.join(RULES)}, not {rule!r}")
        self._rule: Final = rule
        self._ordered: Final = rule == ORDERED
        self._overtakes: Final = rule == SPS
        # Permits are conservative (CSPS) or not; the ordered rule shares them with SPS.
        self._sps: Final = rule != CSPS
        self._send_limit: Final[i64] = send_limit
        self._receive_limit: Final[i64] = receive_limit
        self._payload_limit: Final[i64] = payload_limit
        self._peers: dict[int, Peer] = {}
        self._roster: list[Peer] = []
        # The entries that are not acknowledged by all, oldest first, and few others among them:
        # `_open` counts the former. Positions in it are not ids.
        self._unacked: SlidingArray[Entry] = SlidingArray()
        self._open: i64 = 0
        self._open_bytes: i64 = 0
        self._next_sequence: i64 = 1
        self._settled: i64 = 1
        self._released: i64 = 1
        self._missing = MissingPermits()
        # Peers with a permit due; empty between any two steps.
        self._due: list[Peer] = []
        self._alarms = Alarms(patience_ns)

    # The public face.

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        ids = checked_targets(targets)
        self.submit_into(ids, checked_payload(payload, self._payload_limit), now_ns, outbox)
        return outbox.effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        if self._peer(source) is None:  # It may not even fit an i64.
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        self.arrive_into(source, packet, now_ns, outbox)
        return outbox.effects

    def expire(self, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        self.expire_into(now_ns, outbox)
        return outbox.effects

    def deadline_ns(self) -> int | None:
        wake_ns = self._alarms.next_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    # What a runtime needs beyond the contract.

    def add_process(self, process: int) -> None:
        known_processes(process, [process])
        if process in self._known or process in self._peers:
            raise LocalError(f"process {process} is known already")
        self._add_peer(process)

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        peer = self._peers.get(target)
        if peer is None:
            return
        start = find_from(peer.copies, first)
        stop = find_from(peer.copies, last + 1)
        self._transmit_again(peer, start, stop, outbox)

    def forget_into(self, target: int, now_ns: i64, outbox: Outbox) -> list[int]:
        peer = self._peer(target)
        if peer is None:
            raise LocalError(f"process {target} is not one of the others")
        given_up = peer.abandon()
        for entry in given_up:
            self._acknowledged(entry, peer)
        self._advance(outbox)
        self._release(now_ns, outbox)
        return [int(entry.sequence) for entry in given_up]

    def waiting(self) -> list[HeldBack]:
        held: list[HeldBack] = []
        missing = self._missing.missing()
        before_it: list[MissingPermit] = []
        for entry in self._unacked:
            if entry.unsent == 0:
                continue
            targets = [self._roster[place] for place in entry.targets]
            if self._ordered:
                # The message before it leaves first, so it waits for the same permits, too.
                alone = targets[0].id if len(targets) == 1 else self._me
                own = holding_back(entry, missing, alone)
                before_it = [permit for permit in missing if permit in own or permit in before_it]
            for peer in targets:
                if peer.last_transmitted < entry.sequence:
                    exempt = peer.id if self._sps else self._me
                    owed = before_it if self._ordered else holding_back(entry, missing, exempt)
                    names = [(int(permit.sender), int(permit.sequence)) for permit in owed]
                    held.append(HeldBack(entry.sequence, peer.id, names))
        return held

    def buffered(self) -> int:
        return self._open

    def buffered_bytes(self) -> int:
        return self._open_bytes

    def oldest(self) -> i64:
        unacked = self._unacked
        return unacked.peek().sequence if unacked.first < unacked.next else self._next_sequence

    def owes(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else len(peer.copies)

    def expected(self, source: int) -> tuple[int, int]:
        peer = self._peers.get(source)
        if peer is None:
            return 0, 0
        return int(peer.delivered), 0 if peer.early is None else len(peer.early)

    def frontier(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else int(self._frontier(peer))

    # The same for drivers on a hot path.

    def submit_into(self, targets: list[int], payload: bytes, now_ns: i64, outbox: Outbox) -> None:
        check_distinct(targets)
        checked_payload(payload, self._payload_limit)
        if self._open >= self._send_limit:
            raise BufferFull(f"{self._send_limit} messages are not acknowledged yet; try later")
        to_self = False
        places: list[int] = []
        for target in targets:
            peer = self._peer(target)
            if peer is not None:
                if len(targets) == 1:
                    places = peer.alone
                else:
                    places.append(peer.place)
            elif target in self._known:
                to_self = True
            else:
                raise LocalError(f"unknown target {target}: it is not one of the processes")
        message = Message(self._me, self._next_sequence, payload)
        self._next_sequence += 1
        if places:
            self._append(message, places)
            self._advance(outbox)
            self._release(now_ns, outbox)
        if to_self:
            outbox.deliver(message)

    def _append(self, message: Message, places: list[int]) -> None:
        entry = Entry(message, self._missing.next, places)
        self._unacked.add(entry)
        self._open += 1
        self._open_bytes += len(message.payload)
        for place in places:
            peer = self._roster[place]
            peer.last_submitted = message.sequence
            peer.copies.add(entry)

    def arrive_into(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        peer = self._peer(source)
        if peer is None:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, DataPacket):
            self._on_message(peer, packet, now_ns, outbox)
        elif isinstance(packet, Ack):
            self._on_ack(peer, packet.sequence, now_ns, outbox)
        elif isinstance(packet, Permit):
            self._on_permit(peer, packet.sequence, now_ns, outbox)
        elif isinstance(packet, Ask):
            self._on_ask(peer, packet, now_ns, outbox)
        else:
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")

    def expire_into(self, now_ns: i64, outbox: Outbox) -> None:
        for alarm in self._alarms.ringing(now_ns):
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
            self._alarms.again(peer, now_ns)
            peer.watch()

    def wake_ns(self) -> i64:
        return self._alarms.next_ns()

    def _peer(self, process: int) -> Peer | None:
        """The record of another process, or None if there is no such process."""
        peer = self._peers.get(process)
        # Membership first: an int of any size may be asked for, and only a known one fits an i64.
        if peer is None and process in self._known and process != self._me:
            peer = self._add_peer(process)
        return peer

    def _add_peer(self, process: i64) -> Peer:
        peer = Peer(process, len(self._roster))
        self._peers[process] = peer
        self._roster.append(peer)
        return peer

    # Sending: what leaves, with which flag, and when permits for it are due.

    def _frontier(self, peer: Peer) -> i64:
        """The highest id up to which `peer` may be permitted everything from here."""
        unacked = self._unacked
        if unacked.first == unacked.next:
            return self._next_sequence - 1
        head = unacked.peek()
        if head.unacked > 1 or head.unacked_key != peer.place:
            return head.sequence - 1
        if not self._sps:
            return head.sequence
        if self._settled == unacked.next:
            return self._next_sequence - 1
        return unacked.at(self._settled).sequence - 1

    def _advance(self, outbox: Outbox) -> None:
        """After an acknowledgement or an append: forget what is settled, send the permits due."""
        unacked = self._unacked
        while unacked.first < unacked.next and unacked.peek().unacked == 0:
            entry = unacked.remove()
            for place in entry.targets:
                note_due(self._roster[place], entry.sequence, self._due)
            if entry.due_behind is not None:
                for place, sequence in entry.due_behind.items():
                    note_due(self._roster[place], sequence, self._due)
        if self._settled < unacked.first:
            self._settled = unacked.first
        if unacked.first < unacked.next:
            head = unacked.peek()
            if head.unacked == 1:
                self._settle(self._roster[head.unacked_key])
        if self._due:
            self._transmit_permits(outbox)
        if unacked.next - unacked.first > 2 * self._open + FORGOTTEN_MIN:
            self._forget_acknowledged()

    def _forget_acknowledged(self) -> None:
        """Let go of entries that everybody has acknowledged but older ones keep from settling."""
        unacked = self._unacked
        kept: SlidingArray[Entry] = SlidingArray()
        settled: i64 = 0
        released: i64 = 0
        before = unacked.peek()
        index = unacked.first
        while index < unacked.next:
            entry = unacked.at(index)
            if index == self._settled:
                settled = kept.next
            if index == self._released:
                released = kept.next
            if entry.unacked > 0:
                kept.add(entry)
                before = entry
            else:
                before.absorb(entry, self._roster)
            index += 1
        self._unacked = kept
        self._settled = settled if settled > 0 else kept.next
        self._released = released if released > 0 else kept.next

    def _transmit_permits(self, outbox: Outbox) -> None:
        for peer in self._due:
            peer.covered = peer.due
            outbox.transmit(peer.id, Permit(peer.due))
            peer.due = 0
        self._due.clear()

    def _settle(self, waited_for: Peer) -> None:
        """Pass over entries that nobody but `waited_for` may still have to acknowledge."""
        unacked = self._unacked
        stop = unacked.next if self._sps else unacked.first + 1
        while self._settled < stop:
            entry = unacked.at(self._settled)
            if not entry.only_unacked_by(waited_for.place):
                break
            for place in entry.targets:
                if place == waited_for.place and entry.sequence <= waited_for.last_transmitted:
                    note_due(waited_for, entry.sequence, self._due)
            if self._sps and entry.due_behind is not None:
                behind = entry.due_behind.pop(waited_for.place, 0)
                if behind > 0:
                    note_due(waited_for, behind, self._due)
            self._settled += 1

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

    def _is_exempt(self, entry: Entry) -> bool:
        """Whether all permits missing before the head are owed by its only target."""
        return (
            self._ordered
            and len(entry.targets) == 1
            and entry.permits_before <= self._missing.second
            and self._roster[entry.targets[0]].id == self._missing.first_sender()
        )

    def _release_to(self, owing: Peer, now_ns: i64, outbox: Outbox) -> None:
        """Plain SPS: what waits only for permits of its own receiver overtakes the rest."""
        while owing.unsent_at < owing.copies.next:
            entry = owing.copies.at(owing.unsent_at)
            if entry.permits_before > self._missing.second:
                break
            self._transmit_first(owing, entry, now_ns, outbox)

    def _transmit_first(self, peer: Peer, entry: Entry, now_ns: i64, outbox: Outbox) -> None:
        previous = peer.last_transmitted
        if not peer.awaits_acks():
            peer.acks_since_ns = now_ns
        entry.unsent -= 1
        peer.unsent_at += 1
        peer.last_transmitted = entry.sequence
        self._transmit_copy(peer, entry, previous, outbox)
        self._alarms.start(peer, now_ns)

    def _transmit_copy(self, peer: Peer, entry: Entry, previous: i64, outbox: Outbox) -> None:
        sequence = entry.sequence
        flagged = sequence > self._frontier(peer)
        if not flagged and peer.covered < sequence:
            peer.covered = sequence
        message = entry.message
        assert message is not None, "a copy that is not acknowledged keeps its message"
        outbox.transmit(peer.id, DataPacket(message, previous, flagged))

    def _transmit_again(self, peer: Peer, start: i64, stop: i64, outbox: Outbox) -> None:
        """The copies from index `start` to before `stop`, as far as they were transmitted."""
        copies = peer.copies
        previous = peer.acked if start == copies.first else copies.at(start - 1).sequence
        for index in range(start, min(stop, peer.unsent_at)):
            entry = copies.at(index)
            self._transmit_copy(peer, entry, previous, outbox)
            previous = entry.sequence

    def _on_message(self, peer: Peer, packet: DataPacket, now_ns: i64, outbox: Outbox) -> None:
        sequence = packet.carried.sequence
        check_chain(peer.id, packet, peer.delivered)
        if not packet.flagged:
            self._on_permit(peer, sequence, now_ns, outbox)
        if sequence <= peer.delivered:
            outbox.transmit(peer.id, Ack(peer.delivered))
        elif packet.previous == peer.delivered:
            self._deliver_chain(peer, packet, now_ns, outbox)
        else:
            self._keep_early(peer, packet)

    def _keep_early(self, peer: Peer, packet: DataPacket) -> None:
        if peer.early is None:
            peer.early = {}
        if len(peer.early) < self._receive_limit:
            peer.early[packet.previous] = packet

    def _deliver_chain(self, peer: Peer, packet: DataPacket, now_ns: i64, outbox: Outbox) -> None:
        following: DataPacket | None = packet
        while following is not None:
            sequence = following.carried.sequence
            peer.delivered = sequence
            if following.flagged and sequence > peer.permitted:
                self._miss(peer, sequence, now_ns)
            outbox.deliver(following.carried)
            following = None if peer.early is None else peer.early.pop(sequence, None)
        if peer.early is not None and not peer.early:
            peer.early = None
        outbox.transmit(peer.id, Ack(peer.delivered))

    def _miss(self, peer: Peer, sequence: i64, now_ns: i64) -> None:
        """From now on the permit of `sequence` is missing."""
        if peer.debt is None:
            peer.debt = Debt(peer.id)
        if not peer.debt.owed():
            peer.permits_since_ns = now_ns
        self._missing.add(peer.debt, sequence)
        self._alarms.start(peer, now_ns)

    def _on_ack(self, peer: Peer, sequence: i64, now_ns: i64, outbox: Outbox) -> None:
        copies = peer.copies
        if sequence > peer.last_transmitted or copies.first == peer.unsent_at:
            return
        oldest = copies.peek().sequence
        # Nobody delivers what was not sent to it: such an ack is a mistake, or a trick to make us
        # forget what is before it.
        if sequence < oldest or (sequence > oldest and find_copy(copies, sequence) < 0):
            return
        while copies.first < peer.unsent_at and copies.peek().sequence <= sequence:
            entry = copies.remove()
            self._acknowledged(entry, peer)
            peer.acked = entry.sequence
        peer.progress(now_ns)
        peer.acks_since_ns = now_ns
        peer.watch()
        self._advance(outbox)

    def _acknowledged(self, entry: Entry, peer: Peer) -> None:
        if entry.acknowledged_by(peer.place):
            self._open -= 1
            self._open_bytes -= entry.drop_payload()

    def _on_permit(self, peer: Peer, sequence: i64, now_ns: i64, outbox: Outbox) -> None:
        if sequence <= peer.permitted:
            return
        peer.permitted = sequence
        if peer.debt is not None and self._missing.grant(peer.debt, sequence):
            peer.progress(now_ns)
            peer.permits_since_ns = now_ns
            peer.watch()
            self._release(now_ns, outbox)

    def _on_ask(self, peer: Peer, packet: Ask, now_ns: i64, outbox: Outbox) -> None:
        if peer.last_transmitted == 0:
            return
        self._on_ack(peer, packet.delivered, now_ns, outbox)
        frontier = self._frontier(peer)
        if frontier >= packet.lowest:
            if peer.covered < frontier:
                peer.covered = frontier
            outbox.transmit(peer.id, Permit(frontier))

    # For the model checker.

    def clone(self) -> Self:
        twin = HybridProcess(
            self._me,
            self._known,
            rule=self._rule,
            send_limit=self._send_limit,
            receive_limit=self._receive_limit,
            payload_limit=self._payload_limit,
            patience_ns=self._alarms.patience_ns,
        )
        for process in self._peers:
            twin._add_peer(process)
        twin._unacked = SlidingArray(self._unacked.first)
        twins: dict[int, Entry] = {}
        for entry in self._unacked:
            twins[entry.sequence] = entry.copy()
            twin._unacked.add(twins[entry.sequence])
        twin._open = self._open
        twin._open_bytes = self._open_bytes
        twin._next_sequence = self._next_sequence
        for process, peer in self._peers.items():
            twin._peers[process].adopt(peer, twins)
        twin._settled = self._settled
        twin._released = self._released
        twin._missing = self._missing.copy()
        for process, peer in self._peers.items():
            if peer.debt is not None:
                twin._peers[process].debt = twin._missing.copy_debt(peer.debt)
        twin._alarms.adopt(self._alarms, twin._peers)
        return twin

    def fingerprint(self) -> bytes:
        entries = [
            (entry.sequence, entry.message, entry.permits_before, entry.unsent, entry.due_behind)
            for entry in self._unacked
        ]
        missing = [(p.sender, p.sequence, p.position) for p in self._missing.missing()]
        states = [peer.state() for peer in self._peers.values()]
        peers = sorted(state for state in states if state)
        window = (self._next_sequence, self._settled, self._released, self._missing.next)
        return repr((self._me, window, entries, missing, peers)).encode()
