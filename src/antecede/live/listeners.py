"""Who is told what happens to the peers of a node, and what had to be given up for them."""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from antecede.link.reports import Refused, Report, Undeliverable

Listener: TypeAlias = Callable[[Report], None]

log = logging.getLogger(__name__)


class Listeners:
    """The listeners of one node, and its books of what is undeliverable."""

    def __init__(self, name: str) -> None:
        self._name: Final = name
        self._listeners: list[Listener] = []
        self.undeliverable: Final[dict[str, int]] = {}
        """How many messages to each peer have been given up."""
        self._untold: dict[str, int] = {}

    def add(self, listener: Listener) -> None:
        """Tell this one, too."""
        self._listeners.append(listener)

    def take_untold(self) -> dict[str, int]:
        """What has been given up since this was asked last, by peer."""
        untold, self._untold = self._untold, {}
        return untold

    def tell(self, report: Report) -> None:
        """Log a report and tell everybody; one who fails does not stop the others."""
        if isinstance(report, Undeliverable):
            self._count(report.name, len(report.sequences))
        elif isinstance(report, Refused):
            # Somebody has to mend a configuration: it is told once, and nothing happens until then.
            log.warning("%s: no talk with %s: %s", self._name, report.name, report.reason)
        else:
            log.info("%s: %s", self._name, report)
        for listener in self._listeners:
            try:
                listener(report)
            except Exception:
                log.exception("%s: an event listener failed for %r", self._name, report)

    def _count(self, name: str, count: int) -> None:
        # There may be thousands: the listeners get their ids, the log their number.
        log.warning("%s: %d messages can no longer be delivered to %s", self._name, count, name)
        for book in (self.undeliverable, self._untold):
            book[name] = book.get(name, 0) + count
