"""What has arrived and waits: for its predecessor, or for what must be delivered before it.

A packet stands under the id of its predecessor; its turn has come when that one is the last
delivered of its sender. If a mark is missing then, nothing more of that sender is looked at before
something of the mark's sender has been delivered.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.delivered import KnownDeliveries
from antecede_lab.protocols.facts.packets import FactsMessage, Mark
from antecede_lab.protocols.facts.window import FactsPeer


@final
class Inbox:
    """The receive buffers of one process, and who waits for whom."""

    MADE_OF: ClassVar = ("_peers", "_truths", "_limit")

    __slots__ = ("_limit", "_peers", "_truths", "_waiters")

    def __init__(self, peers: dict[int, FactsPeer], truths: KnownDeliveries, limit: i64) -> None:
        self._peers: Final = peers
        self._truths: Final = truths
        self._limit: Final[i64] = limit
        # Whose next message waits for one of a sender's.
        self._waiters: dict[int, dict[int, bool]] = {}

    def take(self, peer: FactsPeer, packet: FactsMessage) -> list[FactsMessage]:
        """Keep a new packet; everything whose turn has come is removed and returned, in order.

        A full buffer drops what comes too early (it will come again), never the next in turn.
        """
        early = peer.early_packets()
        if packet.previous == peer.delivered or len(early) < self._limit:
            early[packet.previous] = packet
        return self._ready([peer]) if packet.previous == peer.delivered else []

    def gone(self, process: i64) -> list[FactsMessage]:
        """Nothing of `process` is waited for any more: what may be delivered now, in order."""
        waiting = self._waiters.pop(process, None)
        if waiting is None:
            return []
        return self._ready([self._peers[source] for source in waiting])

    def _ready(self, looking: list[FactsPeer]) -> list[FactsMessage]:
        """What may be delivered of these peers, then of those that waited for it."""
        ready: list[FactsMessage] = []
        place: i64 = 0
        while place < len(looking):
            peer = looking[place]
            place += 1
            before = len(ready)
            packet = self._next(peer)
            while packet is not None:
                ready.append(packet)
                packet = self._next(peer)
            if len(ready) > before:
                waiting = self._waiters.pop(peer.id, None)
                if waiting is not None:
                    for source in waiting:
                        looking.append(self._peers[source])
        return ready

    def _next(self, peer: FactsPeer) -> FactsMessage | None:
        """The next message of `peer`, if it is here and what must come first has come."""
        early = peer.early
        if early is None:
            return None
        packet = early.get(peer.delivered)
        if packet is None or self._awaits(peer, packet.must):
            return None
        peer.deliver(packet)
        return packet

    def _awaits(self, peer: FactsPeer, must: list[Mark]) -> bool:
        """Whether one of these is not delivered; then `peer` waits for its sender."""
        for mark in must:
            sender = self._peers.get(mark.sender)
            here = sender is not None and sender.delivered >= mark.sequence
            if not here and not self._truths.is_gone(mark.sender):
                self._waiters.setdefault(mark.sender, {})[peer.id] = True
                return True
        return False
