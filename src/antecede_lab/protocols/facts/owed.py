"""The permits that `hybrid-facts` owes: one for every copy that left with a report.

The permit of a copy is due when our own messages up to it are delivered (but at its receiver) and
the reports it rests on are resolved. Entries are kept one by one: merged ones could wait for each
other. Each queue waits for one thing at a time: an id of our own, or news about one report; so news
costs only those whom it concerns.
"""

from collections import deque
from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.delivered import KnownDeliveries
from antecede_lab.protocols.facts.reports import PastReport, is_resolved
from antecede_lab.protocols.facts.window import NOBODY, Window

MERGE_MIN: Final = 64
"""Permits that may be owed without a look at whether some of them can be merged."""


@final
class OwedPermit:
    """The permit of message `sequence`, and the reports it waits for."""

    MADE_OF: ClassVar = ("sequence", "reports")

    __slots__ = ("reports", "sequence")

    def __init__(self, sequence: i64, reports: list[PastReport]) -> None:
        self.sequence: Final[i64] = sequence
        self.reports: Final = reports


@final
class OwedQueue:
    """What is owed to one process, and what it has been given."""

    MADE_OF: ClassVar = ("target",)

    __slots__ = (
        "dirty",
        "due",
        "given_except",
        "given_exceptions",
        "permitted",
        "queue",
        "target",
        "waits_for",
        "watched_sender",
        "watched_source",
    )

    def __init__(self, target: i64) -> None:
        self.target: Final[i64] = target
        self.queue: deque[OwedPermit] = deque()
        # The highest id permitted without exceptions, and the last one with exceptions.
        self.permitted: i64 = 0
        self.given_except: i64 = 0
        self.given_exceptions: tuple[int, ...] = ()
        # The permit to be sent now.
        self.due: i64 = 0
        # What may free the first one: one of our own ids, or news about these processes.
        self.waits_for: i64 = 0
        self.watched_source: i64 = NOBODY
        self.watched_sender: i64 = NOBODY
        self.dirty = False


