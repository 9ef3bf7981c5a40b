"""Judges rows, in Python workers of Spark or in this process: a slice of a run, or whole runs.

A slice is a stretch of time of one large run, with an overlap into the next, or some small runs as
a whole. Whatever happens within a flight is visible in a slice that the flight begins in, if it
is no longer than the overlap; so each slice judges the copies submitted in its own stretch. Copies
that it sees only one end of it reports as open, for somebody to put the ends together.

Whole runs whose clocks cannot be trusted are judged by the graph of events alone. Positions and
messages give an order of all events, or say that there is none. Where there is one, the place in it
serves as a clock, and everything goes on as in a slice. A run is held in memory as a whole then,
about 400 bytes a copy: this is for small ones. In large ones only the stretches in which the clock
is wrong are judged without it (`antecede_audit.spark.clocks`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrays import LATEST, equal_runs, extremes
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.judging.copies import NEVER, ArrowBatch, Copies, Rows, gather_copies
from antecede_audit.judging.definition import Order
from antecede_audit.judging.kernel_input import (
    NOTHING,
    KernelEvents,
    Overtakings,
    could_be_late,
    disordered_places,
    find_events,
    find_messages,
    find_overtakings,
    in_causal_order,
    in_order_of_time,
    judge_cycle,
    number_places,
    relevant_events,
)
from antecede_audit.judging.raw_findings import (
    BACKWARDS,
    BEFORE_SUBMISSION,
    CAUSED,
    CIRCLE,
    DISORDER,
    DUPLICATE,
    INVENTION,
    LOSS,
    MESSAGES,
    OPEN,
    ORDER_CODES,
    SCATTERED,
    SPAN,
    VIOLATION,
    ArrowTable,
    findings_table,
    packed_findings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A stretch of time: what begins in it is judged here, what happens up to `end_ns` is seen."""

    start_ns: int
    next_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrustedTimes:
    """Stretches of a run in which the clock is wrong: all of what is in one counts as one time."""

    start_ns: Integers
    end_ns: Integers
    """Where each ends; no two touch."""

    def blurred(self, clock_ns: Integers) -> Integers:
        """The same times, or the start of the stretch that they are in."""
        inside, place = self._inside(clock_ns)
        return np.where(inside, self.start_ns[place], clock_ns)

    def latest(self, clock_ns: Integers) -> Integers:
        """The same times, or the last one of the stretch that they are in."""
        inside, place = self._inside(clock_ns)
        return np.where(inside, self.end_ns[place] - 1, clock_ns)

    def _inside(self, clock_ns: Integers) -> tuple[Flags, Integers]:
        place = np.searchsorted(self.start_ns, clock_ns, side="right") - 1
        inside = (place >= 0) & (clock_ns < self.end_ns[place])
        return inside, np.maximum(place, 0)


def with_untrusted_times(rows: Rows, blurs: Mapping[int, UntrustedTimes]) -> Rows:
    """The rows with times that respect causality, as far as they are in stretches that do not."""
    if not blurs or not len(rows):
        return rows
    clock_ns = rows.clock_ns.copy()
    for run in np.unique(rows.run).tolist():
        if run in blurs:
            ours = rows.run == run
            clock_ns[ours] = blurs[run].blurred(clock_ns[ours])
    return replace(rows, clock_ns=clock_ns)


def pieces(batches: Iterator[ArrowBatch], column: str) -> Iterator[tuple[int, ArrowBatch]]:
    """The batches, cut where the number in `column` changes, each with its number."""
    for batch in batches:
        numbers = batch.column(column).to_numpy()
        for start, end in equal_runs(numbers):
            yield int(numbers[start]), batch.slice(start, end - start)


def grouped(batches: Iterator[ArrowBatch], column: str) -> Iterator[tuple[int, list[ArrowBatch]]]:
    """The rows with each number in `column`, which follow each other; holds one group at a time."""
    for number, parts in groupby(pieces(batches, column), key=itemgetter(0)):
        yield number, [batch for _, batch in parts]


def rows_of_slices(
    batches: Iterator[ArrowBatch], blurs: Mapping[int, UntrustedTimes]
) -> Iterator[tuple[int, Rows]]:
    """The rows of each slice, and its number, one slice after the other.

    In: what `into_slices` returns; the packed batches of one slice follow each other.
    """
    for number, parts in grouped(batches, "partition"):
        contents = (content for part in parts for content in part.column("content"))
        yield number, with_untrusted_times(Rows.of_packed(contents), blurs)


