"""What has been delivered and waits for the application, and payloads that come in parts."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.link.outgoing import MESSAGE_COST
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
        "_own_cost",
        "_own_pieces",
        "_payload_limit",
        "delivered",
        "messages",
        "oversized",
        "uncredited",
    )

    def __init__(self, payload_limit: i64) -> None:
        self._payload_limit: Final[i64] = payload_limit
        self.messages: list[InboundMessage] = []
        # Sessions whose messages wait here, and so take up part of their windows.
        self.uncredited: list[Session] = []
        self._own_pieces: list[bytes] = []
        self._own_cost: i64 = 0
        self.delivered: i64 = 0
        self.oversized: i64 = 0

    def put(self, session: Session, sequence: i64, payload: bytes) -> None:
        """A message of a peer has been delivered; the last part of a payload brings the whole."""
        session.delivered_cost += MESSAGE_COST + len(payload)
        session.last_delivered = sequence
        if session.parts and session.parts.pop(sequence, False):
            self._keep_piece(session, payload)
            return
        if session.parts_size > 0:
            if session.parts_size + len(payload) > self._payload_limit:
                # The peer was told how much we take.
                session.forget_pieces()
                self.oversized += 1
                return
            session.pieces.append(payload)
            payload = b"".join(session.pieces)
            session.forget_pieces()
        session.inboxed_cost += MESSAGE_COST + len(payload)
        if not session.uncredited:
            session.uncredited = True
            self.uncredited.append(session)
        self.delivered += 1
        self.messages.append(InboundMessage(session.name, sequence, payload))

    def put_own(self, name: str, sequence: i64, payload: bytes, more: bool) -> None:
        """A message of this node to itself."""
        if more:
            self._own_pieces.append(payload)
            return
        if self._own_pieces:
            self._own_pieces.append(payload)
            payload = b"".join(self._own_pieces)
            self._own_pieces.clear()
        self._own_cost += MESSAGE_COST + len(payload)
        self.delivered += 1
        self.messages.append(InboundMessage(name, sequence, payload))

    def take(self) -> list[InboundMessage]:
        """All messages, which have been consumed with this."""
        taken = self.messages
        self.messages = []
        self._own_cost = 0
        return taken

    def has_room_for_own(self, window: i64) -> bool:
        """Whether a message to oneself may be sent: those do not wait anywhere else."""
        return self._own_cost < window

    def holds_up_a_peer(self) -> bool:
        """Whether a peer may have to wait until somebody takes messages.

        It may from half a window on, since credit is granted in large steps.
        """
        return any(2 * session.inboxed_cost > session.window for session in self.uncredited)

    def _keep_piece(self, session: Session, payload: bytes) -> None:
        session.parts_size += len(payload)
        if session.parts_size <= self._payload_limit:
            session.pieces.append(payload)
