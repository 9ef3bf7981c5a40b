"""Datagrams that have come and wait to be read: every peer has a queue, and queues take turns.

A node reads as fast as it can; what it has read it has to deliver, and to hand over, in order. So
a peer that floods would make all others wait behind it. Where more than one peer has been heard of
lately, datagrams wait in queues, and in every round each queue is read for about as many bytes. A
queue is short: what does not fit is lost, as on any full network, to the peer whose queue it is.
What the kernel has joined waits as it came, and is cut when it is read: to put it aside costs next
to nothing, which is what counts while somebody floods.
Strangers share one queue. A peer that is alone is not slowed down.

Reading peers in turns is safe for any order: to the protocols it is a network that delays.
"""

from collections import deque
from typing import Final, final

from librt.strings import read_i64_le
from mypy_extensions import i64, mypyc_attr

from antecede.endpoint.endpoint import Endpoint
from antecede.transport.rate_limiter import RateLimiter
from antecede.transport.session import ME
from antecede.wire.frames import DATAGRAM, NUMBER_AT, TOKEN_AT

QUANTUM: Final = 8_192
"""8 KiB of one peer are read before it is the next one's turn; one datagram at least."""

STRANGERS_QUANTUM: Final = 2_048
"""2 KiB of strangers' datagrams, which have one turn while others have several."""

QUEUE_BYTES: Final = 1 << 20
QUEUE_DATAGRAMS: Final = 4096
"""At most 1 MiB, or 4,096 datagrams, of one peer may wait."""

DATAGRAM_COST: Final = 128
"""A datagram counts for 128 bytes beside its own: reading an empty one is work, too."""

ALONE_NS: Final = 10_000_000_000
"""After 10 s with one peer only, that one need not take turns with anybody. Peers that have
nothing to say are heard of more often than that."""

STRANGERS_FEW: Final = 64
STRANGERS_NS: Final = 1_000_000_000
"""Up to 64 strangers' datagrams per second take no turn: they are most often greetings of peers."""

STRANGERS: Final = ME
"""The queue of datagrams whose token means nothing, and of greetings: no peer has this id."""


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class ReceivedBatch:
    """Datagrams that came in one buffer: all of one size, but the last, which may be smaller."""

    __slots__ = ("_position", "_size", "address", "count", "data")

    def __init__(self, address: object, data: bytes, size: i64) -> None:
        self.address: Final = address
        self.data: Final = data
        self._size: Final[i64] = size
        self._position: i64 = 0
        length: i64 = len(data)
        self.count: Final[i64] = 1 if length <= size else (length + size - 1) // size

    def next(self) -> bytes:
        """The next datagram."""
        if self.count == 1:
            self._position = len(self.data)
            return self.data
        start = self._position
        self._position += self._size
        return self.data[start : self._position]

    def is_empty(self) -> bool:
        """Whether there was no other."""
        return self._position >= len(self.data)


@final
class PeerQueue:
    """What waits of one peer, and how much of it may be read in this round."""

    __slots__ = ("_datagrams", "allowance", "size", "waiting")

    def __init__(self) -> None:
        self.waiting: Final[deque[ReceivedBatch]] = deque()
        self._datagrams: i64 = 0
        self.size: i64 = 0
        self.allowance: i64 = 0

    def put(self, batch: ReceivedBatch) -> bool:
        """Keep datagrams; False if there is no room for them."""
        size: i64 = len(batch.data)
        if self.size + size > QUEUE_BYTES or self._datagrams + batch.count > QUEUE_DATAGRAMS:
            return False
        self.size += size
        self._datagrams += batch.count
        self.waiting.append(batch)
        return True

    def take(self) -> tuple[object, bytes]:
        """The next datagram and where it is from; it uses up some of the allowance."""
        batch = self.waiting[0]
        data = batch.next()
        if batch.is_empty():
            self.waiting.popleft()
        self.size -= len(data)
        self._datagrams -= 1
        self.allowance -= len(data) + DATAGRAM_COST
        return batch.address, data


