"""Since when things wait in a node: looked up now and then, so that messages cost nothing.

The core does not know when a message was sent, nor when a peer acknowledged something last. Looking
at it about once a second is enough to say so to the second.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from antecede.endpoint.endpoint import Endpoint
from antecede.transport.session import Session

LOOK_NS: Final = 1_000_000_000
LOOK_NS_PER_PEER: Final = 1_000_000
"""At least 1 s between two looks, and 1 ms more for every peer: so looks take the same small share
of the time whatever the number of peers."""

MARKS_MAX: Final = 256
"""At most 256 times are remembered; beyond that every second one of the older half is forgotten."""

UNREAD_NS: Final = 10_000_000_000
"""If a peer is heard and acknowledges nothing for 10 s, its application does not read."""


class Unchanged:
    """Since when the values of some keys have been the same."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int]] = {}

    def update(self, values: dict[int, int], now_ns: int) -> None:
        """These are the keys that count now, and their values."""
        seen = self._seen
        self._seen = {}
        for key, value in values.items():
            former, since_ns = seen.get(key, (value, now_ns))
            self._seen[key] = (value, since_ns if former == value else now_ns)

    def for_ns(self, key: int, value: int, now_ns: int) -> int:
        """For how long this key has had this value; 0 if it was not looked at since it has."""
        seen, since_ns = self._seen.get(key, (value, now_ns))
        return now_ns - since_ns if seen == value else 0


class Ages:
    """When messages were sent, by their ids."""

    def __init__(self) -> None:
        # The ids that were the last at some time, and these times.
        self._ids: list[int] = []
        self._times: list[int] = []

    def mark(self, last: int, now_ns: int) -> None:
        """By now messages up to this id have been sent."""
        if self._ids and self._ids[-1] >= last:
            return
        self._ids.append(last)
        self._times.append(now_ns)
        if len(self._ids) > MARKS_MAX:
            half = MARKS_MAX // 2
            # The first one stays, and of each two others the later: nothing seems older than it is.
            self._ids[1:half] = self._ids[2:half:2]
            self._times[1:half] = self._times[2:half:2]

    def forget(self, oldest: int) -> None:
        """What is below this id is not asked for any more."""
        done = bisect_left(self._ids, oldest)
        del self._ids[:done]
        del self._times[:done]

    def age_ns(self, sequence: int, now_ns: int) -> int:
        """How long ago a message was sent, at least."""
        index = bisect_left(self._ids, sequence)
        return now_ns - self._times[index] if index < len(self._ids) else 0


class Durations:
    """Since when things wait in one node."""

    def __init__(self, endpoint: Endpoint, unread: Callable[[], int]) -> None:
        self._endpoint: Final = endpoint
        self._unread: Final = unread
        self._look_at_ns = 0
        self._ages: Final = Ages()
        self._acks: Final = Unchanged()
        self._permits: Final = Unchanged()
        self._read: Final = Unchanged()

    def look(self, now_ns: int) -> bool:
        """See what waits, if it is time to; whether it was."""
        if now_ns < self._look_at_ns:
            return False
        endpoint = self._endpoint
        peers = len(endpoint.directory.by_name)
        self._look_at_ns = now_ns + LOOK_NS + LOOK_NS_PER_PEER * peers
        self._ages.mark(int(endpoint.sending.last_sequence()), now_ns)
        waits = endpoint.waiting_for
        self._ages.forget(waits.oldest())
        idle = endpoint.buffered() == 0
        owed = [] if idle else endpoint.owed_permits()
        unacknowledged = [] if idle else waits.unacknowledged()
        self._permits.update({int(one.owner): int(one.first) for one in owed}, now_ns)
        self._acks.update({int(one.id): waits.acknowledged(one) for one in unacknowledged}, now_ns)
        self._read.update({0: self._has_read()} if self._unread() else {}, now_ns)
        return True

    def age_ns(self, sequence: int, now_ns: int) -> int:
        """How long ago our message with this id was sent."""
        return self._ages.age_ns(sequence, now_ns)

    def same_permit_ns(self, owner: int, first: int, now_ns: int) -> int:
        """For how long the first permit that a peer owes has been that of this message."""
        return self._permits.for_ns(owner, first, now_ns)

    def no_ack_ns(self, session: Session, now_ns: int) -> int:
        """For how long a peer has acknowledged nothing of what has left for it."""
        acknowledged = self._endpoint.waiting_for.acknowledged(session)
        return self._acks.for_ns(int(session.id), acknowledged, now_ns)

    def unread_ns(self, now_ns: int) -> int:
        """For how long the application has read nothing of what is here for it."""
        return self._read.for_ns(0, self._has_read(), now_ns)

    def _has_read(self) -> int:
        return int(self._endpoint.inbox.delivered) - self._unread()
