"""Two clocks: one that never goes back, for timers, and one that machines share, for the log."""

import logging
from collections.abc import Callable
from time import monotonic_ns, time_ns
from typing import Final

from antecede.transport.event_rows import EventRows
from antecede.units import duration_text

TAKEN_AT_ONCE_NS: Final = 20_000
"""Two readings further apart than this were interrupted, and say nothing about the difference."""

SLOWER: Final = 10
"""After the shared clock was set back, the log's clock is slower by one part in so many."""

WORTH_SAYING_NS: Final = 1_000_000_000

log = logging.getLogger(__name__)


class SharedClock:
    """Lets the times of an event log follow the clock that machines share, and always go on.

    A clock that is set back would leave the log at one time until it has caught up. So the log's
    clock goes on, only slower, until the other one has.
    """

    def __init__(
        self,
        rows: EventRows,
        monotonic: Callable[[], int] = monotonic_ns,
        shared: Callable[[], int] = time_ns,
    ) -> None:
        self._rows: Final = rows
        self._monotonic: Final = monotonic
        self._shared: Final = shared
        self._followed_ns = 0
        self._said = False

    def follow(self) -> None:
        """Renew the difference between the two, if both can be read at once just now."""
        before_ns = self._monotonic()
        shared_ns = self._shared()
        after_ns = self._monotonic()
        rows = self._rows
        if rows.offset_ns == 0:
            rows.offset_ns = shared_ns - before_ns
        elif after_ns - before_ns <= TAKEN_AT_ONCE_NS:
            wanted = shared_ns - before_ns
            least = int(rows.offset_ns) - (before_ns - self._followed_ns) // SLOWER
            self._say(int(rows.offset_ns) - wanted)
            rows.offset_ns = max(wanted, least)
        else:
            return
        self._followed_ns = before_ns

    def _say(self, behind_ns: int) -> None:
        """Warn, once for each step, that the log's times are ahead of the clock."""
        if behind_ns < WORTH_SAYING_NS:
            self._said = False
        elif not self._said:
            self._said = True
            log.warning(
                "the clock was set back by %s: the times of the event log go on, a little slower, "
                "until it has caught up",
                duration_text(behind_ns),
            )
