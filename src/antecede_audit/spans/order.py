"""Numbers messages, and puts the events of each process in order.

A process may have half of all events, so no task gets all of one. Rows are spread by stretches of
process and time instead, cut where a sample says that they are about equal, and sorted in each. A
row's number is then its place in its task, less the rows of other processes before it there, plus
those of its own process in the tasks before. The last two are a row for each task and process; they
are counted before anything is moved, as the stretches are known by then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.schema import KINDS
from antecede_audit.columns.arrow_rows import (
    Batch,
    Column,
    Flags,
    Integers,
    batch_of_columns,
    conform,
)
from antecede_audit.shuffle import Keyed, Table, chunks, numbered_chunks, whole_partition
from antecede_audit.spans.clocks import instants
from antecede_audit.spans.schemas import EVENTS, FLAG, INTEGER, LONG, MESSAGES, TEXT, table

SUBMITTED: Final = KINDS[0]
DELIVERED: Final = KINDS[3]

ORDINARY: Final = 0
SENDING: Final = 1
MUTUAL: Final = 2
"""Inside one time a process delivers, then submits, then delivers what was sent mutually."""

ALONG: Final = ("time_ns", "phase", "submitted_ns", "rank", "sender", "sequence", "target")
"""How the events of a process are sorted. Deliveries at one time come in the order in which their
messages were submitted, so that no tie of clocks looks like a message that overtook another."""

BY_SENDER: Final = ("sender", "submitted_ns", "message")
"""How the messages of a sender are sorted."""

KEY_BITS: Final = 62
"""Process and time together."""

TIME_NS_LIMIT: Final = 1 << 61
"""Times beyond this are told apart by comparison only: differences have to fit."""

Count: TypeAlias = tuple[int, int, int]
"""A task, a process, and how many rows of that process it has."""

TIMES: Final = ("sent_ns", "sent_latest_ns", "received_ns", "received_earliest_ns")

SENT: Final = pa.schema(
    [
        *(one for one in MESSAGES if one.name not in (*TIMES, "one_way")),
        *table(submitted_ns=LONG, delivered_ns=LONG, place=LONG),
    ]
)
"""Copies on one clock; and how many of its task came before the first copy of the message."""

PLACED: Final = pa.schema([*[*SENT][:-1], *table(backwards=FLAG, clamped=FLAG)])
"""The same before they are sorted, and what became of their times."""

NUMBERED: Final = pa.schema(
    [
        *[*SENT][:-1],
        *table(sequence=LONG, message_id=LONG, rank=INTEGER, mutual=FLAG),
    ]
)
"""The same with the numbers of their messages, and how ties are broken."""

SEND_COUNTS: Final = table(
    task=INTEGER,
    sender=INTEGER,
    copies=LONG,
    messages=LONG,
    first_ns=LONG,
    last_ns=LONG,
    backwards=LONG,
    clamped=LONG,
    at_once=LONG,
)
"""What each task has of each sender."""

EVENT_COUNTS: Final = table(task=INTEGER, process=INTEGER, count=LONG)
"""How many events of each process each task is going to have."""

EDGES: Final = table(time_ns=LONG, sender=INTEGER, receiver=INTEGER)
"""Messages that take no time."""

ENDS: Final = table(
    process=INTEGER,
    time_ns=LONG,
    phase=INTEGER,
    submitted_ns=LONG,
    rank=INTEGER,
    sender=INTEGER,
    sequence=LONG,
    target=INTEGER,
    payload_bytes=INTEGER,
    trace_id=TEXT,
    span_id=TEXT,
)
"""Submissions and deliveries, before they are sorted."""

PLACED_TABLE: Final = Table("placed", PLACED)
"""Keyed by the range of the sender and the time of submission."""
SENT_TABLE: Final = Table("sent", SENT)
"""The same in order; it stays in its partition, and knows its number."""
SEND_COUNT_TABLE: Final = Table("send_counts", SEND_COUNTS)
EVENT_COUNT_TABLE: Final = Table("event_counts", EVENT_COUNTS)
EDGE_TABLE: Final = Table("edges", EDGES)
"""These are collected, or summed up for the driver."""
NUMBERED_TABLE: Final = Table("numbered", NUMBERED)
"""Keyed by the hash of the time of submission, if times tie; in order it stays in its partition."""
END_TABLE: Final = Table("ends", ENDS)
"""Keyed by the range of the process and the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePartitioning:
    """How processes and times are one number, and where that is cut into tasks."""

    first_ns: int
    last_ns: int
    bits: int
    """Of the number those that are the time."""
    shift: int
    """How many bits of the time are too many."""
    cuts: Integers
    """The first number of every task but the first."""

    def key(self, process: Integers, time_ns: Integers) -> Integers:
        """Process and time, in one number; times outside are taken for the first or the last."""
        moment = (np.clip(time_ns, self.first_ns, self.last_ns) - self.first_ns) >> self.shift
        key: Integers = (process.astype(np.int64) << self.bits) + moment
        return key

    def task(self, process: Integers, time_ns: Integers) -> Integers:
        """The task that each row falls to."""
        return np.searchsorted(self.cuts, self.key(process, time_ns), side="right")

    @property
    def tasks(self) -> int:
        """How many there are."""
        return len(self.cuts) + 1


