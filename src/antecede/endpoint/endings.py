"""How it ends with an incarnation of a peer, or with this node itself.

A peer has gone when it has stopped, or forgotten us; it is given up when it certainly delivers
nothing more; it is expelled when this node goes on without it, whatever it does. Each time what it
may have missed is reported, and its name waits for the next incarnation.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.effects import DeliveryUnknown, Expelled, SelfExpelled
from antecede.core.process import NodeProcess
from antecede.durability.recorder import Recorder
from antecede.endpoint.crash_recovery import CrashRecovery
from antecede.endpoint.loss_reporter import LossReporter
from antecede.endpoint.protocol_driver import ProtocolDriver
from antecede.endpoint.sender import MessageSender
from antecede.endpoint.session_factory import SessionFactory
from antecede.events import NodeFenced, PeerLeft, Report
from antecede.membership.directory import Directory
from antecede.membership.expulsions import LEFT_OWING, RESTARTED, Expulsions
from antecede.membership.sessions import SessionTable
from antecede.transport.session import Session
from antecede.wire.expulsions import FENCE_REASON_LIMIT, ExpulsionRecord


@final
class Endings:
    """Ends the sessions of one node."""

    __slots__ = (
        "_core",
        "_directory",
        "_expulsions",
        "_losses",
        "_me",
        "_process",
        "_recorder",
        "_recovery",
        "_reports",
        "_sending",
        "_sessions",
        "_table",
        "fenced",
    )

    def __init__(
        self,
        me: str,
        core: ProtocolDriver,
        table: SessionTable,
        sessions: SessionFactory,
        expulsions: Expulsions,
        directory: Directory,
        sending: MessageSender,
        recovery: CrashRecovery,
        losses: LossReporter,
        recorder: Recorder,
        reports: list[Report],
    ) -> None:
        self._me: Final = me
        self._core: Final = core
        self._table: Final = table
        self._process: Final[NodeProcess] = core.process
        self._sessions: Final = sessions
        self._expulsions: Final = expulsions
        self._directory: Final = directory
        self._sending: Final = sending
        self._recovery: Final = recovery
        self._recorder: Final = recorder
        self._losses: Final = losses
        self._reports: Final = reports
        # Why this node must not go on; None if it may.
        self.fenced: NodeFenced | None = None

    def give_up(self, session: Session, now_ns: i64) -> None:
        """A peer delivers nothing more: what it may have missed is reported."""
        self._sessions.name_in_event_log(session, 0)
        self._directory.end_session(session)
        self._end(session)
        self._recorder.on_peer_over(session.id)
        self._report_lost(session, self._core.forget(session, now_ns))
        self._sending.on_room_freed(now_ns)

    def release(self, session: Session) -> None:
        """A peer that wants to leave may go: nothing here is for it."""
        session.release()
        contact = self._directory.contact_of(session)
        if contact is not None:
            contact.on_left()

    def _end(self, session: Session) -> None:
        """Nothing passes any more between this node and an incarnation of a peer."""
        session.end()
        contact = self._directory.contact_of(session)
        if contact is not None:
            contact.on_left()

    def _report_lost(self, session: Session, messages: list[int]) -> None:
        """These messages may never be delivered to a peer."""
        self._losses.tell(session.name, self._sending.withdraw_target(session, messages))

    def expel(self, session: Session, by: str, reason: str, now_ns: i64) -> None:
        """Go on without an incarnation; where the order cannot do that, only forget it."""
        if not self._process.can_expel():
            if session.id in self._table.by_id:
                self.give_up(session, now_ns)
            self.await_successor(session, now_ns, expelled=reason != RESTARTED)
            return
        record = ExpulsionRecord(
            session.name, session.incarnation, by, reason[: FENCE_REASON_LIMIT >> 2]
        )
        self._core.expel(session, record, now_ns)
        self.apply_expulsions(now_ns)

    def expel_unmet(self, name: str, incarnation: i64, reason: str, now_ns: i64) -> None:
        """Go on without an incarnation that was never met here, whatever others do."""
        if self._process.can_expel():
            record = ExpulsionRecord(name, incarnation, self._me, reason)
            self._core.expel_unmet(record, now_ns)
            self.apply_expulsions(now_ns)

    def apply_expulsions(self, now_ns: i64) -> None:
        """Do what the core's reports of expulsions ask of sessions and contacts."""
        unconfirmed: dict[int, list[int]] = {}
        expelled: list[int] = []
        for report in self._process.reports():
            if isinstance(report, Expelled):
                expelled.append(int(report.process))
            elif isinstance(report, DeliveryUnknown):
                unconfirmed.setdefault(int(report.process), []).append(int(report.sequence))
            elif isinstance(report, SelfExpelled):
                self.stop_for_good(
                    self._expulsions.own_report(self._table.name_of(report.by)), now_ns
                )
                return
        for process in expelled:
            self._end_expelled(process, unconfirmed.get(process, []), now_ns)
        self._sending.on_room_freed(now_ns)

    def _end_expelled(self, process: int, unconfirmed: list[int], now_ns: i64) -> None:
        """An incarnation is expelled: nothing passes any more, and its name waits for the next."""
        record = self._expulsions.record_of(process)
        session = self._table.remove(process)
        if session is None or record is None:
            return  # It was never met here.
        _, early = self._process.receive_position(session.id)
        self._sessions.name_in_event_log(session, 0)
        self._directory.end_session(session)
        self._end(session)
        self._core.forget(session, now_ns)
        whole = self._sending.withdraw_target(session, unconfirmed)
        self._directory.expelled_speakers.add(session)
        if record.reason != RESTARTED:
            self._losses.tell_expulsion(session.id, session.incarnation, record, whole, early)
        else:
            self._losses.tell(session.name, whole)
        self.await_successor(session, now_ns, expelled=record.reason != RESTARTED)

    def await_successor(self, session: Session, now_ns: i64, expelled: bool) -> None:
        """If the peer is still that incarnation, it is the next one of its name from now on."""
        contact = self._directory.contact_of(session)
        if contact is None:
            return
        successor = self._sessions.new(contact.name, contact.datagram_size, contact.process)
        contact.await_successor(successor, expelled)
        self._table.add(successor)
        self._recovery.record_peer(successor, contact)
        self._directory.greet_successor(contact, now_ns)

    def stop_for_good(self, fenced: NodeFenced, now_ns: i64) -> None:
        """This node must not go on: what nobody has acknowledged may be lost."""
        self.fenced = fenced
        self._sending.accept(False)
        for contact in self._directory.by_name.values():
            session = contact.session
            self._report_lost(session, self._core.forget(session, now_ns))
        self._reports.append(fenced)
        self._recorder.on_life_ended(f"{self._me} was expelled by {fenced.by}: {fenced.reason}")

    def has_gone(self, session: Session, now_ns: i64) -> None:
        """A peer that has stopped, has forgotten us, or owes nothing and answers no more."""
        if not session.left:
            session.lifecycle.release()
            self._reports.append(PeerLeft(name=session.name))
        if self._process.misses(session.id) and self._process.can_expel():
            # It said itself that it is over, so no permit will come: nobody else need agree.
            self.expel(session, self._me, LEFT_OWING, now_ns)
            return
        self.give_up(session, now_ns)
        contact = self._directory.contact_of(session)
        if contact is not None:
            # Whoever comes next may not know where we are.
            self._directory.greet_successor(contact, now_ns)

    def settle(self, sessions: list[Session], now_ns: i64) -> None:
        """What an old journal holds for those who might come back is given up.

        That is messages for whoever would come next under a name, and what was left of those who
        had left.
        """
        for session in sessions:
            if session.incarnation == 0 and self._process.unacked_by(session.id) > 0:
                contact = self._directory.by_name[session.name]
                self.give_up(session, now_ns)
                self.await_successor(session, now_ns, contact.expelled)
        for former in self._recovery.formers():
            peer = self._directory.by_name.get(former.name)
            if peer is None:
                continue
            left = self._sessions.recovered(former, peer.datagram_size, peer.process)
            self._table.add(left)
            if self._process.misses(left.id):
                self.expel(left, self._me, LEFT_OWING, now_ns)
            else:
                self.give_up(left, now_ns)
