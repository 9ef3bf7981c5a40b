"""Judges slices in the Python workers of Spark: copies in, findings out.

A slice is a stretch of time of one large run, with an overlap into the next, or some small runs as
a whole. Whatever happens within a flight is visible in a slice that the flight begins in, if it
is no longer than the overlap; so each slice judges the copies submitted in its own stretch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa

from antecede.audit.kernel import NONE
from antecede.pipeline.audit import findings as f
from antecede.pipeline.audit.copies import NEVER, ArrowBatch, Copies, Flags, Integers
from antecede.pipeline.audit.findings import ArrowTable
from antecede.pipeline.audit.judging import (
    LATEST,
    NOTHING,
    Events,
    Overtakings,
    disordered_places,
    find_events,
    find_messages,
    find_overtakings,
    in_order_of_time,
    number_places,
    relevant_events,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A stretch of time: what begins in it is judged here, what happens up to `end_ns` is seen."""

    start_ns: int
    next_ns: int
    end_ns: int


def judge_slices(
    batches: Iterator[ArrowBatch], slices: Mapping[int, Slice]
) -> Iterator[ArrowBatch]:
    """The findings of each slice; a slice without an entry in `slices` has whole runs.

    In: the columns of `Copies`, and `slice`, by which the rows are sorted.
    """
    for number, parts in grouped(batches, "slice"):
        judge = SliceJudge(Copies.of_batches(parts), number, slices.get(number))
        yield from judge.findings().to_batches()


def pieces(batches: Iterator[ArrowBatch], column: str) -> Iterator[tuple[int, ArrowBatch]]:
    """The batches, cut where the number in `column` changes, each with its number."""
    for batch in batches:
        numbers = batch.column(column).to_numpy()
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            yield int(numbers[start]), batch.slice(start, end - start)


def grouped(batches: Iterator[ArrowBatch], column: str) -> Iterator[tuple[int, list[ArrowBatch]]]:
    """The rows with each number in `column`, which follow each other; holds one group at a time."""
    for number, parts in groupby(pieces(batches, column), key=itemgetter(0)):
        yield number, [batch for _, batch in parts]


