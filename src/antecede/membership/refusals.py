"""Refusing greetings: what the other side is told, and what the application here.

The application is told once each, and of at most 1,000 names a minute: anybody can make names up.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.events import PeerRefused, Report, seen_at
from antecede.membership.contact import Contact, LaterLife
from antecede.membership.handshake_crypto import HandshakeMessage
from antecede.membership.identity import Identity
from antecede.transport.datagram import Datagram
from antecede.wire.handshake import OLDEST_VERSION, VERSION, Greeting, write_refusal

REFUSED_MAX: Final = 1000
REFUSED_NS: Final = 60_000_000_000
REASONS_MAX: Final = 8
"""1,000 refused names are remembered, for 60 s at least if there are more, and 8 reasons of each.
More are not reported in that time, only counted."""


@final
class RefusalReporter:
    """What has been told of those who are refused, which go on saying hello."""

    __slots__ = ("_contacts", "_reasons", "_reports", "_until_ns")

    def __init__(self, reports: list[Report], contacts: dict[str, Contact]) -> None:
        self._contacts: Final = contacts
        self._reports: Final = reports
        self._reasons: dict[str, list[str]] = {}
        self._until_ns: i64 = 0

    def forget(self, name: str) -> None:
        """It is a peer now: should it be refused again, that is news."""
        self._reasons.pop(name, None)

    def tell(self, name: str, address: object, reason: str, now_ns: i64) -> None:
        """Tell that somebody is refused: once, not every time. A peer's record keeps the reason."""
        contact = self._contacts.get(name)
        if contact is not None:
            contact.set_objection(reason)
        if self.is_news(name, reason, now_ns):
            self._reports.append(PeerRefused(name=name, address=seen_at(address), reason=reason))

    def is_news(self, name: str, reason: str, now_ns: i64) -> bool:
        """Whether to tell this of somebody; from now on it is known."""
        reasons = self._reasons.get(name)
        if reasons is None:
            if len(self._reasons) >= REFUSED_MAX and now_ns >= self._until_ns:
                self._reasons.clear()
            if len(self._reasons) >= REFUSED_MAX:
                return False
            if not self._reasons:
                self._until_ns = now_ns + REFUSED_NS
            reasons = []
            self._reasons[name] = reasons
        if reason in reasons or len(reasons) >= REASONS_MAX:
            return False
        reasons.append(reason)
        return True


SAME_ORDER: Final = "set the same one on every node"
OWN_NAME: Final = "give every node a name of its own"
STOP_ONE: Final = "stop one of the two, and start it with a journal of its own"
UPGRADE: Final = "upgrade the older one"
LATE: Final = "it has had a hello that was made later: the clock here was set back"


@final
class Denials:
    """The refusals that one node says."""

    __slots__ = ("_me", "_out", "_refused", "count")

    def __init__(self, me: Identity, out: list[Datagram], refused: RefusalReporter) -> None:
        self._me: Final = me
        self._out: Final = out
        self._refused: Final = refused
        self.count: i64 = 0

    def deny(self, address: object, message: HandshakeMessage | None, reason: str) -> None:
        """Say no, with this reason."""
        self.count += 1
        data = write_refusal(self._me.name, reason)
        self._out.append(Datagram(address, data if message is None else message.reply(data)))

    def deny_late(self, message: HandshakeMessage, address: object) -> None:
        """Say no to a hello that was made before one that was answered, and when that was made.

        It was recorded, or a clock was set back. Only who made it can read the answer, and with
        that come again.
        """
        said = write_refusal(self._me.name, LATE, message.answered_stamp())
        self._out.append(Datagram(address, message.answer_late(said)))

    def deny_order(
        self, greeting: Greeting, address: object, message: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """Say no to somebody with another order, and report it."""
        ours = self._me.order
        self.deny(address, message, f"{self._me.name} has the order {ours!r}; {SAME_ORDER}")
        reason = f"it has the order {greeting.order!r}, we {ours!r}; {SAME_ORDER}"
        self._refused.tell(greeting.name, address, reason, now_ns)

    def deny_unknown(
        self, greeting: Greeting, address: object, message: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """Say no to somebody who is not a peer, and report it."""
        self.deny(address, message, f"{greeting.name} is not one of {self._me.name}'s peers")
        reason = "it is not one of our peers; add it with add_peer"
        self._refused.tell(greeting.name, address, reason, now_ns)

    def deny_namesake(
        self, greeting: Greeting, address: object, message: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """Say no to somebody who has this node's own name, and report it."""
        self.deny(address, message, f"{self._me.name} is this node's own name; {OWN_NAME}")
        reason = f"it has this node's own name; {OWN_NAME}"
        self._refused.tell(greeting.name, address, reason, now_ns)

    def deny_version(
        self, name: str, oldest: i64, newest: i64, address: object, now_ns: i64
    ) -> None:
        """Say no to a greeting in versions that are not spoken here, and report it."""
        ours = f"{OLDEST_VERSION} to {VERSION}"
        self.deny(address, None, f"{self._me.name} speaks versions {ours}; {UPGRADE}")
        reason = f"it speaks versions {oldest} to {newest}, we speak {ours}; {UPGRADE}"
        self._refused.tell(name, address, reason, now_ns)

    def deny_replaced(
        self, greeting: Greeting, address: object, message: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """Say no to an incarnation that another has come after.

        A first hello may just be late. One that echoes our token is from somebody who had met us,
        and has been told that it is unknown now: it lives.
        """
        said = f"a later node named {greeting.name} has taken its place; {OWN_NAME}"
        self.deny(address, message, said)
        if greeting.echo != 0:
            reason = f"a later node of that name has taken its place, and both live; {OWN_NAME}"
            self._refused.tell(greeting.name, address, reason, now_ns)

    def deny_twin(
        self, greeting: Greeting, address: object, message: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """Say no to a second process with the same journal, and report it."""
        said = f"{greeting.name} runs already, from another copy of this journal; {STOP_ONE}"
        self.deny(address, message, said)
        reason = f"a second process runs from a copy of its journal; {STOP_ONE}"
        self._refused.tell(greeting.name, address, reason, now_ns)

    def report_later(self, later: LaterLife, now_ns: i64) -> None:
        """Tell, once, that a peer has met a later node of our name, and this one stays."""
        reason = (
            f"it has met a later {self._me.name}: either that one lives, and then {OWN_NAME}, or "
            "the clock here was set back since; then set it right and start again"
        )
        self._refused.tell(later.peer, later.address, reason, now_ns)
