"""Copies set aside because their destination is stalled, so that others need not wait for them.

A parked copy keeps the past as it was when it was its turn. It leaves when nothing of that past is
open elsewhere than at its target and at destinations named by exceptions; later copies to the same
target are parked behind it. Who is suspected of being stalled is said by what is parked, and by
hints of a timer; hints are never trusted, only named.
"""

from collections import deque
from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.delivered import KnownDeliveries
from antecede_lab.protocols.facts.draft import Draft
from antecede_lab.protocols.facts.packets import Mark, PastReportField
from antecede_lab.protocols.facts.reports import PastReport
from antecede_lab.protocols.facts.window import Window, WindowCopy, alive_marks


@final
class Parking:
    """The parked copies by target, in the order in which parking began."""

    MADE_OF: ClassVar = ("_facts_max", "_exceptions_max")

    __slots__ = ("_exceptions_max", "_facts_max", "copies", "told")

    def __init__(self, facts_max: i64, exceptions_max: i64) -> None:
        self._facts_max: Final[i64] = facts_max
        self._exceptions_max: Final[i64] = exceptions_max
        self.copies: dict[int, deque[WindowCopy]] = {}
        # Whom the application takes for stalled.
        self.told: list[int] = []

    def set_told(self, targets: list[int]) -> None:
        """The application takes these for stalled."""
        self.told = targets

    def holds(self, target: i64) -> bool:
        """Whether copies to `target` are parked."""
        return target in self.copies

    def park(self, copy: WindowCopy, snapshot: list[PastReport]) -> None:
        """Set a copy aside, with the past as it is."""
        copy.park(snapshot)
        self.copies.setdefault(copy.target, deque()).append(copy)

    def suspects(self, hints: dict[int, bool]) -> list[int]:
        """The first few of those with parked copies, then those that are named, then hinted at."""
        found: list[int] = []
        for target in [*self.copies, *self.told, *hints]:
            if len(found) < self._exceptions_max and target not in found:
                found.append(target)
        return found

    def next_leaving(self, target: i64, window: Window, truths: KnownDeliveries) -> Draft | None:
        """How the first copy parked for `target` may leave now; None if it may not."""
        copy = self.copies[target][0]
        exceptions: dict[int, bool] = {}
        unresolved: list[PastReport] = []
        hops: i64 = 0
        for report in copy.snapshot:
            if report.source == target:
                continue
            report.forget_known(truths)
            if report.filter != 0 or (target in report.exceptions and report in copy.blocking):
                return None
            if not report.ended and report.first_alive(truths, target) is not None:
                return None
            if report.names_others(target):
                unresolved.append(report)
                if report.hops > hops:
                    hops = report.hops
                for exception in report.exceptions:
                    exceptions[exception] = True
        must = alive_marks(copy, truths)
        if len(must) > self._facts_max:
            return None
        return self._draft(copy, must, exceptions, unresolved, hops, window, truths)

    def _draft(
        self,
        copy: WindowCopy,
        must: list[Mark],
        exceptions: dict[int, bool],
        unresolved: list[PastReport],
        hops: i64,
        window: Window,
        truths: KnownDeliveries,
    ) -> Draft:
        """What it says: no facts, the exceptions of its past, and our own part."""
        mask: i64 = 0
        target = copy.target
        if copy.sequence > window.plain.at(target):
            if copy.sequence <= window.excepting_at(target):
                for suspect in window.suspects_at(copy.sequence):
                    exceptions[suspect] = True
            else:
                mask = truths.filter.all
        exceptions.pop(target, None)
        named = sorted(exceptions)
        while len(named) > self._exceptions_max:
            mask |= truths.filter.bit(named.pop())
        if mask != 0 and truths.filter.width == 0:
            named = []
        if mask == 0 and not named:
            return Draft(must, None, [])
        return Draft(must, PastReportField(mask, tuple(named), [], hops + 1), unresolved)

    def unpark(self, target: i64) -> WindowCopy:
        """Take out the first copy parked for `target`."""
        waiting = self.copies[target]
        copy = waiting.popleft()
        if not waiting:
            del self.copies[target]
        return copy

    def forget(self, target: i64) -> None:
        """Nothing goes to `target` any more."""
        self.copies.pop(target, None)
        if target in self.told:
            self.told.remove(target)

    def state(self) -> str:
        """Equal places and hints, equal strings; the parked copies themselves are the peers'."""
        parked = [(target, [c.sequence for c in queue]) for target, queue in self.copies.items()]
        return repr((parked, self.told))
