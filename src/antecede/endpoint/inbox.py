"""What has been delivered and waits for the application."""

from typing import Final, final

from mypy_extensions import i64

from antecede.durability.node_state import DurableNodeState
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import Report, TooLarge
from antecede.membership.unfinished import Unfinished
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.message_fragments import PayloadAssembler
from antecede.transport.session import ME, Session


@final
class Inbox:
    """The messages delivered at one node that its application has not taken."""

    __slots__ = (
        "_kept",
        "_own",
        "_own_cost",
        "_payload_limit",
        "_reports",
        "_unsettled",
        "delivered",
        "messages",
        "too_large",
        "unfinished",
        "unread",
    )

    def __init__(
        self,
        payload_limit: i64,
        reports: list[Report],
        kept: DurableNodeState | None = None,
        open_to_strangers: bool = False,
    ) -> None:
        self._payload_limit: Final[i64] = payload_limit
        self.unfinished: Final = Unfinished(payload_limit, open_to_strangers)
        self._reports: Final = reports
        # With a journal: where deliveries are written down, and those that are not on disk yet.
        self._kept: Final = kept
        self._unsettled: Final[list[InboundMessage]] = []
        self.messages: list[InboundMessage] = []
        # The sessions whose messages wait here, and so take up part of their windows.
        self.unread: list[Session] = []
        self._own: Final = PayloadAssembler()
        self._own_cost: i64 = 0
        self.delivered: i64 = 0
        self.too_large: i64 = 0
        if kept is not None:
            self._recall(kept)

    def put(self, session: Session, sequence: i64, payload: bytes) -> None:
        """A message of a peer has been delivered; the last part of a payload brings the whole."""
        session.credit.was_delivered(sequence, len(payload))
        assembly = session.assembly
        if assembly.on_delivered(sequence):
            self.unfinished.grew(assembly, len(payload))
            if assembly.add(payload, self._payload_limit) and self._kept is not None:
                self._kept.on_fragment_received(session.id, payload)
            return
        number = assembly.number_of(sequence)
        last = payload
        size = assembly.size + len(payload)
        if size > self._payload_limit:
            assembly.drop()
            if self._kept is not None:
                self._kept.on_payload_dropped(session.id)
            self._refuse(session, number, size)
            return
        if assembly.size > 0:
            payload = assembly.finish(payload)
        if session.credit.add_unread(len(payload)):
            self.unread.append(session)
        self.delivered += 1
        if self._kept is None:
            self.messages.append(InboundMessage(session.name, number, payload))
        else:
            name, written = session.name, session.written_name
            self._unsettled.append(
                self._kept.deliver(session.id, name, written, number, last, payload)
            )

    def put_to_self(self, name: str, number: i64, payload: bytes, more: bool) -> None:
        """A message of this node to itself; `number` is that of the whole payload."""
        if more:
            if self._own.add(payload, self._payload_limit) and self._kept is not None:
                self._kept.on_fragment_received(ME, payload)
            return
        last = payload
        if self._own.size > 0:
            payload = self._own.finish(payload)
        self._own_cost += MESSAGE_COST + len(payload)
        self.delivered += 1
        if self._kept is None:
            self.messages.append(InboundMessage(name, number, payload))
        else:
            message = self._kept.deliver(ME, name, name.encode(), number, last, payload)
            self._unsettled.append(message)

    def uncommitted(self) -> int:
        """How many deliveries are not on disk."""
        return len(self._unsettled)

    def release_committed(self, count: int) -> None:
        """The first of these are on disk now: the application may see them."""
        self.messages.extend(self._unsettled[:count])
        del self._unsettled[:count]

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

    def blocks_a_peer(self) -> bool:
        """Whether a peer may have to wait until somebody takes messages."""
        return any(session.credit.blocks_peer() for session in self.unread)

    def held_up(self) -> list[str]:
        """The peers of which that is true."""
        return [session.name for session in self.unread if session.credit.blocks_peer()]

    def _recall(self, kept: DurableNodeState) -> None:
        """What was delivered before a crash, and not confirmed, comes again."""
        self.messages += kept.handling.pending()
        for piece in kept.pieces(ME):
            self._own.add(piece, self._payload_limit)

    def _refuse(self, session: Session, sequence: i64, size: i64) -> None:
        """The peer was told how much we take; the application is told that it did not care."""
        self.too_large += 1
        if not session.try_report_too_large():
            return
        limit = int(self._payload_limit)
        self._reports.append(
            TooLarge(name=session.name, sequence=int(sequence), size=int(size), limit=limit)
        )
