"""A node without its socket and its clock: the core, a session per peer, and an inbox.

Whoever drives it (the asyncio node, the in-memory test network, a simulation) tells it what the
application wants (`send`), what has come (`receive`) and that time has passed (`expire`), and then
takes what is to be done: `write` fills `out` with datagrams, `inbox` holds what was delivered,
`reports` what the application should know, and `wake_ns` says when to call `expire`.

The core decides what may leave and in which order; sessions decide when. What a session's path
declares lost, the core is asked to transmit again. Large payloads are cut into consecutive messages
above the core, and handed over when the last of them is delivered.
"""

from heapq import heappop, heappush
from typing import Final, final

from librt.strings import BytesWriter, read_i64_le
from mypy_extensions import i64

from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import DataPacket
from antecede.core.process import NEVER_NS, HeldBack, NodeProcess, Outbox
from antecede.core.protocols.hybrid import HybridProcess
from antecede.core.values import Message, Packet
from antecede.link.contacts import Candidate, Contact
from antecede.link.datagram import Datagram
from antecede.link.directory import Directory, Identity, Tokens
from antecede.link.frames import DATAGRAM, NO_KEY, NUMBER_AT, TOKEN_AT
from antecede.link.greeting import HELLO, REFUSE, UNKNOWN, WELCOME
from antecede.link.inbox import InboundMessage, Inbox
from antecede.link.incoming import Incoming
from antecede.link.limits import Limits
from antecede.link.path.flight import Sent
from antecede.link.reports import (
    PeerBack,
    PeerLeft,
    PeerMet,
    PeerMoved,
    PeerRestarted,
    PeerSilent,
    Report,
    Undeliverable,
)
from antecede.link.rows import EventRows
from antecede.link.sending import Sending
from antecede.link.session import (
    BYE_DUE,
    LEAVE_WHEN_RELEASED,
    ME,
    PING_DUE,
    Session,
)
from antecede.wire.varint import Reader

GONE_PROBES: Final = 5
"""A peer that has said bye and then leaves so many probes unanswered has gone."""


