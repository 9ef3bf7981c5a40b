"""What each message waited for, so that a replay keeps the causality of what was recorded.

Where a table names causes, those it is. Otherwise a send waits for what its process had delivered
before, of the same trace if there are traces:

- a reply for its request and for the replies to what its own span had asked others;
- anything else for every delivery since the previous such send, and for the last few before that.

What had been delivered before some request is left out once the reply to it is there: it is
implied. So a chain of calls has one cause each, and a join has as many as it joins.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import StructType

from antecede.pipeline.ingest.arrow_rows import (
    Batch,
    Row,
    arrow_schema,
    at_rest,
    batches_of,
    groups_of,
    rows_of,
)
from antecede.pipeline.ingest.layouts import LONG, table
from antecede.pipeline.ingest.order import ALONG, SENDING
from antecede.pipeline.schemas import WORKLOAD

RECALLED: Final = 16
"""How many deliveries a send waits for that an earlier send of its process waited for already."""

CAUSES_MAX: Final = 4096
"""No message waits for more; of more deliveries than that the last count."""

COUNTED: Final = ("unknown_causes", "causes_cut")
PLANNED: Final = StructType([*WORKLOAD.fields, *table(unknown_causes=LONG, causes_cut=LONG).fields])
"""The workload; how many named causes its sender had not delivered, and how many were too many."""

LOCAL: Final = (
    *("process", "scope", "phase", "message_id", "time_ns", "target", "payload_bytes"),
    *("handler", "message", "answers", "label", "causes"),
)
GROUPED: Final = ("group", *LOCAL)
"""Events with a hash of their process and trace."""


ArrowColumn: TypeAlias = Any
"""An array of pyarrow's, which has no types."""

Name: TypeAlias = int | str
"""What a message, a trace or a span goes by: its name, or a hash of that."""


class Local(NamedTuple):
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


class Heard(NamedTuple):
    """A delivery that a send may have to wait for."""

    number: int
    """How many deliveries there were before."""
    message_id: int
    time_ns: int


@final
class Memory:
    """What one process has delivered, within one trace if there are traces."""

    def __init__(self, first_ns: int) -> None:
        self._first_ns: Final = first_ns
        self._heard: list[Heard] = []
        self._by_handler: Final[dict[Name, list[Heard]]] = {}
        self._asked: Final[dict[Name, int]] = {}
        """By request sent: how many deliveries came before it."""
        self._labelled: Final[dict[str, Heard]] = {}
        self._count = 0
        self._cut = 0

    def deliver(self, event: Local) -> None:
        """Take in a delivery."""
        heard = Heard(self._count, event.message_id, event.time_ns)
        self._count += 1
        asked = 0 if event.answers is None else self._asked.pop(event.answers, 0)
        self._heard = self._after(asked, self._heard, heard)
        if event.handler is not None:
            own = self._by_handler.get(event.handler, [])
            self._by_handler[event.handler] = self._after(asked, own, heard)
        if event.label is not None:
            self._labelled[event.label] = heard

    def submit(self, copies: list[Local]) -> Row:
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

    def _after(self, asked: int, earlier: list[Heard], heard: Heard) -> list[Heard]:
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


def planned_messages(events: Iterable[Local], first_ns: int) -> Iterator[Row]:
    """The rows of the workload that the events of one process (and trace), in order, amount to."""
    memory = Memory(first_ns)
    copies: list[Local] = []
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


def workload(ends: DataFrame, tasks: int, first_ns: int) -> DataFrame:
    """What each message waits for, found in so many tasks.

    In:  what `order.ends_of` gives.
    Out: the columns of the workload, unknown_causes, causes_cut.
    """
    # Sorting by a hash first compares numbers.
    grouped = ends.withColumn("group", F.xxhash64("process", "trace_id"))
    local = grouped.withColumn("scope", F.when(F.col("trace_id").isNotNull(), F.col("group")))
    spread = local.select("group", "submitted_ns", "rank", "sender", "sequence", *LOCAL)
    ordered = spread.repartition(tasks, "group").sortWithinPartitions("group", "process", *ALONG)
    return ordered.select(*GROUPED).mapInArrow(partial(planned_batches, first_ns=first_ns), PLANNED)


def planned_batches(batches: Iterable[Batch], first_ns: int) -> Iterator[Batch]:
    """The workload of events that are sorted by group, process and order."""
    return at_rest(planned_groups(batches, first_ns))


def planned_groups(batches: Iterable[Batch], first_ns: int) -> Iterator[Batch]:
    """What just answers a request is planned in columns, all else one by one."""
    planned: list[Batch] = []
    rows = rows_of(without_plain_replies(batches, planned), LOCAL)
    others = (
        row
        for _, group in groups_of(rows, 2)
        for row in planned_messages(map(Local._make, group), first_ns)
    )
    for batch in batches_of(others, PLANNED):
        yield from planned
        planned.clear()
        yield batch
    yield from planned


def without_plain_replies(batches: Iterable[Batch], planned: list[Batch]) -> Iterator[Batch]:
    """The batches without requests and replies that could be planned already."""
    for batch in batches:
        reply = plain_replies(batch)
        if len(reply):
            planned.append(batch_of_replies(batch, reply))
        others = np.ones(batch.num_rows, np.bool_)
        others[reply] = others[reply - 1] = False
        yield batch.filter(pa.array(others))


def plain_replies(events: Batch) -> npt.NDArray[np.intp]:
    """Where a process does no more in a trace than to answer one request: the places of replies.

    The first and the last group of a batch may go on in another.
    """
    group, process, phase = (events[name].to_numpy() for name in ("group", "process", "phase"))
    handler = pc.fill_null(events["handler"], 0).to_numpy()
    handled, answers, causes = (
        events[name].is_valid().to_numpy(zero_copy_only=False)
        for name in ("handler", "answers", "causes")
    )
    starts = np.flatnonzero(np.diff(group)) + 1
    request = starts[:-1][np.diff(starts) == 2]
    reply = request + 1
    plain = (process[request] == process[reply]) & (handler[request] == handler[reply])
    plain &= handled[request] & handled[reply] & answers[reply] & ~causes[reply]
    plain &= (phase[request] != SENDING) & (phase[reply] == SENDING)
    found: npt.NDArray[np.intp] = reply[plain]
    return found


def batch_of_replies(events: Batch, reply: npt.NDArray[np.intp]) -> Batch:
    """The rows of the workload for replies right after their requests."""
    after, before = events.take(pa.array(reply)), events.take(pa.array(reply - 1))
    schema = arrow_schema(PLANNED)
    nothing = pa.array(np.zeros(len(reply), np.int64))
    columns = [
        after.column("message_id"),
        after.column("process"),
        alone(after.column("target")),
        alone(before.column("message_id")),
        pc.subtract(after.column("time_ns"), before.column("time_ns")),
        after.column("payload_bytes"),
        nothing,
        nothing,
    ]
    arrays = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def alone(values: ArrowColumn) -> ArrowColumn:
    """A list for every value."""
    offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, values)
