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
from antecede.core.process import NEVER_NS, CausalProcess, Outbox
from antecede.core.protocols.hybrid import HybridProcess
from antecede.core.protocols.hybrid_state import HeldBack
from antecede.core.sliding import SlidingArray
from antecede.core.values import Message, Packet
from antecede.link.contacts import Candidate, Contact
from antecede.link.directory import Directory, Identity, Tokens
from antecede.link.frames import DATAGRAM, NO_KEY, NUMBER_AT, TOKEN_AT
from antecede.link.greeting import (
    HELLO,
    OLDEST_VERSION,
    REFUSE,
    UNKNOWN,
    VERSION,
    WELCOME,
    read_greeting,
    read_refusal,
    read_unknown,
    read_versions,
    write_unknown,
)
from antecede.link.inbox import InboundMessage, LargePayload
from antecede.link.incoming import Incoming
from antecede.link.limits import Limits
from antecede.link.outgoing import MESSAGE_COST
from antecede.link.path.flight import Sent
from antecede.link.reports import (
    PeerBack,
    PeerLeft,
    PeerMet,
    PeerMoved,
    PeerRestarted,
    PeerSilent,
    Refused,
    Report,
    Undeliverable,
)
from antecede.link.rows import EventRows
from antecede.link.session import (
    BYE_DUE,
    LEAVE_WHEN_RELEASED,
    PING_DUE,
    RELEASE_DUE,
    Datagram,
    Session,
)
from antecede.wire.varint import Reader

ME: Final = 0
"""This node's id in its own core; peers are 1, 2, 3, …"""

GONE_PROBES: Final = 3
"""A peer that has said bye and then leaves so many probes unanswered has gone."""

UNKNOWN_INTERVAL_NS: Final = 10_000_000
"""Datagrams with tokens that mean nothing are answered at most this often."""


@final
class Counters:
    """What a node counts."""

    __slots__ = ("copies", "delivered", "malformed", "refused", "sent", "stale", "why_malformed")

    def __init__(self) -> None:
        self.sent: i64 = 0
        self.copies: i64 = 0
        self.delivered: i64 = 0
        self.malformed: i64 = 0
        self.stale: i64 = 0
        self.refused: i64 = 0
        self.why_malformed = ""


