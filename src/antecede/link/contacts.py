"""Who the peers are: names, addresses, and which incarnation of each is being talked to.

A contact is a name; a session is one incarnation of it. A contact that nobody has met yet has a
session already, so that messages to it can be ordered and wait. A greeting from an incarnation that
is not known becomes a candidate, and is believed when its sender has shown that it received our
token: by the echo in a welcome, or by a datagram with that token. No two incarnations get the same
token. So an old greeting, or one with a forged address, changes nothing.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.link.greeting import Greeting
from antecede.link.session import Session

HELLO_NS: Final = 50_000_000
"""The first unanswered hello is repeated after this time, the next after twice that, and so on."""

HELLO_DOUBLINGS_MAX: Final = 5

REPLACED_MOST: Final = 64
"""Incarnations of a peer that are remembered because another has taken their place."""


@final
class Candidate:
    """An incarnation of a peer that has still to show that it is there."""

    __slots__ = ("address", "contact", "greeting", "token_in")

    def __init__(
        self, contact: "Contact", greeting: Greeting, address: object, token_in: i64
    ) -> None:
        self.contact: Final = contact
        self.greeting: Final = greeting
        self.address: Final = address
        self.token_in: Final[i64] = token_in


@final
class Contact:
    """A peer by its name."""

    __slots__ = (
        "address",
        "candidates",
        "datagram_size",
        "hello_at_ns",
        "hello_for",
        "hello_sent_ns",
        "hello_token",
        "hellos",
        "index",
        "name",
        "process",
        "refusal",
        "removed",
        "replaced",
        "session",
        "targets",
    )

    def __init__(self, index: i64, name: str, address: object, session: Session) -> None:
        self.index: Final[i64] = index
        self.name: Final = name
        # Configured: hellos and datagrams go there, whatever address the peer answers from.
        self.address: object = address
        self.session: Session = session
        # The session as a list of targets, kept because a list per message is not free.
        self.targets: list[int] = [session.id]
        self.datagram_size: i64 = session.datagram_size
        self.process: i64 = 0
        self.candidates: list[Candidate] = []
        # The token in our hellos (0: none of its own), and the incarnation that was promised it.
        self.hello_token: i64 = 0
        self.hello_for: i64 = 0
        self.hello_at_ns: i64 = 0
        self.hello_sent_ns: i64 = 0
        self.hellos: i64 = 0
        self.refusal = ""
        self.removed = False
        # Incarnations that are over: one of them that speaks again is a second node of that name.
        self.replaced: list[int] = []

    def begin(self, session: Session, incarnation: i64) -> None:
        """From now on the contact is this session, with this incarnation."""
        if self.session.incarnation != incarnation:
            self.replaced.append(self.session.incarnation)
            del self.replaced[:-REPLACED_MOST]
        self.session = session
        self.targets = [session.id]

    def candidate_of(self, incarnation: i64) -> Candidate | None:
        """The candidate that is this incarnation, if there is one."""
        for candidate in self.candidates:
            if candidate.greeting.incarnation == incarnation:
                return candidate
        return None

    def hello_patience_ns(self) -> i64:
        """How long to wait for an answer to the last hello."""
        doublings = self.hellos
        if doublings > HELLO_DOUBLINGS_MAX:
            doublings = HELLO_DOUBLINGS_MAX
        return HELLO_NS << doublings