class SliceJudge:
    """Judges one slice and collects what there is to report."""

    def __init__(
        self, rows: Rows, number: int, stretch: Slice | None, orders: Sequence[Order]
    ) -> None:
        gathered = gather_copies(rows)
        self._rows = rows
        self._of_row = gathered.of_row
        self._copies = copies = gathered.copies
        self._number = number
        self._stretch = stretch
        self._orders = orders
        self._tables: list[ArrowTable] = [findings_table(DISORDER, run=NOTHING)]
        self._submitted = copies.submitted_position != NEVER
        self._delivered = copies.delivered_position != NEVER
        self._own = self._is_own(
            np.where(self._submitted, copies.submitted_clock_ns, copies.delivered_clock_ns)
        )
        self._places = number_places(copies)
        self._messages = find_messages(copies, gathered.messages, self._places, self._submitted)
        self._events = find_events(copies, self._places, self._messages, self._delivered)

    def _is_own(self, clock_ns: Integers) -> Flags:
        if self._stretch is None:
            return np.ones(len(clock_ns), np.bool_)
        return (clock_ns >= self._stretch.start_ns) & (clock_ns < self._stretch.next_ns)

    def findings(self) -> ArrowTable:
        """Everything there is to say about the slice."""
        if self._stretch is None:
            self._report_copies()
        else:
            self._report_open()
            del self._rows, self._of_row  # From here on there are copies, and memory is dear.
            self._report_spans()
        self._report_messages()
        unjudged = self._report_disorder()
        events = self._events
        if len(unjudged):
            events = events.chosen(~np.isin(self._places.run[events.place], unjudged))
        self._judge(events)
        return pa.concat_tables(self._tables)

    def _report_copies(self) -> None:
        """Duplicates, losses and inventions, if everything there is about a copy is here."""
        copies, submitted, delivered = self._copies, self._submitted, self._delivered
        self._report(
            DUPLICATE,
            copies.deliveries > 1,
            position=copies.delivered_position,
            time_ns=copies.delivered_ns,
            other_ns=copies.last_delivered_ns,
            number=copies.deliveries,
        )
        self._report(
            LOSS,
            submitted & ~delivered & (copies.process != NEVER),
            position=copies.submitted_position,
            time_ns=copies.submitted_ns,
        )
        self._report(
            INVENTION,
            delivered & ~submitted,
            position=copies.delivered_position,
            time_ns=copies.delivered_ns,
        )

    def _report_open(self) -> None:
        """The copies of which this slice sees one end, or more deliveries than one."""
        copies, rows = self._copies, self._rows
        own_deliveries = rows.delivered & self._is_own(rows.clock_ns)
        count = np.bincount(self._of_row[own_deliveries], minlength=len(copies))
        complete = (copies.deliveries == 1) & (count == 1)
        begun_here = self._submitted & self._own & ~complete & (copies.process != NEVER)
        self._report(
            OPEN,
            begun_here | (~self._submitted & (count > 0)),
            position=copies.submitted_position,
            time_ns=copies.submitted_ns,
            clock_ns=copies.submitted_clock_ns,
            other_position=copies.delivered_position,
            other_ns=copies.delivered_ns,
            other_clock_ns=copies.delivered_clock_ns,
            other_sequence=copies.delivered_trace,
            number=count,
        )

    def _report(self, what: int, which: Flags, **columns: Integers) -> None:
        """Report the flagged copies."""
        chosen = np.flatnonzero(which)
        if len(chosen):
            for name in ("run", "sender", "sequence", "process"):
                columns[name] = getattr(self._copies, name)
            rows = {name: column[chosen] for name, column in columns.items()}
            self._tables.append(findings_table(what, **rows))

    def _report_messages(self) -> None:
        """How many messages of each run are submitted here."""
        by_place = np.bincount(self._messages.place[self._own_messages()])
        runs, place = np.unique(self._places.run[: len(by_place)], return_inverse=True)
        counts = np.bincount(place, by_place).astype(np.int64)
        told = counts > 0
        self._tables.append(findings_table(MESSAGES, run=runs[told], number=counts[told]))

    def _own_messages(self) -> Flags:
        """Which messages are submitted in this stretch, as far as one can see."""
        messages = self._messages
        own: Flags = (messages.position != LATEST) & self._is_own(messages.clock_ns)
        return own

    def _report_spans(self) -> None:
        """Which positions, and which sequences of its own, each process has in this stretch."""
        events, messages = self._events, self._messages
        own = np.flatnonzero(self._is_own(events.clock_ns))
        stretches = np.array(equal_runs(events.place[own]), np.int64).reshape(-1, 2)
        first, last = own[stretches[:, 0]], own[stretches[:, 1] - 1]
        places = events.place[first]
        sent = self._own_messages()
        low, high = extremes(messages.place[sent], messages.sequence[sent], len(self._places))
        self._tables.append(
            findings_table(
                SPAN,
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
        """The runs whose clocks do not say in which order things happened, and why."""
        copies, messages, events = self._copies, self._messages, self._events
        begun_ns = np.where(messages.position == LATEST, -LATEST, messages.clock_ns)
        early = events.clock_ns < begun_ns[events.message]
        both = self._submitted & self._delivered
        early_copies = both & (copies.delivered_clock_ns < copies.submitted_clock_ns)
        scattered = copies.submitted_clock_ns != messages.clock_ns[messages.of_copy]
        run_of_place = self._places.run
        reasons = (
            (BACKWARDS, run_of_place[disordered_places(events)]),
            (BEFORE_SUBMISSION, run_of_place[events.place[early]]),
            (BEFORE_SUBMISSION, copies.run[early_copies]),
            (SCATTERED, copies.run[self._submitted & scattered]),
        )
        for reason, runs in reasons:
            if len(runs):
                runs = np.unique(runs)
                self._tables.append(findings_table(DISORDER, run=runs, number=reason))
        return np.concatenate([runs for _, runs in reasons])

    def _judge(self, events: KernelEvents) -> None:
        """Report what came too early because of a copy that begins in this stretch."""
        copies = self._copies
        timed = in_order_of_time(events, relevant_events(events, self._messages))
        may_be_late = self._own & self._submitted & self._delivered
        watched = may_be_late & could_be_late(events, self._messages, len(copies))
        for order in self._orders:
            found = find_overtakings(copies, timed, watched, len(self._places), order)
            if len(found.stalled) and self._stretch is not None:
                self._settle(events, order, may_be_late)
                continue
            self._tables.append(violations_table(copies, found, order))
            stalled = np.unique(self._places.run[found.stalled])
            self._tables.append(findings_table(DISORDER, run=stalled, number=CIRCLE))

    def _settle(self, events: KernelEvents, order: Order, may_be_late: Flags) -> None:
        """Judge events that contradict each other."""
        visible = self._messages.position != LATEST
        events = events.chosen(visible[events.message])
        found, caused = judge_cycle(
            events, len(self._places), order, may_be_late, self._own_messages()
        )
        self._tables += [
            violations_table(self._copies, found, order),
            findings_table(
                CAUSED, run=self._copies.run[:1], number=caused, order=ORDER_CODES[order]
            ),
        ]


def violations_table(copies: Copies, found: Overtakings, order: Order) -> ArrowTable:
    """Pairs of copies, one too early and the other late, as findings."""
    early, late = found.early, found.late
    return findings_table(
        VIOLATION,
        order=ORDER_CODES[order],
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


def judge_slices(
    batches: Iterator[ArrowBatch],
    slices: Mapping[int, Slice],
    orders: Sequence[Order],
    blurs: Mapping[int, UntrustedTimes],
    buckets: int,
) -> Iterator[ArrowBatch]:
    """The findings of each slice; a slice without an entry in `slices` has whole runs.

    In:  what `into_slices` returns; the packed batches of one slice follow each other.
    Out: `PACKED`, of which violations are in this number of buckets.
    """
    for number, rows in rows_of_slices(batches, blurs):
        if number in slices:
            judge = SliceJudge(rows, number, slices[number], orders)
            del rows  # The judge lets go of them as soon as it can.
            found = judge.findings()
            del judge
        else:
            found = judge_rows(rows, number, orders)
        yield from packed_findings(until_clear(found, blurs), buckets)


def until_clear(found: ArrowTable, blurs: Mapping[int, UntrustedTimes]) -> ArrowTable:
    """Let flights that end while the clock is wrong last until it is right again."""
    if not blurs:
        return found
    runs, ends_ns = (found[name].to_numpy().copy() for name in ("run", "other_clock_ns"))
    for run in np.unique(runs).tolist():
        if run in blurs:
            ends_ns[runs == run] = blurs[run].latest(ends_ns[runs == run])
    place = found.column_names.index("other_clock_ns")
    return found.set_column(place, found.schema.field(place), pa.array(ends_ns))


def judge_rows(rows: Rows, number: int, orders: Sequence[Order]) -> ArrowTable:
    """The findings about whole runs; those without a clock are judged without it."""
    found = SliceJudge(rows, number, None, orders).findings()
    is_disorder = pc.equal(found["what"], DISORDER)
    bad = pc.unique(found.filter(is_disorder)["run"])
    if not len(bad):
        return found
    kept = found.filter(pc.or_(is_disorder, pc.invert(pc.is_in(found["run"], bad))))
    parts = [
        ClocklessJudge(rows.chosen(rows.run == run), number, None, orders).findings()
        for run in bad.to_pylist()
    ]
    return pa.concat_tables([kept, *parts])


class ClocklessJudge(SliceJudge):
    """Judges one run, looking at no clock."""

    def findings(self) -> ArrowTable:
        self._report_copies()
        self._report_messages()
        visible = self._messages.position != LATEST
        events = self._events.chosen(visible[self._events.message])
        ordered, stuck = in_causal_order(events, len(self._places), len(visible))
        may_be_late = self._submitted & self._delivered
        by_place = ordered.chosen(np.lexsort((ordered.position, ordered.place)))
        watched = may_be_late & could_be_late(by_place, self._messages, len(self._copies))
        ordered = ordered.chosen(relevant_events(ordered, self._messages))
        for order in self._orders:
            if stuck:
                self._settle(self._events, order, may_be_late)
                continue
            found = find_overtakings(self._copies, ordered, watched, len(self._places), order)
            self._tables.append(violations_table(self._copies, found, order))
        return pa.concat_tables(self._tables)
