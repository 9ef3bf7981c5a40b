"""What an endpoint writes down, and how it goes on from that after a crash.

Without a journal nothing is written, and nobody need ask whether there is one.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NodeProcess
from antecede.durability.losses import unreported_events
from antecede.durability.node_state import EXPELLED, STRANGER, DurableNodeState, PeerRecord
from antecede.endpoint.protocol_driver import ProtocolDriver
from antecede.endpoint.sender import MessageSender
from antecede.events import Report
from antecede.membership.contact import Contact
from antecede.membership.sessions import SessionTable
from antecede.transport.session import Session


@final
class CrashRecovery:
    """Joins the core, the sessions and what is kept of both."""

    __slots__ = ("_core", "_kept", "_process", "_sending", "_sessions", "urgent")

    def __init__(
        self,
        kept: DurableNodeState | None,
        core: ProtocolDriver,
        sessions: SessionTable,
        sending: MessageSender,
    ) -> None:
        self._kept: Final = kept
        self._core: Final = core
        self._sessions: Final = sessions
        self._process: Final[NodeProcess] = core.process
        self._sending: Final = sending
        # Whether what `changes` has answered with must be on disk before anything shows.
        self.urgent = False

    # What is written down.

    def record_peer(self, session: Session, contact: Contact) -> None:
        """Which id in the core this incarnation of a peer has."""
        if self._kept is not None:
            process = 0 if session.rows is None else session.rows.process
            marks = marks_of(contact)
            self._kept.on_peer(session.id, session.name, session.incarnation, process, marks)

    def over(self, session: Session) -> None:
        """This incarnation of a peer is over."""
        if self._kept is not None:
            self._kept.on_peer_over(session.id)

    def forgotten(self, session: Session) -> None:
        """A peer was removed."""
        if self._kept is not None:
            self._kept.on_peer_removed(session.id)

    def ended(self, why: str) -> None:
        """This node was expelled: it must not come back as the same incarnation."""
        if self._kept is not None:
            self._kept.on_life_ended(why)

    def untold(self) -> list[Report]:
        """What a process that crashed may not have told the application."""
        return [] if self._kept is None else unreported_events(self._kept)

    def changes(self) -> bytes:
        """Records of all that has changed since the last call, each behind its length."""
        assert self._kept is not None, "asked for only where records are kept"
        self._sending.note_changes()
        self.urgent = self._kept.are_urgent() or self._process.changes_are_urgent()
        return self._kept.take_changes() + self._process.changes_bytes()

    def snapshot(self) -> list[bytes]:
        """All that must be on disk, instead of everything before; `changes` goes on from here."""
        return self._sending.snapshot() + self._process.snapshot()

    # How it goes on.

    def known(self, name: str) -> PeerRecord | None:
        """What was known of a peer that was not added since the crash."""
        known = None if self._kept is None else self._kept.peer_called(name)
        return None if known is None or known.id in self._sessions.by_id else known

    def formers(self) -> list[PeerRecord]:
        """Incarnations that had left, and for whose next one messages waited: in old journals."""
        return [] if self._kept is None else self._kept.formers()

    def restore_contact(self, session: Session, contact: Contact, known: PeerRecord | None) -> None:
        """A peer was added: write it down, or let it be what it was before the crash."""
        if known is None:
            self.record_peer(session, contact)
        else:
            contact.expelled = known.expelled
            contact.is_new = not known.expelled and known.incarnation == 0

    def recall(self, session: Session, known: PeerRecord, payload_limit: i64) -> None:
        """Bring a session to where it was, as far as that can be known."""
        assert self._kept is not None, "it knows the peer"
        for piece in self._kept.pieces(known.id):
            session.assembly.add(piece, payload_limit)
        if known.incarnation > 0:
            session.restore(known.incarnation)
        if known.over:
            session.end()

    def resume(self, records: list[bytes], sessions: list[Session], now_ns: i64) -> None:
        """Let the core, which had written these, go on; its peers were added."""
        self._core.perform(self._process.restore(records, now_ns))
        for session in sessions:
            self._limit_numbers(session)
            delivered, _ = self._process.receive_position(session.id)
            session.credit.last = delivered
            session.assembly.delivered_up_to(delivered)
        self._sending.resume(now_ns)

    def _limit_numbers(self, session: Session) -> None:
        """A peer that is met again cannot have delivered more than had left for it."""
        known = None if self._kept is None else self._kept.peer_called(session.name)
        if self._kept is not None and known is not None and known.id == session.id:
            sent = self._process.submitted_to(session.id)
            session.sent_before = self._kept.not_met_since(known, sent)


def marks_of(contact: Contact) -> i64:
    """What is written down of a peer beside who it is."""
    marks: i64 = STRANGER if contact.stranger else 0
    if contact.expelled:
        marks |= EXPELLED
    return marks
