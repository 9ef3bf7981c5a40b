"""What a copy says of its past: all of it in facts if they fit, else as much as does.

Facts about one destination stand together or not at all, so that a packet is complete for every
destination that is neither in its filter nor among its exceptions. Where not all fit, the largest
groups about stalled destinations become exceptions by name, then the smallest groups are written,
and the filter speaks for the rest.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.delivered import ID_BITS, SENDER_MASK, KnownDeliveries, pair
from antecede_lab.protocols.facts.packets import Fact, Mark, PastReportField
from antecede_lab.protocols.facts.past import Past, tells_others
from antecede_lab.protocols.facts.reports import PastReport


@final
class Draft:
    """A copy as it could leave now, and the reports that its permit will wait for."""

    __slots__ = ("must", "report", "unresolved")

    def __init__(
        self, must: list[Mark], report: PastReportField | None, unresolved: list[PastReport]
    ) -> None:
        self.must: Final = must
        self.report: Final = report
        self.unresolved: Final = unresolved

    def is_complete(self) -> bool:
        """Whether nothing had to go into the filter."""
        return self.report is None or self.report.filter == 0


@final
class ReportDrafter:
    """Writes the reports of one process, within its budget."""

    MADE_OF: ClassVar = ("_me", "_past", "_truths", "_facts_max", "_exceptions_max")

    __slots__ = ("_exceptions_max", "_facts_max", "_me", "_past", "_stamp", "_truths")

    def __init__(
        self, me: i64, past: Past, truths: KnownDeliveries, facts_max: i64, exceptions_max: i64
    ) -> None:
        self._me: Final[i64] = me
        self._past: Final = past
        self._truths: Final = truths
        self._facts_max: Final[i64] = facts_max
        self._exceptions_max: Final[i64] = exceptions_max
        self._stamp: i64 = 0

    def draft(self, target: i64, must: list[Mark], stalled: dict[int, bool]) -> Draft | None:
        """The copy to `target` with what it says of its past; None if it has to wait."""
        past = self._past
        budget = self._facts_max - len(must)
        count = past.facts_for(target)
        exceptions = self._exceptions_for(target)
        if exceptions or (count > budget and stalled and self._exceptions_max > 0):
            return self._with_exceptions(target, must, budget, exceptions, stalled)
        mask = past.filter_for(target)
        if count == 0 and mask == 0:
            return Draft(must, None, [])
        if (count > budget or mask != 0) and past.is_deep_for(target):
            return None
        if count <= budget:
            return self._with_all(target, must, mask)
        return self._with_groups(target, must, budget, mask, [])

    def _exceptions_for(self, target: i64) -> list[int]:
        """The exceptions of the past, ascending."""
        found: dict[int, bool] = {}
        for source, report in self._past.incomplete.items():
            if source != target:
                for exception in report.exceptions:
                    if exception != target:
                        found[exception] = True
        return sorted(found)

    def _with_all(self, target: i64, must: list[Mark], mask: i64) -> Draft:
        """Everything fits."""
        past = self._past
        self._stamp += 1
        unresolved: list[PastReport] = []
        keys: list[int] = []
        for key in past.live_keys():
            fact = past.known(key)
            if fact.target == target or fact.sender == target:
                continue
            held = False
            for source in fact.holders:
                if source != target:
                    held = True
                    self._note(past.reports[source], unresolved)
            if held:
                keys.append(key)
        for report in past.incomplete.values():
            if report.source != target and report.names_others(target):
                self._note(report, unresolved)
        for other in past.pending:
            if other != target:
                keys.append(pair(other, self._me))
        return self._finished(target, must, mask, [], keys, unresolved)

    def _note(self, report: PastReport, unresolved: list[PastReport]) -> None:
        if report.mark_seen(self._stamp):
            unresolved.append(report)

    def _with_groups(
        self, target: i64, must: list[Mark], budget: i64, mask: i64, exceptions: list[int]
    ) -> Draft:
        """The smallest groups first while they fit; the filter speaks for the rest."""
        truths = self._truths
        unresolved = self._unresolved(target)
        if truths.filter.width == 0:
            return self._finished(target, must, truths.filter.all, [], [], unresolved)
        sizes = self._group_sizes(target)
        for exception in exceptions:
            sizes.pop(exception, None)
        keys: list[int] = []
        for size, other in sorted([(size, other) for other, size in sizes.items()]):
            if size <= budget:
                budget -= size
                self._append_group(other, target, keys)
            else:
                budget = -1
                mask |= truths.filter.bit(other)
        return self._finished(target, must, mask, exceptions, keys, unresolved)

    def _with_exceptions(
        self,
        target: i64,
        must: list[Mark],
        budget: i64,
        exceptions: list[int],
        stalled: dict[int, bool],
    ) -> Draft | None:
        """The same where destinations are named: those of the past, and stalled ones of our own."""
        sizes = self._group_sizes(target)
        for exception in exceptions:
            sizes.pop(exception, None)
        count: i64 = sum(sizes.values())
        while count > budget and len(exceptions) < self._exceptions_max:
            largest = self._largest(sizes, stalled)
            if largest < 0:
                break
            exceptions.append(largest)
            count -= sizes.pop(largest)
        exceptions.sort()
        truths = self._truths
        mask = self._past.filter_for(target)
        while len(exceptions) > self._exceptions_max:
            mask |= truths.filter.bit(exceptions.pop())
        if (count > budget or mask != 0) and self._past.is_deep_for(target):
            return None
        if mask != 0 and truths.filter.width == 0:
            budget = -1
        if count > budget:
            return self._with_groups(target, must, budget, mask, exceptions)
        return self._with_named(target, must, mask, exceptions, sizes)

    def _with_named(
        self,
        target: i64,
        must: list[Mark],
        mask: i64,
        exceptions: list[int],
        sizes: dict[int, int],
    ) -> Draft:
        """Everything fits but what the exceptions stand for."""
        keys: list[int] = []
        for other in sizes:
            self._append_group(other, target, keys)
        unresolved = self._unresolved(target)
        return self._finished(target, must, mask, exceptions, keys, unresolved)

    def _largest(self, sizes: dict[int, int], stalled: dict[int, bool]) -> i64:
        """The stalled destination with most facts, the lowest of equals; -1 if there is none."""
        best: i64 = -1
        for other in stalled:
            size = sizes.get(other, 0)
            if size == 0:
                continue
            if best < 0 or size > sizes[best] or (size == sizes[best] and other < best):
                best = other
        return best

    def _group_sizes(self, target: i64) -> dict[int, int]:
        """How many facts there are about each destination that `target` must be told of."""
        past = self._past
        sizes: dict[int, int] = {}
        for other, known in past.by_target.items():
            if other != target:
                size = len(known)
                if target in known:
                    size -= 1
                sizes[other] = size
        own = past.holding.get(target)
        if own is not None:
            for key in own.live:
                fact = past.known(key)
                if len(fact.holders) == 1 and fact.sender != target and fact.target != target:
                    sizes[fact.target] -= 1
        for other in past.pending:
            if other != target:
                sizes[other] = sizes.get(other, 0) + 1
        return {other: size for other, size in sizes.items() if size > 0}

    def _append_group(self, other: i64, target: i64, keys: list[int]) -> None:
        past = self._past
        for sender, fact in past.by_target.get(other, {}).items():
            if sender != target and fact.highest(target) > 0:
                keys.append(pair(other, sender))
        if other in past.pending:
            keys.append(pair(other, self._me))

    def _unresolved(self, target: i64) -> list[PastReport]:
        """The reports that say anything not about or of `target`."""
        past = self._past
        self._stamp += 1
        unresolved: list[PastReport] = []
        for report in past.holding.values():
            if report.source != target and tells_others(report, target):
                self._note(report, unresolved)
        for report in past.incomplete.values():
            if report.source != target and report.names_others(target):
                self._note(report, unresolved)
        return unresolved

    def _finished(
        self,
        target: i64,
        must: list[Mark],
        mask: i64,
        exceptions: list[int],
        keys: list[int],
        unresolved: list[PastReport],
    ) -> Draft:
        past = self._past
        truths = self._truths
        keys.sort()
        facts: list[Fact] = []
        for key in keys:
            sender = key & SENDER_MASK
            other = key >> ID_BITS
            # A set bit speaks for all that share it: facts about them would add nothing.
            if mask != 0 and truths.filter.has(mask, other):
                continue
            if sender == self._me:
                facts.append(Fact(sender, other, past.pending[other]))
            else:
                facts.append(Fact(sender, other, past.known(key).highest(target)))
        hops: i64 = 0
        for report in unresolved:
            if report.hops > hops:
                hops = report.hops
        return Draft(must, PastReportField(mask, tuple(exceptions), facts, hops + 1), unresolved)
