"""What each message waited for, so that a replay keeps the causality of what was recorded.

Where a table names causes, those it is. Otherwise a send waits for what its process had delivered
before, of the same trace if there are traces:

- a reply for its request and for the replies to what its own span had asked others;
- anything else for every delivery since the previous such send, and for the last few before that.

What had been delivered before some request is left out once the reply to it is there: it is
implied. So a chain of calls has one cause each, and a join has as many as it joins.

`CauseColumns` finds that for many processes and traces at once. What is still to be waited for is a
list of deliveries that grows at its end and is cut at its beginning: a stretch of all deliveries,
in their order, and where it begins never goes back. So it is a maximum of all cuts so far; and so
it is among the deliveries that one handler had. Groups in which anything is named, or there twice,
are left to `CauseMemory`, which takes events one by one.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import (
    Batch,
    Column,
    Flags,
    Integers,
    Row,
    are_valid,
    batches_of,
    conform,
    groups_of,
    rows_of,
)
from antecede_audit.shuffle import Keyed, Table, whole_partition
from antecede_audit.spans.messages import hashes_or_null
from antecede_audit.spans.order import (
    ALONG,
    NUMBERED,
    SENDING,
    MessageNumbering,
    ends_of,
    in_order_of,
    numbered,
)
from antecede_audit.spans.schemas import INTEGER, LONG, WORKLOAD, table

RECALLED: Final = 16
"""How many deliveries a send waits for that an earlier send of its process waited for already."""

CAUSES_MAX: Final = 4096
"""No message waits for more; of more deliveries than that the last count."""

COUNTED: Final = ("unknown_causes", "causes_cut")
PLANNED: Final = pa.schema([*WORKLOAD, *table(unknown_causes=LONG, causes_cut=LONG)])
"""The workload; how many named causes its sender had not delivered, and how many were too many."""

LOCAL: Final = (
    *("process", "scope", "phase", "message_id", "time_ns", "target", "payload_bytes"),
    *("handler", "message", "answers", "label", "causes"),
)
GROUPED: Final = ("group", *LOCAL)
"""Events with a number for their process and trace."""

NAMED: Final = ("sent_in", "received_in", "sent_span", "received_span")

WORK: Final = pa.schema(
    [
        *(one for one in NUMBERED if one.name not in NAMED),
        *table(sent_scope=LONG, received_scope=LONG, here=INTEGER),
    ]
)
"""Copies with hashes of the traces they were sent and received in, and which of the two is here."""

WORK_TABLE: Final = Table("work", WORK)
"""Keyed by the hash of the trace, or the process, at either end."""

SENT_HERE: Final = 1
RECEIVED_HERE: Final = 2


Name: TypeAlias = int | str
"""What a message, a trace or a span goes by: its name, or a hash of that."""

ODD: Final = np.uint64(0x9E3779B97F4A7C15)
OTHER: Final = np.uint64(0xC2B2AE3D27D4EB4F)
UNKNOWN: Final = -1


class LocalEvent(NamedTuple):
    """A submission or a delivery, in the order of its process."""

    process: int
    scope: Name | None
    phase: int
    """`SENDING`, or one of the two in which messages are delivered."""
    message_id: int
    time_ns: int
    target: int
    payload_bytes: int
    handler: Name | None
    message: Name
    answers: Name | None
    label: str | None
    causes: list[str] | None


class ReceivedMessage(NamedTuple):
    """A delivery that a send may have to wait for."""

    number: int
    """How many deliveries there were before."""
    message_id: int
    time_ns: int


@final
class CauseMemory:
    """What one process has delivered, within one trace if there are traces."""

    def __init__(self, first_ns: int) -> None:
        self._first_ns: Final = first_ns
        self._heard: list[ReceivedMessage] = []
        self._by_handler: Final[dict[Name, list[ReceivedMessage]]] = {}
        self._asked: Final[dict[Name, int]] = {}
        """By request sent: how many deliveries came before it."""
        self._labelled: Final[dict[str, ReceivedMessage]] = {}
        self._count = 0
        self._cut = 0

    def deliver(self, event: LocalEvent) -> None:
        """Take in a delivery."""
        heard = ReceivedMessage(self._count, event.message_id, event.time_ns)
        self._count += 1
        asked = 0 if event.answers is None else self._asked.pop(event.answers, 0)
        self._heard = self._after(asked, self._heard, heard)
        if event.handler is not None:
            own = self._by_handler.get(event.handler, [])
            self._by_handler[event.handler] = self._after(asked, own, heard)
        if event.label is not None:
            self._labelled[event.label] = heard

    def submit(self, copies: list[LocalEvent]) -> Row:
        """What the message with these copies waits for, as a row of the workload."""
        event = copies[0]
        unknown = 0
        if event.causes is not None:
            named = [label for copy in copies for label in copy.causes or []]
            # In the order of delivery: copies come in any order.
            causes = sorted(self._labelled[label] for label in named if label in self._labelled)
            unknown = len(named) - len(causes)
        elif event.answers is not None and event.handler is not None:
            causes = self._by_handler.pop(event.handler, [])
        else:
            causes = self._heard
            self._heard = causes[-RECALLED:]
            if event.scope is not None:
                self._asked[event.message] = self._count
        cut, self._cut = self._cut, 0
        since_ns = max([cause.time_ns for cause in causes]) if causes else self._first_ns
        return (
            event.message_id,
            event.process,
            without_repeats([copy.target for copy in copies]),
            without_repeats([cause.message_id for cause in causes]),
            event.time_ns - since_ns,
            max([copy.payload_bytes for copy in copies]),
            unknown,
            cut,
        )

    def _after(
        self, asked: int, earlier: list[ReceivedMessage], heard: ReceivedMessage
    ) -> list[ReceivedMessage]:
        """What is still to be waited for once this is delivered, the reply to what was asked."""
        if asked:
            earlier = [other for other in earlier if other.number >= asked]
        elif len(earlier) >= CAUSES_MAX:
            del earlier[0]
            self._cut += 1
        earlier.append(heard)
        return earlier


def without_repeats(numbers: list[int]) -> list[int]:
    """The numbers, each where it stands first; most lists have one."""
    return numbers if len(numbers) < 2 else list(dict.fromkeys(numbers))


def planned_messages(events: Iterable[LocalEvent], first_ns: int) -> Iterator[Row]:
    """The rows of the workload that the events of one process (and trace), in order, amount to."""
    memory = CauseMemory(first_ns)
    copies: list[LocalEvent] = []
    for event in events:
        if copies and (event.phase != SENDING or event.message_id != copies[0].message_id):
            yield memory.submit(copies)
            copies = []
        if event.phase == SENDING:
            copies.append(event)
        else:
            memory.deliver(event)
    if copies:
        yield memory.submit(copies)


def keyed_workload(
    rows: Iterable[Keyed], numbering: MessageNumbering | None, tasks: int
) -> Iterator[Keyed]:
    """The copies, each where the others of its trace are, or of its process, if it has none: keyed
    for the partition of either end, or once for both.

    In:  what `order.numbered` takes.
    Out: `WORK_TABLE`.
    """
    for copies in numbered(rows, numbering):
        scope = hashes_or_null(copies["sent_in"])
        received = pc.coalesce(hashes_or_null(copies["received_in"]), scope)
        sent_at = key_of(scope, copies["sender"], tasks)
        received_at = key_of(received, copies["receiver"], tasks)
        here = np.where(sent_at == received_at, SENT_HERE | RECEIVED_HERE, SENT_HERE)
        known = {"sent_scope": scope, "received_scope": received, "here": here}
        work = conform(WORK, known, copies)
        yield Keyed(WORK_TABLE, work, sent_at)
        apart = np.flatnonzero(sent_at != received_at)
        there = {"here": np.full(len(apart), RECEIVED_HERE)}
        others = conform(WORK, there, work.take(pa.array(apart)))
        yield Keyed(WORK_TABLE, others, received_at[apart])


def key_of(scope: Column, process: Column, tasks: int) -> Integers:
    """Where the events of a trace go, or those of a process, if they have none."""
    found: Integers = (
        pc.fill_null(pc.coalesce(scope, process.cast(pa.int64())), 0).to_numpy() % tasks
    )
    return found


def workload_batches(rows: Iterable[Keyed], first_ns: int) -> Iterator[Batch]:
    """What each message waits for.

    In:  `WORK_TABLE`.
    Out: the columns of the workload, unknown_causes, causes_cut.
    """
    _, (copies,) = whole_partition(rows, WORK_TABLE)
    if copies.num_rows:
        yield from planned_batches(local_events(copies), first_ns)


def local_events(copies: Batch) -> Batch:
    """The events of these copies that are here, sorted by process, trace and order.

    In:  `WORK`.
    Out: `GROUPED`.
    """
    count = copies.num_rows
    ends = ends_of(copies)
    here = copies["here"].to_numpy()
    present = np.flatnonzero(np.append(here & SENT_HERE, here & RECEIVED_HERE))
    scope = pa.concat_arrays([copies["sent_scope"], copies["received_scope"]]).take(
        pa.array(present)
    )
    keys = [ends[name][present] for name in ("process", *ALONG)]
    number = pc.fill_null(scope, 0).to_numpy()
    order = in_order_of([number, *keys], telling=3)
    changes = (np.diff(number[order]) != 0) | (np.diff(keys[0][order]) != 0)
    group = np.append(0, np.cumsum(changes))
    place = pa.array(present[order] % count)
    known = {
        "group": pa.array(group),
        "scope": scope.take(pa.array(order)),
        "handler": pa.concat_arrays([copies["sent_by"], copies["received_by"]]).take(
            pa.array(present[order])
        ),
        **{
            name: pa.array(ends[name][present[order]])
            for name in ("process", "phase", "time_ns", "target")
        },
    }
    columns = [known[name] if name in known else copies[name].take(place) for name in GROUPED]
    return pa.record_batch(columns, names=list(GROUPED))


def planned_batches(events: Batch, first_ns: int) -> Iterator[Batch]:
    """The workload of events that are sorted by group, process and order; groups are whole.

    In:  `GROUPED`.
    Out: `PLANNED`.
    """
    plans = CauseColumns(events, RECALLED, CAUSES_MAX)
    columns = plans.columns(first_ns)
    nothing = pa.array(np.zeros(len(columns[0]), np.int64))
    arrays = [
        column.cast(field.type)
        for column, field in zip([*columns, nothing, nothing], PLANNED, strict=True)
    ]
    yield pa.record_batch(arrays, schema=PLANNED)
    rows = rows_of([events.filter(pa.array(~plans.regular))], LOCAL)
    others = (
        row
        for _, group in groups_of(rows, 2)
        for row in planned_messages(map(LocalEvent._make, group), first_ns)
    )
    yield from batches_of(others, PLANNED)


class CauseColumns:
    """The events of some groups, in order, and what their messages wait for.

    In: `GROUPED`; of messages that were waited for once, so many are waited for again; and
    groups with so many deliveries are left alone.
    """

    def __init__(self, events: Batch, recalled: int, deliveries_max: int) -> None:
        self._events: Final = events
        self._recalled: Final = recalled
        self._group: Final[Integers] = events["group"].to_numpy()
        self._sent: Final[Flags] = events["phase"].to_numpy() == SENDING
        is_reply = self._sent & self._valid("answers") & self._valid("handler")
        self._reply: Final = np.flatnonzero(is_reply)
        self._ask: Final = np.flatnonzero(self._sent & ~is_reply)
        self._delivery: Final = np.flatnonzero(~self._sent)
        self._heard: Final = np.cumsum(~self._sent)
        """How many deliveries there are up to an event."""
        odd = self._odd_groups(deliveries_max)
        self.regular: Final[Flags] = ~odd[self._group]
        """Whether an event is dealt with here."""
        self._asked: Final = self._cuts()

    def columns(self, first_ns: int) -> list[Column]:
        """For every message: number, sender, targets, causes, delay and size."""
        asking, answering = self._since_asked(), self._of_handler()
        sent = np.append(self._ask, self._reply)
        start, end, ids, times = (
            np.concatenate(one) for one in zip(asking, answering, strict=True)
        )
        start[len(self._ask) :] += len(asking[2])
        end[len(self._ask) :] += len(asking[2])
        regular = self.regular[sent]
        sent, start, end = sent[regular], start[regular], end[regular]
        since = np.where(end > start, times[np.maximum(end - 1, 0)] if len(times) else 0, first_ns)
        row = self._events.take(pa.array(sent))
        each = np.arange(len(sent))
        return [
            row["message_id"],
            row["process"],
            lists_of(row["target"], each, each + 1),
            lists_of(pa.array(ids), start, end),
            pa.array(row["time_ns"].to_numpy() - since),
            row["payload_bytes"],
        ]

    def _since_asked(self) -> tuple[Integers, Integers, Integers, Integers]:
        """For messages that are no replies a stretch of deliveries, and all of these."""
        cuts = np.maximum(self._group_starts(), self._asked)
        after = self._ask[self._ask + 1 < len(cuts)]
        cuts[after + 1] = np.maximum(cuts[after + 1], self._heard[after] - self._recalled)
        return (
            np.maximum.accumulate(cuts)[self._ask],
            self._heard[self._ask],
            *self._told(self._delivery),
        )

    def _of_handler(self) -> tuple[Integers, Integers, Integers, Integers]:
        """For replies a stretch of what their handlers were delivered, and all of that."""
        handled = np.flatnonzero(self._valid("handler") & self._is_delivery_or_reply())
        handler = pc.fill_null(self._events["handler"], 0).to_numpy()
        keys = stirred(self._group[handled], handler[handled])
        order = handled[np.argsort(keys, kind="stable")]
        changes = np.ones(len(order), np.bool_)
        changes[1:] = (np.diff(handler[order]) != 0) | (np.diff(self._group[order]) != 0)
        own = np.cumsum(changes) * (len(self._sent) + 1)
        is_delivery = ~self._sent[order]
        heard: Integers = np.cumsum(is_delivery, dtype=np.int64)
        cuts = np.where(changes, heard - is_delivery, 0)
        # A cut among all deliveries, as one among those of this handler.
        places = own[is_delivery] + self._heard[order[is_delivery]] - 1
        cut = np.flatnonzero(is_delivery & (self._asked[order] != UNKNOWN))
        asked = np.searchsorted(places, own[cut] + self._asked[order[cut]])
        cuts[cut] = np.maximum(cuts[cut], asked)
        replied = np.flatnonzero(~is_delivery)
        after = replied[replied + 1 < len(order)]
        cuts[after + 1] = np.maximum(cuts[after + 1], heard[after])
        at = np.zeros(len(self._sent), np.int64)
        at[order] = np.arange(len(order))
        at = at[self._reply]
        return np.maximum.accumulate(cuts)[at], heard[at], *self._told(order[is_delivery])

    def _cuts(self) -> Integers:
        """For deliveries that answer a request here: how many deliveries came before that."""
        answers, message = (
            pc.fill_null(self._events[name], 0).to_numpy() for name in ("answers", "message")
        )
        asked = self._ask[self._valid("scope")[self._ask]]
        told = self._delivery[self._valid("answers")[self._delivery]]
        cuts = np.full(len(self._sent), UNKNOWN)
        if not len(asked):
            return cuts
        keys = stirred(self._group[asked], message[asked])
        order = np.argsort(keys)
        wanted = stirred(self._group[told], answers[told])
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        found = asked[order[place]]
        same = (message[found] == answers[told]) & (self._group[found] == self._group[told])
        same &= found < told
        cuts[told[same]] = self._heard[found[same]]
        return cuts

    def _group_starts(self) -> Integers:
        """At the first event of every group, how many deliveries came before it."""
        starts = np.flatnonzero(np.diff(self._group, prepend=-1))
        found = np.zeros(len(self._group), np.int64)
        found[starts] = self._heard[starts] - ~self._sent[starts]
        return found

    def _odd_groups(self, deliveries_max: int) -> Flags:
        """Which groups have something that is named, or there twice, or too much of it."""
        count = int(self._group[-1]) + 1 if len(self._group) else 0
        odd = np.bincount(self._group[self._delivery], minlength=count) >= deliveries_max
        odd[self._group[self._valid("causes")]] = True
        answered = self._delivery[self._valid("answers")[self._delivery]]
        for name, places in (
            ("message_id", np.flatnonzero(self._sent)),
            ("message_id", self._delivery),
            ("message", self._ask),
            ("answers", answered),
        ):
            keys = stirred(
                self._group[places], self._events[name].take(pa.array(places)).to_numpy()
            )
            order = np.argsort(keys)
            again = order[1:][np.diff(keys[order]) == 0]
            odd[self._group[places[again]]] = True
        return odd

    def _told(self, deliveries: Integers) -> tuple[Integers, Integers]:
        """The messages of deliveries, and their times."""
        ids, times = (self._events[name].to_numpy() for name in ("message_id", "time_ns"))
        return ids[deliveries], times[deliveries]

    def _is_delivery_or_reply(self) -> Flags:
        found = ~self._sent
        found[self._reply] = True
        return found

    def _valid(self, name: str) -> Flags:
        return are_valid(self._events[name])


def stirred(group: Integers, value: Integers) -> npt.NDArray[np.uint64]:
    """One number for two; equal pairs have equal ones, and others hardly ever."""
    mixed = value.astype(np.uint64) * OTHER
    found: npt.NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(32))) * ODD
    return found ^ (group.astype(np.uint64) * OTHER)


def lists_of(values: Column, start: Integers, end: Integers) -> Column:
    """For every pair of places the values between them."""
    sizes = end - start
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + sizes, sizes)
    bounds = pa.array(np.append(0, ends).astype(np.int32))
    return pa.ListArray.from_arrays(bounds, values.take(pa.array(places)))
