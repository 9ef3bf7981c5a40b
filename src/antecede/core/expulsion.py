"""Expulsion: who is expelled, who has still to acknowledge that, and how a process goes on.

Any process may go on without another, for ever and whatever that one does. From then on acks and
permits of the expelled process count as given, its packets are dropped, and nothing is sent to it
but `YouAreExpelled`. A peer that hears from us afterwards must have expelled it first, so every
message and permit carries the ids that its receiver is not known to have expelled (an
`ExpulsionNotice`), until the receiver has acknowledged them. That is decided here alone: whoever
drives a process asks `unacked_notices`.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import check_ids
from antecede.core.effects import DeliveryUnknown, Effect, Expelled, NotSentTo, Report, SelfExpelled
from antecede.core.errors import Fenced, LocalError, RemoteError
from antecede.core.packets import ExpulsionAck, ExpulsionNotice, Packet, YouAreExpelled
from antecede.core.process import EffectList, NodeProcess, Outbox
from antecede.core.records import ChangeLog, split_records
from antecede.core.retransmission import RetransmissionTimer, RetransmissionTimers

EXPELLED_LIMIT: Final = 1 << 16
"""Others may have us expel 65,536 processes; news of more is refused, our own decisions are not."""


@mypyc_attr(allow_interpreted_subclasses=True)
class NoticedPeer(RetransmissionTimer):
    """Another process, with an alarm, that is notified of expulsions."""

    MADE_OF: ClassVar[tuple[str, ...]] = ("id",)

    __slots__ = ("id", "notices_since_ns", "unacked_notices")

    def __init__(self, process: i64) -> None:
        super().__init__(process)
        self.id: Final[i64] = process
        # Expelled processes that it is not known to have expelled, and since when it has
        # acknowledged none of them.
        self.unacked_notices: dict[int, bool] | None = None
        self.notices_since_ns: i64 = 0

    def add_notices(self, processes: list[int]) -> None:
        """Notify it, with every message and permit, that these are expelled."""
        if self.unacked_notices is None:
            self.unacked_notices = {}
        for process in processes:
            self.unacked_notices[process] = True

    def on_notices_acked(self, processes: list[int], now_ns: i64) -> None:
        """It has expelled these: no need to notify it again."""
        if self.unacked_notices is None:
            return
        for process in processes:
            self.unacked_notices.pop(process, None)
        if not self.unacked_notices:
            self.unacked_notices = None
        self.doublings = 0
        self.notices_since_ns = now_ns

    def restart_notices(self, due_since_ns: i64, now_ns: i64) -> bool:
        """Whether notices have waited for an answer long enough; they then wait again."""
        due = self.unacked_notices is not None and self.notices_since_ns <= due_since_ns
        if due:
            self.notices_since_ns = now_ns
        return due

    def transmit(self, packet: Packet, outbox: Outbox) -> None:
        """A message or a permit, inside the notice that it must process first."""
        if self.unacked_notices is not None:
            packet = ExpulsionNotice(sorted(self.unacked_notices), packet)
        outbox.transmit(self.id, packet)

    def transmit_notice(self, outbox: Outbox) -> None:
        """Only the notice, if there is one."""
        if self.unacked_notices is not None:
            outbox.transmit(self.id, ExpulsionNotice(sorted(self.unacked_notices), None))


@final
class ExpelledSet:
    """The expelled ids, whether we are stopped, and reports that the application has not taken."""

    MADE_OF: ClassVar = ("_me",)

    __slots__ = ("_me", "_reports", "barring", "expelled", "stopped")

    def __init__(self, me: i64) -> None:
        self._me: Final[i64] = me
        self.expelled: dict[int, bool] = {}
        self.stopped = False
        # Whether `turn_away` has anything to do.
        self.barring = False
        self._reports: list[Report] = []

    def check_running(self) -> None:
        """`Fenced` if we are expelled ourselves."""
        if self.stopped:
            raise Fenced("this process has been expelled; open a new one to rejoin")

    def check_may_expel(self, process: int) -> None:
        """`LocalError` unless we may decide to go on without `process`."""
        self.check_running()
        check_ids(process, process)
        if process == self._me:
            raise LocalError("a process cannot expel itself")

    def check_notice(self, processes: list[int], source: i64) -> None:
        """`RemoteError` if no correct `source` sends a notice about these."""
        fresh = 0
        for process in processes:
            if process not in self.expelled:
                fresh += 1
        if fresh > 0 and len(self.expelled) + fresh > EXPELLED_LIMIT:
            raise RemoteError(f"{source} would expel more than {EXPELLED_LIMIT} processes")
        try:
            check_ids(min(processes, default=0), max(processes, default=0))
        except LocalError as error:
            raise RemoteError(f"a notice of {source}: {error}") from error

    def turn_away(self, source: i64, packet: Packet, outbox: Outbox) -> bool:
        """True if an arrival is dropped: we are stopped, or its source is expelled (notify it)."""
        if self.stopped:
            return True
        if source not in self.expelled:
            return False
        # Also if it says that we are: of two that expel each other both go on.
        if not isinstance(packet, YouAreExpelled):
            outbox.transmit(source, YouAreExpelled())
        return True

    def add(self, processes: list[int]) -> list[int]:
        """Expel these; those among them that were not expelled before."""
        fresh = [process for process in processes if process not in self.expelled]
        for process in fresh:
            self.expelled[process] = True
        self.barring = self.barring or bool(fresh)
        return fresh

    def stop_self(self, by: i64) -> None:
        """`by` has notified us that we are expelled ourselves."""
        self.stopped = True
        self.barring = True
        self._reports.append(SelfExpelled(by))

    # Reports to the application.

    def report_expelled(self, process: i64, delivered: i64, unconfirmed: list[int]) -> None:
        """`process` is out; whether it has delivered these messages of ours is not known."""
        self._reports.append(Expelled(process, delivered))
        for sequence in unconfirmed:
            self._reports.append(DeliveryUnknown(sequence, process))

    def without_expelled(self, targets: list[int], sequence: i64) -> list[int]:
        """The targets of our message that are not expelled; the others are reported."""
        for target in targets:
            if target in self.expelled:
                self._reports.append(NotSentTo(sequence, target))
        return [target for target in targets if target not in self.expelled]

    def take_reports(self) -> list[Report]:
        """What happened since the last call."""
        reports = self._reports
        self._reports = []
        return reports

    def state(self) -> str:
        """Equal sets, equal strings; empty if nobody is expelled."""
        return repr((sorted(self.expelled), self.stopped)) if self.barring else ""


@mypyc_attr(allow_interpreted_subclasses=True)
class ExpulsionProcess(NodeProcess):
    """Who is expelled, who was notified, and the packets about that."""

    def __init__(self, me: i64, patience_ns: i64) -> None:
        self._me: Final[i64] = me
        self._alarms = RetransmissionTimers(patience_ns)
        # Who is expelled, and peers met since that have not been notified.
        self._fence = ExpelledSet(me)
        self._met: list[NoticedPeer] = []
        # What must survive a crash and has not been asked for; None until there is a snapshot.
        self._change_log: ChangeLog | None = None

    # What a protocol does about it.

    @abstractmethod
    def _met_peer(self, process: int) -> NoticedPeer | None:
        """The one with this id, if it was met."""

    @abstractmethod
    def _all_peers(self) -> Sequence[NoticedPeer]:
        """All peers that were met, including the expelled ones."""

    def _log_decision(self, process: i64, now_ns: i64) -> None:
        """We expel `process` ourselves: log that, if changes are logged."""

    @abstractmethod
    def _drop_expelled(self, processes: list[int], now_ns: i64, outbox: Outbox) -> None:
        """Accept nothing from these any more, and wait for nothing from them."""

    @abstractmethod
    def _check_inner(self, source: i64, packet: Packet) -> None:
        """`RemoteError` unless `source` may send this in a notice."""

    @abstractmethod
    def _take_inner(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        """The packet in a notice, after the notice."""

    @abstractmethod
    def _rearm(self, process: i64) -> None:
        """Set the alarm of a peer by what is still waited for."""

    # The faces.

    def can_expel(self) -> bool:
        return True

    def unacked_notices(self, process: int) -> list[int]:
        peer = self._met_peer(process)
        return [] if peer is None else sorted(peer.unacked_notices or {})

    def reports(self) -> list[Report]:
        return self._fence.take_reports()

    def expel(self, process: int, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        self.expel_into(process, now_ns, outbox)
        return outbox.effects

    def expel_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:
        self._fence.check_may_expel(process)
        self._log_decision(process, now_ns)
        self._expel([process], None, now_ns, outbox)

    # Who is met.

    def _on_new_peer(self, peer: NoticedPeer) -> None:
        """A peer that is new to us is notified of all expulsions."""
        expelled = self._fence.expelled
        if expelled and peer.id not in expelled:
            peer.add_notices(list(expelled))
            self._met.append(peer)

    def _notify_new_peers(self, now_ns: i64, outbox: Outbox) -> None:
        """Notify those who were met in this step of all expulsions."""
        for peer in self._met:
            if peer.unacked_notices is not None:
                peer.notices_since_ns = now_ns
                self._alarms.start(peer, now_ns)
                # Its own packet may have turned the alarm on, which has no place in the queue yet.
                self._alarms.enqueue(peer)
                peer.transmit_notice(outbox)
        self._met.clear()

    # Packets about expulsions.

    def _on_expulsion_packet(
        self, peer: NoticedPeer, packet: Packet, now_ns: i64, outbox: Outbox
    ) -> None:
        """The packets of expulsion; a message or permit in a notice comes after the notice."""
        if isinstance(packet, YouAreExpelled):
            self._stop(peer)
        elif isinstance(packet, ExpulsionAck):
            self._on_notices_acked(peer, packet.processes, now_ns)
        elif isinstance(packet, ExpulsionNotice):
            self._on_notice(peer, packet, now_ns, outbox)
        else:
            raise RemoteError(f"a {packet.kind} from {peer.id} has no meaning here")

    def _on_notice(
        self, peer: NoticedPeer, packet: ExpulsionNotice, now_ns: i64, outbox: Outbox
    ) -> None:
        self._fence.check_notice(packet.processes, peer.id)
        if packet.inner is not None:
            self._check_inner(peer.id, packet.inner)
        if self._me in packet.processes:
            self._stop(peer)
            return
        if peer.id in packet.processes:
            return
        self._on_notices_acked(peer, packet.processes, now_ns)
        self._expel(packet.processes, peer, now_ns, outbox)
        outbox.transmit(peer.id, ExpulsionAck(packet.processes))
        if packet.inner is not None:
            self._take_inner(peer.id, packet.inner, now_ns, outbox)

    def _on_notices_acked(self, peer: NoticedPeer, processes: list[int], now_ns: i64) -> None:
        if peer.unacked_notices is not None:
            peer.on_notices_acked(processes, now_ns)
            self._rearm(peer.id)

    def _stop(self, peer: NoticedPeer) -> None:
        """We are expelled ourselves: nothing leaves or is taken any more."""
        self._fence.stop_self(peer.id)
        self._alarms = RetransmissionTimers(self._alarms.patience_ns)

    def _expel(
        self, processes: list[int], notified_by: NoticedPeer | None, now_ns: i64, outbox: Outbox
    ) -> None:
        """Go on without these: their acks and permits count as given, and everybody is notified."""
        fresh = self._fence.add(processes)
        if not fresh:
            return
        for peer in self._all_peers():
            if peer is not notified_by and peer.id not in self._fence.expelled:
                if peer.unacked_notices is None:
                    peer.notices_since_ns = now_ns
                peer.add_notices(fresh)
                self._alarms.start(peer, now_ns)
        self._drop_expelled(fresh, now_ns, outbox)
        for peer in self._all_peers():
            peer.transmit_notice(outbox)

    # What survives a crash.

    def _begin_change_log(self) -> None:
        self._change_log = ChangeLog()

    def changes(self) -> list[bytes]:
        return split_records(self.changes_bytes()) or []

    def changes_bytes(self) -> bytes:
        return b"" if self._change_log is None else self._change_log.take()

    def changes_are_urgent(self) -> bool:
        return self._change_log is not None and self._change_log.urgent
