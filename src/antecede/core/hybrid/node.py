"""What a hybrid process is besides its rule: faces, queries, peers that come and go, expulsion.

`rule.py` has the rule, and writes all state; this file reads it.
"""

from collections.abc import Sequence
from typing import ClassVar, Self, final

from mypy_extensions import i64

from antecede.core.checks import checked_payload, checked_targets, known_processes
from antecede.core.effects import Effect
from antecede.core.errors import LocalError, RemoteError
from antecede.core.hybrid.records import HybridRecords
from antecede.core.hybrid.state import HybridPeer, SentEntry
from antecede.core.hybrid.waiting import (
    held_in_order,
    held_one_by_one,
    named_owners,
    since_key,
    unacknowledged_by,
)
from antecede.core.in_order import check_predecessor
from antecede.core.packets import Ack, Ask, DataPacket, Packet, Permit
from antecede.core.process import NEVER_NS, EffectList, HeldBack, Outbox, PermitsOwed


@final
class HybridProcess(HybridRecords):
    """The product's own protocol, under one of three rules of release."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_peers", "_unacked", "_open", "_open_bytes", "_next_sequence", "_settled", "_released",
        "_missing", "_alarms", "_fence", "_met", "_change_log",
    )  # fmt: skip
    ASIDE: ClassVar[tuple[str, ...]] = ("_several",)

    # The list-returning face.

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        ids = checked_targets(targets)
        self.submit_into(ids, checked_payload(payload, self._payload_limit), now_ns, outbox)
        return outbox.effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        # It may not even fit an i64.
        if self._peers.get(source) is None and not self._may_be_met(source):
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        self.arrive_into(source, packet, now_ns, outbox)
        return outbox.effects

    def arrive_into(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        if self._fence.barring and self._fence.turn_away(source, packet, outbox):
            return
        peer = self._peers.find(source)
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

    def expire(self, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        self.expire_into(now_ns, outbox)
        return outbox.effects

    def deadline_ns(self) -> int | None:
        wake_ns = self._alarms.next_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    def wake_ns(self) -> i64:
        return self._alarms.next_ns()

    # Queries.

    def waiting(self) -> list[HeldBack]:
        owed = self.owed_permits()
        held: list[HeldBack] = []
        for peer in self._peers.all:
            copies = peer.copies
            count = copies.next - peer.unsent_at
            if count > 0:
                first = copies.at(peer.unsent_at).sequence
                last = copies.at(copies.next - 1).sequence
                exempt = peer.id if self._overtakes else self._me
                named = named_owners(owed, last, exempt)
                held.append(HeldBack(peer.id, first, last, count, named))
        return held

    def owed_permits(self) -> list[PermitsOwed]:
        unacked = self._unacked
        start = self._released if self._released > unacked.first else unacked.first
        owed: list[PermitsOwed] = []
        for peer in self._peers.all:
            if self._overtakes:
                found = held_one_by_one(self._peers.all, peer)
            else:
                found = held_in_order(unacked, start, peer, self._ordered)
            if found is not None:
                owed.append(found)
        owed.sort(key=since_key)
        return owed

    def buffered(self) -> int:
        return self._open

    def buffered_bytes(self) -> int:
        return self._open_bytes

    def oldest_unacked(self) -> i64:
        unacked = self._unacked
        return unacked.peek().sequence if unacked.first < unacked.next else self._next_sequence

    def unacked_by(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else len(peer.copies)

    def oldest_owed(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None or len(peer.copies) == 0 else int(peer.copies.peek().sequence)

    def misses(self, process: int) -> bool:
        peer = self._peers.get(process)
        return peer is not None and peer.lowest_missing() > 0

    def receive_position(self, source: int) -> tuple[int, int]:
        peer = self._peers.get(source)
        if peer is None:
            return 0, 0
        return int(peer.delivered), 0 if peer.early is None else len(peer.early)

    def acknowledged(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else int(peer.acked)

    def submitted_to(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else int(peer.last_submitted)

    def frontier(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else int(self._frontier(peer))

    def hindered_by(self, target: int, lowest: int) -> list[int]:
        # What `target` has got has left, and so has all before it, but for what waits for permits
        # of `target` itself: so what is missing is an acknowledgement, never a permit of a third.
        peer = self._peers.get(target)
        entry = None if peer is None else self._first_to_wait_for(peer)
        if peer is None or entry is None or entry.sequence > lowest:
            return []
        return unacknowledged_by(entry, self._peers.all, peer)

    def _first_to_wait_for(self, peer: HybridPeer) -> SentEntry | None:
        """The oldest message that a permit to `peer` waits for, if not for its own answer."""
        unacked = self._unacked
        if unacked.first == unacked.next:
            return None
        head = unacked.peek()
        if head.unacked > 1 or head.only_waits_for() != peer.place:
            return head
        if not self._sps or self._settled >= unacked.next:
            return None
        return unacked.at(self._settled)

    # Who is there.

    def add_process(self, process: int) -> None:
        known_processes(process, [process])
        if process in self._known or self._peers.get(process) is not None:
            raise LocalError(f"process {process} is known already")
        self._meet(process)

    def on_met_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:
        if self._peer(process) is None:
            raise LocalError(f"process {process} is not one of the others")
        self._notify_new_peers(now_ns, outbox)

    def abandon_into(self, target: int, now_ns: i64, outbox: Outbox) -> list[int]:
        peer = self._peers.get(target)
        if peer is None and target in self._known and target != self._me:
            return []  # Nothing was ever sent to it, and nothing of it is remembered.
        if peer is None:
            raise LocalError(f"process {target} is not one of the others")
        held = peer.unsent_at < peer.copies.next
        given_up = self._give_up(peer)
        if self._change_log is not None:
            self._log_acks(peer)
        self._advance(outbox)
        self._release(now_ns, outbox)
        if held:
            self._forget_given_up()
        return given_up

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        peer = self._peers.get(target)
        if peer is None:
            return
        start = peer.copies.find_from(first)
        stop = peer.copies.find_from(last + 1)
        self._transmit_again(peer, start, stop, outbox)

    # Expulsion.

    def _may_be_met(self, source: int) -> bool:
        return source in self._fence.expelled or (source in self._known and source != self._me)

    def _met_peer(self, process: int) -> HybridPeer | None:
        return self._peers.get(process)

    def _all_peers(self) -> list[HybridPeer]:
        return self._peers.all

    def _log_decision(self, process: i64, now_ns: i64) -> None:
        """It is logged with all that are expelled."""

    def _drop_expelled(self, processes: list[int], now_ns: i64, outbox: Outbox) -> None:
        for process in processes:
            if self._change_log is not None:
                self._log_expulsion(process)
            self._give_up_expelled(process)
        self._advance(outbox)
        for process in processes:
            self._waive_permits(process)
        # Whatever was granted: a message may have waited behind a copy that is given up.
        self._release(now_ns, outbox)
        self._forget_given_up()

    def _check_inner(self, source: i64, packet: Packet) -> None:
        if isinstance(packet, DataPacket):
            check_predecessor(source, packet, self._peers.known(source).delivered)
        elif not isinstance(packet, Permit):
            raise RemoteError(f"a notice of {source} with a {packet.kind}")

    def _take_inner(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        self.arrive_into(source, packet, now_ns, outbox)

    def _rearm(self, process: i64) -> None:
        self._peers.known(process).rearm()

    # For the model checker.

    def anew(self) -> Self:
        return type(self)(
            self._me,
            self._known,
            rule=self._rule,
            send_limit=self._send_limit,
            receive_limit=self._receive_limit,
            payload_limit=self._payload_limit,
            patience_ns=self._alarms.patience_ns,
            forgotten_min=self._forgotten_min,
        )

    def fingerprint(self) -> bytes:
        entries = [
            (
                entry.sequence,
                entry.message,
                entry.permits_before,
                entry.unsent,
                entry.deferred_permits,
            )
            for entry in self._unacked
        ]
        missing = [(p.sender, p.sequence, p.position) for p in self._missing.missing()]
        states = [peer.state() for peer in self._peers.all]
        peers = sorted(state for state in states if state)
        window = (self._next_sequence, self._settled, self._released, self._missing.next)
        return repr((self._me, window, entries, missing, peers, self._fence.state())).encode()
