"""Judges the flights that are longer than the overlap of slices.

They are few, but what happened meanwhile may be most of a log. So they are taken in groups that
are under way about the same time, and everything within the flights of a group streams by in the
order of submission. What is held is what is in flight: memory does not grow with the length of
flights.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from antecede_audit.columns.arrays import LATEST, dense_ranks, pair_keys
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.judging.copies import NEVER, ArrowBatch, Copies
from antecede_audit.judging.definition import PROCESS, Order
from antecede_audit.judging.kernel import NONE, CausalPass
from antecede_audit.judging.kernel_input import (
    NOTHING,
    KernelEvents,
    Overtakings,
    by_position,
    in_order_of_time,
    packed,
)
from antecede_audit.judging.raw_findings import ArrowTable, packed_findings
from antecede_audit.judging.slices import violations_table

MIXER: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number that spreads the bits of what is multiplied by it."""


def judge_long_flights(
    batches: Iterator[ArrowBatch], orders: Sequence[Order], buckets: int
) -> Iterator[ArrowBatch]:
    """The violations in which a long flight is late, as `PACKED`, in this number of buckets.

    In: packed batches of copies for each group, sorted by that and then by `start_ns`.
    """
    for found in judged_groups(batches, orders):
        yield from packed_findings(found, buckets)


def judged_groups(batches: Iterator[ArrowBatch], orders: Sequence[Order]) -> Iterator[ArrowTable]:
    """The violations of each group."""
    judge: LongFlightJudge | None = None
    current = NEVER
    for batch in batches:
        groups, starts_ns = (batch.column(name).to_pylist() for name in ("partition", "start_ns"))
        for group, start_ns, content in zip(
            groups, starts_ns, batch.column("content"), strict=True
        ):
            if judge is None or group != current:
                if judge is not None:
                    yield from judge.finish()
                judge, current = LongFlightJudge(orders), group
            yield from judge.take(start_ns, Copies.of_packed(content))
    if judge is not None:
        yield from judge.finish()


class LongFlightJudge:
    """Judges the long flights of one group while the log streams by, slice by slice."""

    def __init__(self, orders: Sequence[Order]) -> None:
        self._orders = orders
        self._ends: dict[int, list[Copies]] = {WATCHED: [], OTHERS: []}
        self._streams: list[LongFlightPass] = []
        self._slice: list[Copies] = []
        self._start_ns = NEVER

    def take(self, start_ns: int, copies: Copies) -> Iterator[ArrowTable]:
        """Take some copies of a slice that begins then; the findings that earlier ones lead to."""
        if start_ns in self._ends:
            self._ends[start_ns].append(copies)
            return
        if start_ns != self._start_ns:
            yield from self._advance(start_ns)
        self._start_ns = start_ns
        self._slice.append(copies)

    def finish(self) -> Iterator[ArrowTable]:
        """The findings that are left when all rows have been taken."""
        yield from self._advance(LATEST)

    def _advance(self, until_ns: int) -> Iterator[ArrowTable]:
        """Judge everything before this time."""
        if not self._slice or not self._ends[WATCHED]:
            return
        copies = Copies.joined(self._slice)
        self._slice = []
        if not self._streams:
            watched = Copies.joined(self._ends[WATCHED])
            self._streams = [
                LongFlightPass(watched, self._ends[OTHERS], order) for order in self._orders
            ]
        for stream in self._streams:
            yield stream.judge(copies, until_ns)


class FlightEnds:
    """Deliveries that no slice could put together with their submissions."""

    def __init__(self, copies: Copies) -> None:
        keys = message_keys(copies)
        self.copies: Final = copies
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def of(self, messages: Copies) -> tuple[Integers, Integers]:
        """A message's number and an end's for each end of one of these messages.

        In: a copy of each message.
        """
        keys = message_keys(messages)
        first = np.searchsorted(self._keys, keys)
        count = np.searchsorted(self._keys, keys, "right") - first
        message = np.repeat(np.arange(len(keys)), count)
        nth = np.arange(len(message)) - np.repeat(np.cumsum(count) - count, count)
        end = self._order[first[message] + nth]
        # Two messages may have the same key, though hardly ever.
        same = self.copies.sender[end] == messages.sender[message]
        same &= self.copies.sequence[end] == messages.sequence[message]
        return message[same], end[same]


