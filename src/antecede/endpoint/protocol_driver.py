"""The core, and what it asks for: packets go into queues, messages into the inbox.

Every call of the core goes through here, with the time. What it wants transmitted waits in the
session until datagrams are written; what it delivers is in the inbox when the call returns.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.effects import Effect
from antecede.core.packets import Ack, ExpulsionAck, ExpulsionNotice, YouAreExpelled
from antecede.core.process import NEVER_NS, NodeProcess, Outbox, perform_effects
from antecede.core.values import Message, Packet
from antecede.endpoint.inbox import Inbox
from antecede.transport.event_rows import EventSink
from antecede.transport.numbering import OwnFragments
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.session import ME, Session

FORMER_MAX: Final = 1024
"""Incarnations that are over and whose names are remembered, because they may owe permits."""


@final
class ProtocolDriver(Outbox):
    """Drives the core of one node."""

    __slots__ = (
        "_by_name",
        "_former",
        "_gone_news",
        "_inbox",
        "_last_id",
        "_name",
        "_own_parts",
        "_recent",
        "_rows",
        "_unlogged",
        "marked",
        "process",
        "sessions",
    )

    def __init__(
        self,
        name: str,
        process: NodeProcess,
        inbox: Inbox,
        own_parts: OwnFragments,
        rows: EventSink | None,
    ) -> None:
        self._name: Final = name
        self.process: Final = process
        self._inbox: Final = inbox
        self._own_parts: Final = own_parts
        self._rows: Final = rows
        self._unlogged: list[Message] = []
        # The sessions by their id in the core, and those that have to be written to.
        self.sessions: Final[dict[int, Session]] = {}
        self._by_name: Final[dict[str, list[Session]]] = {}
        self.marked: list[Session] = []
        # The names of those that are over, by their id.
        self._former: Final[dict[int, str]] = {}
        self._last_id: i64 = 0
        # What the core wants told to peers that are gone: nobody need be told.
        self._gone_news: list[tuple[int, list[int]]] = []
        # The session that was looked for last, which is most often the next one too.
        self._recent: Session | None = None

    def add(self, session: Session) -> None:
        """There is a session with a peer."""
        self.sessions[session.id] = session
        self._by_name.setdefault(session.name, []).append(session)

    def remove(self, process: i64) -> Session | None:
        """There is none any more; the one that there was."""
        session = self.sessions.pop(process, None)
        if session is not None:
            left = [other for other in self._by_name[session.name] if other is not session]
            if left:
                self._by_name[session.name] = left
            else:
                del self._by_name[session.name]
        return session

    def sessions_of(self, name: str) -> list[Session]:
        """Those with incarnations of this name: a few at most."""
        return self._by_name.get(name, [])

    def skip_ids(self, last: i64) -> None:
        """Ids up to this one were used before a crash."""
        self._last_id = last

    def new_id(self) -> i64:
        """An id for an incarnation of a peer; none is ever used for two."""
        self._last_id += 1
        return self._last_id

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

    def arrive(self, session: Session, packet: Packet, now_ns: i64) -> None:
        """A packet has come from a peer."""
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
        """The session begins anew with a peer that has delivered so much; the rest goes again."""
        if delivered > 0:
            self.process.arrive_into(session.id, Ack(delivered), now_ns, self)
        self.process.lost_into(session.id, 1, NEVER_NS - 1, self)

    def forget(self, session: Session, now_ns: i64) -> list[int]:
        """A peer delivers nothing more: which of our messages it may never have delivered."""
        self.remove(session.id)
        self._recent = None
        self._former[session.id] = session.name
        if len(self._former) > FORMER_MAX:
            del self._former[next(iter(self._former))]
        given_up = self.process.abandon_into(session.id, now_ns, self)
        self._log_the_rest(now_ns)
        return given_up

    def meet(self, session: Session, now_ns: i64) -> None:
        """A peer is there: it will hear of all expulsions."""
        self.process.on_met_into(session.id, now_ns, self)

    def expel(self, session: Session, now_ns: i64) -> None:
        """Go on without a peer."""
        self.process.expel_into(session.id, now_ns, self)
        self._drop_gone_news(now_ns)

    def arrive_expulsion(self, session: Session, packet: Packet, now_ns: i64) -> None:
        """A notice, or that one was noted, has come from a peer."""
        self.arrive(session, packet, now_ns)
        self._drop_gone_news(now_ns)

    def _log_the_rest(self, now_ns: i64) -> None:
        """What was delivered though nothing has come: it had waited for somebody who is gone."""
        if self._unlogged and self._rows is not None:
            self._log_deliveries(self._rows, now_ns)

    def _drop_gone_news(self, now_ns: i64) -> None:
        """Who is gone counts as told: the core need not repeat it for ever."""
        self._log_the_rest(now_ns)
        while self._gone_news:
            target, processes = self._gone_news.pop()
            self.process.arrive_into(target, ExpulsionAck(processes), now_ns, self)

    # What the core wants done.

    def transmit(self, target: i64, packet: Packet) -> None:
        session = self._recent
        if session is None or session.id != target:
            session = self.sessions.get(target)
            if session is None:  # It is gone, whatever the core still has to say to it.
                if isinstance(packet, ExpulsionNotice):
                    self._gone_news.append((int(target), packet.processes))
                return
            self._recent = session
        if isinstance(packet, ExpulsionNotice):
            session.owe_notices(packet.processes)
            inner = packet.inner
            if inner is not None:
                session.outgoing.put(inner)
        elif isinstance(packet, ExpulsionAck):
            session.owe_noted(packet.processes)
        elif not isinstance(packet, YouAreExpelled):  # Those are told by the endpoint.
            session.outgoing.put(packet)
        if not session.marked:
            self.request_write(session)

    def deliver(self, message: Message) -> None:
        if self._rows is not None:
            self._unlogged.append(message)
        sequence = message.sequence
        if message.sender == ME:
            own = self._own_parts
            number = own.numbering.of(sequence)
            self._inbox.put_to_self(self._name, number, message.payload, own.continues(sequence))
        else:
            session = self._recent
            if session is None or session.id != message.sender:
                session = self.sessions[message.sender]
            self._inbox.put(session, sequence, message.payload)

    def request_write(self, session: Session) -> None:
        """A session has to be written to."""
        if session.request_write():
            self.marked.append(session)

    def take_writable(self) -> list[Session]:
        """The sessions that have to be written to, which is now done."""
        marked = self.marked
        self.marked = []
        return marked

    def name_of(self, process: i64) -> str:
        """The name of the peer that has, or had, this id."""
        session = self.sessions.get(process)
        return self._former.get(process, "?") if session is None else session.name

    def process_of(self, sender: i64) -> i64:
        """A peer's id, or this node's, in the event log."""
        if sender == ME:
            return 0 if self._rows is None else self._rows.me
        rows = self.sessions[sender].rows
        return 0 if rows is None else rows.process

    def _log_submission(
        self, rows: EventSink, target: i64, sequence: i64, size: i64, now_ns: i64
    ) -> None:
        process = self.process_of(target)
        if target == ME or self.sessions[target].met:
            rows.submitted(sequence, process, size, now_ns)
        else:
            rows.submitted_to_stranger(target, sequence, process, size, now_ns)

    def _log_deliveries(self, rows: EventSink, now_ns: i64) -> None:
        for message in self._unlogged:
            sender = self.process_of(message.sender)
            rows.delivered(sender, message.sequence, message.payload, now_ns)
        self._unlogged.clear()
