"""Delivered reports of `hybrid-facts`: what they still say, given what is known to be delivered.

A report only ever loses: its facts die one by one, its filter and exceptions shrink, and with the
permit of its message it ends. So each is judged when somebody looks at it, and what is dead is
forgotten then.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.delivered import KnownDeliveries
from antecede_lab.protocols.facts.packets import Fact, PastReportField


@final
class PastReport:
    """What the past of message `sequence` of `source` may still have undelivered elsewhere."""

    MADE_OF: ClassVar = ("serial", "source", "sequence", "told")

    __slots__ = (
        "alive",
        "ended",
        "exceptions",
        "filter",
        "hops",
        "index",
        "live",
        "sequence",
        "serial",
        "source",
        "stamp",
        "told",
    )

    def __init__(self, serial: i64, source: i64, sequence: i64, told: PastReportField) -> None:
        self.serial: Final[i64] = serial
        self.source: Final[i64] = source
        self.sequence: Final[i64] = sequence
        self.told = told
        self.hops: Final[i64] = told.hops
        self.filter: i64 = told.filter
        self.exceptions: tuple[int, ...] = told.exceptions
        # Facts not yet seen to be dead.
        self.alive: list[Fact] = list(told.facts)
        self.ended = False
        # When it became part of the past, and which of its facts count there (facts_past.py).
        self.index: i64 = 0
        self.live: dict[int, int] = {}
        # Marks it as seen during one walk over many.
        self.stamp: i64 = 0

    def set_index(self, index: i64) -> None:
        """It is part of the past now, after those with a lower number."""
        self.index = index

    def mark_seen(self, stamp: i64) -> bool:
        """It is met on this walk; True if for the first time."""
        if self.stamp == stamp:
            return False
        self.stamp = stamp
        return True

    def forget_known(self, truths: KnownDeliveries) -> bool:
        """Forget what filter and exceptions need no longer say; True if that changed anything."""
        if self.ended:
            return False
        standing = truths.standing(self.source)
        if standing.permitted >= self.sequence:
            return self._end()
        own_only = self.hops == 1
        if own_only and (standing.low >= self.sequence or standing.expelled):
            return self._end()
        left_out = truths.anybody_gone and bool(self.exceptions) and self._leave_out_gone(truths)
        return self._settle_by_marks(truths, own_only) or left_out

    def _leave_out_gone(self, truths: KnownDeliveries) -> bool:
        """Who is gone delivers nothing more, so there is nothing to be silent about."""
        kept = tuple([target for target in self.exceptions if not truths.is_gone(target)])
        left_out = len(kept) < len(self.exceptions)
        self.exceptions = kept
        return left_out

    def _settle_by_marks(self, truths: KnownDeliveries, own_only: bool) -> bool:
        """The same by what is delivered everywhere but at a few places."""
        standing = truths.standing(self.source)
        marked = standing.by_permit
        if marked is not None and marked.top >= self.sequence:
            return self._narrow(truths, own_only)
        marked = standing.by_watermark
        if own_only and marked is not None and marked.top >= self.sequence:
            return self._narrow(truths, own_only)
        return False

    def _end(self) -> bool:
        self.ended = True
        self.filter = 0
        self.exceptions = ()
        self.alive = []
        return True

    def _narrow(self, truths: KnownDeliveries, own_only: bool) -> bool:
        """All is delivered but at a few places: only those of them remain that it spoke of."""
        standing = truths.standing(self.source)
        candidates: list[int] = list(self.exceptions)
        if self.filter != 0:
            candidates = []
            marked = standing.by_permit
            if marked is None or marked.top < self.sequence:
                marked = standing.by_watermark
            assert marked is not None, "it is narrowed by one of the two"
            for target in sorted(marked.but):
                if truths.filter.has(self.filter, target) or target in self.exceptions:
                    candidates.append(target)
        kept: list[int] = []
        for target in candidates:
            if standing.permits(target, self.sequence):
                continue
            marked = standing.by_watermark
            if own_only and marked is not None and marked.at(target) >= self.sequence:
                continue
            kept.append(target)
        changed = self.filter != 0 or len(kept) < len(self.exceptions)
        self.filter = 0
        self.exceptions = tuple(kept)
        return changed

    def is_dead(self, fact: Fact, truths: KnownDeliveries) -> bool:
        """Whether what one of its facts speaks of is known to be delivered."""
        if truths.is_delivered(fact.sender, fact.target, fact.sequence):
            return True
        return truths.standing(self.source).permits(fact.target, self.sequence)

    def first_alive(self, truths: KnownDeliveries, target: i64) -> Fact | None:
        """A fact that neither is about `target` nor comes from it; forgets dead ones on the way."""
        alive = self.alive
        place: i64 = len(alive) - 1
        while place >= 0:
            fact = alive[place]
            if self.is_dead(fact, truths):
                alive[place] = alive[len(alive) - 1]
                alive.pop()
            elif fact.target != target and fact.sender != target:
                return fact
            place -= 1
        return None

    def names(self, target: i64, truths: KnownDeliveries) -> bool:
        """Whether it may be silent about something undelivered at `target`."""
        return truths.filter.has(self.filter, target) or target in self.exceptions

    def names_others(self, target: i64) -> bool:
        """Whether it may be silent about something undelivered elsewhere than at `target`."""
        if self.filter != 0:
            return True
        if not self.exceptions:
            return False
        return len(self.exceptions) > 1 or self.exceptions[0] != target

    def state(self) -> str:
        """Equal reports, equal strings: what was told, since what is forgotten follows from it."""
        return repr((self.source, self.sequence, self.told, self.index))


def is_resolved(report: PastReport, truths: KnownDeliveries, target: i64) -> bool:
    """Whether all that `report` speaks of is delivered, but at `target` and of `target`."""
    report.forget_known(truths)
    if report.ended:
        return True
    if report.names_others(target):
        return False
    return report.first_alive(truths, target) is None


def states(reports: list[PastReport]) -> list[str]:
    """The states of `reports`, whatever their order."""
    return sorted([report.state() for report in reports])