def message_keys(copies: Copies) -> Integers:
    """A number for each copy's message, another one for nearly every other message."""
    senders, sequences = (column.astype(np.uint64) for column in (copies.sender, copies.sequence))
    keys: Integers = (senders * MIXER ^ sequences).view(np.int64)
    return keys


class LongFlightPass:
    """What is in flight: copies that are submitted and not delivered, and the kernel's state."""

    def __init__(self, watched: Copies, others: Sequence[Copies], order: Order) -> None:
        self._order: Final = order
        self._places: dict[int, int] = {}
        self._strands: dict[tuple[int, int], int] = {}
        """The number of each place and trace, if traces are told apart."""
        self._watched, self._bits, table = self._lined_up(watched)
        self._ends = FlightEnds(Copies.joined([self._watched, *others]))
        """The watched ones come first: their number is the row in the kernel's table."""
        self._judge = CausalPass(len(self._places), table, 0)
        self._held = watched.chosen(NOTHING)
        self._rows = NOTHING
        """The row of each copy held in the kernel's table, or `NONE`."""
        self._messages = NOTHING
        """The kernel's number for the message of each copy held."""
        self._message_count = 0

    def _lined_up(self, watched: Copies) -> tuple[Copies, Integers, bytes]:
        """The watched copies as the kernel wants them, the bit of each, and the kernel's table.

        Bits stand for messages, in the order of their last deliveries.
        """
        by_end = (watched.delivered_position, watched.process, watched.delivered_clock_ns)
        watched = watched.chosen(np.lexsort(by_end))
        message, last = number_messages(watched)
        bit = np.empty(len(last), np.int64)
        bit[np.argsort(last)] = np.arange(len(last))
        bits, is_last = bit[message], (last[message] == np.arange(len(message))).astype(np.int64)
        places = self._number_places(watched.process)
        order = np.lexsort((places, bits))
        watched, bits = watched.chosen(order), bits[order]
        table = packed(bits, places[order], watched.delivered_position, is_last[order])
        return watched, bits, table

    def _number_places(self, processes: Integers) -> Integers:
        """The number of each process, a new one if it has none."""
        unique, inverse = np.unique(processes, return_inverse=True)
        numbers = [
            self._places.setdefault(process, len(self._places)) for process in unique.tolist()
        ]
        return np.array(numbers, np.int64)[inverse]

    def _number_strands(self, events: KernelEvents) -> Integers:
        """The number of each event's strand; of earlier ones those with something to tell stay."""
        if self._order == PROCESS:
            self._judge.add_strands(len(self._places) - self._judge.strand_count())
            return events.place
        kept = self._judge.keep_telling_strands()
        names = list(self._strands)
        self._strands = {names[old]: new for new, old in enumerate(kept)}
        traces, _ = dense_ranks(events.trace)
        _, first, inverse = np.unique(
            traces * len(self._places) + events.place, return_index=True, return_inverse=True
        )
        numbers = [
            self._strands.setdefault(strand, len(self._strands))
            for strand in zip(
                events.place[first].tolist(), events.trace[first].tolist(), strict=True
            )
        ]
        self._judge.add_strands(len(self._strands) - len(kept))
        return np.array(numbers, np.int64)[inverse]

    def judge(self, new: Copies, until_ns: int) -> ArrowTable:
        """Perform everything before `until_ns`; the violations it shows.

        In: all that is submitted from the last time until now.
        """
        of_copy, last = number_messages(new)
        begun = new.chosen(last)
        here = new.delivered_position != NEVER
        of_end, end = self._ends.of(begun)
        is_first = ~self._is_known(of_end, end, of_copy[here], new.process[here])
        of_end, end = of_end[is_first], end[is_first]
        row = np.where(end < len(self._watched), end, NONE)
        copies = Copies.joined([self._held, new.chosen(here), self._flights(begun, of_end, end)])
        rows = np.concatenate([self._rows, np.full(int(here.sum()), NONE), row])
        message = np.concatenate([of_copy[here], of_end])
        messages = np.concatenate([self._messages, message + self._message_count])
        left = np.bincount(message, minlength=len(begun))
        bits = np.full(len(begun), NONE)
        bits[of_end[row != NONE]] = self._bits[row[row != NONE]]
        self._judge.add_messages(packed(bits, left))
        events = self._events(begun, np.flatnonzero(left), copies, messages, until_ns)
        found = self._perform(events, rows, copies)
        self._hold(copies, rows, messages, copies.delivered_clock_ns >= until_ns)
        return found

    def _is_known(
        self, message: Integers, end: Integers, messages: Integers, processes: Integers
    ) -> Flags:
        """Whether an end of a message is at one of the processes where it was delivered before.

        A slice that sees nothing but a second delivery does not know that it is one.
        """
        process = self._ends.copies.process[end]
        width = int(max(process.max(initial=0), processes.max(initial=0))) + 1
        return np.isin(message * width + process, messages * width + processes)

    def _flights(self, begun: Copies, message: Integers, end: Integers) -> Copies:
        """Ends, put together with where their messages begin."""
        start = begun.chosen(message)
        return self._ends.copies.chosen(end).replaced(
            submitted_position=start.submitted_position,
            submitted_clock_ns=start.submitted_clock_ns,
            submitted_trace=start.submitted_trace,
        )

    def _events(
        self,
        begun: Copies,
        submitted: Integers,
        copies: Copies,
        messages: Integers,
        until_ns: int,
    ) -> KernelEvents:
        """The submissions of new messages, those with these numbers, and deliveries until then."""
        known = len(self._places)
        delivered = np.flatnonzero(copies.delivered_clock_ns < until_ns)
        starts, ends = begun.chosen(submitted), copies.chosen(delivered)
        place = self._number_places(np.concatenate([starts.sender, ends.process]))
        self._judge.add_places(len(self._places) - known)
        return KernelEvents(
            place=place,
            position=np.concatenate([starts.submitted_position, ends.delivered_position]),
            clock_ns=np.concatenate([starts.submitted_clock_ns, ends.delivered_clock_ns]),
            trace=np.concatenate([starts.submitted_trace, ends.delivered_trace]),
            message=np.concatenate([submitted + self._message_count, messages[delivered]]),
            copy=np.concatenate([np.full(len(submitted), NONE), delivered]),
        )

    def _perform(self, events: KernelEvents, rows: Integers, copies: Copies) -> ArrowTable:
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

    def _hold(self, copies: Copies, rows: Integers, messages: Integers, which: Flags) -> None:
        """Keep these copies and their messages, and forget the others."""
        kept, self._messages = np.unique(messages[which], return_inverse=True)
        self._message_count = len(kept)
        self._held, self._rows = copies.chosen(which), rows[which]
        self._judge.keep_messages(packed(kept))


def number_messages(copies: Copies) -> tuple[Integers, Integers]:
    """A number for each copy's message, and the last copy of each."""
    message, count = dense_ranks(pair_keys(dense_ranks(copies.sender)[0], copies.sequence))
    last = np.zeros(count, np.int64)
    last[message] = np.arange(len(copies))
    return message, last


WATCHED: Final = -LATEST
"""Instead of a time: the packed batch has the long flights of the group."""


OTHERS: Final = 1 - LATEST
"""Instead of a time: ends of other flights that no slice could put together."""
