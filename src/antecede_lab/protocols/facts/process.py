"""hybrid-facts: near-optimal latency at bounded metadata, by facts within a budget.

A message may leave although something before it is undelivered elsewhere, if that can be said: a
packet names up to B undelivered messages of its past, and a filter of destinations stands for what
does not fit. Its receiver delivers it at once (after what is named for itself), and passes on what
it was told; a message waits only for permits about its own destination, or if too much would have
to go unsaid. With B = W = 0 that is the ordered rule of `hybrid`; without a limit on facts every
message is delivered at the first moment that causal delivery allows.

Copies to a stalled destination are parked, and permits and watermarks name it as an exception: it
must not hold up the rest.

Cost: at most B facts, a filter and a few watermarks per packet; state linear in peers, in messages
buffered and unacked, and in B per source; work amortised O(B) per copy.

Who owns what: `facts_truths` what is delivered, as known now; `facts_past` the past of the message
next to leave; `facts_window` our own messages; `facts_owed` permits that we owe; `facts_parking`
copies set aside. This file is the order of events; what is not the rule (faces, queries, peers,
expulsion, clones) is in `facts_node`.
"""

from collections.abc import Collection, Sequence
from typing import final

from mypy_extensions import i64

from antecede.core.checks import PAYLOAD_LIMIT, check_distinct, checked_payload, checked_targets
from antecede.core.effects import Effect
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.hybrid.rule import RECEIVE_LIMIT, RESEND_BATCH, SEND_LIMIT
from antecede.core.packets import Message, Packet
from antecede.core.process import EffectList, Outbox
from antecede.core.retransmission import PATIENCE_NS
from antecede_lab.protocols.facts.checks import (
    check_ask,
    check_message,
    check_permit,
    check_watermarks,
)
from antecede_lab.protocols.facts.delivered import CACHE_LIMIT
from antecede_lab.protocols.facts.draft import Draft
from antecede_lab.protocols.facts.packets import (
    NO_WATERMARKS,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
    Watermark,
)
from antecede_lab.protocols.facts.reports import PastReport
from antecede_lab.protocols.facts.state import (
    EXCEPTIONS,
    FACTS,
    FILTER_BITS,
    HOPS,
    STALL_NS,
    WATERMARKS,
    FactsNode,
)
from antecede_lab.protocols.facts.window import (
    NOBODY,
    FactsPeer,
    WindowCopy,
    WindowEntry,
    alive_marks,
    undelivered_marks,
)
from antecede_lab.protocols.sliding_maps import find_copy, find_from

__all__ = [
    "EXCEPTIONS", "FACTS", "FILTER_BITS", "HOPS", "STALL_NS", "WATERMARKS", "FactsProcess",
]  # fmt: skip


