"""Violations that a diagram can jump to: which copies, and along which path one caused the other.

The path from the late message to the early one lies between their submissions, unless the clocks
of the log contradict its order. So it is looked for in that part of the run alone, by the same
search that the oracle uses.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from antecede.eventlog.log import DELIVERED, NULL, SUBMITTED
from antecede.eventlog.schema import KINDS, Event
from antecede_audit.judging.definition import History
from antecede_audit.judging.explain import explain
from antecede_audit.judging.findings import MessageId, OracleVerdict, Violation
from antecede_audit.judging.oracle import check_log
from antecede_audit.judging.witness import find_witness
from antecede_audit.report.spacetime.diagram import ShownViolation
from antecede_audit.report.spacetime.recording import MISSING, Recording, Row

JUDGED_MESSAGES: Final = 5_000
JUDGED_DELIVERIES: Final = 50_000
"""Longer runs are not judged without being asked: the oracle is slow and thorough."""

SEARCHED_COPIES: Final = 5_000
"""A witness is looked for among this many copies at most."""


def judged(rows: Iterable[Row]) -> OracleVerdict | None:
    """What the oracle says about a log; None if it is too long for that."""
    events: list[Event] = []
    submitted: set[tuple[int, int]] = set()
    deliveries = 0
    for row in rows:
        process, position, kind, sender, sequence, target, _, _, time_ns, _, _ = row
        if kind not in (SUBMITTED, DELIVERED) or sender == NULL:
            continue
        submitted.add((sender, sequence))
        deliveries += kind == DELIVERED
        if len(submitted) > JUDGED_MESSAGES or deliveries > JUDGED_DELIVERIES:
            return None
        event = Event(
            process=process,
            position=position,
            kind=KINDS[kind],
            sender=sender,
            sequence=sequence,
            target=None if target == NULL else target,
            time_ns=time_ns,
        )
        events.append(event)
    return check_log(events)


class WitnessFinder:
    """Finds copies and witnesses in one run."""

    def __init__(self, run: Recording) -> None:
        self._run: Final = run
        self._place: Final = {process: row for row, process in enumerate(run.processes)}
        copies = run.copies
        self._numbers: Final = {
            (copies.sender[copy], copies.sequence[copy], copies.target[copy]): copy
            for copy in range(len(copies))
        }
        self._times: Final = sorted(
            (time_ns, copy, kind)
            for kind, column in ((SUBMITTED, copies.submitted_ns), (DELIVERED, copies.delivered_ns))
            for copy, time_ns in enumerate(column)
            if time_ns != MISSING
        )

    def shown(self, violations: Iterable[Violation]) -> list[ShownViolation]:
        """Those of them whose messages are in this run, in words and as copies."""
        found: list[ShownViolation] = []
        for violation in violations:
            early = self._copy(violation.early, violation.process)
            late = self._copy(violation.late, violation.process)
            if early is None or late is None:
                continue
            witness = violation.witness or self._witness(violation, early, late)
            told = self._in_times_of_the_run(violation, witness)
            found.append(
                ShownViolation(
                    text=explain(told, self._run.people),
                    early=early,
                    late=late,
                    path=self._path(told.witness),
                    held_back_ns=told.held_back_ns,
                )
            )
        return found

    def _copy(self, message: MessageId, process: int) -> int | None:
        sender, target = self._place.get(message.sender), self._place.get(process)
        if sender is None or target is None:
            return None
        return self._numbers.get((sender, message.sequence, target))

    def _in_times_of_the_run(self, violation: Violation, witness: tuple[Event, ...]) -> Violation:
        start_ns = self._run.start_ns
        return replace(
            violation,
            early_delivered_ns=violation.early_delivered_ns - start_ns,
            late_delivered_ns=violation.late_delivered_ns - start_ns,
            witness=tuple(replace(event, time_ns=event.time_ns - start_ns) for event in witness),
        )

    def _witness(self, violation: Violation, early: int, late: int) -> tuple[Event, ...]:
        """Why one message caused the other; nothing if that cannot be found."""
        events = self._between(late, early)
        if events is None:
            return ()
        history = History(events)
        past = history.past()
        known = violation.late in history.submitted and violation.early in history.submitted
        if not known or not past.of(violation.early) & past.bit[violation.late]:
            return ()
        return find_witness(history, violation.late, violation.early, violation.process)

    def _between(self, late: int, early: int) -> list[Event] | None:
        """The events from one submission to the other; None if there are too many."""
        times = self._run.copies.submitted_ns
        begin_ns, end_ns = times[late], times[early]
        if begin_ns == MISSING or end_ns == MISSING:
            return None
        first = bisect_left(self._times, (begin_ns,))
        last = bisect_right(self._times, (end_ns + 1,))
        if last - first > 2 * SEARCHED_COPIES:
            return None
        return [self._event(copy, kind) for _, copy, kind in self._times[first:last]]

    def _event(self, copy: int, kind: int) -> Event:
        run, copies = self._run, self._run.copies
        submitted = kind == SUBMITTED
        row = copies.sender[copy] if submitted else copies.target[copy]
        return Event(
            process=run.processes[row],
            position=(copies.submitted_at if submitted else copies.delivered_at)[copy],
            kind=KINDS[kind],
            sender=run.processes[copies.sender[copy]],
            sequence=copies.sequence[copy],
            target=run.processes[copies.target[copy]],
            time_ns=run.start_ns
            + (copies.submitted_ns if submitted else copies.delivered_ns)[copy],
        )

    def _path(self, witness: Sequence[Event]) -> tuple[int, ...]:
        """The copies that the witness delivers, one after the other."""
        found: list[int] = []
        for event in witness:
            if event.kind == KINDS[DELIVERED] and event.sender is not None:
                assert event.sequence is not None, "it names a message"
                copy = self._copy(MessageId(event.sender, event.sequence), event.process)
                if copy is not None:
                    found.append(copy)
        return tuple(found)
