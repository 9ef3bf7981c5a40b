"""Peers by their names: what is known of each, when it is greeted, and who claims to be it."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.durability.node_state import MET_SINCE
from antecede.membership.handshake_crypto import OFFERS_MAX, HandshakeCrypto, OfferedKeys
from antecede.transport.peer_lifecycle import MET
from antecede.transport.rate_limiter import RateLimiter
from antecede.transport.seals import SessionKeys
from antecede.transport.session import Session
from antecede.wire.handshake import Greeting

NEW: Final = 0
HERE: Final = 1
SILENT: Final = 2
AWAY: Final = 3
"""A peer, by its name. New: not met yet, and added so lately that it is waited for. Here: met, and
not over. Silent: here, and not heard for too long in spite of pings. Away: it has left, was
expelled, or was not met in time; messages leave it out. A hello that is accepted makes it here."""

STATES: Final = ("new", "here", "silent", "away")
"""What these are called."""

HELLO_NS: Final = 50_000_000
"""The first unanswered hello is repeated after 50 ms, the next after 100 ms, and so on to 1.6 s."""

HELLO_DOUBLINGS_MAX: Final = 5

REPLACED_MAX: Final = 64
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
        "hello_at_ns",
        "hello_for",
        "hello_sent_ns",
        "hello_token",
        "hinted_ns",
        "is_new",
        "name",
        "objection",
        "offers",
        "process",
        "recalled",
        "refusal",
        "replaced",
        "restarts",
        "session",
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
        # Whether it is waited for: nobody of its name was met, and it was added a short while ago.
        self.is_new = True
        # Whether its last incarnation was expelled, and no other has been met since.
        self.expelled = False
        # Whether it is known from a journal alone: the application may still say where it is.
        self.recalled = False
        # Incarnations that are over: one of them that speaks again is a second node of that name.
        self.replaced: list[int] = []
        self.restarts: Final = RateLimiter(RESTARTS_AT_ONCE, RESTART_NS)

    def recall(self) -> None:
        """It is known from a journal alone, until the application introduces it."""
        self.recalled = True

    def begin_session(self, session: Session, incarnation: i64) -> None:
        """From now on the contact is this session, with this incarnation."""
        if self.session.incarnation != incarnation:
            self.replaced.append(self.session.incarnation)
            del self.replaced[:-REPLACED_MAX]
        self.session = session
        self.targets = [session.id]

    def state(self) -> i64:
        """One of `NEW`, `HERE`, `SILENT` and `AWAY`."""
        session = self.session
        if session.is_here():
            return SILENT if session.lifecycle.silent else HERE
        return NEW if self.is_new else AWAY

    def on_met(self) -> None:
        """The incarnation that was awaited has come."""
        self.is_new = False
        self.expelled = False

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
        for incarnation in self.replaced:
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

    def withdraw_offers(self, guard: HandshakeCrypto) -> None:
        """What was offered to a key that it does not have any more is not offered."""
        kept = [offer for offer in self.offers if guard.trusts(self.name, offer.keys.peer_key)]
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