def range_partitioning(process: Integers, time_ns: Integers, tasks: int) -> RangePartitioning:
    """Where to cut so that every one of `tasks` tasks has as much of this sample."""
    bits = KEY_BITS - int(process.max(initial=0)).bit_length()
    first_ns = max(int(time_ns.min(initial=TIME_NS_LIMIT)), -TIME_NS_LIMIT)
    last_ns = min(int(time_ns.max(initial=first_ns)), TIME_NS_LIMIT)
    shift = max(0, (last_ns - first_ns).bit_length() - bits)
    uncut = RangePartitioning(
        first_ns=first_ns, last_ns=last_ns, bits=bits, shift=shift, cuts=np.zeros(0, np.int64)
    )
    keys = np.sort(uncut.key(process, time_ns))
    places = np.arange(1, tasks) * len(keys) // tasks
    return replace(uncut, cuts=np.unique(keys[places])) if len(keys) else uncut


def in_order_of(keys: Sequence[Integers], telling: int = 2) -> Integers:
    """How rows are sorted by these keys; beyond the first few, which tell most rows apart, they are
    looked at where rows tie."""
    order: Integers = np.lexsort(keys[:telling][::-1])
    same = np.all([np.diff(key[order]) == 0 for key in keys[:telling]], axis=0)
    if same.any():
        tied = np.append(same, False)
        tied[1:] |= same
        rows = order[tied]
        order[tied] = rows[np.lexsort([key[rows] for key in reversed(keys)])]
    return order


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """What to add to the place of a row in its task to get its number at its process."""

    by_task: dict[int, tuple[Integers, Integers]]
    """By task: its processes, in order, and what to add for each of them."""

    def of(self, task: int, process: Integers) -> Integers:
        """What to add for rows of these processes."""
        processes, offsets = self.by_task[task]
        found: Integers = offsets[np.searchsorted(processes, process)]
        return found


