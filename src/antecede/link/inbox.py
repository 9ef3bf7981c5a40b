"""What has been delivered and waits for the application."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.link.credit import MESSAGE_COST
from antecede.link.parts import Assembly
from antecede.link.reports import Report, TooLarge
from antecede.link.session import Session


@final
@mypyc_attr(acyclic=True)
class InboundMessage:
    """A message as its receiver sees it."""

    __slots__ = ("payload", "sender", "sequence")

    def __init__(self, sender: str, sequence: i64, payload: bytes) -> None:
        self.sender: Final = sender
        self.sequence: Final[i64] = sequence
        self.payload: Final = payload

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InboundMessage)
            and self.sender == other.sender
            and self.sequence == other.sequence
            and self.payload == other.payload
        )

    def __hash__(self) -> int:
        return hash((self.sender, int(self.sequence)))

    def __repr__(self) -> str:
        return f"Message(sender={self.sender!r}, sequence={self.sequence}, {self.payload!r})"


@final
class Inbox:
    """The messages delivered at one node that its application has not taken."""

    __slots__ = (
        "_own",
        "_own_cost",
        "_payload_limit",
        "_reports",
        "delivered",
        "messages",
        "too_large",
        "unread",
    )

    def __init__(self, payload_limit: i64, reports: list[Report]) -> None:
        self._payload_limit: Final[i64] = payload_limit
        self._reports: Final = reports
        self.messages: list[InboundMessage] = []
        # The sessions whose messages wait here, and so take up part of their windows.
        self.unread: list[Session] = []
        self._own: Final = Assembly()
        self._own_cost: i64 = 0
        self.delivered: i64 = 0
        self.too_large: i64 = 0

    def put(self, session: Session, sequence: i64, payload: bytes) -> None:
        """A message of a peer has been delivered; the last part of a payload brings the whole."""
        session.credit.was_delivered(sequence, len(payload))
        assembly = session.assembly
        if assembly.is_part(sequence):
            assembly.keep(payload, self._payload_limit)
            return
        if assembly.size > 0:
            size = assembly.size + len(payload)
            if size > self._payload_limit:
                assembly.drop()
                self._refuse(session.name, sequence, size)
                return
            payload = assembly.join(payload)
        if session.credit.is_unread(len(payload)):
            self.unread.append(session)
        self.delivered += 1
        self.messages.append(InboundMessage(session.name, sequence, payload))

    def put_own(self, name: str, sequence: i64, payload: bytes, more: bool) -> None:
        """A message of this node to itself."""
        if more:
            self._own.keep(payload, self._payload_limit)
            return
        if self._own.size > 0:
            payload = self._own.join(payload)
        self._own_cost += MESSAGE_COST + len(payload)
        self.delivered += 1
        self.messages.append(InboundMessage(name, sequence, payload))

    def take(self) -> list[InboundMessage]:
        """All messages, which have been consumed with this."""
        taken = self.messages
        self.messages = []
        self.unread = []
        self._own_cost = 0
        return taken

    def has_room_for_own(self, window: i64) -> bool:
        """Whether a message to oneself may be sent: those do not wait anywhere else."""
        return self._own_cost < window

    def holds_up_a_peer(self) -> bool:
        """Whether a peer may have to wait until somebody takes messages."""
        return any(session.credit.holds_up() for session in self.unread)

    def _refuse(self, name: str, sequence: i64, size: i64) -> None:
        """The peer was told how much we take; the application is told that it did not care."""
        self.too_large += 1
        limit = int(self._payload_limit)
        self._reports.append(
            TooLarge(name=name, sequence=int(sequence), size=int(size), limit=limit)
        )