@final
class FactsProcess(FactsNode):
    """One process of `hybrid-facts`."""

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
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
        super().__init__(
            me,
            processes,
            facts=facts,
            filter_bits=filter_bits,
            hops=hops,
            watermarks=watermarks,
            exceptions=exceptions,
            stall_ns=stall_ns,
            send_limit=send_limit,
            receive_limit=receive_limit,
            payload_limit=payload_limit,
            patience_ns=patience_ns,
            cache_limit=cache_limit,
            covering=covering,
        )

    # What happens.

    def submit_into(self, targets: list[int], payload: bytes, now_ns: i64, outbox: Outbox) -> None:
        self._fence.check_running()
        check_distinct(targets)
        checked_payload(payload, self._payload_limit)
        if self.is_full():
            raise BufferFull(f"{self._send_limit} messages are not acknowledged yet; try later")
        to_self = False
        remote: list[int] = []
        for target in targets:
            if self._peer(target) is not None:
                remote.append(target)
            elif target in self._known:
                to_self = True
            else:
                raise LocalError(f"unknown target {target}: it is not one of the processes")
        if self._fence.expelled:
            remote = self._fence.without_expelled(remote, self._window.next)
        entry = self._window.add(remote, len(payload))
        message = Message(self._me, entry.sequence, payload)
        for target in remote:
            peer = self._peers[target]
            entry.unsent.append(peer.submit(message))
        if remote:
            self._log.append(entry)
            self._advance()
            self._pass(now_ns, outbox)
        else:
            self._advance()
        if to_self:
            outbox.deliver(message)
        if self._met:
            self._notify_new_peers(now_ns, outbox)

    def arrive_into(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        if self._fence.barring and self._fence.turn_away(source, packet, outbox):
            return
        peer = self._peer(source)
        if peer is None:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, FactsMessage):
            self._check(peer, packet)
            self._learn(packet.watermarks, source)
            self._on_message(peer, packet, now_ns, outbox)
        elif isinstance(packet, FactsAck):
            check_watermarks(packet.watermarks, source, self._exceptions)
            self._learn(packet.watermarks, source)
            self._on_ack(peer, packet.sequence, now_ns)
        elif isinstance(packet, FactsPermit):
            self._check(peer, packet)
            self._learn(packet.watermarks, source)
            self._on_permit(peer, packet.sequence, packet.exceptions, now_ns)
        elif isinstance(packet, FactsAsk):
            check_ask(packet, source, self._exceptions)
            self._learn(packet.watermarks, source)
            self._on_ask(peer, packet, now_ns, outbox)
        else:
            self._on_expulsion_packet(peer, packet, now_ns, outbox)
        self._pass(now_ns, outbox)
        if self._met:
            self._notify_new_peers(now_ns, outbox)

    def _check(self, peer: FactsPeer, packet: Packet) -> None:
        """`RemoteError` unless `peer` may send this message or permit now."""
        source = peer.id
        if isinstance(packet, FactsMessage):
            check_message(packet, source, peer.delivered, self._me, self._facts, self._exceptions)
            if packet.report is not None and not self._truths.filter.fits(packet.report.filter):
                raise RemoteError(f"{source} sent a filter of another width")
        elif isinstance(packet, FactsPermit):
            check_permit(packet, source, self._exceptions)
        else:
            raise RemoteError(f"a notice of {source} with a {packet.kind}")

    def expire_into(self, now_ns: i64, outbox: Outbox) -> None:
        for alarm in self._alarms.expired(now_ns):
            peer = self._peers[alarm.owner]
            due_since_ns = now_ns - (self._alarms.patience_ns << peer.doublings)
            if peer.awaits_acks() and peer.acks_since_ns <= due_since_ns:
                peer.wait_for_acks(now_ns)
                oldest = peer.copies.first
                self._transmit_again(peer, oldest, oldest + RESEND_BATCH, outbox)
            if self._misses_permit(peer) and peer.permits_since_ns <= due_since_ns:
                peer.wait_for_permits(now_ns)
                self._ask(peer, outbox)
            if peer.unacked_notices is not None and peer.notices_since_ns <= due_since_ns:
                peer.wait_for_noting(now_ns)
                peer.transmit_notice(outbox)
            self._alarms.restart_with_backoff(peer, now_ns)
            peer.watch(self._misses_permit(peer))
        if self._stalls.expire(self._peers, now_ns):
            self._suspect()
            self._news = True
            self._pass(now_ns, outbox)

    # Sending: pass what is in the log into the past, in order, as far as it may leave.

    def _advance(self) -> None:
        """Our own messages were submitted or acknowledged: move the fronts, wake who waits."""
        first = self._window.plain.first
        if self._window.advance():
            front = self._window.plain
            self._owed.settled(first, front.first)
            if front.sole != NOBODY:
                self._owed.touch(front.sole)

    def _pass(self, now_ns: i64, outbox: Outbox) -> None:
        self._take_news()
        while self._log:
            item = self._log[0]
            if isinstance(item, PastReport):
                self._past.absorb(item, self._truths)
                self._logged_reports -= 1
            elif (item.opened and not self._news) or not self._try(item, now_ns, outbox):
                break
            self._log.popleft()
        self._news = False
        if self._exceptions > 0:
            self._suspect()
        if self._parking.copies:
            self._unpark(now_ns, outbox)
            if self._exceptions > 0:
                self._suspect()
        for owed in self._owed.due(self._window, self._truths):
            self._permit(self._peers[owed.target], owed.due, (), outbox)
        self._owed.merge(self._window, self._truths)
        if self._owed.size > 0 and (
            self._window.excepting.without or self._truths.heard_exceptions
        ):
            for owed in self._owed.due_except(self._window, self._truths):
                given = owed.given_exceptions
                self._permit(self._peers[owed.target], owed.given_except, given, outbox)

    def _take_news(self) -> None:
        """Tell the past and those who wait for permits what has become known."""
        risen = self._truths.risen
        while risen:
            self._news = True
            process = risen.pop()
            self._past.risen(process, self._truths)
            self._owed.risen(process)

    def _try(self, entry: WindowEntry, now_ns: i64, outbox: Outbox) -> bool:
        """Let the copies of the message at the head leave; False if one of them has to wait."""
        if not entry.opened:
            self._open(entry)
        stalled = self._stalled()
        leaving: list[WindowCopy] = []
        drafts: list[Draft] = []
        waits = False
        for copy in list(entry.unsent):
            target = copy.target
            if self._parking.holds(target):
                self._park(entry, copy)
                continue
            draft = self._draft(copy, stalled)
            if draft is not None:
                leaving.append(copy)
                drafts.append(draft)
            elif target in stalled:
                self._park(entry, copy)
            else:
                waits = True
        for place in range(len(leaving)):
            if not waits or drafts[place].is_complete():
                entry.unsent.remove(leaving[place])
                self._transmit_first(leaving[place], drafts[place], now_ns, outbox)
        return not waits

    def _open(self, entry: WindowEntry) -> None:
        """The message is at the head: what it depends on is what is the past now."""
        entry.open()
        for copy in entry.unsent:
            blocking = self._past.blocking(copy.target, self._truths)
            copy.depend_on(blocking, self._past.wanted(copy.target))
        for copy in entry.unsent:
            self._past.cover(copy.target, copy.sequence, copy.wanted)

    def _draft(self, copy: WindowCopy, stalled: dict[int, bool]) -> Draft | None:
        """What the copy would say if it left now; None if it may not."""
        blocking = copy.blocking
        while blocking:
            report = blocking[len(blocking) - 1]
            report.forget_known(self._truths)
            if report.names(copy.target, self._truths):
                return None
            blocking.pop()
        must = alive_marks(copy, self._truths)
        if len(must) > self._facts:
            return None
        return self._writer.draft(copy.target, must, stalled)

    def _park(self, entry: WindowEntry, copy: WindowCopy) -> None:
        entry.unsent.remove(copy)
        self._parking.park(copy, self._past.snapshot())

    def _unpark(self, now_ns: i64, outbox: Outbox) -> None:
        for target in list(self._parking.copies):
            while self._parking.holds(target):
                draft = self._parking.next_leaving(target, self._window, self._truths)
                if draft is None:
                    break
                self._transmit_first(self._parking.unpark(target), draft, now_ns, outbox)

    def _suspect(self) -> None:
        if self._window.leave_out(self._parking.suspects(self._stalls.hints)):
            self._news = True

    def _stalled(self) -> dict[int, bool]:
        """Destinations that we suspect, or that others name as exceptions."""
        found: dict[int, bool] = {}
        if self._exceptions == 0:
            return found
        for target in self._window.excepting.without:
            found[target] = True
        for standing in self._truths.excepting.values():
            if standing.by_permit is not None:
                for target in standing.by_permit.but:
                    found[target] = True
        for report in self._past.incomplete.values():
            if report.told.exceptions:
                for target in report.exceptions:
                    found[target] = True
        return found

    # Packets leave.

    def _gossip(self, target: i64) -> list[Watermark]:
        if self._watermarks == 0:
            return NO_WATERMARKS
        return self._truths.gossip(target, self._window.watermark())

    def _control_gossip(self, peer: FactsPeer) -> list[Watermark]:
        """For acks and asks: what counts acks of the expelled as given waits until it has noted."""
        return self._gossip(peer.id) if peer.unacked_notices is None else NO_WATERMARKS

    def _permit(
        self, peer: FactsPeer, sequence: i64, exceptions: tuple[int, ...], outbox: Outbox
    ) -> None:
        peer.transmit(FactsPermit(sequence, exceptions, self._gossip(peer.id)), outbox)

    def _ack(self, peer: FactsPeer, outbox: Outbox) -> None:
        outbox.transmit(peer.id, FactsAck(peer.delivered, self._control_gossip(peer)))

    def _ask(self, peer: FactsPeer, outbox: Outbox) -> None:
        lowest = self._truths.permitted(peer.id) + 1
        lowest_except = self._truths.permitted_except(peer.id) + 1
        gossip = self._control_gossip(peer)
        outbox.transmit(peer.id, FactsAsk(peer.delivered, lowest, lowest_except, gossip))

    def _transmit_first(self, copy: WindowCopy, draft: Draft, now_ns: i64, outbox: Outbox) -> None:
        peer = self._peers[copy.target]
        copy.leave(draft.must, draft.report, now_ns)
        peer.on_first_transmitted(copy.sequence, now_ns)
        if draft.report is None:
            self._owed.clean(copy.target, copy.sequence)
        else:
            self._owed.add(copy.target, copy.sequence, draft.unresolved)
        self._transmit_copy(copy, draft.must, draft.report, outbox)
        self._alarms.start(peer, now_ns)
        if self._exceptions > 0:
            self._stalls.transmitted(peer, now_ns)

    def _transmit_copy(
        self, copy: WindowCopy, must: list[Mark], report: PastReportField | None, outbox: Outbox
    ) -> None:
        gossip = self._gossip(copy.target)
        packet = FactsMessage(copy.message, copy.previous, must, report, gossip)
        self._peers[copy.target].transmit(packet, outbox)

    def _transmit_again(self, peer: FactsPeer, start: i64, stop: i64, outbox: Outbox) -> None:
        """The copies from index `start` to before `stop`, as far as they were transmitted."""
        permitted = self._owed.queue_of(peer.id).permitted
        for index in range(start, min(stop, peer.unsent_at)):
            copy = peer.copies.at(index)
            # Once it is permitted it is clean; until then it says what it said first. Nobody is
            # asked again to wait for what is known to be delivered.
            report = None if copy.sequence <= permitted else copy.report
            self._transmit_copy(copy, undelivered_marks(copy, self._truths), report, outbox)

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        peer = self._peers.get(target)
        if peer is not None:
            start, stop = find_from(peer.copies, first), find_from(peer.copies, last + 1)
            self._transmit_again(peer, start, stop, outbox)

    # Packets arrive.

    def _learn(self, watermarks: list[Watermark], source: i64) -> None:
        for watermark in watermarks:
            self._truths.learn(watermark, source)

    def _on_message(
        self, peer: FactsPeer, packet: FactsMessage, now_ns: i64, outbox: Outbox
    ) -> None:
        sequence = packet.carried.sequence
        if packet.report is None:
            self._on_permit(peer, sequence, (), now_ns)
        if sequence <= peer.delivered:
            self._ack(peer, outbox)
            return
        self._deliver(self._inbox.take(peer, packet), now_ns, outbox)

    def _deliver(self, ready: list[FactsMessage], now_ns: i64, outbox: Outbox) -> None:
        """Deliver these, remember what they report, then acknowledge each source once."""
        acks: dict[int, FactsPeer] = {}
        for packet in ready:
            peer = self._peers[packet.carried.sender]
            acks[peer.id] = peer
            if packet.report is not None:
                self._note_report(peer, packet.carried.sequence, packet.report, now_ns)
            outbox.deliver(packet.carried)
        for peer in acks.values():
            self._ack(peer, outbox)

    def _note_report(
        self, peer: FactsPeer, sequence: i64, report: PastReportField, now_ns: i64
    ) -> None:
        """A delivered message was not clean: what it says becomes part of the past in its turn."""
        missed = self._misses_permit(peer)
        peer.set_unclean(sequence)
        if sequence <= self._truths.permitted(peer.id):
            return
        if report.exceptions:
            self._truths.on_exceptions()
        self._serial += 1
        self._log.append(PastReport(self._serial, peer.id, sequence, report))
        self._logged_reports += 1
        if not missed:
            peer.wait_for_permits(now_ns)
        self._alarms.start(peer, now_ns)

    def _on_ack(self, peer: FactsPeer, sequence: i64, now_ns: i64) -> None:
        copies = peer.copies
        if sequence > peer.last_transmitted or not peer.awaits_acks():
            return
        if sequence < copies.peek().sequence or find_copy(copies, sequence) < 0:
            return
        while peer.awaits_acks() and copies.peek().sequence <= sequence:
            copy = copies.remove()
            self._window.acknowledged(peer.id, copy.sequence)
            for mark in copy.must:
                self._truths.deliver(mark.sender, peer.id, mark.sequence)
        peer.on_acked(sequence, now_ns)
        self._past.acknowledged(peer.id, sequence)
        self._news = True
        peer.watch(self._misses_permit(peer))
        if self._exceptions > 0:
            self._stalls.acknowledged(peer, now_ns)
        self._advance()

    def _on_permit(
        self, peer: FactsPeer, sequence: i64, exceptions: tuple[int, ...], now_ns: i64
    ) -> None:
        if exceptions:
            if self._truths.permit_except(peer.id, sequence, exceptions):
                peer.progress(now_ns)
            return
        if not self._truths.permit(peer.id, sequence):
            return
        self._past.permitted(peer.id, sequence, self._truths)
        if peer.on:
            peer.progress(now_ns)
            peer.wait_for_permits(now_ns)
            peer.watch(self._misses_permit(peer))

    def _on_ask(self, peer: FactsPeer, packet: FactsAsk, now_ns: i64, outbox: Outbox) -> None:
        if peer.last_transmitted == 0:
            return
        self._on_ack(peer, packet.delivered, now_ns)
        owed = self._owed.queue_of(peer.id)
        if owed.permitted >= packet.lowest:
            self._permit(peer, owed.permitted, (), outbox)
        if owed.given_except >= packet.lowest_except and owed.given_except > owed.permitted:
            self._permit(peer, owed.given_except, owed.given_exceptions, outbox)

    # Suspicions from outside.

    def suspect(self, targets: Sequence[int], now_ns: int) -> list[Effect]:
        """Take these for stalled, until this is called again; the timer has suspicions of its own.

        Right or wrong, this costs order nothing: who is suspected is named, never trusted.
        """
        outbox = EffectList()
        hinted = checked_targets(targets)
        for target in hinted:
            if self._peer(target) is None:
                raise LocalError(f"process {target} is not one of the others")
        self._parking.set_told(hinted)
        self._suspect()
        self._news = True
        self._pass(now_ns, outbox)
        return outbox.effects
