"""What a hybrid process is besides its rule: its state and faces, who is there, what is kept.

`rule.py` has the rule. Here are, from top to bottom: the list-returning face, queries, the peers
and their timers, what is forgotten, expulsion, and the state that survives a crash.
"""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, Final, Literal, Self, TypeAlias

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import (
    ID_LIMIT,
    PAYLOAD_LIMIT,
    check_distinct,
    checked_payload,
    checked_targets,
    known_processes,
)
from antecede.core.effects import Effect
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.expulsion import ExpulsionProcess
from antecede.core.hybrid.permits import MissingPermits
from antecede.core.hybrid.records import (  # fmt: skip
    ACKED,
    DELIVERED,
    EXPELLED,
    MISSING,
    NUMBERED,
    PEER,
    PERMITTED,
    POSITION,
    SUBMITTED,
    submission_record,
)
from antecede.core.hybrid.state import (
    ACKS,
    PERMITS,
    HybridPeer,
    PermitsToSend,
    SentEntry,
    SentWindow,
)
from antecede.core.hybrid.waiting import (
    held_in_order,
    held_one_by_one,
    named_owners,
    since_key,
    unacknowledged_by,
)
from antecede.core.in_order import check_predecessor
from antecede.core.packets import DataPacket, Message, Packet, Permit
from antecede.core.process import NEVER_NS, EffectList, HeldBack, Outbox, PermitsOwed
from antecede.core.records import ChangeLog, RecordReader, encode_record
from antecede.core.retransmission import PATIENCE_NS

SEND_LIMIT: Final = 1 << 20
"""At most 1,048,576 messages are buffered or unacknowledged; `submit` then raises BufferFull."""

RECEIVE_LIMIT: Final = 1 << 12
"""At most 4,096 messages of a source wait for a gap to close; others are dropped, to come again."""

FORGOTTEN_MIN: Final = 32
"""Up to 32 acknowledged entries may stay among the others before they are forgotten."""

NEAR: Final = 32
"""Up to 32 peers (a power of two) are found by the last bits of their ids, without a dictionary."""

RESEND_BATCH: Final = 64
"""At most 64 copies go to one peer again when its timer expires, the oldest first."""

Rule: TypeAlias = Literal["ordered", "sps", "csps"]

ORDERED: Final = "ordered"
SPS: Final = "sps"
CSPS: Final = "csps"
RULES: Final = (ORDERED, SPS, CSPS)
"""When a copy may leave: `hybrid`, `hybrid-sps` and `hybrid-csps` of the catalogue."""