@final
class FairReceiveQueue:
    """The queues of one node."""

    __slots__ = (
        "_endpoint",
        "_last_read",
        "_queues",
        "_shared_until_ns",
        "_strangers",
        "dropped",
    )

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint: Final = endpoint
        self._queues: dict[int, PeerQueue] = {}
        # Whose datagram came last, and until when it takes turns with others.
        self._last_read: i64 = -1
        self._shared_until_ns: i64 = 0
        self._strangers: Final = RateLimiter(STRANGERS_FEW, STRANGERS_NS // STRANGERS_FEW)
        self.dropped: i64 = 0

    def receive(self, address: object, data: bytes, now_ns: i64) -> None:
        """A datagram has come: it is read at once if nobody else is heard of, or else in turn."""
        peer = self._peer_of(data)
        if self._may_bypass(peer, now_ns):
            self._endpoint.receive(address, data, now_ns)
        else:
            self._put(peer, ReceivedBatch(address, data, len(data)), now_ns)

    def receive_joined(self, address: object, data: bytes, size: i64, now_ns: i64) -> None:
        """Several datagrams have come from one place, all of this size but perhaps the last.

        They share the queue of the first: a place is most often one peer.
        """
        peer = self._peer_of(data)
        batch = ReceivedBatch(address, data, size)
        if not self._may_bypass(peer, now_ns):
            self._put(peer, batch, now_ns)
            return
        while not batch.is_empty():
            self._endpoint.receive(address, batch.next(), now_ns)

    def _may_bypass(self, peer: i64, now_ns: i64) -> bool:
        """Whether what comes need not wait, because nobody else has been heard of for long."""
        few = peer == STRANGERS and self._strangers.try_acquire(now_ns)
        if peer != self._last_read and not few:
            if self._last_read >= 0:
                self._shared_until_ns = now_ns + ALONE_NS
            self._last_read = peer
        return now_ns >= self._shared_until_ns and not self._queues

    def _put(self, peer: i64, batch: ReceivedBatch, now_ns: i64) -> None:
        queue = self._queues.get(peer)
        if queue is None:
            queue = PeerQueue()
            self._queues[peer] = queue
        if len(self._queues) == 1 and peer != STRANGERS:
            # Nobody else waits: rather than lose anything, read what has waited longest. Strangers
            # are owed nothing, and what is read of them is not received of others.
            while not queue.put(batch):
                address, oldest = queue.take()
                self._endpoint.receive(address, oldest, now_ns)
        elif not queue.put(batch):
            self.dropped += batch.count

    def has_waiting(self) -> bool:
        """Whether anything waits to be read."""
        return len(self._queues) > 0

    def peer_waits(self) -> bool:
        """Whether anything waits to be read of somebody who is no stranger."""
        return len(self._queues) > (1 if STRANGERS in self._queues else 0)

    def drain_round(self, now_ns: i64) -> None:
        """One round: every queue is read for its share, the one that was empty last first.

        So who says little waits for no share of those who never stop.
        """
        for peer in reversed(list(self._queues)):
            queue = self._queues[peer]
            queue.allowance += STRANGERS_QUANTUM if peer == STRANGERS else QUANTUM
            while queue.waiting and queue.allowance > 0:
                address, data = queue.take()
                self._endpoint.receive(address, data, now_ns)
            if not queue.waiting:
                # What it has not used is not saved up.
                del self._queues[peer]

    def sender_of(self, data: bytes) -> int:
        """The session that a datagram says it belongs to; -1 if none is known."""
        peer = self._peer_of(data)
        return -1 if peer == STRANGERS else int(peer)

    def _peer_of(self, data: bytes) -> i64:
        if len(data) <= NUMBER_AT or data[0] != DATAGRAM:
            return STRANGERS
        session = self._endpoint.directory.session_with(read_i64_le(data, TOKEN_AT))
        return STRANGERS if session is None else session.id
