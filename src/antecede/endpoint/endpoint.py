"""A node without its socket and its clock: the core, a session per peer, and an inbox.

The core decides what may leave and in which order; sessions decide when. What a session's path
declares lost, the core is asked to transmit again. An endpoint only joins them:

    application ─▶ sending ─▶ core driver ─▶ send queue ─▶ writer ─▶ datagrams
    application ◀─ inbox   ◀─ core driver ◀─ reader ◀─ datagrams
"""

from heapq import heappop, heappush
from typing import Final, final

from librt.strings import read_i64_le
from mypy_extensions import i64

from antecede.core.errors import LocalError, RemoteError
from antecede.core.process import NEVER_NS, HeldBack, NodeProcess, PermitsOwed
from antecede.durability.recorder import Recorder
from antecede.durability.unconfirmed import InboundMessage
from antecede.endpoint.crash_recovery import CrashRecovery
from antecede.endpoint.endings import Endings
from antecede.endpoint.expulsion_news import ExpulsionNews
from antecede.endpoint.inbox import Inbox
from antecede.endpoint.incarnations import Incarnations
from antecede.endpoint.limits import Limits
from antecede.endpoint.loss_reporter import LossReporter
from antecede.endpoint.protocol_driver import ProtocolDriver
from antecede.endpoint.rollback import Rollbacks
from antecede.endpoint.sender import MessageSender
from antecede.endpoint.session_factory import SessionFactory
from antecede.endpoint.waiting_for import WaitingFor
from antecede.events import (
    NodeFenced,
    PathNarrow,
    PeerBack,
    PeerLeft,
    PeerMet,
    PeerMoved,
    PeerRestarted,
    PeerSilent,
    Report,
    seen_at,
)
from antecede.membership.contact import Candidate, Contact, ContactState
from antecede.membership.directory import Directory
from antecede.membership.expulsions import KEY_WITHDRAWN, REMOVED, RESTARTED, Expulsions
from antecede.membership.failure_detector import FailureDetector
from antecede.membership.handshake_crypto import HandshakeCrypto, HandshakeMessage, SealedDatagram
from antecede.membership.identity import Identity, TokenSource
from antecede.membership.sessions import SessionTable
from antecede.membership.unfinished import CROWDED_OUT
from antecede.transport.datagram import Datagram
from antecede.transport.datagram_reader import DatagramReader
from antecede.transport.datagram_writer import DatagramWriter
from antecede.transport.event_rows import EventSink
from antecede.transport.message_fragments import OwnFragments
from antecede.transport.peer_lifecycle import (
    ASKS_TO_GO,
    LEAVE_WHEN_RELEASED,
    MET,
    RESUMING,
    STAYING,
)
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.seals import SessionKeys
from antecede.transport.session import Session
from antecede.wire.expulsions import check_reason
from antecede.wire.frames import DATAGRAM, FRAME_OVERHEAD_MAX, NO_KEY, NUMBER_AT, TOKEN_AT
from antecede.wire.handshake import GREETING_SIZE, HELLO, REFUSE, UNKNOWN, WELCOME, is_encrypted
from antecede.wire.varint import WireReader

EVERYBODY: Final = 1 << 62
"""As many peers as there are."""

STAYS: Final = -1
"""In place of a way to leave: this node stays."""


