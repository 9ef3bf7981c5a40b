"""What a process of `hybrid-facts` is besides its rule: its state and faces, who is there.

`facts.py` has the rule. Here are, from top to bottom: the list-returning face, queries, the peers,
who is gone, who is expelled, and clones.

Expulsion is that of `hybrid`, and more has to be said of what an expelled process k leaves behind.
Facts *about* k are dead, since it delivers nothing that counts; facts *of* k are never waited for,
since everybody who hears from us has stopped listening to k. What k told of others stays true: a
fact lives on until what it speaks of is delivered. A filter or an exception of k's ends with k if
it rests on k's own messages only; otherwise it speaks of messages of others that nobody can name
any more, and stays (docs/decisions/0053). Watermarks count acks of the expelled as given, so acks
and asks, which carry no notices, carry no watermarks either to a peer that has not noted all.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Sequence
from typing import ClassVar, Final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import (
    PAYLOAD_LIMIT,
    checked_payload,
    checked_targets,
    known_processes,
)
from antecede.core.effects import Effect
from antecede.core.errors import LocalError, RemoteError
from antecede.core.expulsion import ExpulsionProcess, NoticedPeer
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.packets import Packet
from antecede.core.process import (
    NEVER_NS,
    OWNERS_NAMED,
    EffectList,
    HeldBack,
    Outbox,
    PermitsOwed,
)
from antecede.core.retransmission import PATIENCE_NS
from antecede_lab.protocols.facts.checks import check_limits
from antecede_lab.protocols.facts.delivered import CACHE_LIMIT, KnownDeliveries
from antecede_lab.protocols.facts.draft import ReportDrafter
from antecede_lab.protocols.facts.filter import Filter
from antecede_lab.protocols.facts.inbox import Inbox
from antecede_lab.protocols.facts.owed import OwedReports
from antecede_lab.protocols.facts.packets import FactsMessage
from antecede_lab.protocols.facts.parking import Parking
from antecede_lab.protocols.facts.past import Past, tells_others
from antecede_lab.protocols.facts.reports import PastReport
from antecede_lab.protocols.facts.stalls import Stalls
from antecede_lab.protocols.facts.window import FactsPeer, Window, WindowCopy, WindowEntry

FACTS: Final = 64
"""Undelivered messages that a packet names at most: B."""

FILTER_BITS: Final = 64
"""Bits for destinations that facts do not speak for; the same everywhere: W."""

HOPS: Final = 2
"""How many reports an incomplete packet may rest on, one on the other: H."""

WATERMARKS: Final = 4
"""Other processes' watermarks that a packet passes on: G."""

EXCEPTIONS: Final = 2
"""Stalled destinations that a packet names: E."""

