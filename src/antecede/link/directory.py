"""The address book of a node, and the greetings by which it is filled.

Hellos go out until they are answered. `on_hello` and `on_welcome` decide what a greeting means; the
answer of `on_welcome`, or a candidate whose token turns up in a datagram, is a peer to be believed.
"""

from abc import abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError
from antecede.core.process import NEVER_NS
from antecede.link.contacts import Candidate, Contact
from antecede.link.datagram import Datagram
from antecede.link.greeting import (
    HELLO,
    OLDEST_VERSION,
    VERSION,
    WELCOME,
    Greeting,
    read_greeting,
    read_refusal,
    read_unknown,
    read_versions,
    write_greeting,
    write_refusal,
    write_unknown,
)
from antecede.link.reports import Refused, Report, Stranger
from antecede.link.session import Session
from antecede.wire.varint import Reader

PEERS_LIMIT: Final = 1 << 14
"""Peers of one node."""

CANDIDATES_MOST: Final = 4
"""Incarnations of a peer that may have to show that they are there; the oldest gives way."""

REFUSED_MOST: Final = 1000
"""Names that are remembered because they were refused."""

SAME_ORDER: Final = "set the same one on every node"
OWN_NAME: Final = "give every node a name of its own"

UNKNOWN_INTERVAL_NS: Final = 10_000_000
"""Datagrams with tokens that mean nothing are answered at most this often."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Tokens:
    """Where numbers come from that nobody else can guess."""

    @abstractmethod
    def fresh(self) -> int:
        """A number, 0 < number < 2**62, that was never given out before."""


@final
class Identity:
    """What a node tells its peers about itself."""

    __slots__ = (
        "incarnation",
        "name",
        "order",
        "payload_limit",
        "process",
        "socket_bytes",
        "window",
    )

    def __init__(
        self,
        name: str,
        *,
        incarnation: int,
        process: int,
        window: int,
        payload_limit: int,
        socket_bytes: int,
        order: str = "",
    ) -> None:
        self.name: Final = name
        self.incarnation: Final[i64] = incarnation
        self.process: Final[i64] = process
        self.window: Final[i64] = window
        self.payload_limit: Final[i64] = payload_limit
        self.socket_bytes: Final[i64] = socket_bytes
        self.order: Final = order

    def greeting(self, target: str, token: i64, echo: i64) -> Greeting:
        """A hello or welcome to `target`."""
        greeting = Greeting(self.name, target, self.incarnation, token)
        greeting.echo = echo
        greeting.process = self.process
        greeting.window = self.window
        greeting.payload_limit = self.payload_limit
        greeting.socket_bytes = self.socket_bytes
        greeting.order = self.order
        return greeting


@final
class Directory:
    """The contacts of one node."""

    __slots__ = (
        "_candidates",
        "_me",
        "_open_to_strangers",
        "_out",
        "_refused",
        "_reports",
        "_tokens",
        "_unknown_at_ns",
        "by_name",
        "by_token",
        "greeted",
        "list",
        "refusals",
        "stale",
    )

    def __init__(
        self,
        me: Identity,
        tokens: Tokens,
        out: list[Datagram],
        reports: list[Report],
        open_to_strangers: bool,
    ) -> None:
        self._open_to_strangers: Final = open_to_strangers
        self._me: Final = me
        self._tokens: Final = tokens
        self._out: Final = out
        self._reports: Final = reports
        self._candidates: dict[int, Candidate] = {}
        # Why somebody was refused last, by name.
        self._refused: dict[str, str] = {}
        self.by_name: dict[str, Contact] = {}
        self.by_token: dict[int, Session] = {}
        self.list: list[Contact] = []
        # Contacts that have been sent a hello, to be repeated at their `hello_at_ns`.
        self.greeted: list[Contact] = []
        self.stale: i64 = 0
        self.refusals: i64 = 0
        self._unknown_at_ns: i64 = 0

    def add(self, name: str, address: object, session: Session, now_ns: i64) -> Contact:
        """A new contact, which `session` stands for until it is met."""
        if len(self.by_name) >= PEERS_LIMIT:
            raise LocalError(f"a node has at most {PEERS_LIMIT} peers; remove one first")
        contact = Contact(len(self.list), name, address, session)
        contact.hello_token = self._tokens.fresh()
        contact.hello_at_ns = NEVER_NS if address is None else now_ns
        self.list.append(contact)
        self.by_name[name] = contact
        self._refused.pop(name, None)
        return contact

    def remove(self, contact: Contact) -> None:
        """Forget a contact; greetings of that name are refused from now on."""
        contact.removed = True
        contact.hello_at_ns = NEVER_NS
        if self.by_name.get(contact.name) is contact:
            del self.by_name[contact.name]
        self.end_session(contact.session)
        self._drop_candidates(contact)

    def end_session(self, session: Session) -> None:
        """Datagrams of this session are refused from now on."""
        session.ended = True
        self.by_token.pop(session.token_in, None)

    def say_hello(self, contact: Contact, now_ns: i64) -> None:
        """Greet a contact, and plan the next hello in case there is no answer."""
        session = contact.session
        token = contact.hello_token if contact.hello_token != 0 else session.token_in
        address = contact.address if contact.address is not None else session.address
        contact.hello_sent_ns = now_ns
        contact.hello_at_ns = now_ns + contact.hello_patience_ns()
        contact.hellos += 1
        if address is not None:
            known = session.token_out if session.met and not session.ended else 0
            greeting = self._me.greeting(contact.name, token, known)
            self._out.append(Datagram(address, write_greeting(HELLO, greeting)))
        self.greeted.append(contact)

    def receive(self, kind: i64, address: object, reader: Reader, now_ns: i64) -> Candidate | None:
        """Take in a hello or a welcome; who it proves to be there, if that is news."""
        oldest, newest = read_versions(reader)
        if newest < OLDEST_VERSION or oldest > VERSION:
            if kind == HELLO:
                self.refuse_version(oldest, newest, address)
            return None
        greeting = read_greeting(reader, oldest, newest)
        if kind == WELCOME:
            return self.on_welcome(greeting, address, now_ns)
        self.on_hello(greeting, address)
        return None

    def receive_refusal(self, address: object, reader: Reader) -> None:
        """Somebody will not talk to us: worth reporting, once."""
        name, reason = read_refusal(reader)
        contact = self.by_name.get(name)
        if contact is None:
            contact = self.by_name.get(self.name_at(address))
        if contact is None or contact.refusal == reason:
            return
        # Who talks to us, as far as we know, refuses nothing; unless we have to greet it again.
        if not contact.session.met or contact.hello_at_ns != NEVER_NS:
            contact.refusal = reason
            self._reports.append(Refused(name=contact.name, address=address, reason=reason))

    def receive_unknown(self, reader: Reader, now_ns: i64) -> Session | None:
        """A peer does not know us any more: greet it, to learn whether it has restarted.

        If it has, what it will send must not be mistaken for what was sent before: the hello has a
        token of its own. Where one of the two has said bye there is nothing to learn: the other has
        let go, and the session that is over is the answer.
        """
        token = read_unknown(reader)
        for contact in self.list:
            session = contact.session
            if not session.met or session.ended or session.token_out != token:
                continue
            if session.bye_mode >= 0 or session.peer_bye >= 0:
                return session
            if contact.hello_at_ns == NEVER_NS:
                if contact.hello_token == 0:
                    contact.hello_token = self._tokens.fresh()
                self.say_hello(contact, now_ns)
        return None

    def answer_unknown(self, address: object, token: i64, now_ns: i64) -> None:
        """A datagram has come with a token that means nothing here: say so, but not too often."""
        self.stale += 1
        if token > 0 and now_ns >= self._unknown_at_ns:
            self._unknown_at_ns = now_ns + UNKNOWN_INTERVAL_NS
            self._out.append(Datagram(address, write_unknown(token)))

    def on_hello(self, greeting: Greeting, address: object) -> None:
        """Somebody greets: answer, or refuse with the reason."""
        contact = self.by_name.get(greeting.name)
        if greeting.target != self._me.name:
            self.refuse(address, f"this is {self._me.name}, not {greeting.target}")
        elif greeting.order != self._me.order:
            self.refuse(address, f"{self._me.name} has the order {self._me.order!r}; {SAME_ORDER}")
            reason = f"it has the order {greeting.order!r}, we {self._me.order!r}; {SAME_ORDER}"
            self._report_refusal(greeting.name, address, reason)
        elif contact is None and self._open_to_strangers:
            self._reports.append(Stranger(name=greeting.name, address=address))
        elif contact is None:
            self.refuse(address, f"{greeting.name} is not one of {self._me.name}'s peers")
            reason = "it is not one of our peers; add it with add_peer"
            self._report_refusal(greeting.name, address, reason)
        elif greeting.incarnation in contact.replaced:
            self._refuse_replaced(greeting, address)
        else:
            self._welcome(contact, greeting, address)

    def on_welcome(self, greeting: Greeting, address: object, now_ns: i64) -> Candidate | None:
        """An answer to a hello; who it proves to be there, if that is news."""
        contact = self.by_name.get(greeting.name)
        if contact is None or greeting.target != self._me.name:
            return None
        if greeting.incarnation in contact.replaced:
            return None
        session = contact.session
        if is_known(session, greeting):
            contact.hello_at_ns = NEVER_NS
            contact.hellos = 0
            contact.refusal = ""
            return None
        incarnation = greeting.incarnation
        if contact.hello_token != 0 and greeting.echo == contact.hello_token:
            if contact.hello_for in (0, incarnation):
                return Candidate(contact, greeting, address, contact.hello_token)
            self._greet_afresh(contact, incarnation, now_ns)
        elif (
            session.met and greeting.echo == session.token_in and incarnation != session.incarnation
        ):
            self._greet_afresh(contact, incarnation, now_ns)
        return None

    def candidate(self, token: i64) -> Candidate | None:
        """The candidate that was given this token, which it has just shown."""
        return self._candidates.get(token)

    def confirm(self, candidate: Candidate) -> None:
        """The candidate is believed: nothing more is asked of that contact."""
        contact = candidate.contact
        self._drop_candidates(contact)
        contact.hello_token = 0
        contact.hello_for = 0
        contact.hello_at_ns = NEVER_NS
        contact.hellos = 0
        contact.refusal = ""

    def refuse(self, address: object, reason: str) -> None:
        """Say no."""
        self.refusals += 1
        self._out.append(Datagram(address, write_refusal(self._me.name, reason)))

    def refuse_version(self, oldest: i64, newest: i64, address: object) -> None:
        """Say no to a greeting in versions that are not spoken here, and report it."""
        ours = f"{OLDEST_VERSION} to {VERSION}"
        self.refuse(address, f"{self._me.name} speaks versions {ours}; upgrade the older one")
        reason = f"it speaks versions {oldest} to {newest}, we speak {ours}; upgrade the older one"
        self._report_refusal(self.name_at(address), address, reason)

    def _refuse_replaced(self, greeting: Greeting, address: object) -> None:
        """Say no to an incarnation that another has come after.

        A first hello may just be late. One that echoes our token is from somebody who had met us,
        and has been told that it is unknown now: it lives.
        """
        self.refuse(address, f"a later node named {greeting.name} has taken its place; {OWN_NAME}")
        if greeting.echo != 0:
            reason = f"a later node of that name has taken its place, and both live; {OWN_NAME}"
            self._report_refusal(greeting.name, address, reason)

    def _report_refusal(self, name: str, address: object, reason: str) -> None:
        """Tell that somebody is refused, which goes on saying hello: once, not every time."""
        if self._refused.get(name) != reason:
            if len(self._refused) >= REFUSED_MOST:
                self._refused.clear()
            self._refused[name] = reason
            self._reports.append(Refused(name=name, address=address, reason=reason))

    def name_at(self, address: object) -> str:
        """The name of the contact that is configured at an address, or the address in words."""
        for contact in self.list:
            if contact.address == address and not contact.removed:
                return contact.name
        return str(address)

    def _welcome(self, contact: Contact, greeting: Greeting, address: object) -> None:
        session = contact.session
        if is_known(session, greeting):
            token = session.token_in
        elif self._is_remembered(session, greeting):
            token = greeting.echo
        else:
            token = self._candidate_token(contact, greeting, address)
        answer = self._me.greeting(greeting.name, token, greeting.token)
        where = contact.address if contact.address is not None else address
        self._out.append(Datagram(where, write_greeting(WELCOME, answer)))

    def _is_remembered(self, session: Session, greeting: Greeting) -> bool:
        """Whether a hello with another token is from the very one that the session is with."""
        return (
            greeting.echo != 0
            and greeting.incarnation == session.incarnation
            and self.by_token.get(greeting.echo) is session
        )

    def _greet_afresh(self, contact: Contact, incarnation: i64, now_ns: i64) -> None:
        """Another incarnation answers than the one that has our token: it gets one of its own."""
        candidate = contact.candidate_of(incarnation)
        contact.hello_token = self._tokens.fresh() if candidate is None else candidate.token_in
        contact.hello_for = incarnation
        contact.hellos = 0
        self.say_hello(contact, now_ns)

    def _candidate_token(self, contact: Contact, greeting: Greeting, address: object) -> i64:
        """The token for somebody who has still to show that it is there."""
        incarnation = greeting.incarnation
        before = contact.candidate_of(incarnation)
        if before is not None:
            token = before.token_in
            contact.candidates.remove(before)
        else:
            if contact.hello_token == 0:
                contact.hello_token = self._tokens.fresh()
            token = contact.hello_token
            if contact.hello_for == 0:
                contact.hello_for = incarnation
            elif contact.hello_for != incarnation:
                token = self._tokens.fresh()
        candidate = Candidate(contact, greeting, address, token)
        contact.candidates.append(candidate)
        self._candidates[token] = candidate
        if len(contact.candidates) > CANDIDATES_MOST:
            self._candidates.pop(contact.candidates.pop(0).token_in, None)
        return token

    def _drop_candidates(self, contact: Contact) -> None:
        for candidate in contact.candidates:
            self._candidates.pop(candidate.token_in, None)
        contact.candidates.clear()


def is_known(session: Session, greeting: Greeting) -> bool:
    """Whether a greeting is from the very incarnation that the session is with."""
    return (
        session.met
        and session.incarnation == greeting.incarnation
        and session.token_out == greeting.token
    )
