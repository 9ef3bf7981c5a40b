"""Who the peers are: names, addresses, and which incarnation of each is being talked to.

A contact is a name; a session is one incarnation of it. A contact that nobody has met yet has a
session already, so that messages to it can be ordered and wait. Hellos go out until they are
answered. A greeting from an incarnation that is not known becomes a candidate, and is believed when
its sender has shown that it received our token: by the echo in a welcome, or by a datagram with
that token. No two incarnations get the same token. So an old greeting, or one with a forged
address, changes nothing.
"""

from heapq import heappop, heappush
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError, RemoteError
from antecede.core.process import NEVER_NS
from antecede.events import PeerRefused, Report, StrangerSeen, seen_at
from antecede.membership.contact import Candidate, Contact, LaterLife
from antecede.membership.expulsions import ExpelledSpeakers, Expulsions
from antecede.membership.handshake_crypto import Envelope, HandshakeCrypto, HandshakeMessage
from antecede.membership.identity import DerivedTokens, Identity, TokenSource
from antecede.membership.newcomers import Newcomers
from antecede.membership.refusals import Denials, RefusalReporter
from antecede.membership.target_sets import TargetSets
from antecede.transport.datagram import Datagram
from antecede.transport.peer_lifecycle import MET, STAYING
from antecede.transport.session import ME, Session
from antecede.wire.handshake import (
    FORMER_IS_OVER,
    HELLO,
    KEYED_COOKIE,
    KEYED_HELLO,
    OLDEST_VERSION,
    UNKNOWN_SIZE,
    VERSION,
    WELCOME,
    Greeting,
    is_encrypted,
    read_greeting,
    read_refusal,
    read_unknown,
    read_versions,
    write_greeting,
    write_unknown,
)
from antecede.wire.varint import WireReader

SEEK_NS: Final = 100_000_000
"""A peer that was expelled will hardly be back within 100 ms."""

PEERS_LIMIT: Final = 1 << 14
"""At most 16,384 peers of one node; strangers that were let in and have left make room."""

CANDIDATES_MAX: Final = 4
"""At most 4 incarnations of a peer have to show that they are there; the oldest gives way."""

STRANGERS_MAX: Final = 64
"""At most 64 strangers were let in and have still to show that they are there."""

UNKNOWN_INTERVAL_NS: Final = 10_000_000
"""Datagrams with tokens that mean nothing are answered at most once per 10 ms."""
FOREIGN_INTERVAL_NS: Final = 1_000_000
"""Whether a greeting that makes no sense is a peer's is looked into at most once per ms."""