STALL_NS: Final = 3_000_000_000
"""How long a transmitted copy may be unacknowledged before its target counts as stalled: S."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FactsNode(ExpulsionProcess):
    """Everything but the steps of the protocol."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_peers", "_window", "_log", "_logged_reports", "_serial", "_truths", "_past", "_writer",
        "_owed", "_parking", "_inbox", "_news", "_alarms", "_stalls", "_fence", "_met",
    )  # fmt: skip

    OPTIONS: ClassVar[tuple[str, ...]] = (
        "facts", "filter_bits", "hops", "watermarks", "exceptions", "stall_ns", "send_limit",
        "receive_limit", "payload_limit", "patience_ns", "cache_limit", "covering",
    )  # fmt: skip

    def __init__(
        self,
        me: int,
        processes: Collection[int],
        *,
        facts: int = FACTS,
        filter_bits: int = FILTER_BITS,
        hops: int = HOPS,
        watermarks: int = WATERMARKS,
        exceptions: int = EXCEPTIONS,
        stall_ns: int = STALL_NS,
        send_limit: int = SEND_LIMIT,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
        cache_limit: int = CACHE_LIMIT,
        covering: bool = True,
    ) -> None:
        check_limits(facts, filter_bits, hops, watermarks, exceptions, cache_limit)
        self._known: Final = known_processes(me, processes)
        super().__init__(me, patience_ns)
        self._facts: Final[i64] = facts
        self._filter_bits: Final[i64] = filter_bits
        self._stall_ns: Final[i64] = stall_ns
        self._patience_ns: Final[i64] = patience_ns
        self._hops: Final[i64] = hops
        self._watermarks: Final[i64] = watermarks
        self._exceptions: Final[i64] = exceptions
        self._cache_limit: Final[i64] = cache_limit
        self._send_limit: Final[i64] = send_limit
        self._receive_limit: Final[i64] = receive_limit
        self._payload_limit: Final[i64] = payload_limit
        self._peers: dict[int, FactsPeer] = {}
        self._window = Window(self._peers)
        # Delivered reports and own messages, in order, that are not part of the past yet.
        self._log: deque[WindowEntry | PastReport] = deque()
        self._logged_reports: i64 = 0
        self._serial: i64 = 0
        self._truths = KnownDeliveries(me, Filter(filter_bits), watermarks, cache_limit)
        self._covering: Final = covering
        self._past = Past(hops if hops > 1 else 1, cache_limit, covering)
        self._writer = ReportDrafter(me, self._past, self._truths, facts, exceptions)
        self._owed = OwedReports(exceptions)
        self._parking = Parking(facts, exceptions)
        self._inbox = Inbox(self._peers, self._truths, receive_limit)
        # Whether anything has happened since the message next to leave was last looked at.
        self._news = False
        self._stalls = Stalls(stall_ns)

    # The rule, in facts.py.

    @abstractmethod
    def _advance(self) -> None: ...

    @abstractmethod
    def _pass(self, now_ns: i64, outbox: Outbox) -> None: ...

    @abstractmethod
    def _suspect(self) -> None: ...

    @abstractmethod
    def _deliver(self, ready: list[FactsMessage], now_ns: i64, outbox: Outbox) -> None: ...

    @abstractmethod
    def _ask(self, peer: FactsPeer, outbox: Outbox) -> None: ...

    @abstractmethod
    def _transmit_again(self, peer: FactsPeer, start: i64, stop: i64, outbox: Outbox) -> None: ...

    @abstractmethod
    def _check(self, peer: FactsPeer, packet: Packet) -> None: ...

    # The list-returning face.

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        ids = checked_targets(targets)
        self.submit_into(ids, checked_payload(payload, self._payload_limit), now_ns, outbox)
        return outbox.effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        # It may not even fit an i64.
        if source not in self._fence.expelled and self._peer(source) is None:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        self.arrive_into(source, packet, now_ns, outbox)
        return outbox.effects

    def expire(self, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        self.expire_into(now_ns, outbox)
        return outbox.effects

    def deadline_ns(self) -> int | None:
        wake_ns = self.wake_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    def wake_ns(self) -> i64:
        wake_ns = self._alarms.next_ns()
        stall_ns = self._stalls.next_ns()
        return stall_ns if stall_ns < wake_ns else wake_ns

    # Queries.

    def waiting(self) -> list[HeldBack]:
        held: list[HeldBack] = []
        for peer in self._peers.values():
            count = peer.copies.next - peer.unsent_at
            if count > 0:
                oldest = peer.copies.at(peer.unsent_at)
                last = peer.copies.at(peer.copies.next - 1).sequence
                owed = self._owed_for(oldest, count)[:OWNERS_NAMED]
                held.append(HeldBack(peer.id, oldest.sequence, last, count, owed))
        return held

    def owed_permits(self) -> list[PermitsOwed]:
        joined: dict[int, PermitsOwed] = {}
        for peer in self._peers.values():
            count = peer.copies.next - peer.unsent_at
            if count > 0:
                for owed in self._owed_for(peer.copies.at(peer.unsent_at), count):
                    before = joined.get(owed.owner)
                    joined[owed.owner] = owed if before is None else both_owed(before, owed)
        return list(joined.values())

    def _owed_for(self, oldest: WindowCopy, count: i64) -> list[PermitsOwed]:
        """Who owes what the oldest of `count` copies to one target waits for."""
        ids: dict[int, list[int]] = {}
        for owner, sequence in self._permits_for(oldest):
            ids.setdefault(owner, []).append(sequence)
        return [
            PermitsOwed(owner, min(owed), max(owed), oldest.sequence, count)
            for owner, owed in ids.items()
        ]

    def _permits_for(self, copy: WindowCopy) -> list[tuple[int, int]]:
        """The messages whose permits would let `copy` leave, as far as is known."""
        reports = copy.blocking or copy.snapshot or list(self._past.reports.values())
        owed: list[tuple[int, int]] = []
        for report in reports:
            tells = report.names_others(copy.target) or tells_others(report, copy.target)
            if report.source != copy.target and not report.ended and tells:
                owed.append((int(report.source), int(report.sequence)))
        return owed

    def buffered(self) -> int:
        return len(self._window.entries)

    def buffered_bytes(self) -> int:
        return self._window.payload_bytes

    def is_full(self) -> bool:
        held = len(self._window.entries) + self._logged_reports + self._owed.size
        return held >= self._send_limit

    def frontier(self, target: int) -> int:
        return self._owed.queue_of(target).permitted if target in self._peers else 0

    def oldest_unacked(self) -> i64:
        return self._window.plain.first

    def unacked_by(self, target: int) -> int:
        peer = self._peers.get(target)
        return 0 if peer is None else len(peer.copies)

    def oldest_owed(self, target: int) -> int:
        peer = self._peers.get(target)
        if peer is None or len(peer.copies) == 0:
            return 0
        return int(peer.copies.at(peer.copies.first).sequence)

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

    # Who is there.

    def _peer(self, process: int) -> FactsPeer | None:
        """The record of another process, or None if there is no such process."""
        peer = self._peers.get(process)
        # Membership first: an int of any size may be asked for, and only a known one fits an i64.
        if peer is None and process in self._known and process != self._me:
            peer = self._add_peer(process)
        return peer

    def _add_peer(self, process: i64) -> FactsPeer:
        peer = self._peers[process] = FactsPeer(process)
        self._on_new_peer(peer)
        return peer

    def _misses_permit(self, peer: FactsPeer) -> bool:
        return peer.unclean > self._truths.permitted(peer.id)

    def add_process(self, process: int) -> None:
        known_processes(process, [process])
        if process in self._known or process in self._peers:
            raise LocalError(f"process {process} is known already")
        self._add_peer(process)

    def on_met_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:
        if self._peer(process) is None:
            raise LocalError(f"process {process} is not one of the others")
        self._notify_new_peers(now_ns, outbox)

    # Who is gone.

    def abandon_into(self, target: int, now_ns: i64, outbox: Outbox) -> list[int]:
        peer = self._peer(target)
        if peer is None:
            raise LocalError(f"process {target} is not one of the others")
        undelivered = self._abandon(peer)
        self._truths.gone(target)
        self._go_on_without([target], now_ns, outbox)
        return undelivered

    def _abandon(self, peer: FactsPeer) -> list[int]:
        """Wait for nothing that was sent to `peer`, nor for what has come of it too early."""
        undelivered: list[int] = []
        while peer.copies.first < peer.copies.next:
            copy = peer.copies.remove()
            undelivered.append(copy.sequence)
            entry = self._window.entries[copy.sequence]
            if copy in entry.unsent:
                entry.unsent.remove(copy)
            self._window.acknowledged(peer.id, copy.sequence)
        peer.abandon()
        self._stalls.forget(peer)
        self._parking.forget(peer.id)
        self._owed.forget(peer.id)
        peer.watch(self._misses_permit(peer))
        return undelivered

    def _go_on_without(self, processes: list[int], now_ns: i64, outbox: Outbox) -> None:
        """These deliver nothing more: what waited for that does so no longer."""
        for process in processes:
            self._past.gone(process, self._truths)
        self._owed.touch_all()
        self._suspect()
        self._news = True
        self._advance()
        for process in processes:
            self._deliver(self._inbox.gone(process), now_ns, outbox)
        self._pass(now_ns, outbox)

    # Expulsion.

    def _met_peer(self, process: int) -> FactsPeer | None:
        return self._peers.get(process)

    def _all_peers(self) -> list[FactsPeer]:
        return list(self._peers.values())

    def _drop_expelled(self, processes: list[int], now_ns: i64, outbox: Outbox) -> None:
        for process in processes:
            self._write_off(process)
        self._go_on_without(processes, now_ns, outbox)

    def _check_inner(self, source: i64, packet: Packet) -> None:
        self._check(self._peers[source], packet)

    def _take_inner(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        self.arrive_into(source, packet, now_ns, outbox)

    def _rearm(self, process: i64) -> None:
        peer = self._peers[process]
        peer.watch(self._misses_permit(peer))

    def _stop(self, peer: NoticedPeer) -> None:
        super()._stop(peer)
        self._stalls = Stalls(self._stalls.stall_ns)

    def _write_off(self, process: i64) -> None:
        """Everything to and from an expelled process."""
        peer = self._peers.get(process)
        delivered: i64 = 0
        unconfirmed: list[int] = []
        if peer is not None:
            delivered = peer.delivered
            peer.on_expelled()
            unconfirmed = self._abandon(peer)
        self._fence.report_expelled(process, delivered, unconfirmed)
        self._truths.expel(process)

    # For the model checker.

    def _constructor_arguments(self) -> tuple[int, Collection[int]]:
        return int(self._me), self._known

    def fingerprint(self) -> bytes:
        log = [
            item.state() if isinstance(item, PastReport) else str(item.sequence)
            for item in self._log
        ]
        states = [peer.state() for peer in self._peers.values()]
        peers = sorted([state for state in states if state])
        parts = (self._window.state(), log, self._truths.state(), self._past.state(), peers)
        waits = (self._owed.state(), self._parking.state(), list(self._stalls.hints))
        return repr((self._me, parts, waits, self._fence.state())).encode()


def both_owed(one: PermitsOwed, other: PermitsOwed) -> PermitsOwed:
    """What one process owes for two targets."""
    return PermitsOwed(
        one.owner,
        min(one.first, other.first),
        max(one.last, other.last),
        min(one.since, other.since),
        one.holds + other.holds,
    )
