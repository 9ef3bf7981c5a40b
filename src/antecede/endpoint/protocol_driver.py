"""The core, and what it asks for: packets go into queues, messages into the inbox.

Every call of the core goes through here, with the time. What it wants transmitted waits in the
session until datagrams are written; what it delivers is in the inbox when the call returns.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.effects import Effect
from antecede.core.packets import (
    Ack,
    ExpulsionAck,
    ExpulsionNotice,
    Message,
    Packet,
    YouAreExpelled,
)
from antecede.core.process import NEVER_NS, NodeProcess, Outbox, perform_effects
from antecede.endpoint.inbox import Inbox
from antecede.membership.expulsions import Expulsions
from antecede.membership.sessions import SessionTable
from antecede.transport.datagram_reader import FrameHandler
from antecede.transport.event_rows import EventSink
from antecede.transport.message_fragments import OwnFragments
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.session import ME, Session
from antecede.wire.expulsions import ExpulsionRecord

NEAR: Final = 64
"""Up to 64 sessions (a power of two) are found by the last bits of their ids, without a dictionary:
a message to many goes from one to the next."""


@final
class ProtocolDriver(Outbox, FrameHandler):
    """Drives the core of one node."""

    __slots__ = (
        "_by_id",
        "_expulsions",
        "_gone_news",
        "_inbox",
        "_name",
        "_near",
        "_own_fragments",
        "_recent",
        "_rows",
        "_sessions",
        "_unlogged",
        "process",
    )

    def __init__(
        self,
        name: str,
        process: NodeProcess,
        inbox: Inbox,
        own_fragments: OwnFragments,
        rows: EventSink | None,
        sessions: SessionTable,
        expulsions: Expulsions,
    ) -> None:
        self._name: Final = name
        self.process: Final = process
        self._inbox: Final = inbox
        self._own_fragments: Final = own_fragments
        self._rows: Final = rows
        self._unlogged: list[Message] = []
        self._sessions: Final = sessions
        self._by_id: Final = sessions.by_id
        self._expulsions: Final = expulsions
        # What the core wants told to peers that are gone: nobody need be told.
        self._gone_news: list[tuple[int, list[int]]] = []
        # The session that was looked for last, which is most often the next one too.
        self._recent: Session | None = None
        self._near: Final[list[Session | None]] = [None] * NEAR

    # What the core is told.

    def submit(self, targets: list[int], payload: bytes, sequence: i64, now_ns: i64) -> None:
        """Send `payload`; the core will call it `sequence`."""
        rows = self._rows
        if rows is None:
            self.process.submit_into(targets, payload, now_ns, self)
            return
        for target in targets:
            self._log_submission(rows, target, sequence, len(payload), now_ns)
        self.process.submit_into(targets, payload, now_ns, self)
        self._log_deliveries(rows, now_ns)

    def on_packet(self, session: Session, packet: Packet, now_ns: i64) -> None:
        self._recent = session
        self.process.arrive_into(session.id, packet, now_ns, self)
        if self._rows is not None:
            self._log_deliveries(self._rows, now_ns)

    def expire(self, now_ns: i64) -> None:
        """Let the core's own timer ring, if it is time."""
        if self.process.wake_ns() <= now_ns:
            self.process.expire_into(now_ns, self)
            self._drop_gone_news(now_ns)

    def retransmit(self, session: Session, sent: SentDatagram) -> None:
        """Ask for the messages of a lost datagram again; control has timers of its own."""
        if sent.first > 0:
            self.process.lost_into(session.id, sent.first, sent.last, self)
        if sent.again is not None:
            for sequence in sent.again:
                self.process.lost_into(session.id, sequence, sequence, self)

    def perform(self, effects: list[Effect]) -> None:
        """Do what a restored core wants done."""
        perform_effects(effects, self)

    def resend_all(self, session: Session, delivered: i64, now_ns: i64) -> None:
        """The session is reset with a peer that has `delivered` this; the rest goes again."""
        if delivered > 0:
            self.process.arrive_into(session.id, Ack(delivered), now_ns, self)
        self.process.lost_into(session.id, 1, NEVER_NS - 1, self)

    def forget(self, session: Session, now_ns: i64) -> list[int]:
        """A peer delivers nothing more: which of our messages it may never have delivered."""
        self._sessions.forget(session)
        self._recent = None
        self._near[session.id & (NEAR - 1)] = None
        given_up = self.process.abandon_into(session.id, now_ns, self)
        self._log_the_rest(now_ns)
        return given_up

    def meet(self, session: Session, now_ns: i64) -> None:
        """A peer is there: it will hear of all expulsions."""
        self.process.on_met_into(session.id, now_ns, self)

    def expel(self, session: Session, record: ExpulsionRecord, now_ns: i64) -> None:
        """Go on without a peer."""
        self._expulsions.remember(session.id, record)
        self._place_expulsions()
        self.process.expel_into(session.id, now_ns, self)
        self._drop_gone_news(now_ns)

    def expel_unmet(self, record: ExpulsionRecord, now_ns: i64) -> None:
        """Go on without an incarnation that was not met here, and those before it."""
        for process in self._expulsions.on_own_notice(record):
            self.process.expel_into(process, now_ns, self)
        self._place_expulsions()
        self._drop_gone_news(now_ns)

    def on_expulsions(self, session: Session, records: list[ExpulsionRecord], now_ns: i64) -> None:
        processes = self._expulsions.on_notices(session.name, records)
        self._place_expulsions()
        self.on_packet(session, ExpulsionNotice(processes, None), now_ns)
        # Who tells of them need not be told: its own word may be the only one that comes.
        self._follow_notices(session)
        self._drop_gone_news(now_ns)

    def on_expulsions_acked(
        self, session: Session, records: list[ExpulsionRecord], now_ns: i64
    ) -> None:
        acked = ExpulsionAck(self._expulsions.ids_up_to(records))
        self.on_packet(session, acked, now_ns)
        self._follow_notices(session)
        self._drop_gone_news(now_ns)

    def _place_expulsions(self) -> None:
        """Whoever is expelled by what happens now: before anything that is delivered later."""
        for record in self._expulsions.take_unreported():
            if not self._expulsions.is_me(record):
                self._inbox.put_expulsion(self._name, record.name, record.incarnation)

    def _follow_notices(self, session: Session) -> None:
        """What a peer has acknowledged need not be told; after all of it, messages may leave."""
        left = self.process.unacked_notices(session.id)
        session.notices.on_acked(self._expulsions.records_of(left))
        session.channel.send_queue.block(len(left) > 0)

    def _log_the_rest(self, now_ns: i64) -> None:
        """What was delivered though nothing has come: it had waited for somebody who is gone."""
        if self._unlogged and self._rows is not None:
            self._log_deliveries(self._rows, now_ns)

    def _drop_gone_news(self, now_ns: i64) -> None:
        """Who is gone counts as told: the core need not repeat it."""
        self._log_the_rest(now_ns)
        while self._gone_news:
            target, processes = self._gone_news.pop()
            self.process.arrive_into(target, ExpulsionAck(processes), now_ns, self)

    # What the core wants done.

    def transmit(self, target: i64, packet: Packet) -> None:
        session = self._recent
        if session is None or session.id != target:
            session = self._find(target)
            if session is None:  # It is gone, whatever the core still has to say to it.
                if isinstance(packet, ExpulsionNotice):
                    self._gone_news.append((int(target), packet.processes))
                return
            self._recent = session
        if isinstance(packet, ExpulsionNotice):
            # All that it has still to acknowledge: what comes with that waits until it has.
            session.notices.tell(self._expulsions.records_of(packet.processes))
            session.channel.send_queue.block(True)
            inner = packet.inner
            if inner is not None:
                session.channel.send_queue.put(inner)
        elif isinstance(packet, ExpulsionAck):
            session.notices.acknowledge(self._expulsions.records_of(packet.processes))
        elif not isinstance(packet, YouAreExpelled):  # Those are told by the endpoint.
            session.channel.send_queue.put(packet)
        if not session.marked:
            self._sessions.request_write(session)

    def _find(self, target: i64) -> Session | None:
        """The session that has this id, if there is one."""
        place = target & (NEAR - 1)
        session = self._near[place]
        if session is None or session.id != target:
            session = self._by_id.get(target)
            self._near[place] = session
        return session

    def deliver(self, message: Message) -> None:
        if self._rows is not None:
            self._unlogged.append(message)
        sequence = message.sequence
        if message.sender == ME:
            own = self._own_fragments
            number = own.numbering.of(sequence)
            self._inbox.put_to_self(self._name, number, message.payload, own.continues(sequence))
        else:
            session = self._recent
            if session is None or session.id != message.sender:
                session = self._by_id[message.sender]
            self._inbox.put(session, sequence, message.payload)

    def process_of(self, sender: i64) -> i64:
        """A peer's id, or this node's, in the event log."""
        if sender == ME:
            return 0 if self._rows is None else self._rows.me
        rows = self._by_id[sender].rows
        return 0 if rows is None else rows.process

    def _log_submission(
        self, rows: EventSink, target: i64, sequence: i64, size: i64, now_ns: i64
    ) -> None:
        process = self.process_of(target)
        if target == ME or self._by_id[target].met:
            rows.submitted(sequence, process, size, now_ns)
        else:
            rows.submitted_to_stranger(target, sequence, process, size, now_ns)

    def _log_deliveries(self, rows: EventSink, now_ns: i64) -> None:
        for message in self._unlogged:
            sender = self.process_of(message.sender)
            rows.delivered(sender, message.sequence, message.payload, now_ns)
        self._unlogged.clear()