@final
class Directory:
    """The contacts of one node, and the greetings by which they are met."""

    __slots__ = (
        "_by_peer_token",
        "_candidates",
        "_crypto",
        "_expulsions",
        "_foreign_at_ns",
        "_heard",
        "_later",
        "_let_in",
        "_me",
        "_names",
        "_newcomers",
        "_open_to_strangers",
        "_out",
        "_recalled",
        "_refused",
        "_reports",
        "_timers",
        "_tokens",
        "_unknown_at_ns",
        "_unmet_strangers",
        "by_name",
        "by_token",
        "denials",
        "expelled_speakers",
        "has_met",
        "stale",
        "target_sets",
    )

    def __init__(
        self,
        me: Identity,
        tokens: TokenSource,
        out: list[Datagram],
        reports: list[Report],
        expulsions: Expulsions,
        open_to_strangers: bool,
        crypto: HandshakeCrypto | None,
        meet_within_ns: i64,
    ) -> None:
        self._crypto: Final = crypto
        self._expulsions: Final = expulsions
        self._open_to_strangers: Final = open_to_strangers
        self._me: Final = me
        self._tokens: Final = tokens
        self._out: Final = out
        self._reports: Final = reports
        self._candidates: dict[int, Candidate] = {}
        # Strangers that were let in and have not been met, in the order in which they came.
        self._unmet_strangers: dict[str, None] = {}
        self.by_name: Final[dict[str, Contact]] = {}
        self.target_sets: Final = TargetSets()
        self._refused: Final = RefusalReporter(reports, self.by_name)
        self.denials: Final = Denials(me, out, self._refused)
        self._let_in: Final = RefusalReporter(reports, self.by_name)
        # The sessions that pass datagrams, by the token in those to us, and to the peer.
        self.by_token: dict[int, Session] = {}
        self._by_peer_token: dict[int, Session] = {}
        # The session that was looked for last, which is most often the next one, too.
        self._heard: Session | None = None
        self._newcomers: Final = Newcomers(meet_within_ns)
        # Who is at these addresses, as far as they have said; of some nobody has said yet.
        self._names: Final[dict[object, str]] = {}
        # When hellos are due, and to whom; some are not due any more.
        self._timers: list[tuple[int, str]] = []
        # That a peer has met a later incarnation of this node, and whether one was met by this one.
        self._later: LaterLife | None = None
        self.has_met = False
        self.stale: i64 = 0
        self._recalled: Final = DerivedTokens(tokens)
        self.expelled_speakers: Final = ExpelledSpeakers(me, expulsions, self._recalled, out)
        self._unknown_at_ns: i64 = 0
        self._foreign_at_ns: i64 = 0

    # Contacts.

    def departed(self) -> list[str]:
        """Whom to forget before one more contact is added: strangers that are not here any more.

        `LocalError` if there is no room without them.
        """
        if len(self.by_name) < PEERS_LIMIT:
            return []
        gone = [contact.name for contact in self.by_name.values() if contact.has_departed()]
        if not gone:
            raise LocalError(f"a node has at most {PEERS_LIMIT} peers; remove one first")
        return gone

    def strangers_to_evict(self) -> list[str]:
        """The strangers to forget, those first that came first, before one more is let in.

        They have said hello, and nothing that shows that they are where they say: anybody can.
        """
        if len(self._unmet_strangers) < STRANGERS_MAX:
            return []
        unmet = [name for name in self._unmet_strangers if not self.by_name[name].session.met]
        self._unmet_strangers = dict.fromkeys(unmet)
        return unmet[: len(unmet) + 1 - STRANGERS_MAX] if len(unmet) >= STRANGERS_MAX else []

    def announces(self, name: str, now_ns: i64) -> bool:
        """Whether that a stranger was let in is told: anybody can make names up."""
        return self._let_in.is_news(name, "", now_ns)

    def add(self, contact: Contact, now_ns: i64) -> None:
        """A new contact; it is greeted at once if its address is known."""
        if contact.stranger:
            self._unmet_strangers[contact.name] = None
        contact.set_hello_token(self._tokens.fresh(), 0)
        self.by_name[contact.name] = contact
        self._newcomers.add(contact, now_ns)
        self._refused.forget(contact.name)
        if contact.address is not None:
            contact.schedule_hello(now_ns)
            self.plan_hello(contact)

    def locate(self, contact: Contact, address: object, datagram_size: i64, now_ns: i64) -> None:
        """A contact that is known from a journal alone is to be found at this address."""
        contact.locate(address, datagram_size)
        if contact.session.lifecycle.phase != MET:
            contact.session.resize(datagram_size)
            if address is not None:
                contact.schedule_hello(now_ns)
                self.plan_hello(contact)

    def remove(self, contact: Contact) -> None:
        """Forget a contact; greetings of that name are refused from now on."""
        del self.by_name[contact.name]
        self.target_sets.forget()
        self._newcomers.forget(contact.name)
        self._unmet_strangers.pop(contact.name, None)
        self.end_session(contact.session)
        self._drop_candidates(contact)
        if self._crypto is not None:
            self._crypto.forget(contact.name)

    def ask_name(self, address: object) -> None:
        """Whoever refuses a hello at this address has said its name with that."""
        self._names[address] = ""

    def name_answered(self, address: object) -> str:
        """The name of who is there; empty if nobody has answered."""
        return self._names.get(address, "")

    def forget_name(self, address: object) -> None:
        """Nobody wants to know any more."""
        self._names.pop(address, None)

    def begin_session(self, session: Session) -> None:
        """Datagrams of this session are taken from now on."""
        self._heard = None
        self.has_met = True
        self.by_token[session.token_in] = session
        self._by_peer_token[session.token_out] = session

    def session_with(self, token: i64) -> Session | None:
        """The session whose datagrams to us have this token, if there is one."""
        heard = self._heard
        if heard is None or heard.token_in != token:
            heard = self.by_token.get(token)
            self._heard = heard
        return heard

    def challenge(self, session: Session) -> None:
        """A peer seems to have moved: let it show that it is there, unless it has before."""
        if session.address.is_unproven():
            session.challenge_with(self._tokens.fresh())

    def end_session(self, session: Session) -> None:
        """Datagrams of this session are refused from now on."""
        self._heard = None
        self.by_token.pop(session.token_in, None)
        self._by_peer_token.pop(session.token_out, None)

    def contact_of(self, session: Session) -> Contact | None:
        """The contact whose session this is; None if it has another by now, or is no peer."""
        contact = self.by_name.get(session.name)
        return contact if contact is not None and contact.session is session else None

    def name_at(self, address: object) -> str:
        """The name of the contact that is configured at an address, or the address in words."""
        for contact in self.by_name.values():
            if contact.address == address:
                return contact.name
        return str(address)

    def sessions_with_revoked_keys(self) -> list[Session]:
        """The sessions under keys that are not any more those of their peers."""
        crypto = self._crypto
        if crypto is None:
            return []
        over: list[Session] = []
        for contact in self.by_name.values():
            contact.withdraw_offers(crypto)
            session = contact.session
            for keys in (session.channel.keys, session.channel.peer_keys):
                if keys is not None and not crypto.trusts(contact.name, keys.peer_key):
                    over.append(session)
                    break
        return over

    # Hellos.

    def greet_successor(self, contact: Contact, now_ns: i64) -> None:
        """A contact's incarnation is over: greet whoever comes next under that name."""
        contact.set_hello_token(self._tokens.fresh(), 0)
        if contact.address is not None:
            contact.schedule_hello(now_ns + SEEK_NS)
            self.plan_hello(contact)

    def wake_ns(self) -> i64:
        """When to call `expire`: never too late, sometimes too early."""
        wake_ns: i64 = self._timers[0][0] if self._timers else NEVER_NS
        return min(wake_ns, self._newcomers.wake_ns)

    def expire(self, now_ns: i64) -> None:
        """Say the hellos that are due; whoever was not met in time is away."""
        self._newcomers.expire(now_ns)
        while self._timers and self._timers[0][0] <= now_ns:
            due_ns, name = heappop(self._timers)
            contact = self.by_name.get(name)
            if contact is not None and contact.hello_at_ns == due_ns:
                self._say_hello(contact, now_ns)

    # What comes.

    def decrypt_greeting(self, address: object, data: bytes, now_ns: i64) -> Envelope:
        """What is in the envelope of a greeting; None if that is of no interest any more.

        `RemoteError` if it has an envelope and we have no keys, or the other way round.
        """
        crypto = self._crypto
        if crypto is None:
            self._report_foreign(address, "it has a key, and this node has none", now_ns)
            raise RemoteError("a greeting with a key, and there are no keys here")
        if not is_encrypted(data):
            self._report_foreign(
                address, "it has no key, and this node talks only with keys", now_ns
            )
            raise RemoteError("a greeting without a key, where keys are required")
        try:
            if data[0] == KEYED_COOKIE:
                self._retry_hello(crypto.on_cookie(data, now_ns), now_ns)
                return None
            if data[0] == KEYED_HELLO:
                challenge = crypto.challenge(data, address, now_ns)
                if challenge:
                    self._out.append(Datagram(address, challenge))
                    return None
            message = crypto.decrypt(data)
        except RemoteError:
            self._report_foreign(
                address, "it has another key than we know, or knows another of us", now_ns
            )
            raise
        if message is None:
            self.stale += 1
        elif message.is_answer() == (message.text()[0] == HELLO):
            raise RemoteError("a greeting in the wrong envelope")
        return message

    def _retry_hello(self, name: str, now_ns: i64) -> None:
        contact = self.by_name.get(name)
        if contact is not None and contact.hello_at_ns != NEVER_NS:
            self._say_hello(contact, now_ns)

    def _report_foreign(self, address: object, reason: str, now_ns: i64) -> None:
        """Tell, once, why somebody who should be a peer is not understood.

        Anybody can ask for that, so it is looked into at most once per ms.
        """
        if now_ns < self._foreign_at_ns:
            return
        self._foreign_at_ns = now_ns + FOREIGN_INTERVAL_NS
        for contact in self.by_name.values():
            if contact.address == address and not contact.session.met:
                self._refused.tell(contact.name, address, reason, now_ns)

    def receive(
        self, kind: i64, address: object, reader: WireReader, message: Envelope, now_ns: i64
    ) -> Candidate | None:
        """Take in a hello or a welcome; who it proves to be there, if that is news."""
        oldest, newest = read_versions(reader)
        if newest < OLDEST_VERSION or oldest > VERSION:
            if kind == HELLO and message is None:
                name = self.name_at(address)
                self.denials.deny_version(name, oldest, newest, address, now_ns)
            else:
                self.count_stale()
            return None
        greeting = read_greeting(reader, oldest, newest)
        if message is not None and not message.verify_sender(greeting.name):
            self._report_foreign(address, "it has another key than we know", now_ns)
            raise RemoteError("a greeting under a name whose key its writer does not have")
        if self._expulsions.is_expelled(greeting.name, greeting.incarnation):
            if message is not None and kind == HELLO and message.is_replayed():
                self._repeat_answer(message, greeting.name, address, now_ns)
            elif greeting.target == self._me.name:
                self._on_expelled_greeting(kind, greeting, address, message, now_ns)
            return None
        if kind == WELCOME:
            return self._on_welcome(greeting, address, message, now_ns)
        if message is not None and self._repeat_answer(message, greeting.name, address, now_ns):
            return None
        contact = self.by_name.get(greeting.name)
        if message is not None and contact is not None and contact.lives_twice(greeting):
            # With a key, and later than all before: there is nothing more to show.
            return Candidate(contact, greeting, address, self._tokens.fresh())
        self._on_hello(greeting, address, message, now_ns)
        return None

    def receive_refusal(
        self, address: object, reader: WireReader, message: Envelope, now_ns: i64
    ) -> None:
        """Somebody will not talk to us: worth reporting, once."""
        name, reason, stamp = read_refusal(reader)
        if message is not None and not message.verify_sender(name):
            raise RemoteError("a refusal under a name whose key its writer does not have")
        if address in self._names:
            self._names[address] = name  # That is what was asked for.
            return
        contact = self.by_name.get(name)
        if message is not None and contact is not None and self._was_late(contact, stamp, now_ns):
            return
        if contact is None and message is None:
            contact = self.by_name.get(self.name_at(address))
        if contact is None:
            self.count_stale()
        elif contact.record_refusal(reason):
            self._reports.append(
                PeerRefused(name=contact.name, address=seen_at(address), reason=reason)
            )

    def receive_unknown(self, reader: WireReader, now_ns: i64) -> Session | None:
        """A peer does not know us any more: greet it, to learn whether it has restarted.

        If it has, what it will send must not be mistaken for what was sent before: the hello has a
        token of its own. Where one of the two has said bye there is nothing to learn: the other has
        let go, and the session that is over is the answer.
        """
        session = self._by_peer_token.get(read_unknown(reader))
        if session is None:
            self.count_stale()
            return None
        contact = self.by_name.get(session.name)
        if contact is None:
            return None
        if self._crypto is not None:
            # Anybody can have said so. A hello does no harm, if there are few of them.
            if contact.hello_at_ns == NEVER_NS and contact.try_follow_hint(now_ns):
                self._say_hello(contact, now_ns)
            return None
        lifecycle = session.lifecycle
        leaves = lifecycle.ours != STAYING or lifecycle.theirs != STAYING
        if leaves and not session.has_journal:  # Who has a journal may have crashed while leaving.
            return session
        if contact.hello_at_ns == NEVER_NS:
            if contact.hello_token == 0:
                contact.set_hello_token(self._tokens.fresh(), 0)
            self._say_hello(contact, now_ns)
        return None

    def answer_unknown(self, address: object, token: i64, size: i64, now_ns: i64) -> None:
        """A datagram has come with a token that means nothing here: say so, but not too often.

        Nor is a smaller datagram answered with a larger one.
        """
        self.stale += 1
        if token > 0 and size >= UNKNOWN_SIZE and self.try_acquire_answer(now_ns):
            self._out.append(Datagram(address, write_unknown(token)))

    def may_be_successor(self, name: str) -> bool:
        """Whether what came with the token of an expelled peer may be from the one after it.

        A hello of ours that came late may have given it that token. Every other time it is told
        that the token means nothing, and greets.
        """
        contact = self.by_name.get(name)
        return contact is not None and contact.session.met and self.stale % 2 == 0

    def splits(self) -> list[str]:
        """The expelled peers that have expelled this node as well, and have not been restarted."""
        by_name = self.by_name
        return [n for n in self.expelled_speakers.split if n in by_name and by_name[n].expelled]

    def count_stale(self) -> None:
        """A datagram of, or for, an incarnation that is over or was never known has come."""
        self.stale += 1

    def try_acquire_answer(self, now_ns: i64) -> bool:
        """Whether somebody who is not a peer may be answered already."""
        if now_ns < self._unknown_at_ns:
            return False
        self._unknown_at_ns = now_ns + UNKNOWN_INTERVAL_NS
        return True

    def candidate(self, token: i64) -> Candidate | None:
        """The candidate that was given this token, which it has just shown; none if it is expelled.

        The news may have come after its greeting.
        """
        found = self._candidates.get(token)
        if found is not None and self._expulsions.is_expelled(
            found.contact.name, found.greeting.incarnation
        ):
            return None
        return found

    def accept_candidate(self, candidate: Candidate) -> None:
        """The candidate is believed: nothing more is asked of that contact."""
        contact = candidate.contact
        self._unmet_strangers.pop(contact.name, None)
        self._newcomers.forget(contact.name)
        self._drop_candidates(contact)
        contact.set_hello_token(0, 0)
        contact.on_hello_answered()

    # Later lives of this node.

    def take_later(self) -> LaterLife | None:
        """The later incarnation of this node that a peer has spoken of since the last call."""
        later, self._later = self._later, None
        return later

    def greet_all_afresh(self, now_ns: i64) -> None:
        """This node is another incarnation now: whatever was said to it is for nobody."""
        for contact in self.by_name.values():
            self._drop_candidates(contact)
            contact.set_hello_token(self._tokens.fresh(), 0)
            contact.on_hello_answered()
            if contact.address is not None:
                contact.schedule_hello(now_ns)
                self.plan_hello(contact)

    def _newest_number(self, name: str) -> i64:
        """The highest number of an incarnation of that name that was met or is expelled."""
        contact = self.by_name.get(name)
        met: i64 = 0 if contact is None else contact.newest_number()
        return max(self._expulsions.newest_number(name), met)

    def _has_met_later(
        self, contact: Contact, greeting: Greeting, address: object, proven: bool, now_ns: i64
    ) -> bool:
        """Whether a peer has met a later incarnation of this node; then it is not answered.

        Who has not proven who it is may have made it up: it is asked, with a hello.
        """
        if greeting.met <= self._me.incarnation:
            return False
        if self.has_met and greeting.flags & FORMER_IS_OVER:
            return False  # Whoever comes after us is over, and so are we: we will be told.
        if proven:
            self._later = LaterLife(contact.name, greeting.met, address)
        elif contact.try_follow_hint(now_ns):
            self._say_hello(contact, now_ns, address)
        return True

    # Greetings, inside.

    def _repeat_answer(
        self, message: HandshakeMessage, name: str, address: object, now_ns: i64
    ) -> bool:
        """Whether this very hello had an answer, and gets the same again, or a later one had."""
        before = message.previous_reply()
        if before:
            contact = self.by_name.get(name)
            where = None if contact is None else contact.address
            self._out.append(Datagram(address if where is None else where, before))
            return True
        if message.is_replayed():
            self.stale += 1
            if self.try_acquire_answer(now_ns):
                self.denials.deny_late(message, address)
            return True
        return False

    def _was_late(self, contact: Contact, stamp: i64, now_ns: i64) -> bool:
        """Whether a hello of ours was late, and another one, that is not, has been said."""
        crypto = self._crypto
        if crypto is None or stamp == 0 or not crypto.stamp_above(stamp):
            return False
        if contact.hello_at_ns != NEVER_NS and contact.try_follow_hint(now_ns):
            self._say_hello(contact, now_ns)
        return True

    def _on_hello(
        self, greeting: Greeting, address: object, message: Envelope, now_ns: i64
    ) -> None:
        """Somebody greets: answer, or refuse with the reason."""
        contact = self.by_name.get(greeting.name)
        denials = self.denials
        if greeting.target != self._me.name:
            denials.deny(address, message, f"this is {self._me.name}, not {greeting.target}")
        elif greeting.order != self._me.order:
            denials.deny_order(greeting, address, message, now_ns)
        elif greeting.name == self._me.name:
            denials.deny_namesake(greeting, address, message, now_ns)
        elif contact is None and self._open_to_strangers:
            self._reports.append(StrangerSeen(name=greeting.name, address=seen_at(address)))
        elif contact is None:
            denials.deny_unknown(greeting, address, message, now_ns)
        elif greeting.incarnation in contact.past_incarnations:
            denials.deny_replaced(greeting, address, message, now_ns)
        elif not self._has_met_later(contact, greeting, address, message is not None, now_ns):
            self._welcome(contact, greeting, address, message, now_ns)

    def _on_expelled_greeting(
        self, kind: i64, greeting: Greeting, address: object, message: Envelope, now_ns: i64
    ) -> None:
        """Somebody who is expelled greets, met or not; it may live, and not know it yet."""
        if kind == HELLO:
            # It may just be late. Should one be there, it understands the news by the welcome.
            newest = self._newest_number(greeting.name)
            self.expelled_speakers.welcome(greeting, newest, address, message, now_ns)
            return
        contact = self.by_name.get(greeting.name)
        if contact is not None and contact.hello_token == greeting.echo != 0:
            self.expelled_speakers.on_answer(greeting, address, message, now_ns)
            # It knows that token now: nobody else gets it.
            contact.set_hello_token(self._tokens.fresh(), 0)

    def _on_welcome(
        self, greeting: Greeting, address: object, message: Envelope, now_ns: i64
    ) -> Candidate | None:
        """An answer to a hello; who it proves to be there, if that is news."""
        contact = self.by_name.get(greeting.name)
        if contact is None or greeting.target != self._me.name:
            return None
        if greeting.incarnation in contact.past_incarnations:
            return None
        session = contact.session
        if contact.is_known(greeting):
            contact.on_hello_answered()
            return None
        incarnation = greeting.incarnation
        if contact.hello_token != 0 and greeting.echo == contact.hello_token:
            if self._has_met_later(contact, greeting, address, True, now_ns):
                return None
            if contact.hello_for in (0, incarnation):
                keys = None if message is None else message.session_keys(now_ns)
                return Candidate(contact, greeting, address, contact.hello_token, keys)
            self._hello_with_new_token(contact, incarnation, now_ns)
        elif session.met and greeting.echo == session.token_in:
            if incarnation != session.incarnation:
                self._hello_with_new_token(contact, incarnation, now_ns)
            elif message is not None and greeting.flags & FORMER_IS_OVER:
                # It does not know our session any more, because we are over: it will say so.
                return Candidate(
                    contact, greeting, address, session.token_in, message.session_keys(now_ns)
                )
        return None

    def _welcome(
        self,
        contact: Contact,
        greeting: Greeting,
        address: object,
        message: Envelope,
        now_ns: i64,
    ) -> None:
        session = contact.session
        if contact.is_known(greeting):
            token = session.token_in
        elif self._is_remembered(session, greeting):
            token = greeting.echo
        elif contact.has_twin(greeting, address, now_ns):
            self.denials.deny_twin(greeting, address, message, now_ns)
            return
        else:
            token = self._candidate_token(contact, greeting, address)
        answer = self._greeting(contact, token, greeting.token)
        where = contact.address if contact.address is not None else address
        data = write_greeting(WELCOME, answer)
        if message is not None:
            data = message.reply(data)
            contact.offer(token, message.session_keys(now_ns))
        self._out.append(Datagram(where, data))

    def _is_remembered(self, session: Session, greeting: Greeting) -> bool:
        """Whether a hello with another token is from the very one that the session is with."""
        same = greeting.echo != 0 and greeting.incarnation == session.incarnation
        return same and self.by_token.get(greeting.echo) is session

    def _say_hello(self, contact: Contact, now_ns: i64, seen_at: object = None) -> None:
        """Greet a contact, and plan the next hello in case there is no answer."""
        session = contact.session
        token = contact.hello_token if contact.hello_token != 0 else session.token_in
        # A hello is large: it goes where somebody has answered from, or has said as much.
        address = contact.address if contact.address is not None else session.address.proven
        if address is None:
            address = seen_at
        contact.on_hello_sent(now_ns)
        if address is not None:
            known = session.token_out if session.met and not session.ended else 0
            greeting = self._greeting(contact, token, known)
            for data in self._hellos(contact.name, greeting, now_ns):
                self._out.append(Datagram(address, data))
        self.plan_hello(contact)

    def _greeting(self, contact: Contact, token: i64, echo: i64) -> Greeting:
        """A greeting to whoever has that name, with what was delivered of the one that was met."""
        session = contact.session
        met, delivered = session.incarnation, session.channel.flow_control.last_delivered
        is_over = session.ended or (met == 0 and self._expulsions.newest_of(contact.name) != ME)
        if is_over:
            met = self._newest_number(contact.name)
        return self._me.greeting(contact.name, token, echo, met, delivered, is_over)

    def _hellos(self, name: str, greeting: Greeting, now_ns: i64) -> list[bytes]:
        """A hello, in an envelope for every key that the peer may have."""
        crypto = self._crypto
        if crypto is None:
            return [write_greeting(HELLO, greeting)]
        padded = write_greeting(HELLO, greeting, crypto.greeting_size())
        return crypto.encrypt_hellos(name, padded, now_ns)

    def _hello_with_new_token(self, contact: Contact, incarnation: i64, now_ns: i64) -> None:
        """Another incarnation answers than the one that has our token: it gets one of its own."""
        candidate = contact.candidate_of(incarnation)
        token = self._tokens.fresh() if candidate is None else candidate.token_in
        contact.set_hello_token(token, incarnation)
        contact.schedule_hello(now_ns)
        self._say_hello(contact, now_ns)

    def plan_hello(self, contact: Contact) -> None:
        """Say the next hello when it is due."""
        heappush(self._timers, (contact.hello_at_ns, contact.name))

    def _candidate_token(self, contact: Contact, greeting: Greeting, address: object) -> i64:
        """The token for somebody who has still to show that it is there."""
        incarnation = greeting.incarnation
        before = contact.candidate_of(incarnation)
        if before is not None and before.has_restarted(greeting):
            # What it has said meanwhile must not be mistaken for what it says now.
            contact.set_hello_token(self._tokens.fresh(), 0)
            self._drop_candidates(contact)
            before = None
        if before is not None:
            token = before.token_in
            contact.candidates.remove(before)
        else:
            if contact.hello_token == 0:
                contact.set_hello_token(self._tokens.fresh(), contact.hello_for)
            token = contact.hello_token
            if contact.hello_for == 0:
                contact.set_hello_token(token, incarnation)
            elif contact.hello_for != incarnation:
                token = self._recalled.token(contact.session.id, incarnation, contact.name)
        candidate = Candidate(contact, greeting, address, token)
        contact.candidates.append(candidate)
        self._candidates[token] = candidate
        if len(contact.candidates) > CANDIDATES_MAX:
            self._candidates.pop(contact.candidates.pop(0).token_in, None)
        return token

    def _drop_candidates(self, contact: Contact) -> None:
        for candidate in contact.candidates:
            self._candidates.pop(candidate.token_in, None)
        contact.candidates.clear()
