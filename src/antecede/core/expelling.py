"""Going on without somebody: what `hybrid` and `hybrid-facts` have in common of it.

Any process may go on without another, for ever and whatever that one does: acks and permits of the
expelled count as given, nothing of it is taken any more. Everybody who hears from us afterwards
must have stopped listening to it first, so every message and permit carries the ids that its
receiver is not known to have expelled (an `ExpulsionNotice`) until it has said that it noted them.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64, mypyc_attr

from antecede.core.effects import Effect
from antecede.core.errors import RemoteError
from antecede.core.fence import ExpelledSet, NoticedPeer
from antecede.core.ledger import ChangeLog
from antecede.core.packets import ExpulsionAck, ExpulsionNotice, YouAreExpelled
from antecede.core.process import EffectList, NodeProcess, Outbox
from antecede.core.records import split_records
from antecede.core.reports import Report
from antecede.core.retransmission import RetransmissionTimers
from antecede.core.values import Packet


@mypyc_attr(allow_interpreted_subclasses=True)
class ExpulsionProcess(NodeProcess):
    """Who is expelled, who has been told, and the packets that are about it."""

    def __init__(self, me: i64, patience_ns: i64) -> None:
        self._me: Final[i64] = me
        self._alarms = RetransmissionTimers(patience_ns)
        # Without whom we go on, and peers met since that have not been told of them.
        self._fence = ExpelledSet(me)
        self._met: list[NoticedPeer] = []
        # What must survive a crash and has not been asked for; None as long as nobody keeps it.
        self._kept: ChangeLog | None = None

    # What a protocol says of itself.

    @abstractmethod
    def _all_peers(self) -> Sequence[NoticedPeer]:
        """All that were met, the expelled among them."""

    def _keep_decision(self, process: i64, now_ns: i64) -> None:
        """We expel `process` ourselves: let that survive a crash, where anything does."""

    @abstractmethod
    def _drop_expelled(self, processes: list[int], now_ns: i64, outbox: Outbox) -> None:
        """Nothing is taken of these, and nothing of theirs is waited for any more."""

    @abstractmethod
    def _check_inner(self, source: i64, packet: Packet) -> None:
        """`RemoteError` unless `source` may send this in a notice."""

    @abstractmethod
    def _take_inner(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        """The packet in a notice that was heeded."""

    @abstractmethod
    def _rearm(self, process: i64) -> None:
        """Set the alarm of a peer by what is still waited for."""

    # The faces.

    def can_expel(self) -> bool:
        return True

    def reports(self) -> list[Report]:
        return self._fence.take_reports()

    def expel(self, process: int, now_ns: int) -> list[Effect]:
        outbox = EffectList()
        self.expel_into(process, now_ns, outbox)
        return outbox.effects

    def expel_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:
        self._fence.check_may_expel(process)
        self._keep_decision(process, now_ns)
        self._expel([process], None, now_ns, outbox)

    # Who is met.

    def _on_new_peer(self, peer: NoticedPeer) -> None:
        """A peer that is new to us must be told who is expelled."""
        expelled = self._fence.expelled
        if expelled and peer.id not in expelled:
            peer.add_notices(list(expelled))
            self._met.append(peer)

    def _notify_new_peers(self, now_ns: i64, outbox: Outbox) -> None:
        """Tell those who were met in this step without whom we go on."""
        for peer in self._met:
            if peer.unnoted is not None:
                peer.notices_since_ns = now_ns
                self._alarms.start(peer, now_ns)
                # Its own packet may have turned the alarm on, which has no place in the queue yet.
                self._alarms.enqueue(peer)
                peer.transmit_notice(outbox)
        self._met.clear()

    # What is said of it.

    def _on_expulsion_packet(
        self, peer: NoticedPeer, packet: Packet, now_ns: i64, outbox: Outbox
    ) -> None:
        """The packets of expulsion; a message or permit in a notice comes after the notice."""
        if isinstance(packet, YouAreExpelled):
            self._stop(peer)
        elif isinstance(packet, ExpulsionAck):
            self._noted(peer, packet.processes, now_ns)
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
        self._noted(peer, packet.processes, now_ns)
        self._expel(packet.processes, peer, now_ns, outbox)
        outbox.transmit(peer.id, ExpulsionAck(packet.processes))
        if packet.inner is not None:
            self._take_inner(peer.id, packet.inner, now_ns, outbox)

    def _noted(self, peer: NoticedPeer, processes: list[int], now_ns: i64) -> None:
        if peer.unnoted is not None:
            peer.on_notices_acked(processes, now_ns)
            self._rearm(peer.id)

    def _stop(self, peer: NoticedPeer) -> None:
        """We are expelled ourselves: nothing leaves or is taken any more."""
        self._fence.stop_self(peer.id)
        self._alarms = RetransmissionTimers(self._alarms.patience_ns)

    def _expel(
        self, processes: list[int], told_by: NoticedPeer | None, now_ns: i64, outbox: Outbox
    ) -> None:
        """Go on without these: their acks and permits count as given, and everybody is told."""
        fresh = self._fence.add(processes)
        if not fresh:
            return
        for peer in self._all_peers():
            if peer is not told_by and peer.id not in self._fence.expelled:
                if peer.unnoted is None:
                    peer.notices_since_ns = now_ns
                peer.add_notices(fresh)
                self._alarms.start(peer, now_ns)
        self._drop_expelled(fresh, now_ns, outbox)
        for peer in self._all_peers():
            peer.transmit_notice(outbox)

    # What survives a crash.

    def changes(self) -> list[bytes]:
        return split_records(self.changes_bytes()) or []

    def changes_bytes(self) -> bytes:
        return b"" if self._kept is None else self._kept.take()

    def changes_are_urgent(self) -> bool:
        return self._kept is not None and self._kept.urgent