class SliceJudge:
    """Judges one slice and collects what there is to report."""

    def __init__(self, copies: Copies, number: int, stretch: Slice | None) -> None:
        self._copies = copies
        self._number = number
        self._stretch = stretch
        self._tables: list[ArrowTable] = [f.findings_table(f.DISORDER, run=NOTHING)]
        self._was_submitted = copies.submitted_position != NEVER
        self._was_delivered = copies.delivered_position != NEVER
        self._submitted = self._was_submitted & self._is_seen(copies.submitted_ns)
        self._delivered = self._was_delivered & self._is_seen(copies.delivered_ns)
        self._own = self._is_own(
            np.where(self._was_submitted, copies.submitted_ns, copies.delivered_ns)
        )
        self._places = number_places(copies)
        self._messages = find_messages(copies, self._places, self._submitted)
        self._events = find_events(copies, self._places, self._messages, self._delivered)

    def _is_seen(self, time_ns: Integers) -> Flags:
        if self._stretch is None:
            return np.ones(len(time_ns), np.bool_)
        return (time_ns >= self._stretch.start_ns) & (time_ns < self._stretch.end_ns)

    def _is_own(self, time_ns: Integers) -> Flags:
        if self._stretch is None:
            return np.ones(len(time_ns), np.bool_)
        return (time_ns >= self._stretch.start_ns) & (time_ns < self._stretch.next_ns)

    def findings(self) -> ArrowTable:
        """Everything there is to say about the slice."""
        self._report_copies()
        self._report_messages()
        if self._stretch is not None:
            self._report_spans()
        unjudged = self._report_disorder()
        events = relevant_events(self._events, self._messages)
        events = events.chosen(~np.isin(self._places.run[events.place], unjudged))
        self._judge(in_order_of_time(events))
        return pa.concat_tables(self._tables)

    def _report_copies(self) -> None:
        """Duplicates, losses, inventions and long flights among the copies that begin here."""
        copies, submitted, delivered = self._copies, self._was_submitted, self._was_delivered
        self._report(
            f.DUPLICATE,
            copies.deliveries > 1,
            position=copies.delivered_position,
            time_ns=copies.delivered_ns,
            other_ns=copies.last_delivered_ns,
            number=copies.deliveries,
        )
        self._report(
            f.LOSS,
            submitted & ~delivered & (copies.process != NEVER),
            position=copies.submitted_position,
            time_ns=copies.submitted_ns,
        )
        self._report(
            f.INVENTION,
            delivered & ~submitted,
            position=copies.delivered_position,
            time_ns=copies.delivered_ns,
        )
        self._report(
            f.LONG,
            submitted & delivered & ~self._delivered,
            position=copies.submitted_position,
            time_ns=copies.submitted_ns,
            other_position=copies.delivered_position,
            other_ns=copies.delivered_ns,
        )

    def _report(self, what: int, which: Flags, **columns: Integers) -> None:
        """Report those of the flagged copies that begin in this stretch."""
        chosen = np.flatnonzero(which & self._own)
        if len(chosen):
            for name in ("run", "sender", "sequence", "process"):
                columns[name] = getattr(self._copies, name)
            rows = {name: column[chosen] for name, column in columns.items()}
            self._tables.append(f.findings_table(what, **rows))

    def _report_messages(self) -> None:
        """How many messages of each run are submitted here."""
        messages = self._messages
        own = (messages.position != LATEST) & self._is_own(messages.time_ns)
        runs, counts = np.unique(self._places.run[messages.place[own]], return_counts=True)
        self._tables.append(f.findings_table(f.MESSAGES, run=runs, number=counts))

    def _report_spans(self) -> None:
        """Which positions, and which sequences of its own, each process has in this stretch."""
        events = self._events.chosen(self._is_own(self._events.time_ns))
        places, first = np.unique(events.place, return_index=True)
        last = np.append(first, len(events.place))[1:] - 1
        low, high = np.full(len(self._places), LATEST), np.full(len(self._places), -LATEST)
        submissions = events.chosen(events.copy == NONE)
        np.minimum.at(low, submissions.place, self._messages.sequence[submissions.message])
        np.maximum.at(high, submissions.place, self._messages.sequence[submissions.message])
        self._tables.append(
            f.findings_table(
                f.SPAN,
                run=self._places.run[places],
                process=self._places.process[places],
                position=events.position[first],
                other_position=events.position[last],
                sequence=low[places],
                other_sequence=high[places],
                number=self._number,
            )
        )

    def _report_disorder(self) -> Integers:
        """The runs whose clocks do not allow slices, and why."""
        copies, messages, events = self._copies, self._messages, self._events
        early = self._was_submitted & self._was_delivered
        early &= copies.delivered_ns < copies.submitted_ns
        deliveries = events.chosen(events.copy != NONE)
        deliveries = deliveries.chosen(messages.position[deliveries.message] != LATEST)
        misdirected = deliveries.time_ns < messages.time_ns[deliveries.message]
        scattered = self._submitted & (copies.submitted_ns != messages.time_ns[messages.of_copy])
        run_of_place = self._places.run
        reasons = (
            (f.BACKWARDS, run_of_place[disordered_places(events)]),
            (f.BEFORE_SUBMISSION, copies.run[early]),
            (f.BEFORE_SUBMISSION, run_of_place[deliveries.place[misdirected]]),
            (f.SCATTERED, copies.run[scattered]),
        )
        for reason, runs in reasons:
            self._tables.append(f.findings_table(f.DISORDER, run=np.unique(runs), number=reason))
        return np.concatenate([runs for _, runs in reasons])

    def _judge(self, events: Events) -> None:
        """Report what came too early because of a copy that begins in this stretch."""
        copies = self._copies
        watched = (copies.overtaken != 0) & self._own & self._submitted & self._delivered
        found = find_overtakings(copies, events, watched, len(self._places))
        self._tables.append(violations_table(copies, found))
        stalled = np.unique(self._places.run[found.stalled])
        self._tables.append(f.findings_table(f.DISORDER, run=stalled, number=f.CIRCLE))


def violations_table(copies: Copies, found: Overtakings) -> ArrowTable:
    """Pairs of copies, one too early and the other late, as findings."""
    early, late = found.early, found.late
    return f.findings_table(
        f.VIOLATION,
        run=copies.run[early],
        sender=copies.sender[early],
        sequence=copies.sequence[early],
        process=copies.process[early],
        position=copies.delivered_position[early],
        time_ns=copies.delivered_ns[early],
        other_sender=copies.sender[late],
        other_sequence=copies.sequence[late],
        other_position=copies.delivered_position[late],
        other_ns=copies.delivered_ns[late],
    )
