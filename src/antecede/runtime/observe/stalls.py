"""Says in the log that messages are held back for long, for whom, and when that is over."""

import logging
from collections.abc import Callable
from typing import Final

from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.observe.chains import own_chains, seconds_text
from antecede.runtime.observe.durations import Durations
from antecede.runtime.observe.recent_events import GOES_ON, HELD_BACK, RecentEvents
from antecede.transport.rate_limiter import RateLimiter

HELD_BACK_NS: Final = 5_000_000_000
"""Messages that are held back for more than 5 s are worth a line in the log."""

LINES_AT_ONCE: Final = 8
LINE_NS: Final = 10_000_000_000
"""At most 8 of these lines at once, then one per 10 s: there may be a thousand peers. The end of a
stall that was logged is always logged."""

log = logging.getLogger(__name__)


class Stalls:
    """Looks now and then for what is held back in one node."""

    def __init__(
        self, endpoint: Endpoint, unread: Callable[[], int], recent: RecentEvents | None = None
    ) -> None:
        self._endpoint: Final = endpoint
        self._recent: Final = RecentEvents() if recent is None else recent
        self.durations: Final = Durations(endpoint, unread)
        self._rate_limiter: Final = RateLimiter(LINES_AT_ONCE, LINE_NS)
        # Peers for which a stall was logged, and since when it lasts.
        self._logged: dict[str, int] = {}

    def look(self, now_ns: int) -> None:
        """See what waits, and say what is worth saying; cheap if it is too early to look again."""
        if not self.durations.look(now_ns):
            return
        if not self._logged and self._endpoint.buffered() == 0:
            return
        held = {
            chain.names[0]: chain
            for chain in own_chains(self._endpoint, now_ns, self.durations)
            if chain.oldest_ns > HELD_BACK_NS
        }
        name = self._endpoint.name
        for owner, since_ns in list(self._logged.items()):
            if owner not in held:
                del self._logged[owner]
                lasted = seconds_text(now_ns - since_ns)
                log.warning("%s: what was held back for %s goes on, after %s", name, owner, lasted)
                said = f"what was held back for {owner} goes on, after {lasted}"
                self._recent.note(GOES_ON, owner, said)
        for owner, chain in held.items():
            if owner not in self._logged and self._rate_limiter.try_acquire(now_ns):
                self._logged[owner] = now_ns - chain.oldest_ns
                how = f"; {chain.remedy}" if chain.is_blocked else ""
                log.warning("%s: %s%s", name, chain.held_back(), how)
                self._recent.note(HELD_BACK, chain.last, f"{chain.held_back()}{how}")