@final
class Endpoint(Outbox):
    """One node of the network."""

    def __init__(
        self,
        me: Identity,
        process: NodeProcess,
        tokens: Tokens,
        limits: Limits,
        rows: EventRows | None,
        cumulative: bool,
    ) -> None:
        self._me: Final = me
        self._process: Final = process
        self._hybrid: Final = process if isinstance(process, HybridProcess) else None
        self._limits: Final = limits
        self._rows: Final = rows
        self._cumulative: Final = cumulative
        self.out: list[Datagram] = []
        self.reports: list[Report] = []
        self.inbox: Final = Inbox(me.payload_limit)
        self.directory: Final = Directory(
            me, tokens, self.out, self.reports, limits.open_to_strangers
        )
        self._incoming: Final = Incoming(process, self)
        # Sessions by their id in the core; the first place stands for this node.
        self._sessions: Final = [Session(ME, me.name, 0, 0, cumulative)]
        if rows is not None:
            self._sessions[ME].process = rows.me
        self.sending: Final = Sending(
            process, limits, self.directory, self._sessions, self.inbox, rows, self
        )
        self._dirty: list[Session] = []
        self._writer: Final = BytesWriter()
        self._timers: list[tuple[int, int]] = []
        self._leaving: i64 = -1
        self.malformed: i64 = 0
        self.why_malformed = ""

    # Peers.

    def add_peer(
        self, name: str, address: object, process: int, datagram_size: int, now_ns: i64
    ) -> None:
        """Make a peer known; it is greeted at once if its address is."""
        if name == self._me.name:
            raise LocalError(f"{name} is this node's own name; a node is not its own peer")
        if name in self.directory.by_name:
            raise LocalError(f"{name} is a peer already; remove it first to change its address")
        session = self._new_session(name, datagram_size, process)
        contact = self.directory.add(name, address, session, now_ns)
        contact.process = process
        self._set_timer(contact.hello_at_ns, -contact.index - 1)

    def remove_peer(self, name: str, now_ns: i64) -> None:
        """Forget a peer for good: what it has not acknowledged is reported undeliverable.

        The application vouches that it is gone: if it went on to deliver what it has been sent,
        causal order would not be kept there.
        """
        contact = self.directory.by_name.get(name)
        if contact is None:
            raise LocalError(f"{name} is not a peer")
        self.directory.remove(contact)
        self._give_up(contact.session, now_ns)

    def session_of(self, name: str) -> Session | None:
        """The session with a peer, or None if there is no such peer."""
        contact = self.directory.by_name.get(name)
        return None if contact is None else contact.session

    def session_at(self, session_id: i64) -> Session:
        """The session that has this id in the core."""
        return self._sessions[session_id]

    def sessions(self) -> list[Session]:
        """The sessions with all peers, in the order in which the peers were added."""
        return [contact.session for contact in self.directory.list if not contact.removed]

    # Looking inside.

    def buffered(self) -> int:
        """How many of our messages somebody has not delivered yet, as far as is known."""
        return self._process.buffered()

    def held_back(self) -> list[HeldBack]:
        """Our messages that wait for permits, and whose."""
        return [] if self._hybrid is None else self._hybrid.waiting()

    def expected(self, session: Session) -> tuple[int, int]:
        """The last id delivered from a peer, and how many wait there for a gap to close."""
        return (0, 0) if self._hybrid is None else self._hybrid.expected(session.id)

    def owes(self, session: Session) -> int:
        """How many of our messages a peer has not acknowledged."""
        return self._process.owes(session.id)

    # Receiving.

    def receive(self, address: object, data: bytes, now_ns: i64) -> None:
        """Take in a datagram; one that makes no sense is counted and dropped."""
        self.sending.now_ns = now_ns
        try:
            self._receive(address, data, now_ns)
        except RemoteError as error:
            self.malformed += 1
            self.why_malformed = str(error)
        self.sending.settle(now_ns)

    def take_inbox(self) -> list[InboundMessage]:
        """What was delivered since the last call; its senders get credit for it."""
        for session in self.inbox.uncredited:
            session.uncredited = False
            session.inboxed_cost = 0
            session.grant()
            if session.controls_due != 0:
                self._mark(session)
        self.inbox.uncredited.clear()
        return self.inbox.take()

    # Time.

    def wake_ns(self) -> i64:
        """When to call `expire`: never too late, sometimes too early."""
        core_ns = self._process.wake_ns()
        if self._timers and self._timers[0][0] < core_ns:
            return self._timers[0][0]
        return core_ns

    def expire(self, now_ns: i64) -> None:
        """Do what is due by now."""
        self.sending.now_ns = now_ns
        if self._process.wake_ns() <= now_ns:
            self._process.expire_into(now_ns, self)
        while self._timers and self._timers[0][0] <= now_ns:
            due_ns, key = heappop(self._timers)
            if key < 0:
                self._hello_is_due(self.directory.list[-key - 1], now_ns)
            else:
                session = self._sessions[key]
                if session.wake_ns == due_ns:
                    session.wake_ns = NEVER_NS
                    self._session_is_due(session, now_ns)
        self.sending.settle(now_ns)

    def write(self, now_ns: i64) -> None:
        """Put everything that may leave now into `out`."""
        self.sending.now_ns = now_ns
        self.sending.ledger.unwritten = 0
        for session in self._dirty:
            session.dirty = False
            session.dirty_again = False
            session.grant()
            session.write(now_ns, self._writer, self.sending.ledger.parts, self.out)
            self._plan(session, now_ns)
        self._dirty.clear()

    # Leaving.

    def say_bye(self, mode: int, now_ns: i64) -> None:
        """Tell all peers that nothing more will be sent from here."""
        self._leaving = mode
        for session in self.sessions():
            if session.met and not session.ended:
                self._bid_farewell(session)
        self.sending.settle(now_ns)

    def awaited(self) -> list[str]:
        """The peers that a node which said bye still waits for."""
        names: list[str] = []
        for session in self.sessions():
            released = self._leaving == LEAVE_WHEN_RELEASED and session.peer_released
            if session.ended or released or (session.peer_bye >= 0 and session.bye_acked):
                continue
            if self._leaving != LEAVE_WHEN_RELEASED or self._has_dealt_with(session):
                names.append(session.name)
        return names

    def stranded(self) -> list[str]:
        """Of those, the ones that may miss something if this node stopped now."""
        waited_for = self.awaited()
        dealt_with = [s.name for s in self.sessions() if self._has_dealt_with(s)]
        return [name for name in dealt_with if name in waited_for]

    # What the core wants done.

    def transmit(self, target: i64, packet: Packet) -> None:
        session = self._sessions[target]
        if session.ended:
            return
        session.outgoing.put(packet)
        if isinstance(packet, DataPacket) or not session.dirty:
            self._mark(session)

    def deliver(self, message: Message) -> None:
        sequence = message.sequence
        session = self._sessions[message.sender]
        rows = self._rows
        if rows is not None:
            rows.delivered(session.process, sequence, len(message.payload), self.sending.now_ns)
        if message.sender == ME:
            more = len(self.sending.ledger.parts) > 0 and sequence in self.sending.ledger.parts
            self.inbox.put_own(self._me.name, sequence, message.payload, more)
        else:
            self.inbox.put(session, sequence, message.payload)

    # Datagrams.

    def _receive(self, address: object, data: bytes, now_ns: i64) -> None:
        if len(data) <= NUMBER_AT:
            raise RemoteError("a datagram too short for a header")
        if data[0] == DATAGRAM:
            self._receive_frames(address, data, now_ns)
        else:
            self._receive_greeting(data[0], address, Reader(data, 1), now_ns)

    def _receive_greeting(self, kind: i64, address: object, reader: Reader, now_ns: i64) -> None:
        if kind in (HELLO, WELCOME):
            candidate = self.directory.receive(kind, address, reader, now_ns)
            if candidate is not None:
                self._meet(candidate, now_ns)
        elif kind == REFUSE:
            self.directory.receive_refusal(address, reader)
        elif kind == UNKNOWN:
            over = self.directory.receive_unknown(reader, now_ns)
            if over is not None:
                self._has_gone(over)
        else:
            raise RemoteError(f"a datagram of unknown kind {kind}")
        self._plan_hellos()

    def _receive_frames(self, address: object, data: bytes, now_ns: i64) -> None:
        if data[1] != NO_KEY:
            raise RemoteError(f"a datagram protected with key {data[1]}, which is not known here")
        token = read_i64_le(data, TOKEN_AT)
        session = self.directory.by_token.get(token)
        if session is None:
            candidate = self.directory.candidate(token)
            if candidate is None:
                self.directory.answer_unknown(address, token, now_ns)
                return
            session = self._believe(candidate, now_ns)
        reader = Reader(data, NUMBER_AT)
        number = reader.positive()
        floor = number - 1 - reader.varint()
        if floor < 0:
            raise RemoteError("a datagram older than the first")
        self._heard(session, address, number, now_ns)
        self._mark(session)
        if session.is_new(number):
            self._read(session, reader, number, now_ns)
            session.arrived(number, floor, now_ns)

    def _read(self, session: Session, reader: Reader, number: i64, now_ns: i64) -> None:
        incoming = self._incoming
        incoming.read(session, reader, number, now_ns)
        if incoming.owed:
            session.owe_ack(incoming.messages or session.peer_bye >= 0, now_ns)
        if incoming.numbers:
            self._repeat_lost(session)
        if session.peer_bye >= 0:
            self._release(session)

    def _heard(self, session: Session, address: object, number: i64, now_ns: i64) -> None:
        session.heard_ns = now_ns
        if session.silent:
            session.silent = False
            self.reports.append(PeerBack(name=session.name))
        # Only its newest datagram tells where it is: others may be late, or repeated elsewhere.
        moved = session.address != address and number > session.path.received.largest
        if moved and not session.fixed_address:
            session.address = address
            self.reports.append(PeerMoved(name=session.name, address=address))

    def _repeat_lost(self, session: Session) -> None:
        for sent in session.path.lost:
            self._repeat(session, sent)

    def _repeat(self, session: Session, sent: Sent) -> None:
        """Ask the core for the messages of a lost datagram; a control has timers of its own."""
        hybrid = self._hybrid
        if hybrid is None:
            return
        if sent.first > 0:
            hybrid.lost_into(session.id, sent.first, sent.last, self)
        if sent.again is not None:
            for sequence in sent.again:
                hybrid.lost_into(session.id, sequence, sequence, self)

    # Peers, inside.

    def _meet(self, candidate: Candidate, now_ns: i64) -> None:
        """A hello was answered: that was a round trip, if it was the first hello."""
        contact = candidate.contact
        first = contact.hellos == 1
        session = self._believe(candidate, now_ns)
        if first:
            session.path.round_trip.measured(now_ns - contact.hello_sent_ns, 0)

    def _believe(self, candidate: Candidate, now_ns: i64) -> Session:
        """A candidate has shown that it is there: talk to it, and to no earlier incarnation."""
        contact = candidate.contact
        greeting = candidate.greeting
        if contact.session.met:
            self.reports.append(PeerRestarted(name=contact.name))
            self._give_up(contact.session, now_ns)
            session = self._new_session(contact.name, contact.datagram_size, contact.process)
            contact.begin(session, greeting.incarnation)
        else:
            self.reports.append(PeerMet(name=contact.name))
        self.directory.confirm(candidate)
        session = contact.session
        if greeting.process > 0:
            session.known_as(greeting.process, self._rows)
        self._introduce(session)
        session.token_in = candidate.token_in
        self.directory.by_token[session.token_in] = session
        session.fixed_address = contact.address is not None
        session.address = contact.address if session.fixed_address else candidate.address
        session.establish(greeting.incarnation, greeting.token, greeting.socket_bytes, now_ns)
        session.granted = session.window
        session.payload_limit = greeting.payload_limit
        session.largest = min(session.largest, greeting.payload_limit)
        session.outgoing.credit_limit = greeting.window
        session.controls_due |= PING_DUE
        if self._leaving >= 0:
            self._bid_farewell(session)
        self._mark(session)
        return session

    def _give_up(self, session: Session, now_ns: i64) -> None:
        """A peer is gone: nothing to it is waited for, and what it may have missed is reported."""
        self._introduce(session)
        self.directory.end_session(session)
        session.outgoing.clear()
        undelivered = self._process.forget_into(session.id, now_ns, self)
        whole = self.sending.ledger.withdraw(session.id, undelivered)
        if whole:
            self.reports.append(Undeliverable(name=session.name, sequences=tuple(whole)))
        self.sending.settle(now_ns)

    def _introduce(self, session: Session) -> None:
        """The event log can say to whom a peer's messages are."""
        if self._rows is not None:
            self._rows.introduced(session.id, session.process)

    def _new_session(self, name: str, datagram_size: i64, process: i64) -> Session:
        session = Session(
            len(self._sessions), name, datagram_size, self._limits.window, self._cumulative
        )
        session.known_as(process, self._rows)
        session.largest = min(datagram_size - self._limits.frame_room, self._me.payload_limit)
        self._sessions.append(session)
        return session

    # Leaving, inside.

    def _has_dealt_with(self, session: Session) -> bool:
        """Whether anything was ever exchanged with a peer, or waits for it."""
        return session.met or self.owes(session) > 0

    def _bid_farewell(self, session: Session) -> None:
        """Say bye, and with it that everything sent from here has been delivered everywhere."""
        session.bye_mode = self._leaving
        session.controls_due |= BYE_DUE
        if self._hybrid is not None and self.buffered() == 0:
            session.outgoing.permit_due = self.sending.ledger.next_sequence - 1
        self._mark(session)

    def _release(self, session: Session) -> None:
        """A peer that wants to leave may do so as soon as we have nothing for it."""
        if session.peer_bye != LEAVE_WHEN_RELEASED or session.left:
            return
        if self.owes(session) == 0:
            session.part()
            self.reports.append(PeerLeft(name=session.name))

    # Timers, inside.

    def _mark(self, session: Session) -> None:
        if not session.dirty:
            session.dirty = True
            self._dirty.append(session)

    def _set_timer(self, wake_ns: i64, key: i64) -> None:
        if wake_ns < NEVER_NS:
            heappush(self._timers, (wake_ns, key))

    def _plan(self, session: Session, now_ns: i64) -> None:
        """Make sure that the timer looks at a session in time."""
        wake_ns = session.next_wake_ns()
        if session.met and not session.ended and not session.left:
            beat_ns = session.left_ns + self._limits.heartbeat_ns
            if beat_ns < wake_ns:
                wake_ns = beat_ns
        if wake_ns <= now_ns:
            wake_ns = now_ns + 1
        if wake_ns < session.wake_ns and wake_ns < NEVER_NS:
            session.wake_ns = wake_ns
            heappush(self._timers, (wake_ns, session.id))

    def _hello_is_due(self, contact: Contact, now_ns: i64) -> None:
        if contact.removed or contact.hello_at_ns > now_ns:
            return
        self.directory.say_hello(contact, now_ns)
        self._plan_hellos()

    def _plan_hellos(self) -> None:
        """Every hello is repeated until it is answered."""
        for contact in self.directory.greeted:
            self._set_timer(contact.hello_at_ns, -contact.index - 1)
        self.directory.greeted.clear()

    def _session_is_due(self, session: Session, now_ns: i64) -> None:
        if session.ended or not session.met:
            return
        session.expire(now_ns)
        self._repeat_lost(session)
        oldest = session.oldest_to_probe()
        if oldest is not None:
            self._repeat(session, oldest)
        if session.path.probes >= GONE_PROBES and session.peer_bye >= 0:
            self._has_gone(session)
            return
        silent_ns = now_ns - session.heard_ns
        waiting = session.path.flight.eliciting > 0
        if waiting and silent_ns >= self._limits.silent_ns and not session.silent:
            session.silent = True
            self.reports.append(PeerSilent(name=session.name, silent_ns=silent_ns))
        if now_ns - session.left_ns >= self._limits.heartbeat_ns and not session.left:
            session.controls_due |= PING_DUE
        self._mark(session)

    def _has_gone(self, session: Session) -> None:
        """It had said bye and does not answer any more: that was its leaving."""
        session.bye_acked = True
        session.peer_released = True
        if not session.left:
            session.left = True
            self.reports.append(PeerLeft(name=session.name))
        self._give_up(session, self.sending.now_ns)
