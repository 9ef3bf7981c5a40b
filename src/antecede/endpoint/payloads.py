"""How many messages are under way, where the core counts the parts of a large one each.

A payload in parts has consecutive ids and counts once, as long as its last part is under way. Peers
acknowledge in order, so what one peer has not acknowledged begins at an id and has no gaps: for
every peer the payloads in parts are kept in order, with how many ids they have beyond one each.
Amortised constant time for a payload, and logarithmic for a question about a peer.
"""

from bisect import bisect_left
from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NodeProcess


@final
class PayloadInParts:
    """A payload whose parts have the ids from `first` to `last`."""

    __slots__ = ("first", "last", "waited_for")

    def __init__(self, first: i64, last: i64, waited_for: i64) -> None:
        self.first: Final[i64] = first
        self.last: Final[i64] = last
        # How many peers may not have acknowledged its last part.
        self.waited_for: i64 = waited_for


@final
class PeerPayloads:
    """Those for one peer, oldest first."""

    __slots__ = ("_lasts", "_sums", "under_way")

    def __init__(self) -> None:
        self.under_way: Final[list[PayloadInParts]] = []
        self._lasts: Final[list[int]] = []
        # How many ids beyond one each the payloads up to this one have, since the beginning.
        self._sums: Final[list[int]] = [0]

    def add(self, payload: PayloadInParts) -> None:
        """The next one."""
        self.under_way.append(payload)
        self._lasts.append(int(payload.last))
        self._sums.append(self._sums[-1] + int(payload.last - payload.first))

    def surplus(self, oldest: i64) -> i64:
        """By how much ids from `oldest` on are more than messages."""
        place = bisect_left(self._lasts, oldest)
        if place == len(self._lasts):
            return 0
        first = self.under_way[place].first
        before: i64 = oldest - first if first < oldest else 0
        return self._sums[-1] - self._sums[place] - before

    def take_passed(self, oldest: i64) -> list[PayloadInParts]:
        """Remove and return those that end before `oldest`."""
        count = bisect_left(self._lasts, oldest)
        passed = self.under_way[:count]
        del self.under_way[:count]
        del self._lasts[:count]
        del self._sums[:count]
        return passed


@final
class PayloadsUnderWay:
    """All payloads in parts that somebody has not acknowledged."""

    __slots__ = ("_by_peer", "_process", "_surplus")

    def __init__(self, process: NodeProcess) -> None:
        self._process: Final = process
        self._by_peer: Final[dict[int, PeerPayloads]] = {}
        self._surplus: i64 = 0

    def add(self, first: i64, last: i64, peers: list[int]) -> None:
        """A payload with these ids is for these peers."""
        if not peers:
            return
        payload = PayloadInParts(first, last, len(peers))
        self._surplus += last - first
        for peer in peers:
            if peer not in self._by_peer:
                self._by_peer[peer] = PeerPayloads()
            # So that no more are kept than are under way.
            self._pass(peer, self._oldest(peer, first))
            self._by_peer[peer].add(payload)

    def forget(self, peer: int) -> None:
        """Nothing is waited for from a peer any more."""
        payloads = self._by_peer.pop(peer, None)
        if payloads is not None:
            self._acknowledged(payloads.under_way)

    def surplus_to(self, peer: int, oldest: i64) -> i64:
        """By how much the ids from `oldest` on that are for a peer are more than messages."""
        payloads = self._by_peer.get(peer)
        return 0 if payloads is None else payloads.surplus(oldest)

    def owed_surplus(self, peer: int, following: i64) -> i64:
        """The same of all that it has not acknowledged; `following` is the next id."""
        return self.surplus_to(peer, self._oldest(peer, following))

    def surplus(self, following: i64) -> i64:
        """By how much the ids that somebody has not acknowledged are more than messages."""
        begun: dict[int, list[i64]] = {}
        for peer, payloads in self._by_peer.items():
            oldest = self._oldest(peer, following)
            self._pass(peer, oldest)
            if payloads.under_way and payloads.under_way[0].first < oldest:
                begun.setdefault(int(payloads.under_way[0].first), []).append(oldest)
        total = self._surplus
        for payloads in self._by_peer.values():
            if payloads.under_way:
                front = payloads.under_way[0]
                # Parts are not waited for any more if all for whom they are have them.
                oldest_ids = begun.pop(int(front.first), [])
                if oldest_ids and len(oldest_ids) == front.waited_for:
                    total -= min(oldest_ids) - front.first
        return total

    def _oldest(self, peer: int, following: i64) -> i64:
        oldest: i64 = self._process.oldest_owed(peer)
        return oldest if oldest > 0 else following

    def _pass(self, peer: int, oldest: i64) -> None:
        self._acknowledged(self._by_peer[peer].take_passed(oldest))

    def _acknowledged(self, payloads: list[PayloadInParts]) -> None:
        """A peer has acknowledged these, or is waited for no more."""
        for payload in payloads:
            payload.waited_for -= 1
            if payload.waited_for == 0:
                self._surplus -= payload.last - payload.first
