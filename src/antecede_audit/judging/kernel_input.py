"""Between copies and the kernel: lines their events up for it, and reads what it has found.

Within a slice the events of a process stand in the order of their positions, and a delivery comes
no earlier than the submission; between processes the clock is followed. Runs for which that is
impossible are named, not judged: they are lined up without a clock, or judged as a circle.

A few comparisons for each event tell first which copies can be late at all. A copy is late if
something that it caused was delivered before it, at the same process. So one of these must have
been delivered there before it: a later message of the same sender, or a message whose sender had
heard, when it submitted it, of something that was submitted no earlier than the copy. Most messages
that overtake another on their way are neither, and the fewer copies the kernel has to watch, the
narrower are the sets that it carries along.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from antecede_audit.columns.arrays import LATEST, dense_ranks, pair_keys, stable_order
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.judging.copies import Copies, process_keys
from antecede_audit.judging.definition import PROCESS, Order
from antecede_audit.judging.kernel import (
    NONE,
    CausalPass,
    graph_order,
    settle,
    settled_overtakings,
)

BITS_MAX: Final = 1 << 14
"""Sets of messages in flight are at most this wide; for wider ones there is a pass for each part.

It bounds memory: a message in flight carries one such set, of 2 KiB then.
"""

NOTHING: Final = np.zeros(0, np.int64)
SPARSE: Final = 8
"""Keys are put in order by way of a table if it has at most 8 entries for each."""

EVENT_COLUMNS: Final = 4
SETTLED_MESSAGES: Final = 4096
"""4,096 messages are followed through a contradictory log at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIndex:
    """Numbers for the processes of the runs: the same process of two runs is two places."""

    of_sender: Integers
    """The place of each copy's sender."""
    of_receiver: Integers
    """The place of each copy's process."""
    run: Integers
    """The run of each place."""
    process: Integers
    """The process of each place."""

    def __len__(self) -> int:
        return len(self.run)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageIndex:
    """The messages of some copies, and where and when each was submitted: with its first row."""

    of_copy: Integers
    """The number of each copy's message."""
    place: Integers
    sequence: Integers
    position: Integers
    """`LATEST` if no row of the message is visible."""
    clock_ns: Integers
    trace: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvents:
    """Submissions and first deliveries."""

    place: Integers
    position: Integers
    clock_ns: Integers
    trace: Integers
    """If there are none, one 0 that stands for all of them."""
    message: Integers
    copy: Integers
    """`NONE` for a submission."""

    def __len__(self) -> int:
        return len(self.place)

    def chosen(self, which: Flags | Integers) -> "KernelEvents":
        """The flagged ones, or those with these numbers, in that order."""
        place = self.place[which]
        return KernelEvents(
            place=place,
            position=self.position[which],
            clock_ns=self.clock_ns[which],
            trace=self.trace[which] if self.trace.strides[0] else self.trace[: len(place)],
            message=self.message[which],
            copy=self.copy[which],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtakings:
    """Copies delivered too early and, for each, the last one that should have come before it."""

    early: Integers
    late: Integers
    stalled: Integers
    """Places whose events wait for each other in a circle: their runs are not judged."""


def number_places(copies: Copies) -> ProcessIndex:
    """The places of the senders and receivers of these copies."""
    runs = np.concatenate([copies.run, copies.run])
    processes = np.concatenate([copies.sender, copies.process])
    numbers, count = dense_ranks(process_keys(runs, processes))
    sender, receiver = numbers[: len(copies)], numbers[len(copies) :]
    run, process = np.zeros(count, np.int64), np.zeros(count, np.int64)
    run[sender], process[sender] = copies.run, copies.sender
    run[receiver], process[receiver] = copies.run, copies.process
    return ProcessIndex(of_sender=sender, of_receiver=receiver, run=run, process=process)


def find_messages(
    copies: Copies, of_copy: Integers, places: ProcessIndex, visible: Flags
) -> MessageIndex:
    """The messages of these copies, as their visible submissions have them.

    In: copies, and the number of each one's message.
    """
    count = int(of_copy.max(initial=NONE)) + 1
    position = np.full(count, LATEST)
    np.minimum.at(position, of_copy[visible], copies.submitted_position[visible])
    first = visible & (copies.submitted_position == position[of_copy])
    found = {}
    for name, column in (
        ("clock_ns", copies.submitted_clock_ns),
        ("trace", copies.submitted_trace),
        ("place", places.of_sender),
        ("sequence", copies.sequence),
    ):
        found[name] = np.zeros(count, np.int64)
        found[name][of_copy[first]] = column[first]
    return MessageIndex(of_copy=of_copy, position=position, **found)


def find_events(
    copies: Copies, places: ProcessIndex, messages: MessageIndex, delivered: Flags
) -> KernelEvents:
    """The visible deliveries and the submissions of visible messages, by place and position."""
    copy = np.flatnonzero(delivered)
    message = np.flatnonzero(messages.position != LATEST)
    events = KernelEvents(
        place=np.concatenate([messages.place[message], places.of_receiver[copy]]),
        position=np.concatenate([messages.position[message], copies.delivered_position[copy]]),
        clock_ns=np.concatenate([messages.clock_ns[message], copies.delivered_clock_ns[copy]]),
        trace=traces_of(messages.trace[message], copies.delivered_trace[copy]),
        message=np.concatenate([message, messages.of_copy[copy]]),
        copy=np.concatenate([np.full(len(message), NONE), copy]),
    )
    return by_position(events)


def traces_of(submitted: Integers, delivered: Integers) -> Integers:
    """The traces of some submissions and deliveries, one below the other."""
    if submitted.any() or delivered.any():
        return np.concatenate([submitted, delivered])
    return np.broadcast_to(np.int64(0), len(submitted) + len(delivered))


def by_position(events: KernelEvents) -> KernelEvents:
    """By place and position."""
    keys = pair_keys(events.place, events.position)
    span = int(keys.max(initial=NONE)) + 1
    if span <= SPARSE * len(keys):
        at = np.full(span, NONE)
        at[keys] = np.arange(len(keys))
        order = at[at != NONE]
        if len(order) == len(keys):
            return events.chosen(order)
    return events.chosen(np.argsort(keys, kind="stable"))


def relevant_events(events: KernelEvents, messages: MessageIndex) -> Flags:
    """Not those of messages that are only submitted, or only delivered, as far as one can see."""
    visible = messages.position != LATEST
    carried = np.zeros(len(visible), np.bool_)
    carried[events.message[events.copy != NONE]] = True
    flags: Flags = (visible & carried)[events.message]
    return flags


def in_order_of_time(events: KernelEvents, which: Flags | None = None) -> KernelEvents:
    """By time, and where times are equal, as they stand: by place and position."""
    if which is None or which.all():
        return events.chosen(stable_order(events.clock_ns))
    chosen = np.flatnonzero(which)
    return events.chosen(chosen[stable_order(events.clock_ns[chosen])])


def disordered_places(events: KernelEvents) -> Integers:
    """The places, some perhaps more than once, where the clock goes back along the positions."""
    same = events.place[1:] == events.place[:-1]
    places: Integers = events.place[1:][same & (events.clock_ns[1:] < events.clock_ns[:-1])]
    return places


def strands_of(events: KernelEvents, order: Order) -> tuple[Integers, int]:
    """Numbers for events such that equal ones are ordered, and how many there are."""
    if order == PROCESS:
        return events.place, int(events.place.max(initial=NONE)) + 1
    traces, _ = dense_ranks(events.trace)
    return dense_ranks(traces * (int(events.place.max(initial=0)) + 1) + events.place)


def find_overtakings(
    copies: Copies,
    events: KernelEvents,
    watched: Flags,
    places: int,
    order: Order = PROCESS,
    bits_max: int = BITS_MAX,
) -> Overtakings:
    """Judge events in the order of time; only copies that are watched can be late."""
    is_watched = (events.copy != NONE) & watched[events.copy]
    if not is_watched.any():
        return Overtakings(early=NOTHING, late=NOTHING, stalled=NOTHING)
    bit = number_bits(events, is_watched)
    parts = [
        run_kernel(copies, events, is_watched, bit, low, high, places, order)
        for low, high in batches_of_bits(events, bit, bits_max)
    ]
    return Overtakings(
        early=np.concatenate([part.early for part in parts]),
        late=np.concatenate([part.late for part in parts]),
        stalled=np.concatenate([part.stalled for part in parts]),
    )


def number_bits(events: KernelEvents, is_watched: Flags) -> Integers:
    """The bit of each message, in the order of its last watched delivery; `NONE` if it has none."""
    message = events.message[is_watched]
    last = np.full(int(events.message.max()) + 1, NONE)
    last[message] = np.arange(len(message))
    is_last = last[message] == np.arange(len(message))
    bit = np.full(len(last), NONE)
    bit[message[is_last]] = np.arange(int(is_last.sum()))
    return bit


def batches_of_bits(events: KernelEvents, bit: Integers, bits_max: int) -> list[tuple[int, int]]:
    """Which bits to look at in which pass: all at once, unless sets would get too wide."""
    bits = int(bit.max()) + 1
    of_event = bit[events.message]
    submissions = np.flatnonzero((events.copy == NONE) & (of_event != NONE))
    deliveries = np.flatnonzero((events.copy != NONE) & (of_event != NONE))
    last = np.zeros(bits, np.int64)
    last[of_event[deliveries]] = deliveries
    width = of_event[submissions] - np.searchsorted(np.maximum.accumulate(last), submissions)
    if width.max() < bits_max:
        return [(0, bits)]
    return [(low, min(low + bits_max, bits)) for low in range(0, bits, bits_max)]


def run_kernel(
    copies: Copies,
    events: KernelEvents,
    is_watched: Flags,
    bit: Integers,
    low: int,
    high: int,
    places: int,
    order: Order,
) -> Overtakings:
    """One pass of the kernel, for the bits from `low` up to `high` and the events they need."""
    of_event = bit[events.message]
    chosen = (of_event >= low) & (of_event < high)
    clock_ns = events.clock_ns[chosen & (is_watched | (events.copy == NONE))]
    # Inside equal times the order means nothing yet, so all events of the first and the last count.
    near = (events.clock_ns >= clock_ns.min()) & (events.clock_ns <= clock_ns.max())
    submitted = np.zeros(len(bit), np.bool_)
    submitted[events.message[near & (events.copy == NONE)]] = True
    near &= submitted[events.message]
    events, is_watched = events.chosen(near), (is_watched & chosen)[near]
    table, row, copy = watched_table(events, copies, is_watched, bit - low)
    message, count, own_bit = events.message, len(bit), bit
    if 2 * int(submitted.sum()) < count:
        message, count = dense_ranks(events.message)
        own_bit = np.full(count, NONE)
        own_bit[message] = bit[events.message]
    own_bit = np.where((own_bit >= low) & (own_bit < high), own_bit - low, NONE)
    left = np.bincount(message[events.copy != NONE], minlength=count)
    strand, strands = strands_of(events, order)
    judge = CausalPass(places, table, strands)
    judge.add_messages(packed(own_bit, left))
    judge.run(packed(events.place, message, events.copy, row, strand))
    found = np.frombuffer(judge.take_findings(), "<i8").reshape(-1, 2)
    return Overtakings(
        early=found[:, 0],
        late=copy[found[:, 1]],
        stalled=np.array(judge.stalled(), np.int64),
    )


def watched_table(
    events: KernelEvents, copies: Copies, is_watched: Flags, bit: Integers
) -> tuple[bytes, Integers, Integers]:
    """The kernel's table of watched copies, each event's row in it, and each row's copy."""
    delivery = np.flatnonzero(is_watched)
    bits = bit[events.message[delivery]]
    last = np.zeros(int(bits.max()) + 1, np.int64)
    last[bits] = delivery
    is_last = (last[bits] == delivery).astype(np.int64)
    order = np.lexsort((events.place[delivery], bits))
    delivery, bits, is_last = delivery[order], bits[order], is_last[order]
    row = np.full(len(is_watched), NONE)
    row[delivery] = np.arange(len(delivery))
    copy = events.copy[delivery]
    table = packed(bits, events.place[delivery], copies.delivered_position[copy], is_last)
    return table, row, copy


def packed(*columns: Integers) -> bytes:
    """Rows of little-endian 64-bit integers."""
    rows = np.empty((len(columns[0]), len(columns)), "<i8")
    for place, column in enumerate(columns):
        rows[:, place] = column
    return rows.tobytes()


def could_be_late(events: KernelEvents, messages: MessageIndex, copies: int) -> Flags:
    """Which of this number of copies may be late, as far as these events tell.

    In: events by place and position, whose times never go back along a place.
    """
    is_delivery = events.copy != NONE
    begun = starts_of(events, messages, int(events.place.max(initial=0)) + 1)
    # What a place has heard of: the latest start among what was delivered so far.
    heard = highest_so_far(events.place, np.where(is_delivery, begun[events.message], 0))
    known = np.zeros(len(begun), np.int64)
    known[events.message[~is_delivery]] = heard[~is_delivery]
    place, message = events.place[is_delivery], events.message[is_delivery]
    start = begun[message]
    flagged = is_passed(place, known[message], start)
    channel, _ = dense_ranks(
        place * (int(messages.place.max(initial=0)) + 1) + messages.place[message]
    )
    order = stable_order(channel)
    flagged[order] |= is_passed(channel[order], start[order], start[order])
    late = np.zeros(copies, np.bool_)
    late[events.copy[is_delivery]] = flagged
    return late


def starts_of(events: KernelEvents, messages: MessageIndex, places: int) -> Integers:
    """When each message was submitted, from 1 on, as a small number; 0 if nobody knows."""
    begun: Integers = np.full(len(messages.position), LATEST)
    is_submission = events.copy == NONE
    begun[events.message[is_submission]] = events.clock_ns[is_submission]
    known = begun != LATEST
    if not known.any():
        return np.zeros(len(begun), np.int64)
    low = int(begun[known].min())
    if float(begun[known].max()) - low >= float(LATEST) / (places + 1) - 2:
        begun[known] = np.unique(begun[known], return_inverse=True)[1]
        low = 0
    return np.where(known, begun - low + 1, 0)


def highest_so_far(group: Integers, value: Integers) -> Integers:
    """The greatest value of each group up to each of its members; groups stand in order."""
    width = int(value.max(initial=0)) + 1
    highest: Integers = np.maximum.accumulate(group * width + value) - group * width
    return highest


def is_passed(group: Integers, value: Integers, start: Integers) -> Flags:
    """Whether an earlier member of the same group has a value no less than one's own start."""
    width = max(int(value.max(initial=0)), int(start.max(initial=0))) + 1
    passed = np.zeros(len(group), np.bool_)
    highest = np.maximum.accumulate(group * width + value)[:-1]
    passed[1:] = highest >= (group * width + start)[1:]
    # What nobody saw submitted is not looked at.
    passed &= start > 0
    return passed


def judge_cycle(
    events: KernelEvents, places: int, order: Order, may_be_late: Flags, counted: Flags
) -> tuple[Overtakings, int]:
    """What came too early, and how many of the counted messages happen before themselves.

    Every message's past is settled by going through the events until nothing is news. In: events
    by place and position; only copies that are flagged can be late.
    """
    deliveries = events.chosen(events.copy != NONE)
    sent_here = may_be_late[deliveries.copy].astype(np.int64)
    rows = packed(deliveries.place, deliveries.message, deliveries.copy, sent_here)
    strand, strands = strands_of(events, order)
    lined_up = packed(strand, events.message, events.copy, events.copy)
    messages = len(counted)
    found: list[int] = []
    caused = 0
    for first in range(0, messages, SETTLED_MESSAGES):
        last = min(first + SETTLED_MESSAGES, messages)
        before = settle(strands, messages, lined_up, first, last)
        found += settled_overtakings(places, rows, before, first, last)
        caused += sum(
            before[message] >> (message - first) & 1
            for message in range(first, last)
            if counted[message]
        )
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return Overtakings(early=pairs[:, 0], late=pairs[:, 1], stalled=NOTHING), caused


def in_causal_order(events: KernelEvents, places: int, messages: int) -> tuple[KernelEvents, int]:
    """The same events with their place in a causal order as time, and how many have none.

    In: events by place and position.
    """
    # The clock is a hint: the nearer to it the order, the fewer messages are in flight at once.
    hint_ns = events.clock_ns.copy()
    starts = np.flatnonzero(np.diff(events.place, prepend=NONE))
    for place_ns in np.split(hint_ns, starts[1:]):
        np.maximum.accumulate(place_ns, out=place_ns)
    hinted = events.chosen(np.argsort(hint_ns, kind="stable"))
    numbers = np.arange(len(hint_ns))
    rows, stuck = graph_order(
        places, messages, packed(hinted.place, hinted.message, hinted.copy, numbers)
    )
    order: Integers = np.frombuffer(rows, "<i8").reshape(-1, EVENT_COLUMNS)[:, -1]
    return replace(hinted.chosen(order), clock_ns=numbers), stuck
