"""Timers for retransmission: one alarm per peer, with back-off; the cost of a tick is what is due.

An alarm that is *on* rings when there has been no progress for its timeout (its *patience*).
Progress restarts the timeout at its shortest, and ringing doubles it. A heap holds at most one
entry per alarm, never further ahead than the shortest timeout, and so the entry may be too early:
an alarm that turns out to be off, or not yet due, is dropped or put back when its entry comes up.
So progress, which happens per packet and shortens the timeout, never touches the heap.
"""

from heapq import heappop, heappush
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.process import NEVER_NS

PATIENCE_NS: Final = 1_000_000_000
"""Wait 1 s before transmitting again, the first time."""

DOUBLINGS_MAX: Final = 5
"""Back-off: the wait doubles at most 5 times, to 32 times the first one."""


@mypyc_attr(allow_interpreted_subclasses=True)
class RetransmissionTimer:
    """One peer's timer; a protocol's record of a peer may be a subclass of it."""

    MADE_OF: ClassVar[tuple[str, ...]] = ("owner",)

    __slots__ = ("doublings", "on", "owner", "queued", "since_ns")

    def __init__(self, owner: i64) -> None:
        self.owner: i64 = owner
        self.on = False
        self.queued = False
        self.since_ns: i64 = 0
        self.doublings: i64 = 0

    def progress(self, now_ns: i64) -> None:
        """There was progress: the timeout restarts at its shortest."""
        self.since_ns = now_ns
        self.doublings = 0

    def stop(self) -> None:
        """Nothing is waited for any more."""
        self.on = False


@final
class RetransmissionTimers:
    """All the alarms of one process."""

    MADE_OF: ClassVar = ("patience_ns",)

    __slots__ = ("_heap", "_soonest_ns", "patience_ns")

    def __init__(self, patience_ns: i64) -> None:
        self.patience_ns: i64 = patience_ns
        self._soonest_ns: i64 = NEVER_NS
        self._heap: list[tuple[int, int, RetransmissionTimer]] = []

    def start(self, alarm: RetransmissionTimer, now_ns: i64) -> None:
        """Turn an alarm on, if it is not."""
        if alarm.on:
            return
        alarm.on = True
        alarm.progress(now_ns)
        self.enqueue(alarm)

    def enqueue(self, alarm: RetransmissionTimer) -> None:
        """Put an alarm that is on into the heap, if it is not there."""
        if not alarm.queued:
            self._queue(alarm, alarm.since_ns + self.patience_ns)

    def next_ns(self) -> i64:
        """When `expired` may have something: never too late, sometimes too early."""
        return self._soonest_ns

    def expired(self, now_ns: i64) -> list[RetransmissionTimer]:
        """The alarms that are due, by owner; `restart_with_backoff` lets one ring again."""
        due: list[RetransmissionTimer] = []
        while self._heap and self._heap[0][0] <= now_ns:
            alarm = heappop(self._heap)[2]
            alarm.queued = False
            if not alarm.on:
                continue
            due_ns = self._due_ns(alarm)
            if due_ns <= now_ns:
                due.append(alarm)
                continue
            # Progress may yet shorten its patience, so look again before that could ring.
            if due_ns > now_ns + self.patience_ns:
                due_ns = now_ns + self.patience_ns
            self._queue(alarm, due_ns)
        self._soonest_ns = self._heap[0][0] if self._heap else NEVER_NS
        due.sort(key=timer_owner)
        return due

    def restart_with_backoff(self, alarm: RetransmissionTimer, now_ns: i64) -> None:
        """After ringing: double the timeout, and start it."""
        if alarm.doublings < DOUBLINGS_MAX:
            alarm.doublings += 1
        alarm.since_ns = now_ns
        self.enqueue(alarm)

    def _queue(self, alarm: RetransmissionTimer, place_ns: i64) -> None:
        alarm.queued = True
        heappush(self._heap, (place_ns, alarm.owner, alarm))
        if place_ns < self._soonest_ns:
            self._soonest_ns = place_ns

    def _due_ns(self, alarm: RetransmissionTimer) -> i64:
        return alarm.since_ns + (self.patience_ns << alarm.doublings)


def timer_owner(alarm: RetransmissionTimer) -> int:
    """Whose alarm it is: alarms ring in this order, wherever their places in the queue were."""
    return alarm.owner
