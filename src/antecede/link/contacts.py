"""Peers by their names: what is known of each, when it is greeted, and who claims to be it."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.link.allowance import Allowance
from antecede.link.guard import OFFERS_MOST, Guard, Offer
from antecede.link.sealing import Seal
from antecede.link.session import Session
from antecede.wire.greeting import Greeting

HELLO_NS: Final = 50_000_000
"""The first unanswered hello is repeated after this time, the next after twice that, and so on."""

HELLO_DOUBLINGS_MAX: Final = 5

REPLACED_MOST: Final = 64
"""Incarnations of a peer that are remembered because another has taken their place."""

RESTARTS_AT_ONCE: Final = 16
RESTART_NS: Final = 10_000_000_000
"""So many restarts of a peer are followed at once, later one in so long; a new incarnation beyond
that has to wait. What each replaces is expelled, and everybody remembers that for ever."""

HINT_INTERVAL_NS: Final = 1_000_000_000
"""With keys: a peer that is said not to know us is greeted at most this often."""


@final
class Candidate:
    """An incarnation of a peer that has still to show that it is there."""

    __slots__ = ("address", "contact", "greeting", "seal", "token_in")

    def __init__(
        self,
        contact: "Contact",
        greeting: Greeting,
        address: object,
        token_in: i64,
        seal: Seal | None = None,
    ) -> None:
        # With keys, of one that answered our hello: what was agreed on.
        self.seal: Final = seal
        self.contact: Final = contact
        self.greeting: Final = greeting
        self.address: Final = address
        self.token_in: Final[i64] = token_in

    def must_wait(self, now_ns: i64) -> bool:
        """Whether it has to wait: one that is back until the application takes what it had sent,
        a new incarnation if there have been too many lately."""
        contact = self.contact
        session = contact.session
        if session.incarnation == self.greeting.incarnation:
            return session.credit.is_overdrawn()
        replaces = session.met or contact.former is not None
        return replaces and not contact.restarts.is_left(now_ns)


@final
class Contact:
    """A peer by its name."""

    __slots__ = (
        "_hellos",
        "address",
        "away",
        "candidates",
        "datagram_size",
        "expelled",
        "former",
        "hello_at_ns",
        "hello_for",
        "hello_sent_ns",
        "hello_token",
        "hinted_ns",
        "name",
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
        self.offers: Final[list[Offer]] = []
        # When a hint that it does not know us was last followed.
        self.hinted_ns: i64 = -HINT_INTERVAL_NS
        # The token in our hellos (0: none of its own), and the incarnation that was promised it.
        self.hello_token: i64 = 0
        self.hello_for: i64 = 0
        self.hello_at_ns: i64 = NEVER_NS
        self.hello_sent_ns: i64 = 0
        self._hellos: i64 = 0
        self.refusal = ""
        # Whether its last incarnation was expelled, and no other has been met since.
        self.expelled = False
        # Whether it has left, or was replaced, and its messages wait for the next of its name.
        self.away = False
        # The incarnation that left, until the next one is met.
        self.former: Session | None = None
        # Whether it is known from a journal alone: the application may still say where it is.
        self.recalled = False
        # Incarnations that are over: one of them that speaks again is a second node of that name.
        self.replaced: list[int] = []
        self.restarts: Final = Allowance(RESTARTS_AT_ONCE, RESTART_NS)

    def begin(self, session: Session, incarnation: i64) -> None:
        """From now on the contact is this session, with this incarnation."""
        if self.session.incarnation != incarnation:
            self.replaced.append(self.session.incarnation)
            del self.replaced[:-REPLACED_MOST]
        self.session = session
        self.targets = [session.id]

    def is_there(self) -> None:
        """The incarnation that was awaited has come."""
        self.expelled = False
        self.away = False
        self.former = None

    def leave_behind(self, former: Session) -> None:
        """That incarnation has left, and what is sent waits for the next one."""
        self.former = former
        self.away = True

    def greet_with(self, token: i64, incarnation: i64) -> None:
        """From now on our hellos carry this token, which that incarnation (0: any) was promised."""
        self.hello_token = token
        self.hello_for = incarnation

    def greets_at(self, time_ns: i64) -> None:
        """Say the first of a series of hellos then."""
        self._hellos = 0
        self.hello_at_ns = time_ns

    def has_greeted(self, now_ns: i64) -> None:
        """A hello has left; the next one follows if there is no answer."""
        doublings = self._hellos
        if doublings > HELLO_DOUBLINGS_MAX:
            doublings = HELLO_DOUBLINGS_MAX
        self._hellos += 1
        self.hello_sent_ns = now_ns
        self.hello_at_ns = now_ns + (HELLO_NS << doublings)

    def needs_no_hello(self) -> None:
        """The hellos were answered."""
        self._hellos = 0
        self.hello_at_ns = NEVER_NS
        self.refusal = ""

    def refused(self, reason: str) -> bool:
        """It will not talk to us; False if it had said so."""
        if self.refusal == reason:
            return False
        # Who talks to us, as far as we know, refuses nothing; unless we have to greet it again.
        if self.session.met and self.hello_at_ns == NEVER_NS:
            return False
        self.refusal = reason
        return True

    def offer(self, token: i64, seal: Seal) -> None:
        """Our welcome is on its way: it may use this, with that token."""
        self.offers.append(Offer(token, seal))
        del self.offers[:-OFFERS_MOST]

    def withdraw_offers(self, guard: Guard) -> None:
        """What was offered to a key that it does not have any more is not offered."""
        kept = [offer for offer in self.offers if guard.knows(self.name, offer.seal.peer_key)]
        self.offers[:] = kept

    def follows_hint(self, now_ns: i64) -> bool:
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
