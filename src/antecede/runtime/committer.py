"""How what a turn has produced comes to show: at once, or, with a journal, when it is on disk."""

from collections.abc import Callable
from typing import ClassVar, Final

from antecede.core.errors import AntecedeError
from antecede.endpoint.endpoint import Endpoint
from antecede.events import Report
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.observe.stats import NO_JOURNAL, JournalStats


class Committer:
    """Lets everything show at once, for a node without a journal. `JournalCommitter` waits until it
    is on disk."""

    durable: ClassVar = False
    """Whether what has shown survives a crash."""

    failed: AntecedeError | None = None
    """Why the node has stopped for good."""

    def __init__(
        self, endpoint: Endpoint, carrier: Carrier, tell: Callable[[Report], None]
    ) -> None:
        self._endpoint: Final = endpoint
        self._carrier: Final = carrier
        # Tells the application what happened.
        self._tell: Final = tell

    def begin(self) -> None:
        """Restore what a former process has left; the peers were added."""

    def end_turn(self) -> None:
        """A turn has ended: let what happened in it show, as soon as it may."""
        if self._endpoint.out:
            self._carrier.send(self._endpoint.out)
        if self._endpoint.reports:
            self.report_early()

    def send_early(self) -> None:
        """Within a turn, much was written: send it, unless it has to be on disk first."""
        if self._endpoint.out:
            self._carrier.send(self._endpoint.out)

    def report_early(self) -> None:
        """Within a turn, tell what was reported, unless it has to be on disk first."""
        reports = self._endpoint.reports
        while reports:
            self._tell(reports.pop(0))

    def report_unreported(self) -> None:
        """Somebody listens: tell soon what a former process may not have told."""

    def when_durable(self, action: Callable[[], None]) -> None:
        """Do this when everything that has happened until now would survive a crash; in order."""
        action()

    async def wait_durable(self) -> None:
        """Wait until everything that has happened until now would survive a crash."""

    def check(self) -> None:
        """Raise why nothing can be accepted, if so."""

    def failure(self) -> str | None:
        """Why nothing can be accepted, or None."""
        return None

    def figures(self) -> JournalStats:
        """How things stand with the journal."""
        return NO_JOURNAL

    async def end_life(self) -> None:
        """The node leaves."""

    def close(self, *, write: bool) -> None:
        """Give the journal up; `write`: what is not on disk yet first, though it shows no more."""

    def leave_to_parent(self) -> None:
        """This process was forked: what is on disk is the parent's."""
