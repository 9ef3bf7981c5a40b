"""How an endpoint goes on after a crash, and what it writes down for that.

Without a journal nothing is written: its recorder keeps nothing, and knows of no former life.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NodeProcess
from antecede.durability.node_state import EXPELLED, STRANGER, PeerRecord
from antecede.durability.recorder import Recorder
from antecede.endpoint.loss_reporter import unreported_events
from antecede.endpoint.protocol_driver import ProtocolDriver
from antecede.endpoint.sender import MessageSender
from antecede.events import Report
from antecede.membership.contact import Contact
from antecede.membership.sessions import SessionTable
from antecede.transport.session import Session


@final
class CrashRecovery:
    """Joins the core, the sessions and what is kept of both."""

    __slots__ = ("_core", "_process", "_recorder", "_sending", "_sessions", "urgent")

    def __init__(
        self,
        recorder: Recorder,
        core: ProtocolDriver,
        sessions: SessionTable,
        sending: MessageSender,
    ) -> None:
        self._recorder: Final = recorder
        self._core: Final = core
        self._sessions: Final = sessions
        self._process: Final[NodeProcess] = core.process
        self._sending: Final = sending
        # Whether what `changes` has answered with must be on disk before anything shows.
        self.urgent = False

    # What is written down.

    def record_peer(self, session: Session, contact: Contact) -> None:
        """Which id in the core this incarnation of a peer has."""
        process = 0 if session.rows is None else session.rows.process
        marks = marks_of(contact)
        self._recorder.on_peer(session.id, session.name, session.incarnation, process, marks)

    def unreported(self) -> list[Report]:
        """What a process that crashed may not have told the application."""
        return unreported_events(self._recorder.state)

    def changes(self) -> bytes:
        """Records of all that has changed since the last call, each behind its length."""
        self._sending.note_changes()
        self.urgent = self._recorder.changes_are_urgent() or self._process.changes_are_urgent()
        return self._recorder.take_changes() + self._process.changes_bytes()

    def snapshot(self) -> list[bytes]:
        """All that must be on disk, instead of everything before; `changes` goes on from here."""
        return self._sending.snapshot() + self._process.snapshot()

    # How it goes on.

    def known(self, name: str) -> PeerRecord | None:
        """What was known of a peer that was not added since the crash."""
        known = self._recorder.state.peer_called(name)
        return None if known is None or known.id in self._sessions.by_id else known

    def formers(self) -> list[PeerRecord]:
        """Incarnations that had left, and for whose next one messages waited: in old journals."""
        return self._recorder.state.formers()

    def restore_contact(self, session: Session, contact: Contact, known: PeerRecord | None) -> None:
        """A peer was added: write it down, or let it be what it was before the crash."""
        if known is None:
            self.record_peer(session, contact)
        else:
            contact.restore(known)

    def resume(self, records: list[bytes], sessions: list[Session], now_ns: i64) -> None:
        """Let the core, which had written these, go on; its peers were added."""
        self._core.perform(self._process.restore(records, now_ns))
        for session in sessions:
            self._limit_numbers(session)
            delivered, _ = self._process.receive_position(session.id)
            session.channel.flow_control.resume(delivered)
            session.payload_assembler.delivered_up_to(delivered)
        self._sending.resume(now_ns)

    def _limit_numbers(self, session: Session) -> None:
        """A peer that is met again cannot have delivered more than had left for it."""
        known = self._recorder.state.peer_called(session.name)
        if known is not None and known.id == session.id:
            sent = self._process.submitted_to(session.id)
            session.set_sent_before(known.limit_sent(sent))


def marks_of(contact: Contact) -> i64:
    """What is written down of a peer beside who it is."""
    marks: i64 = STRANGER if contact.stranger else 0
    if contact.expelled:
        marks |= EXPELLED
    return marks
