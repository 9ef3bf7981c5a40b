"""The listeners of a node, and the counts of what could not be delivered to its peers."""

import logging
import math
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from antecede.events import (
    LEFT_OUT,
    NodeFenced,
    PathNarrow,
    PeerExpelled,
    PeerRefused,
    Report,
    Split,
    Undeliverable,
)
from antecede.runtime.callbacks import EXITS, Callbacks, check_callable
from antecede.runtime.errors import GONE, Undelivered, fenced_sentence
from antecede.runtime.observe.recent_events import RecentEvents
from antecede.units import messages_text

Listener: TypeAlias = Callable[[Report], None]

LEFT_OUT_SECONDS: Final = 5.0
"""That messages leave a peer out is logged at most once in 5 s."""

log = logging.getLogger(__name__)


class Listeners:
    """The listeners of one node, and its books of what is undeliverable."""

    def __init__(self, name: str, callbacks: Callbacks) -> None:
        self._name: Final = name
        self._callbacks: Final = callbacks
        self._listeners: list[Listener] = []
        self.undeliverable: Final[dict[str, int]] = {}
        """How many messages to each peer have been given up."""
        self.left_out: Final[dict[str, int]] = {}
        """How many messages each peer did not get because it was away."""
        self.recent: Final = RecentEvents()
        """The last events."""
        self.expulsions = 0
        """How many peers were expelled, by whomever."""
        self._said: Final[dict[str, tuple[float, int]]] = {}
        self._unreported: dict[str, int] = {}
        self._reasons: dict[str, dict[str, None]] = {}

    def add(self, listener: Listener) -> None:
        """Tell this one, too."""
        check_callable(listener, "an event listener")
        self._listeners.append(listener)

    def take_undelivered(self) -> Undelivered | None:
        """What has been given up since this was asked last, to be raised."""
        unreported, self._unreported = self._unreported, {}
        reasons, self._reasons = self._reasons, {}
        said = {name: "; ".join(of_peer) for name, of_peer in reasons.items()}
        return Undelivered(unreported, said) if unreported else None

    def tell(self, report: Report) -> None:
        """Log a report and tell everybody; one who fails does not stop the others."""
        self.recent.note_report(report)
        if isinstance(report, Undeliverable):
            if report.why == LEFT_OUT:
                self._count_left_out(report.name, len(report.sequences))
            else:
                self._count(report.name, len(report.sequences), report.reason)
        elif isinstance(report, PeerRefused):
            # Somebody has to mend a configuration: it is told once, and nothing happens until then.
            log.warning("%s: no talk with %s: %s", self._name, report.name, report.reason)
        elif isinstance(report, Split):
            # Only people can mend it.
            log.warning(
                "%s: split from %s: each has expelled the other; restart one of the two",
                self._name,
                report.name,
            )
        elif isinstance(report, NodeFenced):
            log.error("%s", fenced_sentence(self._name, report))
        elif isinstance(report, (PathNarrow, PeerExpelled)):
            self.expulsions += isinstance(report, PeerExpelled)
            log.warning("%s: %s", self._name, report)
        else:
            log.info("%s: %s", self._name, report)
        for listener in self._listeners:
            try:
                listener(report)
            except EXITS:
                raise
            except BaseException:
                self._callbacks.on_failure(f"an event listener, called with {report!r},")

    def _count_left_out(self, name: str, count: int) -> None:
        """Count, and say so at most once in a while: it may happen with every message."""
        total = self.left_out.get(name, 0) + count
        self.left_out[name] = total
        now = time.monotonic()
        said_at, said = self._said.get(name, (-math.inf, 0))
        if now - said_at >= LEFT_OUT_SECONDS:
            self._said[name] = (now, total)
            left_out = messages_text(total - said)
            log.warning("%s: %s is away: left out of %s", self._name, name, left_out)

    def _count(self, name: str, count: int, reason: str | None) -> None:
        # There may be thousands: the listeners get their ids, the log their number.
        lost, why = messages_text(count), "" if reason is None else f": {reason}"
        log.warning("%s: %s can no longer be delivered to %s%s", self._name, lost, name, why)
        self._reasons.setdefault(name, {})[GONE if reason is None else reason] = None
        for book in (self.undeliverable, self._unreported):
            book[name] = book.get(name, 0) + count