@final
class Endpoint(Outbox):
    """One node of the network."""

    def __init__(
        self,
        me: Identity,
        process: CausalProcess,
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
        self.inbox: list[InboundMessage] = []
        self.counters: Final = Counters()
        self.directory: Final = Directory(
            me, tokens, self.out, self.reports, limits.open_to_strangers
        )
        self._incoming: Final = Incoming(process, self)
        # Sessions by their id in the core; the first place stands for this node.
        self._sessions: list[Session] = [Session(ME, me.name, 0, 0, cumulative)]
        self._dirty: list[Session] = []
        self._uncredited: list[Session] = []
        self._writer: Final = BytesWriter()
        self._timers: list[tuple[int, int]] = []
        self._core_wake_ns: i64 = NEVER_NS
        self._sizes: SlidingArray[int] = SlidingArray()
        self.buffered_bytes: i64 = 0
        # Bytes of payload submitted since the last `write`.
        self.unwritten: i64 = 0
        self._next_sequence: i64 = 1
        self._large: LargePayload | None = None
        # Ids of our own messages that are parts, not ends, of large payloads.
        self._parts: dict[int, bool] = {}
        self._own_pieces: list[bytes] = []
        self._own_cost: i64 = 0
        self._leaving: i64 = -1
        self._unknown_at_ns: i64 = 0
        self._now_ns: i64 = 0

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

    # Sending.

    def has_room(self) -> bool:
        """Whether another message may be sent now."""
        return (
            self._large is None
            and self._process.buffered() < self._limits.send_limit
            and self.buffered_bytes < self._limits.send_bytes
            and self._own_cost < self._limits.window
        )

    def send(self, contacts: list[Contact], to_self: bool, payload: bytes, now_ns: i64) -> i64:
        """Send to these peers; the message's id. The caller has seen that there is room."""
        part_size: i64 = self._limits.part_size
        targets: list[int]
        if len(contacts) == 1 and not to_self:
            session = contacts[0].session
            targets = contacts[0].targets
            part_size = session.datagram_size - self._limits.frame_room
        else:
            targets = [ME] if to_self else []
            for contact in contacts:
                targets.append(contact.session.id)
                size = contact.session.datagram_size - self._limits.frame_room
                if size < part_size:
                    part_size = size
        self.counters.sent += 1
        if len(payload) > part_size:
            large = LargePayload(list(targets), payload, part_size, self._next_sequence)
            self._large = large
            self._feed_large(now_ns)
            return large.sequence
        return self._submit(targets, payload, now_ns)

    def quick_send(self, target: object, payload: object, now_ns: i64) -> i64:
        """Send to one peer if nothing stands in the way: the message's id, or 0 if something does.

        This is the path of most messages, in one call; whoever gets a 0 finds out why.
        """
        if not isinstance(target, str) or not isinstance(payload, bytes):
            return 0
        contact = self.directory.by_name.get(target)
        if contact is None or not self.has_room():
            return 0
        session = contact.session
        if session.left or len(payload) > session.datagram_size - self._limits.frame_room:
            return 0
        self.counters.sent += 1
        return self._submit(contact.targets, payload, now_ns)

    def buffered(self) -> int:
        """How many of our messages somebody has not delivered yet, as far as is known."""
        return self._process.buffered()

    def holds_up_a_peer(self) -> bool:
        """Whether a peer has used up its credit because the inbox is not emptied."""
        for session in self._uncredited:
            if 2 * session.inboxed_cost > session.window:
                return True
        return 2 * self._own_cost > self._limits.window

    def held_back(self) -> list[HeldBack]:
        """Our messages that wait for permits, and whose."""
        return [] if self._hybrid is None else self._hybrid.waiting()

    def expected(self, session: Session) -> tuple[int, int]:
        """The last id delivered from a peer, and how many wait there for a gap to close."""
        return (0, 0) if self._hybrid is None else self._hybrid.expected(session.id)

    def owes(self, session: Session) -> int:
        """How many of our messages a peer has not acknowledged."""
        return 0 if self._hybrid is None else self._hybrid.owes(session.id)

    def large_is_done(self) -> bool:
        """Whether no payload is waiting for room for its next part."""
        return self._large is None

    # Receiving.

    def receive(self, address: object, data: bytes, now_ns: i64) -> None:
        """Take in a datagram; one that makes no sense is counted and dropped."""
        self._now_ns = now_ns
        try:
            self._receive(address, data, now_ns)
        except RemoteError as error:
            self.counters.malformed += 1
            self.counters.why_malformed = str(error)
        self._settle(now_ns)

    def take_inbox(self) -> list[InboundMessage]:
        """What was delivered since the last call; its senders get credit for it."""
        taken = self.inbox
        self.inbox = []
        self._own_cost = 0
        for session in self._uncredited:
            session.uncredited = False
            session.inboxed_cost = 0
            session.grant()
            if session.controls_due != 0:
                self._mark(session)
        self._uncredited.clear()
        return taken

    # Time.

    def wake_ns(self) -> i64:
        """When to call `expire`: never too late, sometimes too early."""
        core_ns = self._process.wake_ns()
        if self._timers and self._timers[0][0] < core_ns:
            return self._timers[0][0]
        return core_ns

    def expire(self, now_ns: i64) -> None:
        """Do what is due by now."""
        self._now_ns = now_ns
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
        self._settle(now_ns)

    def write(self, now_ns: i64) -> None:
        """Put everything that may leave now into `out`."""
        self._now_ns = now_ns
        self.unwritten = 0
        for session in self._dirty:
            session.dirty = False
            session.dirty_again = False
            session.grant()
            session.write(now_ns, self._writer, self._parts, self.out)
            self._plan(session, now_ns)
        self._dirty.clear()

    # Leaving.

    def say_bye(self, mode: int, now_ns: i64) -> None:
        """Tell all peers that nothing more will be sent from here."""
        self._leaving = mode
        for session in self.sessions():
            if session.met and not session.ended:
                self._bid_farewell(session)
        self._settle(now_ns)

    def stranded(self) -> list[str]:
        """The peers that a node which said bye would leave waiting if it stopped now."""
        names: list[str] = []
        for session in self.sessions():
            if session.ended or not (session.met or self.owes(session) > 0):
                continue
            gone = session.peer_bye >= 0 and session.bye_acked
            if not gone and not (self._leaving == LEAVE_WHEN_RELEASED and session.peer_released):
                names.append(session.name)
        return names

    # What the core wants done.

    def transmit(self, target: i64, packet: Packet) -> None:
        session = self._sessions[target]
        if session.ended:
            return
        session.outgoing.put(packet)
        if isinstance(packet, DataPacket) or not session.dirty:
            self._mark(session)

    def deliver(self, message: Message) -> None:
        rows = self._rows
        payload = message.payload
        sequence = message.sequence
        session = self._sessions[message.sender]
        if rows is not None:
            sender = session.process if message.sender != ME else rows.me
            rows.delivered(sender, sequence, len(payload), self._now_ns)
        if message.sender == ME:
            self._deliver_own(sequence, payload)
            return
        session.delivered_cost += MESSAGE_COST + len(payload)
        session.last_delivered = sequence
        if session.parts and session.parts.pop(sequence, False):
            self._keep_piece(session, payload)
            return
        if session.parts_size > 0:
            if session.parts_size + len(payload) > self._me.payload_limit:
                self._drop_oversized(session)
                return
            session.pieces.append(payload)
            payload = b"".join(session.pieces)
            session.pieces.clear()
            session.parts_size = 0
        session.inboxed_cost += MESSAGE_COST + len(payload)
        if not session.uncredited:
            session.uncredited = True
            self._uncredited.append(session)
        self.counters.delivered += 1
        self.inbox.append(InboundMessage(session.name, sequence, payload))

    # Sending, inside.

    def _submit(self, targets: list[int], payload: bytes, now_ns: i64) -> i64:
        self._now_ns = now_ns
        sequence = self._next_sequence
        rows = self._rows
        if rows is not None:
            for target in targets:
                process = self._sessions[target].process if target != ME else rows.me
                rows.submitted(sequence, process, len(payload), now_ns)
        self._next_sequence += 1
        self.unwritten += len(payload)
        self._sizes.add(len(payload) + MESSAGE_COST)
        self.buffered_bytes += len(payload) + MESSAGE_COST
        self.counters.copies += len(targets)
        self._process.submit_into(targets, payload, now_ns, self)
        return sequence

    def _feed_large(self, now_ns: i64) -> None:
        """Hand parts of a large payload to the core as long as there is room."""
        large = self._large
        while large is not None:
            self._large = None
            room = self.has_room()
            self._large = large
            if not room:
                return
            targets = [target for target in large.targets if not self._sessions[target].ended]
            if not targets:
                self._large = None
                return
            last = large.is_last()
            if not last:
                self._parts[self._next_sequence] = True
            self._submit(targets, large.next_part(), now_ns)
            large.advance()
            if last:
                self._large = None
                return

    def _forget_settled(self) -> None:
        """Take what everybody has delivered off the books."""
        oldest = self._next_sequence if self._hybrid is None else self._hybrid.oldest()
        sizes = self._sizes
        while sizes.first < oldest:
            if self._parts:
                self._parts.pop(sizes.first, None)
            self.buffered_bytes -= sizes.remove()

    def _settle(self, now_ns: i64) -> None:
        """After anything that may have made room."""
        self._forget_settled()
        if self._large is not None:
            self._feed_large(now_ns)

    # Delivering, inside.

    def _deliver_own(self, sequence: i64, payload: bytes) -> None:
        if self._parts and sequence in self._parts:
            self._own_pieces.append(payload)
            return
        if self._own_pieces:
            self._own_pieces.append(payload)
            payload = b"".join(self._own_pieces)
            self._own_pieces.clear()
        self._own_cost += MESSAGE_COST + len(payload)
        self.counters.delivered += 1
        self.inbox.append(InboundMessage(self._me.name, sequence, payload))

    def _keep_piece(self, session: Session, payload: bytes) -> None:
        session.parts_size += len(payload)
        if session.parts_size <= self._me.payload_limit:
            session.pieces.append(payload)

    def _drop_oversized(self, session: Session) -> None:
        """The peer was told how much we take, and sent more: that payload is not delivered."""
        session.pieces.clear()
        session.parts_size = 0
        self.counters.malformed += 1
        self.counters.why_malformed = f"a payload of more than {self._me.payload_limit} bytes"

    # Datagrams.

    def _receive(self, address: object, data: bytes, now_ns: i64) -> None:
        if len(data) <= NUMBER_AT:
            raise RemoteError("a datagram too short for a header")
        kind: i64 = data[0]
        if kind == DATAGRAM:
            self._receive_frames(address, data, now_ns)
        elif kind in (HELLO, WELCOME):
            self._receive_greeting(kind, address, Reader(data, 1), now_ns)
        elif kind == REFUSE:
            self._receive_refusal(address, Reader(data, 1))
        elif kind == UNKNOWN:
            self._receive_unknown(read_unknown(Reader(data, 1)), now_ns)
        else:
            raise RemoteError(f"a datagram of unknown kind {kind}")

    def _receive_frames(self, address: object, data: bytes, now_ns: i64) -> None:
        if data[1] != NO_KEY:
            raise RemoteError(f"a datagram protected with key {data[1]}, which is not known here")
        token = read_i64_le(data, TOKEN_AT)
        session = self.directory.by_token.get(token)
        if session is None:
            candidate = self.directory.candidate(token)
            if candidate is None:
                self._answer_unknown(address, token, now_ns)
                return
            session = self._believe(candidate, now_ns)
        reader = Reader(data, NUMBER_AT)
        number = reader.positive()
        floor = number - 1 - reader.varint()
        if floor < 0:
            raise RemoteError("a datagram older than the first")
        self._heard(session, address, now_ns)
        if session.arrived(number, floor, now_ns):
            self._read(session, reader, number, now_ns)
        self._mark(session)

    def _read(self, session: Session, reader: Reader, number: i64, now_ns: i64) -> None:
        incoming = self._incoming
        incoming.read(session, reader, number, now_ns)
        if incoming.owed:
            session.owe_ack(incoming.messages or session.peer_bye >= 0, now_ns)
        if incoming.numbers:
            self._repeat_lost(session)
        if session.peer_bye >= 0:
            self._release(session)

    def _heard(self, session: Session, address: object, now_ns: i64) -> None:
        session.heard_ns = now_ns
        if session.silent:
            session.silent = False
            self.reports.append(PeerBack(name=session.name))
        if session.address != address and not session.fixed_address:
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

    # Greetings.

    def _receive_greeting(self, kind: i64, address: object, reader: Reader, now_ns: i64) -> None:
        oldest, newest = read_versions(reader)
        if newest < OLDEST_VERSION or oldest > VERSION:
            self.counters.refused += 1
            if kind == HELLO:
                self.directory.refuse_version(oldest, newest, address)
            return
        greeting = read_greeting(reader, oldest, newest)
        if kind == HELLO:
            self.directory.on_hello(greeting, address)
            return
        candidate = self.directory.on_welcome(greeting, address, now_ns)
        if candidate is not None:
            session = self._believe(candidate, now_ns)
            sent_ns = candidate.contact.hello_sent_ns
            if candidate.contact.hellos == 0 and sent_ns > 0:
                session.path.round_trip.measured(now_ns - sent_ns, 0)

    def _receive_refusal(self, address: object, reader: Reader) -> None:
        name, reason = read_refusal(reader)
        contact = self.directory.by_name.get(name)
        known = self.directory.name_at(address)
        if contact is None and known in self.directory.by_name:
            contact = self.directory.by_name[known]
        # Repeated with every hello: worth telling once.
        if contact is not None and not contact.session.met and contact.refusal != reason:
            contact.refusal = reason
            self.reports.append(Refused(name=contact.name, address=address, reason=reason))

    def _receive_unknown(self, token: i64, now_ns: i64) -> None:
        """A peer does not know us any more: greet it, to learn whether it has restarted."""
        for contact in self.directory.list:
            session = contact.session
            if session.met and session.token_out == token and contact.hello_at_ns == NEVER_NS:
                self.directory.say_hello(contact, now_ns)
                self._set_timer(contact.hello_at_ns, -contact.index - 1)

    def _answer_unknown(self, address: object, token: i64, now_ns: i64) -> None:
        self.counters.stale += 1
        if token > 0 and now_ns >= self._unknown_at_ns:
            self._unknown_at_ns = now_ns + UNKNOWN_INTERVAL_NS
            self.out.append(Datagram(address, write_unknown(token)))

    def _believe(self, candidate: Candidate, now_ns: i64) -> Session:
        """A candidate has shown that it is there: talk to it, and to no earlier incarnation."""
        contact = candidate.contact
        greeting = candidate.greeting
        restarted = contact.session.met
        if restarted:
            self.directory.end_session(contact.session)
            self.reports.append(PeerRestarted(name=contact.name))
            self._give_up(contact.session, now_ns)
            contact.begin(self._new_session(contact.name, contact.datagram_size, contact.process))
        else:
            self.reports.append(PeerMet(name=contact.name))
        self.directory.confirm(candidate)
        session = contact.session
        if greeting.process > 0:
            session.known_as(greeting.process, self._rows)
        session.token_in = candidate.token_in
        self.directory.by_token[session.token_in] = session
        session.fixed_address = contact.address is not None
        session.address = contact.address if session.fixed_address else candidate.address
        session.establish(greeting.incarnation, greeting.token, greeting.socket_bytes, now_ns)
        session.granted = session.window
        session.payload_limit = greeting.payload_limit
        session.outgoing.credit_limit = greeting.window
        session.controls_due |= PING_DUE
        if self._leaving >= 0:
            self._bid_farewell(session)
        self._mark(session)
        return session

    def _give_up(self, session: Session, now_ns: i64) -> None:
        """A peer is gone: nothing to it is waited for, and what it may have missed is reported."""
        session.ended = True
        session.outgoing.clear()
        if self._hybrid is None:
            return
        undelivered = self._hybrid.forget_into(session.id, now_ns, self)
        if undelivered:
            whole = [sequence for sequence in undelivered if sequence not in self._parts]
            self.reports.append(Undeliverable(name=session.name, sequences=tuple(whole)))
        self._settle(now_ns)

    def _new_session(self, name: str, datagram_size: i64, process: i64) -> Session:
        session = Session(
            len(self._sessions), name, datagram_size, self._limits.window, self._cumulative
        )
        session.known_as(process, self._rows)
        self._sessions.append(session)
        return session

    # Leaving, inside.

    def _bid_farewell(self, session: Session) -> None:
        session.bye_mode = self._leaving
        session.controls_due |= BYE_DUE
        self._mark(session)

    def _release(self, session: Session) -> None:
        """A peer that wants to leave may do so as soon as we have nothing for it."""
        if session.peer_bye != LEAVE_WHEN_RELEASED or session.left:
            return
        if self.owes(session) == 0:
            session.left = True
            session.controls_due |= RELEASE_DUE
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
        self._set_timer(contact.hello_at_ns, -contact.index - 1)

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
        self.directory.end_session(session)
        self._give_up(session, self._now_ns)
