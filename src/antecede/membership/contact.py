"""Peers by their names: what is known of each, when it is greeted, and who claims to be it."""

from enum import IntEnum
from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.durability.node_state import MET_SINCE, PeerRecord
from antecede.membership.handshake_crypto import OFFERS_MAX, HandshakeCrypto, OfferedKeys
from antecede.transport.peer_lifecycle import MET
from antecede.transport.rate_limiter import RateLimiter
from antecede.transport.seals import SessionKeys
from antecede.transport.session import Session
from antecede.wire.handshake import Greeting


class ContactState(IntEnum):
    """How it stands with a peer, by its name: messages are submitted to whoever is here."""

    NEW = 0
    """Not met yet, and added so lately that it is waited for."""
    HERE = 1
    """Met, and not over."""
    SILENT = 2
    """Here, and not heard for too long in spite of pings."""
    AWAY = 3
    """It has left, was expelled, or was not met in time; messages leave it out."""


STATES: Final = ("new", "here", "silent", "away")
"""What these are called."""

NEXT: Final = {
    ContactState.NEW: (ContactState.HERE, ContactState.AWAY),
    ContactState.HERE: (ContactState.SILENT, ContactState.AWAY),
    ContactState.SILENT: (ContactState.HERE, ContactState.AWAY),
    ContactState.AWAY: (ContactState.HERE,),
}
"""Which state may follow which. A hello that is accepted makes a peer here, wherever it was."""

HELLO_NS: Final = 50_000_000
"""The first unanswered hello is repeated after 50 ms, the next after 100 ms, and so on to 1.6 s."""

HELLO_DOUBLINGS_MAX: Final = 5

PAST_INCARNATIONS_MAX: Final = 64
"""64 incarnations of a peer are remembered because another has taken their place."""

RESTARTS_AT_ONCE: Final = 16
RESTART_NS: Final = 10_000_000_000
"""16 restarts of a peer are followed at once, then one per 10 s; a new incarnation beyond that has
to wait. What each replaces is expelled, and everybody remembers that for good."""

TWIN_NS: Final = 1_000_000_000
"""What a process that has stopped had sent has come within 1 s, or will not come."""

HINT_INTERVAL_NS: Final = 1_000_000_000
"""With keys: a peer that is said not to know us is greeted at most once per second."""


@final
class Candidate:
    """An incarnation of a peer that has still to show that it is there."""

    __slots__ = ("address", "contact", "greeting", "keys", "token_in")

    def __init__(
        self,
        contact: "Contact",
        greeting: Greeting,
        address: object,
        token_in: i64,
        keys: SessionKeys | None = None,
    ) -> None:
        # With keys, of one that answered our hello: what was agreed on.
        self.keys: Final = keys
        self.contact: Final = contact
        self.greeting: Final = greeting
        self.address: Final = address
        self.token_in: Final[i64] = token_in

    def establish(self, keys: SessionKeys | None, now_ns: i64) -> None:
        """It is believed: the contact's session is with it, and datagrams can leave."""
        contact, greeting = self.contact, self.greeting
        session = contact.session
        fixed = contact.address is not None
        address = contact.address if fixed else self.address
        session.set_sent_before(MET_SINCE)
        session.establish(greeting, self.token_in, address, fixed, keys, now_ns)

    def has_restarted(self, greeting: Greeting) -> bool:
        """Whether somebody who was met, and is on its way back from its journal, begins afresh."""
        known = self.contact.session.incarnation == greeting.incarnation
        return known and self.greeting.token != greeting.token

    def must_wait(self, now_ns: i64) -> bool:
        """Whether it has to wait: one that is back until the application takes what it had sent,
        a new incarnation if there have been too many lately."""
        contact = self.contact
        session = contact.session
        if session.incarnation == self.greeting.incarnation:
            return session.channel.flow_control.is_overdrawn()
        return session.met and not contact.restarts.available(now_ns)


@final
class LaterLife:
    """What a peer has said: that it has met a later incarnation of this node."""

    __slots__ = ("address", "incarnation", "peer")

    def __init__(self, peer: str, incarnation: i64, address: object) -> None:
        self.peer: Final = peer
        self.incarnation: Final[i64] = incarnation
        self.address: Final = address


