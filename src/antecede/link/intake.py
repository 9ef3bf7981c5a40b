"""Datagrams that have come and wait to be read: every peer has a lane, and lanes take turns.

A node reads as fast as it can; what it has read it has to deliver, and to hand over, in order. So
a peer that floods would make all others wait behind it. Where more than one peer has been heard of
lately, datagrams wait in lanes, and in every round each lane is read for about as many bytes. A
lane is short: what does not fit is lost, as on any full network, to the peer whose lane it is.
Strangers share one lane. A peer that is alone is not slowed down.

Reading peers in turns is safe for any order: to the protocols it is a network that delays.
"""

from collections import deque
from typing import Final, final

from librt.strings import read_i64_le
from mypy_extensions import i64

from antecede.link.endpoint import Endpoint
from antecede.link.session import ME
from antecede.wire.frames import DATAGRAM, NUMBER_AT, TOKEN_AT

QUANTUM: Final = 8_192
"""Bytes that are read of one lane before it is the next one's turn; one datagram at least."""

LANE_BYTES: Final = 1 << 20
LANE_DATAGRAMS: Final = 4096
"""What may wait of one peer."""

DATAGRAM_COST: Final = 128
"""What a datagram counts for beside its bytes: reading an empty one is work, too."""

ALONE_NS: Final = 10_000_000_000
"""After so long with one peer only, that one need not take turns with anybody. Peers that have
nothing to say are heard of more often than that."""

STRANGERS: Final = ME
"""The lane of datagrams whose token means nothing, and of greetings: no peer has this id."""


@final
class Lane:
    """What waits of one peer, and how much of it may be read in this round."""

    __slots__ = ("allowance", "size", "waiting")

    def __init__(self) -> None:
        self.waiting: Final[deque[tuple[object, bytes]]] = deque()
        self.size: i64 = 0
        self.allowance: i64 = 0

    def put(self, address: object, data: bytes) -> bool:
        """Keep a datagram; False if there is no room for it."""
        if self.size + len(data) > LANE_BYTES or len(self.waiting) >= LANE_DATAGRAMS:
            return False
        self.size += len(data)
        self.waiting.append((address, data))
        return True

    def take(self) -> tuple[object, bytes]:
        """The next datagram, which uses up some of the allowance."""
        letter = self.waiting.popleft()
        self.size -= len(letter[1])
        self.allowance -= len(letter[1]) + DATAGRAM_COST
        return letter


@final
class Intake:
    """The lanes of one node."""

    __slots__ = ("_endpoint", "_lanes", "_last_lane", "_shared_until_ns", "dropped")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint: Final = endpoint
        self._lanes: dict[int, Lane] = {}
        # Whose datagram came last, and until when it takes turns with others.
        self._last_lane: i64 = -1
        self._shared_until_ns: i64 = 0
        self.dropped: i64 = 0

    def receive(self, address: object, data: bytes, now_ns: i64) -> None:
        """A datagram has come: it is read at once if nobody else is heard of, or else in turn."""
        lane_id = self._lane_of(data)
        if lane_id != self._last_lane:
            if self._last_lane >= 0:
                self._shared_until_ns = now_ns + ALONE_NS
            self._last_lane = lane_id
        if now_ns >= self._shared_until_ns and not self._lanes:
            self._endpoint.receive(address, data, now_ns)
            return
        lane = self._lanes.get(lane_id)
        if lane is None:
            lane = Lane()
            self._lanes[lane_id] = lane
        if len(self._lanes) == 1:
            # Nobody else waits: rather than lose anything, read what has waited longest.
            while not lane.put(address, data):
                first, oldest = lane.take()
                self._endpoint.receive(first, oldest, now_ns)
        elif not lane.put(address, data):
            self.dropped += 1

    def waits(self) -> bool:
        """Whether anything waits to be read."""
        return len(self._lanes) > 0

    def read(self, now_ns: i64) -> None:
        """One round: every lane is read for its share, the one that was empty last first.

        So who says little waits for no share of those who never stop.
        """
        for lane_id in reversed(list(self._lanes)):
            lane = self._lanes[lane_id]
            lane.allowance += QUANTUM
            while lane.waiting and lane.allowance > 0:
                address, data = lane.take()
                self._endpoint.receive(address, data, now_ns)
            if not lane.waiting:
                # What it has not used is not saved up.
                del self._lanes[lane_id]

    def _lane_of(self, data: bytes) -> i64:
        if len(data) <= NUMBER_AT or data[0] != DATAGRAM:
            return STRANGERS
        session = self._endpoint.directory.by_token.get(read_i64_le(data, TOKEN_AT))
        return STRANGERS if session is None else session.id
