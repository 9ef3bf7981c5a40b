"""When a destination is taken for stalled: its oldest copy has been under way for too long."""

from typing import ClassVar, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.core.retransmission import RetransmissionTimers
from antecede_lab.protocols.facts.window import FactsPeer


@final
class Stalls:
    """The timers of all peers, and whom they hint at."""

    MADE_OF: ClassVar = ("stall_ns",)

    __slots__ = ("_alarms", "_on", "hints")

    def __init__(self, stall_ns: i64) -> None:
        self._alarms = RetransmissionTimers(stall_ns)
        # How many are on: the next place in the queue may be that of one that is not.
        self._on: i64 = 0
        self.hints: dict[int, bool] = {}

    @property
    def stall_ns(self) -> i64:
        """How long is too long."""
        return self._alarms.patience_ns

    def next_ns(self) -> i64:
        """When to look again."""
        return NEVER_NS if self._on == 0 else self._alarms.next_ns()

    def transmitted(self, peer: FactsPeer, now_ns: i64) -> None:
        """A copy to `peer` has left."""
        if peer.id not in self.hints:
            self._start(peer, now_ns)

    def acknowledged(self, peer: FactsPeer, now_ns: i64) -> None:
        """`peer` acknowledged something: whether it is stalled is a question of its next copy."""
        self.stop(peer)
        if not peer.awaits_acks():
            self.hints.pop(peer.id, None)
            return
        since_ns = peer.oldest_sent_ns()
        if since_ns + self._alarms.patience_ns > now_ns:
            self.hints.pop(peer.id, None)
        if peer.id not in self.hints:
            self._start(peer, since_ns)

    def expire(self, peers: dict[int, FactsPeer], now_ns: i64) -> bool:
        """Hint at those whose time has come; whether there are any."""
        hinted = False
        for alarm in self._alarms.expired(now_ns):
            peer = peers[alarm.owner]
            self.stop(peer)
            if peer.awaits_acks() and peer.id not in self.hints:
                self.hints[peer.id] = True
                hinted = True
        return hinted

    def forget(self, peer: FactsPeer) -> None:
        """`peer` is gone: nobody waits for it."""
        self.stop(peer)
        self.hints.pop(peer.id, None)

    def _start(self, peer: FactsPeer, since_ns: i64) -> None:
        if not peer.stall.on:
            self._on += 1
            self._alarms.start(peer.stall, since_ns)

    def stop(self, peer: FactsPeer) -> None:
        """Do not wait for `peer`."""
        if peer.stall.on:
            self._on -= 1
            peer.stall.stop()
