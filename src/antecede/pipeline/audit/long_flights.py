"""Judges the flights that are longer than the overlap of slices.

They are few, but what happened meanwhile may be most of a log. So they are taken in groups that
end about the same time, and everything within the flights of a group streams by in the order of
submission. What is held is what is in flight: memory does not grow with the length of flights.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from antecede.audit.history import PROCESS, Order
from antecede.audit.kernel import NONE, CausalPass
from antecede.pipeline.audit.copies import LATEST, NEVER, ArrowBatch, Copies, Flags, Integers
from antecede.pipeline.audit.findings import ArrowTable, in_parcels
from antecede.pipeline.audit.judging import (
    NOTHING,
    Events,
    Overtakings,
    by_position,
    in_order_of_time,
    packed,
)
from antecede.pipeline.audit.slices import Blurs, pieces, violations_table

CHUNK_COPIES: Final = 100_000
"""So many copies are lined up at a time."""

MessageKey: TypeAlias = tuple[int, int]
CopyKey: TypeAlias = tuple[int, int, int]
StrandKey: TypeAlias = tuple[int, int]
"""Process, and the trace if traces are told apart."""


def judge_long_flights(
    batches: Iterator[ArrowBatch],
    orders: Sequence[Order],
    blurs: Mapping[int, Blurs],
    buckets: int,
) -> Iterator[ArrowBatch]:
    """The violations in which a long flight is late, as `PACKED`, in so many buckets.

    In: the columns of `Copies`, and `group`, sorted by group and then by submission; submissions
    are those of the message, not of the copy. The long flights of a group
    come twice: once before everything else, with a submission position of -1.
    """
    for found in judged_groups(batches, orders, blurs):
        yield from in_parcels(found, buckets)


def judged_groups(
    batches: Iterator[ArrowBatch], orders: Sequence[Order], blurs: Mapping[int, Blurs]
) -> Iterator[ArrowTable]:
    """The violations of each group."""
    judge: GroupJudge | None = None
    current = NEVER
    for group, batch in pieces(batches, "group"):
        if judge is None or group != current:
            if judge is not None:
                yield from judge.finish()
            judge, current = GroupJudge(orders, blurs), group
        yield from judge.take(Copies.of_batches([batch]))
    if judge is not None:
        yield from judge.finish()


class GroupJudge:
    """Judges the long flights of one group while the log streams by."""

    def __init__(self, orders: Sequence[Order], blurs: Mapping[int, Blurs]) -> None:
        self._orders = orders
        self._blurs = blurs
        self._announced: list[Copies] = []
        self._buffered: list[Copies] = []
        self._count = 0
        self._streams: list[Stream] = []

    def take(self, copies: Copies) -> Iterator[ArrowTable]:
        """Take the next rows; the findings they lead to."""
        copies = self._blurred(copies)
        is_announced = copies.submitted_position == NEVER
        if is_announced.any():
            self._announced.append(copies.chosen(is_announced))
            copies = copies.chosen(~is_announced)
        self._buffered.append(copies)
        self._count += len(copies)
        if self._count >= CHUNK_COPIES:
            yield from self._advance(int(copies.submitted_clock_ns[-1]))

    def finish(self) -> Iterator[ArrowTable]:
        """The findings that are left when all rows have been taken."""
        yield from self._advance(LATEST)

    def _blurred(self, copies: Copies) -> Copies:
        """The copies with times that respect causality; a group is of one run."""
        blurs = self._blurs.get(int(copies.run[0])) if len(copies) else None
        if blurs is None:
            return copies
        return copies.replaced(
            submitted_clock_ns=blurs.blurred(copies.submitted_clock_ns),
            delivered_clock_ns=blurs.blurred(copies.delivered_clock_ns),
        )

    def _advance(self, until_ns: int) -> Iterator[ArrowTable]:
        """Judge everything before this time, and keep the rest."""
        if not self._streams:
            watched = Copies.joined(self._announced)
            self._streams = [Stream(watched, order) for order in self._orders]
        copies = Copies.joined(self._buffered)
        is_ready = copies.submitted_clock_ns < until_ns
        rest = copies.chosen(~is_ready)
        self._buffered, self._count = [rest], len(rest)
        for stream in self._streams:
            yield stream.judge(copies.chosen(is_ready), until_ns)


class Stream:
    """What is in flight: copies that are submitted and not delivered, and the kernel's state."""

    def __init__(self, watched: Copies, order: Order) -> None:
        by_end = (watched.delivered_position, watched.process, watched.delivered_clock_ns)
        self._order: Final = order
        self._places: dict[int, int] = {}
        self._strands: dict[StrandKey, int] = {}
        self._watched = watched.chosen(np.lexsort(by_end))
        self._bits = self._number_bits()
        self._rows, table = self._table()
        self._judge = CausalPass(len(self._places), table, 0)
        self._held = self._watched.chosen(np.zeros(len(watched), np.bool_))
        self._messages = NOTHING
        """The kernel's number for the message of each copy held."""

    def _number_bits(self) -> dict[MessageKey, int]:
        """The bit of each watched message: its place in the order of last deliveries."""
        last = {
            key: number
            for number, key in enumerate(
                zip(self._watched.sender.tolist(), self._watched.sequence.tolist(), strict=True)
            )
        }
        return {key: bit for bit, key in enumerate(sorted(last, key=last.__getitem__))}

    def _table(self) -> tuple[dict[CopyKey, int], bytes]:
        """The row of each watched copy in the kernel's table, and the table."""
        watched = self._watched
        places = self._number_places(watched.process)
        keys = list(zip(watched.sender.tolist(), watched.sequence.tolist(), strict=True))
        bits = np.array([self._bits[key] for key in keys], np.int64)
        last = np.zeros(len(self._bits), np.int64)
        last[bits] = np.arange(len(bits))
        is_last = (last[bits] == np.arange(len(bits))).astype(np.int64)
        order = np.lexsort((places, bits))
        self._watched = watched = watched.chosen(order)
        table = packed(bits[order], places[order], watched.delivered_position, is_last[order])
        rows = {
            (*keys[index], int(process)): row
            for row, (index, process) in enumerate(
                zip(order.tolist(), watched.process.tolist(), strict=True)
            )
        }
        return rows, table

    def _number_places(self, processes: Integers) -> Integers:
        """The number of each process, a new one if it has none."""
        unique, inverse = np.unique(processes, return_inverse=True)
        numbers = [
            self._places.setdefault(process, len(self._places)) for process in unique.tolist()
        ]
        return np.array(numbers, np.int64)[inverse]

    def _number_strands(self, events: Events) -> Integers:
        """The number of each event's strand; of earlier ones those with something to tell stay."""
        if self._order == PROCESS:
            self._judge.add_strands(len(self._places) - self._judge.strand_count())
            return events.place
        kept = self._judge.keep_telling_strands()
        names = list(self._strands)
        self._strands = {names[old]: new for new, old in enumerate(kept)}
        pairs = np.stack([events.place, events.trace], axis=1)
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        numbers = [
            self._strands.setdefault((place, trace), len(self._strands))
            for place, trace in unique.tolist()
        ]
        self._judge.add_strands(len(self._strands) - len(kept))
        return np.array(numbers, np.int64)[inverse.reshape(-1)]

    def judge(self, new: Copies, until_ns: int) -> ArrowTable:
        """Perform everything before `until_ns`; the violations it shows."""
        known = len(self._places)
        message, is_first = number_messages(new)
        copies = Copies.joined([self._held, new])
        messages = np.concatenate([self._messages, message + self._message_count()])
        bits = self._bits_of(copies)
        senders, receivers = (
            self._number_places(processes) for processes in (copies.sender, copies.process)
        )
        self._judge.add_places(len(self._places) - known)
        fresh = slice(len(self._held), None)
        self._judge.add_messages(
            packed(bits[fresh][is_first], np.bincount(message, minlength=int(is_first.sum())))
        )
        submitted = np.flatnonzero(is_first) + len(self._held)
        delivered = np.flatnonzero(copies.delivered_clock_ns < until_ns)
        events = Events(
            place=np.concatenate([senders[submitted], receivers[delivered]]),
            position=np.concatenate(
                [copies.submitted_position[submitted], copies.delivered_position[delivered]]
            ),
            clock_ns=np.concatenate(
                [copies.submitted_clock_ns[submitted], copies.delivered_clock_ns[delivered]]
            ),
            trace=np.concatenate(
                [copies.submitted_trace[submitted], copies.delivered_trace[delivered]]
            ),
            message=np.concatenate([messages[submitted], messages[delivered]]),
            copy=np.concatenate([np.full(len(submitted), NONE), delivered]),
        )
        found = self._perform(events, self._rows_of(copies, bits), copies)
        self._hold(copies, messages, copies.delivered_clock_ns >= until_ns)
        return found

    def _message_count(self) -> int:
        """How many messages the kernel has numbers for."""
        return len(np.unique(self._messages))

    def _bits_of(self, copies: Copies) -> Integers:
        """The bit of each copy's message, or `NONE`."""
        bits = np.full(len(copies), NONE)
        likely = np.isin(copies.sequence, self._watched.sequence)
        likely &= np.isin(copies.sender, self._watched.sender)
        for copy in np.flatnonzero(likely).tolist():
            key = int(copies.sender[copy]), int(copies.sequence[copy])
            bits[copy] = self._bits.get(key, NONE)
        return bits

    def _rows_of(self, copies: Copies, bits: Integers) -> Integers:
        """The row of each copy among the watched ones, or `NONE`."""
        rows = np.full(len(copies), NONE)
        for copy in np.flatnonzero(bits != NONE).tolist():
            key = (
                int(copies.sender[copy]),
                int(copies.sequence[copy]),
                int(copies.process[copy]),
            )
            rows[copy] = self._rows.get(key, NONE)
        return rows

    def _perform(self, events: Events, rows: Integers, copies: Copies) -> ArrowTable:
        """Let the kernel go through the events; the violations it finds."""
        events = in_order_of_time(by_position(events))
        row = np.where(events.copy == NONE, NONE, rows[events.copy])
        strand = self._number_strands(events)
        table = packed(events.place, events.message, events.copy, row, strand)
        self._judge.run(table)
        self._judge.force(table)
        found = np.frombuffer(self._judge.take_findings(), "<i8").reshape(-1, 2)
        both = Copies.joined([copies, self._watched])
        pairs = Overtakings(early=found[:, 0], late=found[:, 1] + len(copies), stalled=NOTHING)
        return violations_table(both, pairs, self._order)

    def _hold(self, copies: Copies, messages: Integers, which: Flags) -> None:
        """Keep these copies and their messages, and forget the others."""
        kept, self._messages = np.unique(messages[which], return_inverse=True)
        self._held = copies.chosen(which)
        self._judge.keep_messages(packed(kept))


def number_messages(copies: Copies) -> tuple[Integers, Flags]:
    """A number for each copy's message, and which copies are the first of theirs.

    In: copies of which those of one message follow each other.
    """
    is_first = np.ones(len(copies), np.bool_)
    is_first[1:] = (copies.sender[1:] != copies.sender[:-1]) | (
        copies.sequence[1:] != copies.sequence[:-1]
    )
    return np.cumsum(is_first) - 1, is_first