@mypyc_attr(allow_interpreted_subclasses=True)
class HybridNode(ExpulsionProcess):
    """Everything but the steps of the protocol."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_peers", "_roster", "_unacked", "_open", "_open_bytes", "_next_sequence", "_settled",
        "_released", "_missing", "_alarms", "_fence", "_met", "_kept",
    )  # fmt: skip
    ASIDE: ClassVar[tuple[str, ...]] = ("_near",)

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
        # Peers come into being at first contact: state follows who talks, not who exists.
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
        self._peers: dict[int, HybridPeer] = {}
        self._roster: list[HybridPeer] = []
        self._near: list[HybridPeer | None] = [None] * NEAR
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
        # Last, for what is set before it is known to be there, and compiled code does not ask.
        super().__init__(me, patience_ns)

    # The rule, in rule.py.

    @abstractmethod
    def _advance(self, outbox: Outbox) -> None: ...

    @abstractmethod
    def _release(self, now_ns: i64, outbox: Outbox) -> None: ...

    @abstractmethod
    def _frontier(self, peer: HybridPeer) -> i64: ...

    @abstractmethod
    def _transmit_again(self, peer: HybridPeer, start: i64, stop: i64, outbox: Outbox) -> None: ...

    # The list-returning face.

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        ids = checked_targets(targets)
        self.submit_into(ids, checked_payload(payload, self._payload_limit), now_ns, outbox)
        return outbox.effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        # It may not even fit an i64.
        if source not in self._peers and not self._may_be_met(source):
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

    def wake_ns(self) -> i64:
        return self._alarms.next_ns()

    # Queries.

    def waiting(self) -> list[HeldBack]:
        owed = self.owed_permits()
        held: list[HeldBack] = []
        for peer in self._roster:
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
        for peer in self._roster:
            if self._overtakes:
                found = held_one_by_one(self._roster, peer)
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
        return unacknowledged_by(entry, self._roster, peer)

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

    # Who is there, and what is waited for.

    def add_process(self, process: int) -> None:
        known_processes(process, [process])
        if process in self._known or process in self._peers:
            raise LocalError(f"process {process} is known already")
        self._add_peer(process)

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
        given_up = peer.abandon()
        for entry in given_up:
            self._acknowledged(entry, peer)
        if self._kept is not None:
            self._kept.put_deferrable(encode_record(ACKED, [peer.id, peer.acked]))
        self._advance(outbox)
        self._release(now_ns, outbox)
        if held:
            self._forget_given_up()
        return [int(entry.sequence) for entry in given_up]

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        peer = self._peers.get(target)
        if peer is None:
            return
        start = peer.copies.find_from(first)
        stop = peer.copies.find_from(last + 1)
        self._transmit_again(peer, start, stop, outbox)

    def _cached_peer(self, process: i64) -> HybridPeer | None:
        """The record of a process that was met, on the hot path."""
        place = process & (NEAR - 1)
        peer = self._near[place]
        if peer is None or peer.id != process:
            peer = self._peers.get(process)
            self._near[place] = peer
        return peer

    def _peer(self, process: int) -> HybridPeer | None:
        """The record of another process, or None if there is no such process."""
        peer = self._peers.get(process)
        # Membership first: an int of any size may be asked for, and only a known one fits an i64.
        if peer is None and process in self._known and process != self._me:
            peer = self._add_peer(process)
        return peer

    def _may_be_met(self, source: int) -> bool:
        return source in self._fence.expelled or (source in self._known and source != self._me)

    def _add_peer(self, process: i64) -> HybridPeer:
        peer = HybridPeer(process, len(self._roster))
        self._peers[process] = peer
        self._roster.append(peer)
        self._on_new_peer(peer)
        return peer

    def _start_waiting(self, peer: HybridPeer, what: i64, now_ns: i64) -> None:
        """Something will be waited for from `peer`, if it is not already."""
        peer.start_waiting(what, now_ns)
        self._alarms.start(peer, now_ns)

    def _on_progress(self, peer: HybridPeer, what: i64, now_ns: i64) -> None:
        """Some of what is waited for has come from `peer`: be patient afresh."""
        peer.on_progress(what, now_ns)
        if self._kept is not None:
            if what == ACKS:
                self._kept.put_deferrable(encode_record(ACKED, [peer.id, peer.acked]))
            elif what == PERMITS:
                self._kept.put_deferrable(encode_record(PERMITTED, [peer.id, peer.permitted]))

    # What is submitted, and what is forgotten.

    def _admit(self, targets: list[int], payload: bytes) -> tuple[vec[i64], bool]:
        """The places of the targets, and whether we are one of them; an error changes nothing."""
        self._fence.check_running()
        checked_payload(payload, self._payload_limit)
        if self._open >= self._send_limit:
            raise BufferFull(f"{self._send_limit} messages are not acknowledged yet; try later")
        # An int of any size may be asked for, and only an id fits an i64.
        if len(targets) == 1:
            target = targets[0]
            known = self._cached_peer(target) if 0 <= target < ID_LIMIT else None
            if known is not None:
                return known.alone, False
        return self._places_of(targets)

    def _places_of(self, targets: list[int]) -> tuple[vec[i64], bool]:
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
        return places, to_self

    def _append(self, entry: SentEntry, payload_bytes: i64) -> None:
        """An entry that nobody has acknowledged."""
        self._unacked.add(entry)
        self._open += 1
        self._open_bytes += payload_bytes
        for place in entry.targets:
            peer = self._roster[place]
            peer.last_submitted = entry.sequence
            peer.copies.add(entry)

    def _acknowledged(self, entry: SentEntry, peer: HybridPeer) -> None:
        entry.unacked -= 1
        entry.unacked_key ^= peer.place
        if entry.unacked == 0:
            self._open -= 1
            self._open_bytes -= entry.drop_payload()

    def _forget_acknowledged(self) -> None:
        """Let go of entries that everybody has acknowledged but older ones keep from settling."""
        unacked = self._unacked
        kept = SentWindow()
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
                before.merge_deferred_permits(entry, self._roster)
            index += 1
        self._unacked = kept
        self._settled = settled if settled > 0 else kept.next
        self._released = released if released > 0 else kept.next

    def _forget_given_up(self) -> None:
        """Entries that will never leave go: what is left among the unsent ones waits."""
        if len(self._unacked) > self._open > 0:
            self._forget_acknowledged()

    # Expulsion.

    def _without_expelled(self, places: vec[i64], sequence: i64) -> vec[i64]:
        targets = [int(self._roster[place].id) for place in places]
        spared = self._fence.without_expelled(targets, sequence)
        return vec[i64]([self._peers[process].place for process in spared])

    def _all_peers(self) -> list[HybridPeer]:
        return self._roster

    def _keep_decision(self, process: i64, now_ns: i64) -> None:
        """It is kept with all that are left behind."""

    def _drop_expelled(self, processes: list[int], now_ns: i64, outbox: Outbox) -> None:
        for process in processes:
            if self._kept is not None:
                self._kept.put_urgent(encode_record(EXPELLED, [process]))
            self._give_up_copies(process)
        self._advance(outbox)
        for process in processes:
            self._waive_permits(process)
        # Whatever was granted: a message may have waited behind a copy that is given up.
        self._release(now_ns, outbox)
        self._forget_given_up()

    def _check_inner(self, source: i64, packet: Packet) -> None:
        if isinstance(packet, DataPacket):
            check_predecessor(source, packet, self._peers[source].delivered)
        elif not isinstance(packet, Permit):
            raise RemoteError(f"a notice of {source} with a {packet.kind}")

    def _take_inner(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        self.arrive_into(source, packet, now_ns, outbox)

    def _rearm(self, process: i64) -> None:
        self._peers[process].rearm()

    def _give_up_copies(self, process: i64) -> None:
        """Everything to and from an expelled process, but for the permits that it owes."""
        peer = self._peers.get(process)
        if peer is None:
            self._fence.report_expelled(process, 0, [])
            return
        peer.early = None
        peer.unnoted = None
        peer.permitted_up_to = NEVER_NS
        given_up = peer.abandon()
        for entry in given_up:
            self._acknowledged(entry, peer)
        unconfirmed = [int(entry.sequence) for entry in given_up]
        self._fence.report_expelled(process, peer.delivered, unconfirmed)

    def _waive_permits(self, process: i64) -> None:
        peer = self._peers.get(process)
        if peer is not None and peer.owed_permits is not None:
            self._missing.grant(peer.owed_permits, NEVER_NS)
            peer.rearm()

    # What survives a crash.

    def snapshot(self) -> list[bytes]:
        self._kept = ChangeLog()
        records = [
            encode_record(PEER, [peer.id, peer.delivered, peer.acked, peer.last_submitted])
            for peer in self._roster
        ]
        for permit in self._missing.missing():
            records.append(
                encode_record(MISSING, [permit.sender, permit.sequence, permit.position])
            )
        records.append(encode_record(POSITION, [self._missing.next]))
        for entry in self._unacked:
            message = entry.message
            if message is not None:
                targets = [self._roster[place] for place in entry.targets]
                waited_for = [int(peer.id) for peer in targets if peer.acked < entry.sequence]
                records.append(submission_record(message, entry.permits_before, waited_for))
        records.append(encode_record(NUMBERED, [self._next_sequence - 1]))
        records += [encode_record(EXPELLED, [process]) for process in self._fence.expelled]
        return records

    def restore(self, records: Sequence[bytes], now_ns: int) -> list[Effect]:
        if self._next_sequence > 1 or self._roster or self._fence.expelled:
            raise LocalError("only a fresh process can be restored")
        for written in records:
            self._replay(RecordReader(written))
        outbox = EffectList()
        self._resume(now_ns, outbox)
        return outbox.effects

    def _keep_submission(self, message: Message, places: vec[i64]) -> None:
        assert self._kept is not None, "asked for only where records are kept"
        sequence, payload = message.sequence, message.payload
        if len(places) == 1:
            target = self._roster[places[0]].id
            self._kept.put_four(SUBMITTED, sequence, self._missing.next, 1, target, b"", payload)
        elif len(places) > 0:
            targets = [int(self._roster[place].id) for place in places]
            self._kept.put_urgent(submission_record(message, self._missing.next, targets))
        else:
            self._kept.put_urgent(encode_record(NUMBERED, [sequence]))

    def _replay(self, reader: RecordReader) -> None:
        """What happened before the crash happens again, but nothing leaves."""
        kind = reader.kind
        if kind == NUMBERED:
            self._next_sequence = reader.number() + 1
        elif kind == SUBMITTED:
            self._replay_submission(reader)
        elif kind == DELIVERED:
            peer, sequence = self._peer_of_record(reader), reader.number()
            peer.delivered = sequence
            if reader.number() == 1:
                self._missing.add(peer.permits_owed(), sequence)
        elif kind == ACKED:
            self._replay_ack(self._peer_of_record(reader), reader.number())
        elif kind == PERMITTED:
            self._missing.grant(self._peer_of_record(reader).permits_owed(), reader.number())
        elif kind == EXPELLED:
            self._fence.add([reader.number()])
        elif kind == PEER:
            peer = self._peer_of_record(reader)
            peer.delivered = reader.number()
            peer.acked = reader.number()
            peer.last_submitted = reader.number()
        elif kind == MISSING:
            peer, sequence = self._peer_of_record(reader), reader.number()
            self._missing.restore(peer.permits_owed(), sequence, reader.number())
        elif kind == POSITION:
            self._missing.skip_to(reader.number())
        else:
            raise LocalError(f"a record of kind {kind}, which is none of ours")

    def _peer_of_record(self, reader: RecordReader) -> HybridPeer:
        process = reader.number()
        peer = self._peers.get(process)
        return self._add_peer(process) if peer is None else peer

    def _replay_submission(self, reader: RecordReader) -> None:
        sequence, permits_before = reader.number(), reader.number()
        peers = [self._peer_of_record(reader) for _ in range(reader.number())]
        places = vec[i64]([peer.place for peer in peers])
        payload = reader.rest()
        entry = SentEntry(Message(self._me, sequence, payload), permits_before, places)
        # A snapshot has told of the last message to each before those that are still open.
        last = [int(peer.last_submitted) for peer in peers]
        self._append(entry, len(payload))
        for place, peer in enumerate(peers):
            if last[place] > sequence:
                peer.last_submitted = last[place]
        if self._next_sequence <= sequence:
            self._next_sequence = sequence + 1

    def _replay_ack(self, peer: HybridPeer, sequence: i64) -> None:
        copies = peer.copies
        while copies.first < copies.next and copies.peek().sequence <= sequence:
            self._acknowledged(copies.remove(), peer)
        peer.acked = sequence

    def _resume(self, now_ns: i64, outbox: Outbox) -> None:
        """Nothing counts as transmitted, and everybody is told again who is expelled."""
        expelled = list(self._fence.expelled)
        for peer in self._roster:
            peer.unsent_at = peer.copies.first
            peer.last_transmitted = peer.acked
            if expelled and peer.id not in self._fence.expelled:
                peer.add_notices(expelled)
        for entry in self._unacked:
            entry.unsent = entry.unacked
        for process in expelled:
            self._give_up_copies(process)
            self._waive_permits(process)
        self._fence.take_reports()
        self._met.clear()
        for peer in self._roster:
            if peer.lowest_missing() > 0 or peer.unnoted is not None:
                peer.permits_since_ns = now_ns
                peer.notices_since_ns = now_ns
                self._alarms.start(peer, now_ns)
        self._advance(outbox)
        self._release(now_ns, outbox)
        self._forget_given_up()
        for peer in self._roster:
            peer.transmit_notice(outbox)

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
            (entry.sequence, entry.message, entry.permits_before, entry.unsent, entry.due_behind)
            for entry in self._unacked
        ]
        missing = [(p.sender, p.sequence, p.position) for p in self._missing.missing()]
        states = [peer.state() for peer in self._peers.values()]
        peers = sorted(state for state in states if state)
        window = (self._next_sequence, self._settled, self._released, self._missing.next)
        return repr((self._me, window, entries, missing, peers, self._fence.state())).encode()