@final
class OwedReports:
    """All the permits that one process owes."""

    MADE_OF: ClassVar = ("_exceptions_max",)

    __slots__ = ("_at_own", "_dirty", "_exceptions_max", "_merge_at", "_of", "_watchers", "size")

    def __init__(self, exceptions_max: i64) -> None:
        self._exceptions_max: Final[i64] = exceptions_max
        self._of: dict[int, OwedQueue] = {}
        self._dirty: list[OwedQueue] = []
        # Who waits for news about a process, and who for one of our own ids to be settled.
        self._watchers: dict[int, dict[int, bool]] = {}
        self._at_own: dict[int, list[int]] = {}
        self.size: i64 = 0
        self._merge_at: i64 = MERGE_MIN

    def queue_of(self, target: i64) -> OwedQueue:
        """What is owed to `target`."""
        found = self._of.get(target)
        if found is None:
            found = OwedQueue(target)
            self._of[target] = found
        return found

    def add(self, target: i64, sequence: i64, reports: list[PastReport]) -> None:
        """A copy left with a report: its permit is owed from now on."""
        owed = self.queue_of(target)
        owed.queue.append(OwedPermit(sequence, reports))
        self.size += 1
        if len(owed.queue) == 1:
            self._touch(owed)

    def clean(self, target: i64, sequence: i64) -> None:
        """A copy left clean, which is a permit."""
        self.queue_of(target).permitted = sequence

    # News.

    def risen(self, process: i64) -> None:
        """More is known of the messages of `process`."""
        watching = self._watchers.pop(process, None)
        if watching is not None:
            for target in watching:
                self._touch(self._of[target])

    def settled(self, first: i64, after: i64) -> None:
        """Our own messages from `first` to before `after` are acknowledged by all."""
        if not self._at_own:
            return
        for sequence in range(first, after):
            waiting = self._at_own.pop(sequence, None)
            if waiting is not None:
                for target in waiting:
                    owed = self._of[target]
                    owed.waits_for = 0
                    self._touch(owed)

    def touch(self, target: i64) -> None:
        """Something may have changed for what is owed to `target`."""
        owed = self._of.get(target)
        if owed is not None:
            self._touch(owed)

    def touch_all(self) -> None:
        """Something may have changed for everybody."""
        for owed in self._of.values():
            self._touch(owed)

    def _touch(self, owed: OwedQueue) -> None:
        if not owed.dirty and owed.queue:
            owed.dirty = True
            self._dirty.append(owed)

    def forget(self, target: i64) -> None:
        """Nobody is there to be permitted anything."""
        owed = self._of.get(target)
        if owed is not None:
            self._unwatch(owed)
            self.size -= len(owed.queue)
            owed.queue.clear()

    def merge(self, window: Window, truths: KnownDeliveries) -> None:
        """Let entries go that will be due together with the next one of their queue.

        Those are entries that wait for nothing but our own messages, with no unacknowledged message
        of ours in between: how far we are acknowledged passes them in one step. So what is kept
        follows what is unacknowledged, not what was sent behind it.
        """
        if self.size < self._merge_at:
            return
        unacked = sorted(window.entries)
        for owed in self._of.values():
            if len(owed.queue) > 1:
                self._merge(owed, unacked, truths)
        self._merge_at = 2 * self.size + MERGE_MIN

    def _merge(self, owed: OwedQueue, unacked: list[int], truths: KnownDeliveries) -> None:
        kept: deque[OwedPermit] = deque()
        place: i64 = 0
        for permit in owed.queue:
            between = place < len(unacked) and unacked[place] <= permit.sequence
            while place < len(unacked) and unacked[place] <= permit.sequence:
                place += 1
            last = kept[len(kept) - 1] if kept else None
            settled = not unresolved(permit, owed.target, truths)
            if last is not None and settled and not between and not last.reports:
                kept.pop()
                self.size -= 1
            kept.append(permit)
        if owed.waits_for > 0 and kept[0].sequence != owed.waits_for:
            # Whoever it was waiting with is gone: look again at what it waits for.
            self._touch(owed)
        owed.queue = kept

    # What is due.

    def due(self, window: Window, truths: KnownDeliveries) -> list[OwedQueue]:
        """Those who are to be sent a permit now, of the id in `due`."""
        found: list[OwedQueue] = []
        while self._dirty:
            owed = self._dirty.pop()
            owed.dirty = False
            last = self._pop_due(owed, window, truths)
            if last > 0:
                owed.due = last
                if last > owed.permitted:
                    owed.permitted = last
                found.append(owed)
        return found

    def _pop_due(self, owed: OwedQueue, window: Window, truths: KnownDeliveries) -> i64:
        self._unwatch(owed)
        queue = owed.queue
        last: i64 = 0
        while queue:
            permit = queue[0]
            if permit.sequence > window.plain.at(owed.target):
                if owed.waits_for != permit.sequence:
                    owed.waits_for = permit.sequence
                    self._at_own.setdefault(permit.sequence, []).append(owed.target)
                break
            if not self._is_resolved(owed, permit, truths):
                break
            last = permit.sequence
            queue.popleft()
            self.size -= 1
        return last

    def _is_resolved(self, owed: OwedQueue, permit: OwedPermit, truths: KnownDeliveries) -> bool:
        """Whether all its reports are resolved; if not, watch for what the last one waits for."""
        reports = permit.reports
        target = owed.target
        while reports:
            report = reports[len(reports) - 1]
            report.forget_known(truths)
            if not report.ended:
                sender: i64 = NOBODY
                if not report.names_others(target):
                    fact = report.first_alive(truths, target)
                    if fact is None:
                        reports.pop()
                        continue
                    sender = fact.sender
                self._watch(owed, report.source, sender)
                return False
            reports.pop()
        return True

    def _watch(self, owed: OwedQueue, source: i64, sender: i64) -> None:
        owed.watched_source = source
        self._watchers.setdefault(source, {})[owed.target] = True
        if sender != NOBODY:
            owed.watched_sender = sender
            self._watchers.setdefault(sender, {})[owed.target] = True

    def _unwatch(self, owed: OwedQueue) -> None:
        for process in (owed.watched_source, owed.watched_sender):
            if process != NOBODY:
                watching = self._watchers.get(process)
                if watching is not None:
                    watching.pop(owed.target, None)
                    if not watching:
                        del self._watchers[process]
        owed.watched_source = NOBODY
        owed.watched_sender = NOBODY

    # Permits with exceptions.

    def due_except(self, window: Window, truths: KnownDeliveries) -> list[OwedQueue]:
        """Those who are to be sent a permit with exceptions now: `given_except`."""
        found: list[OwedQueue] = []
        for owed in self._of.values():
            if owed.queue and self._grant_except(owed, window, truths):
                found.append(owed)
        return found

    def _grant_except(self, owed: OwedQueue, window: Window, truths: KnownDeliveries) -> bool:
        """Find the last entry that may be permitted with exceptions; True if that is news."""
        place: i64 = len(owed.queue) - 1
        while place >= 0:
            permit = owed.queue[place]
            if permit.sequence < owed.given_except:
                return False
            exceptions = self._exceptions(owed, permit, window, truths)
            if exceptions:
                fewer = permit.sequence == owed.given_except and is_subset(
                    exceptions, owed.given_exceptions
                )
                if permit.sequence == owed.given_except and not fewer:
                    return False
                owed.given_except = permit.sequence
                owed.given_exceptions = tuple(sorted(exceptions))
                return True
            place -= 1
        return False

    def _exceptions(
        self, owed: OwedQueue, permit: OwedPermit, window: Window, truths: KnownDeliveries
    ) -> list[int]:
        """Where else than at the receiver something may be undelivered; empty: no such permit."""
        target = owed.target
        none: list[int] = []
        if permit.sequence > window.excepting_at(target):
            return none
        found: dict[int, bool] = {}
        for suspect in window.suspects_at(permit.sequence):
            found[suspect] = True
        for report in permit.reports:
            report.forget_known(truths)
            if report.filter != 0:
                return none
            for exception in report.exceptions:
                found[exception] = True
        found.pop(target, None)
        if not found or len(found) > self._exceptions_max:
            return none
        for report in permit.reports:
            if not report.ended and tells_outside(report, truths, target, found):
                return none
        return list(found)

    # Clones.

    def state(self) -> str:
        """Equal debts, equal strings."""
        rows: list[str] = []
        for target, owed in self._of.items():
            queue = [
                (permit.sequence, sorted([report.state() for report in permit.reports]))
                for permit in owed.queue
            ]
            given = (owed.permitted, owed.given_except, owed.given_exceptions)
            rows.append(repr((target, given, queue)))
        return repr(sorted(rows))


def unresolved(permit: OwedPermit, target: i64, truths: KnownDeliveries) -> bool:
    """Whether one of its reports is not resolved; forgets those that are."""
    reports = permit.reports
    reports[:] = [report for report in reports if not is_resolved(report, truths, target)]
    return bool(reports)


def tells_outside(
    report: PastReport, truths: KnownDeliveries, target: i64, exceptions: dict[int, bool]
) -> bool:
    """Whether a live fact is about a destination that is not excepted, nor about or of `target`."""
    for fact in report.alive:
        if fact.target == target or fact.sender == target or fact.target in exceptions:
            continue
        if not report.is_dead(fact, truths):
            return True
    return False


def is_subset(exceptions: list[int], given: tuple[int, ...]) -> bool:
    """Whether there are fewer of them than before, and no others."""
    if len(exceptions) >= len(given):
        return False
    return all(exception in given for exception in exceptions)