@final
class Contact:
    """A peer by its name."""

    __slots__ = (
        "_elsewhere",
        "_elsewhere_ns",
        "_hellos",
        "address",
        "candidates",
        "datagram_size",
        "expelled",
        "from_journal",
        "hello_at_ns",
        "hello_for",
        "hello_sent_ns",
        "hello_token",
        "hinted_ns",
        "is_here",
        "name",
        "objection",
        "offers",
        "past_incarnations",
        "process",
        "refusal",
        "restarts",
        "session",
        "state",
        "stranger",
        "targets",
    )

    def __init__(
        self,
        name: str,
        address: object,
        process: i64,
        datagram_size: i64,
        session: Session,
        stranger: bool,
    ) -> None:
        self.name: Final = name
        # Configured: hellos and datagrams go there, whatever address the peer answers from.
        self.address = address
        self.process: Final[i64] = process
        self.datagram_size: i64 = datagram_size
        # Whether it was let in although nobody had introduced it.
        self.stranger: Final = stranger
        self.session: Session = session
        # The session as a list of targets, kept because a list per message is not free.
        self.targets: list[int] = [session.id]
        self.candidates: list[Candidate] = []
        # With keys: what it may seal its datagrams with, from the hellos that we answered.
        self.offers: Final[list[OfferedKeys]] = []
        # When a hint that it does not know us was last followed.
        self.hinted_ns: i64 = -HINT_INTERVAL_NS
        # The token in our hellos (0: none of its own), and the incarnation that was promised it.
        self.hello_token: i64 = 0
        self.hello_for: i64 = 0
        self.hello_at_ns: i64 = NEVER_NS
        self.hello_sent_ns: i64 = 0
        self._hellos: i64 = 0
        # The token in the hellos of one who is not where the peer is, and when the first came.
        self._elsewhere: i64 = 0
        self._elsewhere_ns: i64 = 0
        # Why it will not talk to us, and why we do not talk to it; empty if nothing is known.
        self.refusal = ""
        self.objection = ""
        # Only `_enter` changes these two; the second is what most messages ask.
        self.state = ContactState.NEW
        self.is_here = False
        # Of who is away: whether its last incarnation was expelled.
        self.expelled = False
        # Whether it is known from a journal alone: the application may still say where it is.
        self.from_journal = False
        # Incarnations that are over: one of them that speaks again is a second node of that name.
        self.past_incarnations: list[int] = []
        self.restarts: Final = RateLimiter(RESTARTS_AT_ONCE, RESTART_NS)

    # Its state.

    def on_met(self) -> None:
        """Somebody of its name has shown that it is there."""
        self.expelled = False
        self._enter(ContactState.HERE)

    def on_silent(self) -> None:
        """It has not answered for too long."""
        if self.state == ContactState.HERE:
            self._enter(ContactState.SILENT)

    def on_heard(self) -> None:
        """It had been silent, and something has come from it."""
        if self.state == ContactState.SILENT:
            self._enter(ContactState.HERE)

    def on_not_met(self) -> None:
        """It was waited for long enough."""
        if self.state == ContactState.NEW:
            self._enter(ContactState.AWAY)

    def on_left(self) -> None:
        """Its incarnation has left, or is over."""
        self._enter(ContactState.AWAY)

    def await_successor(self, successor: Session, expelled: bool) -> None:
        """Its incarnation is over, or expelled: it is whoever comes next under its name."""
        self.expelled = expelled
        self._enter(ContactState.AWAY)
        if self.session.incarnation != 0:
            self.past_incarnations.append(self.session.incarnation)
            del self.past_incarnations[:-PAST_INCARNATIONS_MAX]
        self.session = successor
        self.targets = [successor.id]

    def restore(self, known: PeerRecord) -> None:
        """It is what it was before this node crashed."""
        self.expelled = known.expelled
        if known.over or (known.expelled and known.incarnation == 0):
            self._enter(ContactState.AWAY)
        elif known.incarnation > 0:
            self._enter(ContactState.HERE)

    def _enter(self, state: ContactState) -> None:
        """The one place where the state changes."""
        if state != self.state:
            assert state in NEXT[self.state], f"{self.name}: from {self.state} to {state}"
            self.state = state
            self.is_here = state in (ContactState.HERE, ContactState.SILENT)

    # Where it is.

    def mark_from_journal(self) -> None:
        """It is known from a journal alone."""
        self.from_journal = True

    def locate(self, address: object, datagram_size: i64) -> None:
        """The application says where it is."""
        self.from_journal = False
        self.address = address
        self.datagram_size = datagram_size

    # Its incarnations.

    def has_departed(self) -> bool:
        """Whether a stranger that was let in has left, or is expelled, and need not be known."""
        return self.stranger and (self.expelled or self.session.is_gone())

    def is_known(self, greeting: Greeting) -> bool:
        """Whether a greeting is from the very one that is talked to, token and all."""
        session = self.session
        same = greeting.incarnation == session.incarnation and greeting.token == session.token_out
        return session.met and same

    def lives_twice(self, greeting: Greeting) -> bool:
        """Whether one that was replaced, when it seemed to come back, lives all the same."""
        session = self.session
        known = greeting.incarnation == session.incarnation and greeting.echo != 0
        return known and greeting.echo in session.replaced_tokens

    def has_twin(self, greeting: Greeting, address: object, now_ns: i64) -> bool:
        """Whether a hello is from a second process of the incarnation that is talked to.

        It comes from elsewhere again and again, and the first one has been heard meanwhile.
        """
        session = self.session
        if greeting.incarnation != session.incarnation or session.lifecycle.phase != MET:
            return False
        if self.address is None or address == self.address:
            return False
        if self._elsewhere != greeting.token:
            self._elsewhere = greeting.token
            self._elsewhere_ns = now_ns
        return session.lifecycle.heard_ns > self._elsewhere_ns + TWIN_NS

    def newest_number(self) -> i64:
        """The highest number of the incarnations that were met; 0 if none was."""
        newest = self.session.incarnation
        for incarnation in self.past_incarnations:
            if incarnation > newest:
                newest = incarnation
        return newest

    def set_hello_token(self, token: i64, incarnation: i64) -> None:
        """From now on our hellos carry this token, which that incarnation (0: any) was promised."""
        self.hello_token = token
        self.hello_for = incarnation

    def schedule_hello(self, time_ns: i64) -> None:
        """Say the first of a series of hellos then."""
        self._hellos = 0
        self.hello_at_ns = time_ns

    def on_hello_sent(self, now_ns: i64) -> None:
        """A hello has left; the next one follows if there is no answer."""
        doublings = self._hellos
        if doublings > HELLO_DOUBLINGS_MAX:
            doublings = HELLO_DOUBLINGS_MAX
        self._hellos += 1
        self.hello_sent_ns = now_ns
        self.hello_at_ns = now_ns + (HELLO_NS << doublings)

    def on_hello_answered(self) -> None:
        """The hellos were answered."""
        self._hellos = 0
        self.hello_at_ns = NEVER_NS
        self.refusal = self.objection = ""

    def set_objection(self, reason: str) -> None:
        """We do not talk to it as it is now; who is talked to already stays so."""
        if not self.session.met:
            self.objection = reason

    def record_refusal(self, reason: str) -> bool:
        """It will not talk to us; False if it had said so."""
        if self.refusal == reason:
            return False
        # Who talks to us, as far as we know, refuses nothing; unless we have to greet it again.
        if self.session.met and self.hello_at_ns == NEVER_NS:
            return False
        self.refusal = reason
        return True

    def offer(self, token: i64, keys: SessionKeys) -> None:
        """Our welcome is on its way: it may use this, with that token."""
        self.offers.append(OfferedKeys(token, keys))
        del self.offers[:-OFFERS_MAX]

    def withdraw_offers(self, crypto: HandshakeCrypto) -> None:
        """What was offered to a key that it does not have any more is not offered."""
        kept = [offer for offer in self.offers if crypto.trusts(self.name, offer.keys.peer_key)]
        self.offers[:] = kept

    def try_follow_hint(self, now_ns: i64) -> bool:
        """Whether to greet it because somebody says that it does not know us: now and then."""
        if now_ns - self.hinted_ns < HINT_INTERVAL_NS:
            return False
        self.hinted_ns = now_ns
        return True

    def answer_ns(self, now_ns: i64) -> i64:
        """How long the answer took that comes now, if it is clear which hello it answers; or -1."""
        return now_ns - self.hello_sent_ns if self._hellos == 1 else -1

    def candidate_of(self, incarnation: i64) -> Candidate | None:
        """The candidate that is this incarnation, if there is one."""
        for candidate in self.candidates:
            if candidate.greeting.incarnation == incarnation:
                return candidate
        return None