@final
class Endpoint:
    """One node of the network.

    Whoever drives it (the asyncio node, the network in memory, the simulator) calls it in turns:

    1. Tell it what happens, in any order and number: `sending.send_fast` or `sending.send` (after
       `sending.has_room`), `receive`, `expire`, `add_peer`, `remove_peer`, `say_bye`.
    2. Take what was delivered with `take_inbox`, and what happened to peers from `reports`.
    3. Call `write` once. It fills `out`; send those datagrams and clear the list.
    4. Ask `wake_ns`, and begin the next turn no later than that, with `expire`.

    All of them take the time, which never goes back. Nothing leaves but in step 3: who has to make
    something durable before it shows does so between 2 and 3. `stop` is the last call, and is
    followed by sending `out` once more.
    """

    def __init__(
        self,
        me: Identity,
        process: NodeProcess,
        tokens: TokenSource,
        limits: Limits,
        rows: EventSink | None,
        cumulative: bool,
        crypto: HandshakeCrypto | None,
        recorder: Recorder,
    ) -> None:
        self._crypto: Final = crypto
        self._me: Final = me
        self._process: Final = process
        self._limits: Final = limits
        self._recorder: Final = recorder
        self.out: Final[list[Datagram]] = []
        self.reports: Final[list[Report]] = []
        self.losses: Final = LossReporter(self.reports, recorder)
        self.inbox: Final = Inbox(
            me.payload_limit, self.reports, recorder, limits.open_to_strangers
        )
        own_fragments = OwnFragments()
        self._table: Final = SessionTable(recorder.state.last_id)
        self._expulsions: Final = Expulsions(me.name, me.incarnation, self._table, recorder)
        self._core: Final = ProtocolDriver(
            me.name, process, self.inbox, own_fragments, rows, self._table, self._expulsions
        )
        self.directory: Final = Directory(
            me,
            tokens,
            self.out,
            self.reports,
            self._expulsions,
            limits.open_to_strangers,
            crypto,
            limits.meet_within_ns,
        )
        self.sending: Final = MessageSender(
            self._core, limits, self.directory, self.inbox, own_fragments, recorder
        )
        self.crash_recovery: Final = CrashRecovery(recorder, self._core, self._table, self.sending)
        self._sessions: Final = SessionFactory(
            self._table, recorder, rows, limits.window, me.payload_limit, cumulative
        )
        self._incarnations: Final = Incarnations(
            me, tokens, self._expulsions, self.directory, recorder
        )
        self._rollbacks: Final = Rollbacks(me, process)
        self.waiting_for: Final = WaitingFor(me.name, process, self._table, limits.silent_ns)
        self._reader: Final = DatagramReader(self._core)
        self.detector: Final = FailureDetector(self.directory, self._table, process)
        self._writer: Final = DatagramWriter(own_fragments, self.out)
        self._news = ExpulsionNews(self.directory, self._expulsions, self._writer, self.reports)
        self._endings: Final = Endings(
            me.name,
            self._core,
            self._table,
            self._sessions,
            self._expulsions,
            self.directory,
            self.sending,
            self.crash_recovery,
            self.losses,
            recorder,
            self.reports,
        )
        self._timers: Final[list[tuple[int, int]]] = []
        # Those that were met before a crash, and have still to answer.
        self._resuming: list[Session] = []
        self.deaf = False
        """Whether datagrams are dropped as if they were lost on the way."""
        self._leaving: i64 = STAYS
        self.malformed: i64 = 0
        self.last_malformed = ""

    # Peers.

    def add_peer(
        self,
        name: str,
        address: object,
        process: int,
        datagram_size: int,
        now_ns: i64,
        stranger: bool = False,
    ) -> None:
        """Make a peer known; it is greeted at once if its address is.

        A `stranger` was let in although nobody had introduced it, and is forgotten when it leaves.
        """
        if name == self._me.name:
            raise LocalError(f"{name} is this node's own name; a node is not its own peer")
        size = self._size_inside(name, datagram_size)
        former = self.directory.by_name.get(name)
        if former is not None and former.from_journal:
            self.directory.locate(former, address, size, now_ns)
            return
        if former is not None:
            raise LocalError(f"{name} is a peer already; remove it first to change its address")
        for gone in self.directory.departed():
            self.remove_peer(gone, now_ns)
        if stranger:
            for waiting in self.directory.strangers_to_evict():
                self.remove_peer(waiting, now_ns)
        known = self.crash_recovery.known(name)
        if known is None:
            session = self._sessions.new(name, size, process)
        else:
            session = self._sessions.recovered(known, size, process)
        contact = Contact(name, address, process, size, session, stranger)
        self.directory.add(contact, now_ns)
        self._table.add(session)
        self.crash_recovery.restore_contact(session, contact, known)

    def locate_peer(self, name: str, address: object, datagram_size: int, now_ns: i64) -> None:
        """A peer of which no address was known is to be found at this one."""
        size = self._size_inside(name, datagram_size)
        self.directory.locate(self._contact(name), address, size, now_ns)

    def _size_inside(self, name: str, datagram_size: int) -> int:
        """What fits into datagrams of this size; `LocalError` if that is nothing."""
        size = datagram_size if self._crypto is None else datagram_size - self._crypto.seal_bytes()
        if size <= FRAME_OVERHEAD_MAX:
            raise LocalError(
                f"datagrams of {size} bytes to {name}: at least {FRAME_OVERHEAD_MAX + 1} pass"
            )
        return size

    def remove_peer(self, name: str, now_ns: i64, reason: str = REMOVED) -> None:
        """Forget a peer for good: what it has not acknowledged is reported undeliverable.

        One that has not left is expelled first.
        """
        contact = self._contact(name)
        session = contact.session
        if session.met and not session.is_gone():
            self._endings.expel(session, self._me.name, reason, now_ns)
        self.directory.remove(contact)
        self._endings.give_up(contact.session, now_ns)
        self._recorder.on_peer_removed(contact.session.id)

    def expel(self, name: str, reason: str, now_ns: i64) -> None:
        """Go on without a peer, for ever and whatever it does: a later incarnation may come back.

        What it owed counts as given, and all peers are told. Right or wrong about the peer, causal
        order is kept everywhere.
        """
        contact = self._contact(name)
        check_reason(reason, name)
        if contact.expelled:
            return
        if not contact.session.met:
            raise LocalError(f"{name} has never been met: there is nobody to expel")
        self._endings.expel(contact.session, self._me.name, reason, now_ns)
        self.sending.on_room_freed(now_ns)

    def is_expelled(self, name: str, incarnation: i64) -> bool:
        """Whether this life of a node is expelled, or one that came after it."""
        return self._expulsions.is_expelled(name, incarnation)

    def expelled_names(self) -> dict[str, int]:
        """The newest expelled incarnation of each name."""
        return self._expulsions.newest_of_all()

    def expel_incarnation(self, name: str, incarnation: i64, reason: str, now_ns: i64) -> None:
        """Go on without a life of a node that others have met, and this node perhaps never."""
        if self._expulsions.is_expelled(name, incarnation):
            return
        session = self.session_of(name)
        if session is not None and session.met and session.incarnation == incarnation:
            self._endings.expel(session, self._me.name, reason, now_ns)
        else:
            self._endings.expel_unmet(name, incarnation, reason, now_ns)
        self.sending.on_room_freed(now_ns)

    def expel_revoked_keys(self, now_ns: i64) -> None:
        """Keys may have been withdrawn: go on without those who have no other."""
        for session in self.directory.sessions_with_revoked_keys():
            if not session.is_gone():
                self._endings.expel(session, self._me.name, KEY_WITHDRAWN, now_ns)
        self.sending.on_room_freed(now_ns)

    def resume(self, core: list[bytes], now_ns: i64) -> None:
        """Go on where the journal ends; its peers were added.

        What is given up is told with what the former process had not told
        (`crash_recovery.unreported`).
        """
        sessions = self.sessions()
        self.crash_recovery.resume(core, sessions, now_ns)
        for session in sessions:
            if session.lifecycle.phase == RESUMING:
                session.lifecycle.begin_waiting(now_ns)
                self._resuming.append(session)
        self._endings.settle(sessions, now_ns)
        self.reports.clear()

    def set_deaf(self, deaf: bool) -> None:
        """From now on what comes is dropped, or is not: what cannot be written down is not read."""
        self.deaf = deaf

    def has_slept(self, slept_ns: i64, now_ns: i64) -> None:
        """This node did nothing for `slept_ns`: that is nobody's silence."""
        for session in self.sessions():
            session.lifecycle.has_slept(slept_ns, now_ns)
        self.detector.begin_again(now_ns)

    def _contact(self, name: str) -> Contact:
        contact = self.directory.by_name.get(name)
        if contact is None:
            raise LocalError(f"{name} is not a peer")
        return contact

    def session_of(self, name: str) -> Session | None:
        """The session with a peer, or None if there is no such peer."""
        contact = self.directory.by_name.get(name)
        return None if contact is None else contact.session

    def sessions(self) -> list[Session]:
        """The sessions with all peers, in the order in which the peers were added."""
        return [contact.session for contact in self.directory.by_name.values()]

    # Looking inside.

    def refuses_expulsions(self) -> bool:
        """Whether so many are expelled that peers with news of more are not listened to."""
        return self._expulsions.is_full()

    @property
    def fenced(self) -> NodeFenced | None:
        """Who has expelled this node, or why it must not go on; None if it may."""
        return self._endings.fenced

    @property
    def name(self) -> str:
        """What this node is called."""
        return self._me.name

    @property
    def incarnation(self) -> int:
        """Which life of its name this is; the number may rise until the first peer is met."""
        return int(self._me.incarnation)

    def buffered(self) -> int:
        """How many of our messages somebody has not delivered yet, as far as is known."""
        return self._process.buffered()

    def held_back(self) -> list[HeldBack]:
        """Our messages that wait for permits, by target, and whose."""
        return self._process.waiting()

    def owed_permits(self) -> list[PermitsOwed]:
        """Who owes permits that our messages wait for."""
        return self._process.owed_permits()

    def expected(self, session: Session) -> tuple[int, int]:
        """The last id delivered from a peer, and how many wait there for a gap to close."""
        return self._process.receive_position(session.id)

    def owes(self, session: Session) -> int:
        """How many of our messages a peer has not acknowledged."""
        return self._process.unacked_by(session.id)

    def name_of(self, session_id: int) -> str:
        """The name of the peer that has, or had, this id in the core."""
        return self._table.name_of(session_id)

    def session_by_id(self, session_id: int) -> Session | None:
        """The session that has this id in the core; None if that incarnation is no more."""
        return self._table.by_id.get(session_id)

    def is_over(self, session_id: int) -> bool:
        """Whether that incarnation of a peer is no more."""
        return session_id not in self._table.by_id

    # What happens.

    def receive(self, address: object, data: bytes, now_ns: i64) -> None:
        """Take in a datagram; one that makes no sense is counted and dropped."""
        if self._endings.fenced is not None or self.deaf:
            return
        try:
            if len(data) <= NUMBER_AT:
                raise RemoteError("a datagram too short for a header")
            if data[0] == DATAGRAM:
                self._receive_frames(address, data, now_ns)
            else:
                self._receive_greeting(address, data, now_ns)
        except RemoteError as error:
            self.malformed += 1
            self.last_malformed = str(error)
        if self.inbox.unfinished.is_due():
            for name in self.inbox.unfinished.to_forget(list(self.directory.by_name.values())):
                self.remove_peer(name, now_ns, CROWDED_OUT)
        self.sending.on_room_freed(now_ns)

    def take_inbox(self) -> list[InboundMessage]:
        """What was delivered since the last call; its senders get credit for it."""
        for session in self.inbox.unread:
            flow_control = session.channel.flow_control
            flow_control.clear_unread()
            flow_control.grant()
            if flow_control.due:
                self._table.request_write(session)
        return self.inbox.take()

    def take_out(self, early: list[InboundMessage]) -> None:
        """Take some of the newest messages ahead of others; their senders get credit for them."""
        inbox = self.inbox
        if len(early) == len(inbox.messages):
            self.take_inbox()
            return
        inbox.take_out(early)
        for message in early:
            contact = self.directory.by_name.get(message.sender)
            if contact is None:
                if message.sender == self._me.name:
                    inbox.take_out_own(message.size)
                continue
            session = contact.session
            flow_control = session.channel.flow_control
            if flow_control.take_unread(message.size) and session in inbox.unread:
                inbox.unread.remove(session)
            flow_control.grant()
            if flow_control.due:
                self._table.request_write(session)

    def wake_ns(self) -> i64:
        """When to call `expire`: never too late, sometimes too early."""
        if self._endings.fenced is not None:
            return NEVER_NS
        wake_ns = min(self._process.wake_ns(), self.directory.wake_ns())
        wake_ns = min(wake_ns, self.detector.wake_ns())
        if self._timers and self._timers[0][0] < wake_ns:
            return self._timers[0][0]
        return wake_ns

    def expire(self, now_ns: i64) -> None:
        """Do what is due by now."""
        if self._endings.fenced is not None:
            return
        self._core.expire(now_ns)
        self.directory.expire(now_ns)
        if self._resuming:
            self._watch_resuming(now_ns)
        while self._timers and self._timers[0][0] <= now_ns:
            due_ns, session_id = heappop(self._timers)
            session = self._table.by_id.get(session_id)
            if session is not None and session.on_timer(due_ns):
                self._on_session_timer(session, now_ns)
        self.sending.on_room_freed(now_ns)

    def write(self, now_ns: i64, most: i64 = EVERYBODY) -> None:
        """Put everything that may leave now into `out`, or for at most that many peers."""
        if self._endings.fenced is not None:
            self.out.clear()
            return
        self.sending.on_written()
        for session in self._table.take_writable(most):
            session.unmark()
            session.channel.flow_control.grant()
            self._writer.write(session, now_ns)
            wake_ns = session.next_timer_ns(self._limits.heartbeat_ns, now_ns)
            if wake_ns < NEVER_NS:
                heappush(self._timers, (wake_ns, session.id))

    def has_more_to_write(self) -> bool:
        """Whether `write` has left some peers for the next time."""
        return self._endings.fenced is None and len(self._table.writable) > 0

    # Leaving.

    def say_bye(self, mode: int, now_ns: i64) -> None:
        """Tell all peers that nothing more will be sent from here."""
        self._leaving = mode
        for session in self.sessions():
            if session.met and not session.ended:
                self._say_bye_to(session)
        self.sending.on_room_freed(now_ns)

    def awaited(self) -> list[str]:
        """The peers that a node which said bye still waits for."""
        names: list[str] = []
        if self._endings.fenced is not None:
            return []
        for contact in self.directory.by_name.values():
            session = contact.session
            if contact.expelled or session.lifecycle.is_free_to_go():
                continue
            if not session.met and contact.state != ContactState.NEW:
                continue  # It is away: nothing is for it, and it may never come.
            if self._leaving != LEAVE_WHEN_RELEASED or self._has_dealt_with(session):
                names.append(session.name)
        return names

    def stranded(self) -> list[str]:
        """Of those, the ones that may miss something if this node stopped now."""
        waited_for = set(self.awaited())
        return [s.name for s in self.sessions() if s.name in waited_for and self._has_dealt_with(s)]

    def stop(self, now_ns: i64) -> None:
        """From now on nothing is delivered here, and peers are told so: they need not wait."""
        for session in self.sessions():
            if session.lifecycle.phase == MET:  # Who is not met again yet cannot be reached.
                self._writer.write_stopped(session, now_ns)

    # Datagrams, inside.

    def _receive_greeting(self, address: object, data: bytes, now_ns: i64) -> None:
        kind: i64 = data[0]
        if kind == UNKNOWN:
            over = self.directory.receive_unknown(WireReader(data, 1), now_ns)
            if over is not None:
                self._endings.has_gone(over, now_ns)
            return
        message: HandshakeMessage | None = None
        if self._crypto is not None or is_encrypted(data):
            message = self.directory.decrypt_greeting(address, data, now_ns)
            if message is None:
                return
        elif kind == HELLO and len(data) < GREETING_SIZE:
            raise RemoteError("a hello smaller than its answer may be")
        reader = WireReader(data if message is None else message.text())
        kind = reader.byte()
        if kind in (HELLO, WELCOME):
            candidate = self.directory.receive(kind, address, reader, message, now_ns)
            if candidate is not None and not candidate.must_wait(now_ns):
                self._believe_answer(candidate, now_ns)
            ended = self._incarnations.follow(now_ns)
            if ended is not None:
                self._endings.stop_for_good(ended, now_ns)
            for expelled, room in self.directory.expelled_speakers.take_to_tell():
                self._news.tell(expelled, address, room, now_ns)
        elif kind == REFUSE:
            self.directory.receive_refusal(address, reader, message, now_ns)
        else:
            raise RemoteError(f"a datagram of unknown kind {kind}")

    def _receive_frames(self, address: object, data: bytes, now_ns: i64) -> None:
        token = read_i64_le(data, TOKEN_AT)
        session = self.directory.session_with(token)
        candidate = None if session is not None else self.directory.candidate(token)
        if candidate is not None and candidate.must_wait(now_ns):
            return
        if session is None and candidate is None:
            self._news.on_stranger(address, token, data, now_ns)
            return
        if self._crypto is not None:
            self._receive_sealed(address, SealedDatagram(data), session, candidate, token, now_ns)
            return
        if data[1] != NO_KEY:
            raise RemoteError("a sealed datagram, and there are no keys here")
        if session is None:
            assert candidate is not None, "one of the two is there"
            session = self._accept(candidate, now_ns)
        reader = WireReader(data, NUMBER_AT)
        self._take(session, address, reader, reader.positive(), len(data), now_ns)

    def _receive_sealed(
        self,
        address: object,
        datagram: SealedDatagram,
        session: Session | None,
        candidate: Candidate | None,
        token: i64,
        now_ns: i64,
    ) -> None:
        """Take in a datagram whose sender can prove who it is; anything else changes nothing."""
        if session is not None:
            if session.channel.acks.count_if_duplicate(datagram.number):
                return  # Perhaps recorded: no sign of life, and not worth opening.
            offers = self.directory.by_name[session.name].offers
            body = datagram.opened_in(session, offers, token)
        else:
            assert candidate is not None, "one of the two is there"
            found = datagram.decrypt_with_one_of(candidate.contact.offers, token)
            if found is None:
                raise RemoteError(f"a datagram as if from {candidate.contact.name}")
            body, offer = found
            candidate.contact.offers.remove(offer)
            session = self._accept(candidate, now_ns, offer.keys)
        self._take(session, address, WireReader(body), datagram.number, len(body), now_ns)

    def _take(
        self,
        session: Session,
        address: object,
        reader: WireReader,
        number: i64,
        size: i64,
        now_ns: i64,
    ) -> None:
        """Take in datagram `number` of a session, which has `size` bytes."""
        floor = number - 1 - reader.varint()
        if floor < 0:
            raise RemoteError("a datagram older than the first")
        if session.lifecycle.on_heard(now_ns):
            contact = self.directory.contact_of(session)
            if contact is not None:
                contact.on_heard()
            self.reports.append(PeerBack(name=session.name))
        if session.try_migrate(address, number):
            self.directory.challenge(session)
            if session.try_report_move(now_ns):
                self.reports.append(PeerMoved(name=session.name, address=seen_at(address)))
        session.address.on_received(address, size)
        self._table.request_write(session)
        if session.channel.acks.register(number):
            self._read(session, reader, number, now_ns)
            session.channel.acks.record(number, floor, now_ns)

    def _read(self, session: Session, reader: WireReader, number: i64, now_ns: i64) -> None:
        read = self._reader
        try:
            read.read(session, reader, number, now_ns)
        finally:
            # What came before a frame that makes no sense has happened.
            if read.numbers:
                self._follow_path(session, read.lost)
            if read.news:
                self._endings.apply_expulsions(now_ns)
            if read.advice is not None:
                self.waiting_for.take(session, read.advice, now_ns)
            if read.asked > 0:
                self.waiting_for.asked(session, read.asked, now_ns)
        if read.owed:
            session.channel.acks.schedule_ack(
                read.messages or session.lifecycle.theirs != STAYING, now_ns
            )
        if session.ended or self._endings.fenced is not None:
            return
        if read.stopped:
            self._endings.has_gone(session, now_ns)
        elif session.lifecycle.theirs == ASKS_TO_GO and self.owes(session) == 0:
            self._endings.release(session)
            self.reports.append(PeerLeft(name=session.name))

    # Peers, inside.

    def _believe_answer(self, candidate: Candidate, now_ns: i64) -> None:
        """A hello was answered: that was a round trip, if it was the first hello."""
        answer_ns = candidate.contact.answer_ns(now_ns)
        session = self._accept(candidate, now_ns, candidate.keys)
        if answer_ns >= 0:
            session.channel.path.round_trip.on_sample(answer_ns, 0)

    def _accept(
        self, candidate: Candidate, now_ns: i64, keys: SessionKeys | None = None
    ) -> Session:
        """A candidate has shown that it is there: talk to it, and to no earlier incarnation."""
        contact = candidate.contact
        greeting = candidate.greeting
        session = contact.session
        self._check_rollback(candidate, keys, now_ns)
        former = session if session.met else None
        begins_anew = session.incarnation == greeting.incarnation and not session.ended
        if begins_anew:
            if session.lifecycle.phase == RESUMING:
                self.reports.append(PeerMet(name=session.name))
            elif session.left or session.lifecycle.silent:
                self.reports.append(PeerBack(name=session.name))
            self.directory.end_session(session)
        elif former is not None:
            contact.restarts.acquire(now_ns)
            self.reports.append(PeerRestarted(name=contact.name))
            self._endings.expel(former, self._me.name, RESTARTED, now_ns)
            self._endings.await_successor(former, now_ns, expelled=False)
            session = contact.session
        elif contact.expelled or contact.past_incarnations:
            self.reports.append(PeerRestarted(name=contact.name))
        else:
            self.reports.append(PeerMet(name=contact.name))
        contact.on_met()
        self.directory.accept_candidate(candidate)
        candidate.establish(keys, now_ns)
        self.directory.begin_session(session)
        self._sessions.name_in_event_log(session, greeting.process)
        self.crash_recovery.record_peer(session, contact)
        if begins_anew:
            self._core.resend_all(session, self._rollbacks.delivered(greeting), now_ns)
        self._expulsions.met(session)
        self._core.meet(session, now_ns)
        # What is larger than it takes, as is known only now, it will not take.
        too_large = self.sending.too_large_for(session)
        self.losses.tell_too_large(session.name, session.payload_limit, too_large)
        if self._leaving != STAYS:
            self._say_bye_to(session)
        self._table.request_write(session)
        return session

    def _check_rollback(self, candidate: Candidate, keys: SessionKeys | None, now_ns: i64) -> None:
        """`RemoteError` if a journal, ours or the candidate's, has gone back: that life is over."""
        session = candidate.contact.session
        ours = self._rollbacks.ours(session, candidate.greeting)
        theirs = self._rollbacks.theirs(session, candidate.greeting)
        if ours:
            # What it says to have is delivered: only the rest is given up.
            self._core.resend_all(session, session.sent_before, now_ns)
            me = self._me.name
            fenced = NodeFenced(name=me, by=me, reason=ours, told_by=session.name)
            self._endings.stop_for_good(fenced, now_ns)
            raise RemoteError(ours)
        if theirs:
            # It has shown that it is there: it is told, in no more than its hello had.
            self.directory.end_session(session)
            self.directory.accept_candidate(candidate)
            candidate.establish(keys, now_ns)
            self._endings.expel(session, self._me.name, theirs, now_ns)
            self._news.tell(session, candidate.address, GREETING_SIZE, now_ns)
            raise RemoteError(theirs)

    # Leaving, inside.

    def _has_dealt_with(self, session: Session) -> bool:
        """Whether anything was ever exchanged with a peer, or waits for it."""
        return session.met or self.owes(session) > 0

    def _say_bye_to(self, session: Session) -> None:
        """Say bye; with it go the last ack and permit, which nobody can be asked for later."""
        session.lifecycle.say_bye(self._leaving)
        session.channel.send_queue.repeat_control()
        self._table.request_write(session)

    # Timers, inside.

    def _follow_path(self, session: Session, lost: list[SentDatagram]) -> None:
        """Send again what was lost on the way, and tell if the way has become too narrow."""
        for sent in lost:
            self._core.retransmit(session, sent)
        if session.channel.path.mtu.take_news():
            size = int(session.channel.path.mtu.widest())
            self.reports.append(PathNarrow(name=session.name, size=size))

    def _watch_resuming(self, now_ns: i64) -> None:
        """Those that do not come back after a crash of ours fall silent like others."""
        self._resuming = [one for one in self._resuming if one.lifecycle.phase == RESUMING]
        for session in self._resuming:
            self._detect_silence(session, now_ns)

    def _detect_silence(self, session: Session, now_ns: i64) -> None:
        silent_ns = now_ns - session.lifecycle.heard_ns
        if session.lifecycle.detect_silence(now_ns, self._limits.silent_ns):
            contact = self.directory.contact_of(session)
            if contact is not None:
                contact.on_silent()
            self.reports.append(PeerSilent(name=session.name, silent_ns=silent_ns))

    def _on_session_timer(self, session: Session, now_ns: i64) -> None:
        self._follow_path(session, session.expire(now_ns) or [])
        oldest = session.take_probe()
        if oldest is not None:
            self._core.retransmit(session, oldest)
            session.channel.send_queue.repeat_oldest_first()
        leaving = session.lifecycle.theirs != STAYING and self.owes(session) == 0
        if leaving and session.seems_gone(now_ns):
            self._endings.has_gone(session, now_ns)
            return
        # Who leaves, and owes nothing, need not answer.
        if session.channel.path.in_flight.eliciting > 0 and not leaving:
            self._detect_silence(session, now_ns)
        session.heartbeat(now_ns, self._limits.heartbeat_ns)
        self._table.request_write(session)
