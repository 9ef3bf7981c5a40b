"""The event queue: a calendar whose days are about two events long.

Events are ordered by (time, counter); the counter makes ties deterministic. A day is a power of two
nanoseconds; an event of day d lies, sorted, in bucket d modulo the number of buckets, so both
adding and taking cost a constant number of steps as long as the length of a day follows the rate of
events, which is measured again whenever the calendar grows, shrinks or turns out to be slow
(R. Brown, "Calendar Queues", CACM 31(10), 1988). Event objects are pooled: a run makes as many as
were ever pending at once.
"""

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from antecede.core.packets import Packet
from antecede.core.process import NEVER_NS

BUCKETS_MIN: Final = 64
DAY_BITS_START: Final = 20
DAY_BITS_MAX: Final = 40
EVENTS_PER_DAY: Final = 2

REVIEW_PERIOD: Final = 4096
"""The steps are checked once in 4,096 additions (a power of two)."""

STEPS_TOLERATED: Final = 3
"""With more than 3 steps per addition the calendar is rebuilt."""

ARRIVAL: Final = 0
WAKE: Final = 1
TIMER: Final = 2
HANDLED: Final = 3


@final
class CalendarEvent:
    """Something that will happen: `kind` says what, the rest to whom and with what."""

    __slots__ = (
        "following",
        "kind",
        "number",
        "order",
        "packet",
        "process",
        "source",
        "time_ns",
    )

    def __init__(self) -> None:
        self.time_ns: i64 = 0
        self.order: i64 = 0
        self.kind: i64 = 0
        self.process: i64 = 0
        self.source: i64 = 0
        self.number: i64 = 0
        self.packet: Packet | None = None
        self.following: CalendarEvent | None = None


@final
class Calendar:
    """Pending events, earliest first."""

    __slots__ = (
        "_bits",
        "_counter",
        "_day",
        "_firsts",
        "_lasts",
        "_mask",
        "_spare",
        "_steps",
        "size",
    )

    def __init__(self) -> None:
        self.size: i64 = 0
        self._counter: i64 = 0
        self._bits: i64 = DAY_BITS_START
        self._mask: i64 = BUCKETS_MIN - 1
        # The ends of every bucket's chain of events; the last means nothing if there is no first.
        self._firsts = nothing(BUCKETS_MIN)
        self._lasts = nothing(BUCKETS_MIN)
        self._day: i64 = 0
        self._steps: i64 = 0
        # Event objects that have served, chained; they will serve again.
        self._spare: CalendarEvent | None = None

    def add(
        self,
        time_ns: i64,
        kind: i64,
        process: i64,
        number: i64 = 0,
        source: i64 = 0,
        packet: Packet | None = None,
    ) -> CalendarEvent:
        """Put an event down for `time_ns`, not earlier than the last one taken."""
        event = self._spare
        if event is None:
            event = CalendarEvent()
        else:
            self._spare = event.following
            event.following = None
        event.time_ns = time_ns
        event.kind = kind
        event.process = process
        event.number = number
        event.source = source
        event.packet = packet
        event.order = self._counter
        self._counter += 1
        self.size += 1
        self._insert(event)
        if self.size > 2 * (self._mask + 1):
            self._rebuild(2 * (self._mask + 1))
        elif self._counter & (REVIEW_PERIOD - 1) == 0:
            if self._steps > STEPS_TOLERATED * REVIEW_PERIOD:
                self._rebuild(self._mask + 1)
            self._steps = 0
        return event

    def take(self) -> CalendarEvent | None:
        """Remove and return the earliest event; give it back with `recycle`."""
        if self.size == 0:
            return None
        if self._mask >= BUCKETS_MIN and 4 * self.size < self._mask:
            self._rebuild((self._mask + 1) >> 1)
        day, bits, mask = self._day, self._bits, self._mask
        while True:
            place = day & mask
            event = self._firsts[place]
            if event is not None and event.time_ns >> bits == day:
                self._firsts[place] = event.following
                self.size -= 1
                self._steps += day - self._day
                self._day = day
                return event
            day += 1
            if day - self._day > mask:
                self._steps += mask + 1
                self._skip()
                day, bits, mask = self._day, self._bits, self._mask

    def recycle(self, event: CalendarEvent) -> None:
        """The event has been dealt with; its object may serve again."""
        event.packet = None
        event.following = self._spare
        self._spare = event

    def clear(self) -> None:
        """Forget everything, one by one: a long chain must not be freed recursively."""
        event = self.take()
        while event is not None:
            event = self.take()
        spare = self._spare
        while spare is not None:
            self._spare = spare.following
            spare.following = None
            spare = self._spare

    def _insert(self, event: CalendarEvent) -> None:
        day = event.time_ns >> self._bits
        if day < self._day:
            self._day = day
        place = day & self._mask
        first = self._firsts[place]
        if first is None:
            self._firsts[place] = event
            self._lasts[place] = event
        elif event.time_ns < first.time_ns:
            event.following = first
            self._firsts[place] = event
        else:
            self._insert_behind(first, event, place)

    def _insert_behind(self, first: CalendarEvent, event: CalendarEvent, place: i64) -> None:
        last = self._lasts[place]
        if last is not None and event.time_ns >= last.time_ns:
            # The counter only grows, so among equal times the new event is the last.
            last.following = event
            self._lasts[place] = event
            return
        before = first
        after = before.following
        while after is not None and after.time_ns <= event.time_ns:
            before = after
            after = after.following
            self._steps += 1
        event.following = after
        before.following = event

    def _skip(self) -> None:
        """A whole year without an event: go to the next one; days too short are laid anew."""
        if self._steps > STEPS_TOLERATED * REVIEW_PERIOD:
            self._rebuild(self._mask + 1)
            self._steps = 0
        self._day = self._earliest_day()

    def _earliest_day(self) -> i64:
        earliest: i64 = NEVER_NS
        for event in self._firsts:
            if event is not None and event.time_ns < earliest:
                earliest = event.time_ns
        return earliest >> self._bits

    def _rebuild(self, buckets: i64) -> None:
        """Lay the calendar anew, with days as long as the pending events suggest."""
        pending: list[CalendarEvent] = []
        for first in self._firsts:
            event = first
            while event is not None:
                following = event.following
                event.following = None
                pending.append(event)
                event = following
        pending.sort(key=event_key)
        self._measure(pending)
        self._mask = buckets - 1
        self._firsts = nothing(buckets)
        self._lasts = nothing(buckets)
        self._day = pending[0].time_ns >> self._bits
        for event in pending:
            self._insert(event)

    def _measure(self, pending: list[CalendarEvent]) -> None:
        if len(pending) < 2:
            return
        # The nearer half: a few far timers must not stretch the days of a busy network.
        half = len(pending) // 2
        span_ns: i64 = pending[half].time_ns - pending[0].time_ns
        day_ns = EVENTS_PER_DAY * span_ns // half
        bits: i64 = 0
        while bits < DAY_BITS_MAX and (1 << (bits + 1)) <= day_ns:
            bits += 1
        self._bits = bits


def nothing(buckets: i64) -> vec[CalendarEvent | None]:
    """So many buckets without events."""
    empty: list[CalendarEvent | None] = [None] * buckets
    return vec[CalendarEvent | None](empty)


def event_key(event: CalendarEvent) -> tuple[int, int]:
    """Earliest first, and in the order in which they were added."""
    return event.time_ns, event.order
