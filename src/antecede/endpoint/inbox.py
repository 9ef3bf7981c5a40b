"""What has been delivered and waits for the application."""

from typing import Final, final

from mypy_extensions import i64

from antecede.durability.recorder import Recorder
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import Report, TooLarge
from antecede.membership.unfinished import Unfinished
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.message_fragments import PayloadAssembler
from antecede.transport.session import ME, Session
from antecede.wire.envelope import EXPULSION, Envelope, seal_envelope


@final
class Inbox:
    """The messages delivered at one node that its application has not taken."""

    __slots__ = (
        "_arrived",
        "_own",
        "_own_cost",
        "_payload_limit",
        "_recorder",
        "_reports",
        "calls",
        "delivered",
        "messages",
        "reports_expulsions",
        "too_large",
        "unfinished",
        "unread",
    )

    def __init__(
        self,
        payload_limit: i64,
        reports: list[Report],
        recorder: Recorder,
        open_to_strangers: bool = False,
    ) -> None:
        self._payload_limit: Final[i64] = payload_limit
        self.unfinished: Final = Unfinished(payload_limit, open_to_strangers)
        self._reports: Final = reports
        self._recorder: Final = recorder
        # What was delivered before a crash, and not confirmed, comes again.
        self.messages: Final[list[InboundMessage]] = recorder.unconfirmed_deliveries()
        # Where deliveries go: with a journal they wait until they are on disk.
        self._arrived: Final[list[InboundMessage]] = [] if recorder.durable else self.messages
        # The requests and replies among the messages that nobody has looked at.
        self.calls: list[InboundMessage] = [one for one in self.messages if one.is_call]
        # The sessions whose messages wait here, and so take up part of their windows.
        self.unread: list[Session] = []
        self._own: Final = PayloadAssembler()
        self._own_cost: i64 = 0
        self.delivered: i64 = 0
        self.too_large: i64 = 0
        # Whether expulsions have places among the deliveries: where there are rooms.
        self.reports_expulsions = False
        for piece in recorder.state.fragments_of(ME):
            self._own.add(piece, payload_limit)

    def put(self, session: Session, sequence: i64, payload: bytes) -> None:
        """A message of a peer has been delivered; the last part of a payload brings the whole."""
        session.channel.flow_control.was_delivered(sequence, len(payload))
        assembler = session.payload_assembler
        if assembler.on_delivered(sequence):
            self.unfinished.grew(assembler, len(payload))
            if assembler.add(payload, self._payload_limit):
                self._recorder.on_fragment_received(session.id, payload)
            return
        number = assembler.number_of(sequence)
        size = assembler.size + len(payload)
        if size > self._payload_limit:
            assembler.drop()
            self._recorder.on_payload_dropped(session.id)
            self._refuse(session, number, size)
            return
        whole = payload if assembler.size == 0 else assembler.finish(payload)
        if session.channel.flow_control.add_unread(len(whole)):
            self.unread.append(session)
        self.delivered += 1
        name, written = session.name, session.written_name
        self._add(self._recorder.deliver(session.id, name, written, number, payload, whole))

    def put_to_self(self, name: str, number: i64, payload: bytes, more: bool) -> None:
        """A message of this node to itself; `number` is that of the whole payload."""
        if more:
            if self._own.add(payload, self._payload_limit):
                self._recorder.on_fragment_received(ME, payload)
            return
        whole = payload if self._own.size == 0 else self._own.finish(payload)
        self._own_cost += MESSAGE_COST + len(whole)
        self.delivered += 1
        written = name.encode()
        self._add(self._recorder.deliver(ME, name, written, number, payload, whole))

    def report_expulsions(self) -> None:
        """From now on expulsions have their places among the deliveries."""
        self.reports_expulsions = True

    def put_expulsion(self, me: str, name: str, incarnation: i64) -> None:
        """An incarnation of a peer is expelled: nothing of it comes after this."""
        if not self.reports_expulsions:
            return
        data = seal_envelope(Envelope(EXPULSION, incarnation), name.encode())
        self._own_cost += MESSAGE_COST + len(data)
        self._add(self._recorder.deliver(ME, me, me.encode(), 0, data, data))

    def _add(self, message: InboundMessage) -> None:
        self._arrived.append(message)
        if message.envelope is not None and message.is_call and not self._recorder.durable:
            self.calls.append(message)

    def uncommitted(self) -> int:
        """How many deliveries are not on disk."""
        return len(self._arrived) if self._recorder.durable else 0

    def release_committed(self, count: int) -> None:
        """The first of these are on disk now: the application may see them."""
        committed = self._arrived[:count]
        self.messages.extend(committed)
        for message in committed:
            if message.envelope is not None and message.is_call:
                self.calls.append(message)
        del self._arrived[:count]

    def take_calls(self) -> list[InboundMessage]:
        """The requests and replies since the last time; they stay among the messages."""
        calls = self.calls
        self.calls = []
        return calls

    def take(self) -> list[InboundMessage]:
        """All messages, which have been consumed with this."""
        taken = list(self.messages)
        self.messages.clear()
        self.unread = []
        self._own_cost = 0
        return taken

    def take_out(self, early: list[InboundMessage]) -> None:
        """Remove some of the newest messages, which are consumed ahead of those before them."""
        messages = self.messages
        left = {id(message) for message in early}
        start = len(messages)
        while left:
            start -= 1
            left.discard(id(messages[start]))
        taken = {id(message) for message in early}
        messages[start:] = [one for one in messages[start:] if id(one) not in taken]

    def take_out_own(self, size: i64) -> None:
        """One of those was our own."""
        self._own_cost -= MESSAGE_COST + size

    def has_room_for_own(self, window: i64) -> bool:
        """Whether a message to oneself may be sent: those do not wait anywhere else."""
        return self._own_cost < window

    def blocks_a_peer(self) -> bool:
        """Whether a peer may have to wait until somebody takes messages."""
        return any(session.channel.flow_control.blocks_peer() for session in self.unread)

    def held_up(self) -> list[str]:
        """The peers of which that is true."""
        return [
            session.name for session in self.unread if session.channel.flow_control.blocks_peer()
        ]

    def _refuse(self, session: Session, sequence: i64, size: i64) -> None:
        """The peer was told how much we take; the application is told that it did not care."""
        self.too_large += 1
        if not session.try_report_too_large():
            return
        limit = int(self._payload_limit)
        self._reports.append(
            TooLarge(name=session.name, sequence=int(sequence), size=int(size), limit=limit)
        )
