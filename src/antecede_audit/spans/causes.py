"""What each message waited for, so that a replay keeps the causality of what was recorded.

Where a table names causes, those it is. Otherwise a send waits for what its process had delivered
before, of the same trace if there are traces:

- a reply for its request and for the replies to what its own span had asked others;
- anything else for every delivery since the previous such send, and for the last few before that.

What had been delivered before some request is left out once the reply to it is there: it is
implied. So a chain of calls has one cause each, and a join has as many as it joins.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import (
    Batch,
    Column,
    Integers,
    Row,
    batches_of,
    conform,
    groups_of,
    rows_of,
)
from antecede_audit.parcels import keyed, tables_of_partition
from antecede_audit.spans.call_columns import hashes_or_null
from antecede_audit.spans.order import (
    ALONG,
    NUMBERED,
    SENDING,
    MessageNumbering,
    ends_of,
    in_order_of,
    numbered,
)
from antecede_audit.spans.plans import CauseColumns
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

WORK_SORT: Final = "work"
SENT_HERE: Final = 1
RECEIVED_HERE: Final = 2


Name: TypeAlias = int | str
"""What a message, a trace or a span goes by: its name, or a hash of that."""


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
    batches: Iterable[Batch], numbering: MessageNumbering | None, tasks: int
) -> Iterator[Batch]:
    """The copies, each where the others of its trace are, or of its process, if it has none: packed
    for the task of either end, or once for both.

    In:  parcels for `order.numbered`.
    Out: parcels of `WORK`.
    """
    for copies in numbered(batches, numbering):
        scope = hashes_or_null(copies["sent_in"])
        received = pc.coalesce(hashes_or_null(copies["received_in"]), scope)
        sent_at = bucket_of(scope, copies["sender"], tasks)
        received_at = bucket_of(received, copies["receiver"], tasks)
        here = np.where(sent_at == received_at, SENT_HERE | RECEIVED_HERE, SENT_HERE)
        known = {"sent_scope": scope, "received_scope": received, "here": here}
        rows = conform(WORK, known, copies)
        yield from keyed(WORK_SORT, rows, sent_at)
        apart = np.flatnonzero(sent_at != received_at)
        there = {"here": np.full(len(apart), RECEIVED_HERE)}
        others = conform(WORK, there, rows.take(pa.array(apart)))
        yield from keyed(WORK_SORT, others, received_at[apart])


def bucket_of(scope: Column, process: Column, tasks: int) -> Integers:
    """Where the events of a trace go, or those of a process, if they have none."""
    found: Integers = (
        pc.fill_null(pc.coalesce(scope, process.cast(pa.int64())), 0).to_numpy() % tasks
    )
    return found


def workload_batches(batches: Iterable[Batch], first_ns: int) -> Iterator[Batch]:
    """What each message waits for.

    In:  parcels of `WORK`.
    Out: the columns of the workload, unknown_causes, causes_cut.
    """
    copies = tables_of_partition(batches, {WORK_SORT: WORK})[1][WORK_SORT]
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
