"""What every peer still has to acknowledge, oldest first, and when to transmit it again.

Where answers are not cumulative they may come in any order, so each peer has a queue of ids and a
set of those still open: an answered id leaves the set at once and the queue when it reaches the
front, or when a timer passes over it. A peer's alarm rings when its *oldest* open id has not been
answered for its patience: answers to younger ids are no reason to wait longer, or a single lost
packet in a steady stream would never be repaired.

Amortised constant time per id; a timer costs what it sends again.
"""

from collections import deque
from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.retransmission import RetransmissionTimer, RetransmissionTimers

BATCH: Final = 64
"""At most 64 ids of one peer are tried again when its timer expires, the oldest first."""


@final
class OutstandingIds:
    """The open ids of one peer."""

    MADE_OF: ClassVar = ("alarm",)

    __slots__ = ("alarm", "ids", "open")

    def __init__(self, alarm: RetransmissionTimer) -> None:
        self.alarm: Final = alarm
        self.ids: deque[int] = deque()
        self.open: set[int] = set()

    def drop_answered(self) -> bool:
        """Drop what has been answered from the front; True if there was any."""
        dropped = False
        while self.ids and self.ids[0] not in self.open:
            self.ids.popleft()
            dropped = True
        return dropped

    def oldest(self, count: i64) -> list[int]:
        """The oldest open ids, at most `count`; forgets the answered ones among them."""
        found: list[int] = []
        while self.ids and len(found) < count:
            number = self.ids.popleft()
            if number in self.open:
                found.append(number)
        self.ids.extendleft(reversed(found))
        return found


@final
class Due:
    """A peer whose alarm rang, and the ids to try again."""

    __slots__ = ("ids", "peer")

    def __init__(self, peer: i64, ids: list[int]) -> None:
        self.peer: Final[i64] = peer
        self.ids: Final = ids


@final
class Outstanding:
    """The open ids of all peers, added in increasing order per peer."""

    MADE_OF: ClassVar = ("patience_ns",)

    __slots__ = ("_alarms", "_queues")

    def __init__(self, patience_ns: i64) -> None:
        self._alarms = RetransmissionTimers(patience_ns)
        self._queues: dict[int, OutstandingIds] = {}

    @property
    def patience_ns(self) -> i64:
        """How long an alarm waits the first time."""
        return self._alarms.patience_ns

    def add(self, peer: i64, number: i64, now_ns: i64) -> None:
        """From now on `number` is open with `peer`."""
        queue = self._queues.get(peer)
        if queue is None:
            queue = OutstandingIds(RetransmissionTimer(peer))
            self._queues[peer] = queue
        queue.ids.append(number)
        queue.open.add(number)
        self._alarms.start(queue.alarm, now_ns)

    def answer(self, peer: i64, number: i64, now_ns: i64) -> bool:
        """`peer` has answered `number`; False if that was not open."""
        queue = self._queues.get(peer)
        if queue is None or number not in queue.open:
            return False
        queue.open.discard(number)
        self._after_answer(queue, now_ns)
        return True

    def answer_up_to(self, peer: i64, number: i64, now_ns: i64) -> list[int]:
        """`peer` has answered everything up to `number`; which of that was open, oldest first."""
        queue = self._queues.get(peer)
        answered: list[int] = []
        if queue is None:
            return answered
        while queue.ids and queue.ids[0] <= number:
            oldest = queue.ids.popleft()
            if oldest in queue.open:
                queue.open.discard(oldest)
                answered.append(oldest)
        if answered:
            queue.alarm.progress(now_ns)
            if not queue.open:
                queue.alarm.stop()
        return answered

    def is_open(self, peer: i64, number: i64) -> bool:
        """Whether `peer` has not answered `number`."""
        queue = self._queues.get(peer)
        return queue is not None and number in queue.open

    def open_ids(self, peer: i64) -> list[int]:
        """Everything open with `peer`, oldest first."""
        queue = self._queues.get(peer)
        return [] if queue is None else [number for number in queue.ids if number in queue.open]

    def next_ns(self) -> i64:
        """When to ask for `due` again."""
        return self._alarms.next_ns()

    def due(self, now_ns: i64) -> list[Due]:
        """What to try again now; each of these peers then gets more patience."""
        rung: list[Due] = []
        for alarm in self._alarms.expired(now_ns):
            rung.append(Due(alarm.owner, self._queues[alarm.owner].oldest(BATCH)))
            self._alarms.restart_with_backoff(alarm, now_ns)
        return rung

    def _after_answer(self, queue: OutstandingIds, now_ns: i64) -> None:
        if queue.drop_answered():
            queue.alarm.progress(now_ns)
        if not queue.open:
            queue.alarm.stop()