def offsets_of(counts: Iterable[Count]) -> PartitionOffsets:
    """The offsets, from what each task has of each process."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    before: dict[int, int] = {}
    current, place = -1, 0
    for task, process, count in sorted(counts):
        if task != current:
            current, place = task, 0
        processes, offsets = found.setdefault(task, ([], []))
        processes.append(process)
        offsets.append(before.get(process, 0) - place)
        before[process] = before.get(process, 0) + count
        place += count
    return PartitionOffsets(
        {task: (np.array(one), np.array(two)) for task, (one, two) in found.items()}
    )


def place_copies(
    rows: Iterable[Keyed], offsets: Integers, by_sender: RangePartitioning
) -> Iterator[Keyed]:
    """The messages on one clock for all, keyed for the partitions of their senders.

    In:  `MESSAGE_TABLE`; what to add to the clock of each process.
    Out: `PLACED_TABLE`.
    """
    for messages in chunks(rows):
        placed = conform(PLACED, instants(messages, offsets), messages)
        task = by_sender.task(placed["sender"].to_numpy(), placed["submitted_ns"].to_numpy())
        yield Keyed(PLACED_TABLE, placed, task)


def sort_by_sender(rows: Iterable[Keyed], by_process: RangePartitioning) -> Iterator[Keyed]:
    """The copies of one partition in the order of their senders, and what is told about them.

    A message's sequence is how many copies its sender had sent before it, and one.

    In:  `PLACED_TABLE`.
    Out: `SENT_TABLE`, `SEND_COUNT_TABLE`, `EVENT_COUNT_TABLE`, `EDGE_TABLE`.
    """
    task, (copies,) = whole_partition(rows, PLACED_TABLE)
    if not copies.num_rows:
        return
    keys = [copies[name].to_numpy() for name in (*BY_SENDER, "receiver")]
    order = in_order_of(keys)
    copies = copies.take(pa.array(order))
    changes = np.ones(len(order), np.bool_)
    changes[1:] = np.any([np.diff(key[order]) != 0 for key in keys[:3]], axis=0)
    place = np.maximum.accumulate(np.where(changes, np.arange(len(order)), 0))
    yield Keyed(SENT_TABLE, conform(SENT, {"place": place}, copies), task)
    yield Keyed(SEND_COUNT_TABLE, sends_per_sender(copies, changes, task))
    yield Keyed(EVENT_COUNT_TABLE, events_per_process(copies, by_process))
    yield Keyed(EDGE_TABLE, edges_of(copies))


def sends_per_sender(copies: Batch, leads: Flags, task: int) -> Batch:
    """What a task has of each sender, if its copies are sorted."""
    sender, first, last = (
        copies[name].to_numpy() for name in ("sender", "submitted_ns", "delivered_ns")
    )
    flags = [copies[name].to_numpy(zero_copy_only=False) for name in ("backwards", "clamped")]
    starts = np.flatnonzero(np.diff(sender, prepend=-1))
    columns = [
        np.full(len(starts), task),
        sender[starts],
        np.diff(np.append(starts, len(sender))),
        np.add.reduceat(leads.astype(np.int64), starts),
        first[starts],
        np.maximum.reduceat(last, starts),
        *(np.add.reduceat(one.astype(np.int64), starts) for one in (*flags, first == last)),
    ]
    return batch_of_columns(columns, SEND_COUNTS)


def events_per_process(copies: Batch, by_process: RangePartitioning) -> Batch:
    """How many events of which process these copies bring to which task."""
    process, time_ns = (
        np.concatenate([copies[name].to_numpy() for name in names]).astype(np.int64)
        for names in (("sender", "receiver"), ("submitted_ns", "delivered_ns"))
    )
    width = int(process.max()) + 1
    found, counts = np.unique(
        by_process.task(process, time_ns) * width + process, return_counts=True
    )
    return batch_of_columns([found // width, found % width, counts], EVENT_COUNTS)


def edges_of(copies: Batch) -> Batch:
    """The copies that take no time."""
    names = ("submitted_ns", "sender", "receiver")
    quick = copies.select(names).filter(pc.equal(copies["submitted_ns"], copies["delivered_ns"]))
    return pa.record_batch(quick.columns, schema=EDGES)


@dataclass(frozen=True, slots=True)
class MessageNumbering:
    """How messages get their numbers."""

    offsets: PartitionOffsets
    first_ids: Integers
    """By sender: the number of its first message among those of all."""

    def numbered(self, task: int, sent: Batch) -> Batch:
        """The copies of one task with their numbers, if none of their times tie.

        In:  `SENT`.
        Out: `NUMBERED`.
        """
        sender = sent["sender"].to_numpy()
        place = sent["place"].to_numpy() + self.offsets.of(task, sender)
        known = {
            "sequence": place + 1,
            "message_id": place + self.first_ids[sender],
            "rank": np.zeros(len(place), np.int32),
            "mutual": np.zeros(len(place), np.bool_),
        }
        return conform(NUMBERED, known, sent)


def numbered(rows: Iterable[Keyed], numbering: MessageNumbering | None) -> Iterator[Batch]:
    """The copies with their numbers, which they have already if there is no numbering.

    In:  `SENT_TABLE`, or `NUMBERED_TABLE`.
    Out: `NUMBERED`.
    """
    if numbering is None:
        yield from chunks(rows)
    else:
        for task, sent in numbered_chunks(rows):
            yield numbering.numbered(task, sent)


def ends_of(copies: Batch) -> dict[str, Column]:
    """A submission and then a delivery for all copies: where, when, and how they are sorted.

    In:  `NUMBERED`.
    Out: the columns of `ALONG`, process.
    """
    twice = {name: np.tile(copies[name].to_numpy(), 2) for name in ("rank", "sender", "sequence")}
    submitted, mutual = (
        copies[name].to_numpy(zero_copy_only=False) for name in ("submitted_ns", "mutual")
    )
    phase = np.where(mutual, MUTUAL, ORDINARY)
    return {
        **twice,
        "process": np.append(copies["sender"].to_numpy(), copies["receiver"].to_numpy()),
        "time_ns": np.append(submitted, copies["delivered_ns"].to_numpy()),
        "phase": np.append(np.full(len(phase), SENDING), phase),
        "submitted_ns": np.tile(submitted, 2),
        "target": np.tile(copies["receiver"].to_numpy(), 2),
    }


def keyed_by_process(
    rows: Iterable[Keyed], numbering: MessageNumbering | None, by_process: RangePartitioning
) -> Iterator[Keyed]:
    """The two ends of every copy, keyed for the partition that has this stretch of its process.

    In:  what `numbered` takes.
    Out: `END_TABLE`.
    """
    for copies in numbered(rows, numbering):
        ends = ends_of(copies)
        pairs = {
            "payload_bytes": [copies["payload_bytes"]] * 2,
            "trace_id": [copies["sent_in"], pc.coalesce(copies["received_in"], copies["sent_in"])],
            "span_id": [copies["sent_span"], copies["received_span"]],
        }
        joined = {name: pa.concat_arrays(pair) for name, pair in pairs.items()}
        task = by_process.task(ends["process"], ends["time_ns"])
        yield Keyed(END_TABLE, conform(ENDS, ends | joined), task)


def event_batches(rows: Iterable[Keyed], offsets: PartitionOffsets) -> Iterator[Batch]:
    """The events of a partition with their positions, sorted.

    In:  `END_TABLE`.
    Out: the columns of the event log.
    """
    task, (ends,) = whole_partition(rows, END_TABLE)
    count = ends.num_rows
    if not count:
        return
    order = in_order_of([ends[name].to_numpy() for name in ("process", *ALONG)])
    ends = ends.take(pa.array(order))
    known = {
        "position": np.arange(count) + offsets.of(task, ends["process"].to_numpy()),
        "kind": pc.if_else(pc.equal(ends["phase"], SENDING), SUBMITTED, DELIVERED),
        "metadata_bytes": np.zeros(count, np.int32),
    }
    yield conform(EVENTS, known, ends)
