"""Numbers messages, and puts the events of each process in order.

A process may have half of all events, so no task gets all of one. Rows are spread by stretches of
process and time instead, cut where a sample says that they are about equal, and sorted in each. A
row's number is then its place in its task, less the rows of other processes before it there, plus
those of its own process in the tasks before. The last two are a row for each task and process; they
are counted before anything is moved, as the stretches are known by then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import IntegerType

from antecede.pipeline.ingest.layouts import LONG, table
from antecede.pipeline.schemas import EVENTS
from antecede.trace.events import KINDS

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

ROWS_OF_A_TASK: Final = 1 << 19
"""About so many rows are sorted by one task."""

SAMPLE_OF_A_TASK: Final = 1 << 11
"""So many copies are looked at for every task, to find out where to cut."""

SAMPLE_MAX: Final = 1 << 22
"""And no more than so many in all: they come to the driver, 32 bytes each."""

KEY_BITS: Final = 62
"""Process and time together."""

TIME_NS_LIMIT: Final = 1 << 61
"""Times beyond this are told apart by comparison only: differences have to fit."""

PLACE_BITS: Final = 33
"""Spark's ascending ids have the place of a row in its task in so many bits."""

Numbers: TypeAlias = npt.NDArray[np.int64]

Count: TypeAlias = tuple[int, int, int]
"""A task, a process, and how many rows of that process it has."""

OFFSETS: Final = table(task=IntegerType(), process=IntegerType(), offset=LONG)
"""What to add to the place of a row in its task to get its number at its process."""

SENT_OFFSETS: Final = table(
    sent_task=IntegerType(), sender=IntegerType(), offset=LONG, first_message_id=LONG
)
"""The same for the messages of a sender, and the number of its first among those of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """How processes and times are one number, and where that is cut into tasks."""

    first_ns: int
    last_ns: int
    bits: int
    """Of the number those that are the time."""
    shift: int
    """How many bits of the time are too many."""
    cuts: tuple[int, ...]
    """The first number of every task but the first."""

    def key(self, process: str, time_ns: str) -> Column:
        """Process and time, in one number; times outside are taken for the first or the last."""
        inside = F.least(F.greatest(F.col(time_ns), F.lit(self.first_ns)), F.lit(self.last_ns))
        moment = F.shiftright(inside - F.lit(self.first_ns), self.shift)
        return F.shiftleft(F.col(process).cast(LONG), self.bits) + moment

    def with_task(self, rows: DataFrame, process: str, time_ns: str) -> DataFrame:
        """The rows with `along`, the number of process and time, and the `task` it falls to.

        The task is searched for in halves, a step for each: Spark has no function for that.
        """
        steps = len(self.cuts).bit_length()
        padded = [*self.cuts, *[(1 << 63) - 1] * ((1 << steps) - 1 - len(self.cuts))]
        found = rows.withColumns({"along": self.key(process, time_ns), "task": F.lit(0)})
        cuts = F.array(*(F.lit(cut).cast(LONG) for cut in padded))
        for step in reversed(range(steps)):
            middle = F.get(cuts, F.col("task") + ((1 << step) - 1))
            further = F.when(middle <= F.col("along"), 1 << step).otherwise(0)
            found = found.withColumn("task", F.col("task") + further)
        return found

    @property
    def tasks(self) -> int:
        """How many there are."""
        return len(self.cuts) + 1


def stretches(process: Numbers, time_ns: Numbers, tasks: int) -> Stretches:
    """Where to cut so that every one of `tasks` tasks has as much of this sample."""
    bits = KEY_BITS - int(process.max(initial=0)).bit_length()
    first_ns = max(int(time_ns.min(initial=TIME_NS_LIMIT)), -TIME_NS_LIMIT)
    last_ns = min(int(time_ns.max(initial=first_ns)), TIME_NS_LIMIT)
    shift = max(0, (last_ns - first_ns).bit_length() - bits)
    moments = (np.clip(time_ns, first_ns, last_ns) - first_ns) >> shift
    keys = np.sort((process.astype(np.int64) << bits) + moments)
    places = np.arange(1, tasks) * len(keys) // tasks
    cuts = np.unique(keys[places]) if len(keys) else keys
    return Stretches(
        first_ns=first_ns, last_ns=last_ns, bits=bits, shift=shift, cuts=tuple(cuts.tolist())
    )


def sequenced(copies: DataFrame, by_sender: Stretches, *, multicasts: bool = True) -> DataFrame:
    """The copies with what will be the sequence of their message.

    A message's sequence is how many copies its sender had sent before it, and one. If there are no
    `multicasts`, every copy is a message.

    In:  sender, receiver, message, submitted_ns.
    Out: the same columns; sent_task, sent_place: of the first copy of the message; leads: whether
         it is that.
    """
    tasked = by_sender.with_task(copies, "sender", "submitted_ns")
    spread = tasked.repartitionById(by_sender.tasks, "task")
    if multicasts:
        # The copies of a message are in one task already: nothing is moved for this.
        same = Window.partitionBy("along", "task", *BY_SENDER).orderBy("receiver")
        turned = spread.withColumn("turn", F.row_number().over(same))
    else:
        turned = spread.sortWithinPartitions("along", *BY_SENDER).withColumn("turn", F.lit(1))
    return (
        turned.withColumns(
            {"sent_place": place_in_task() - F.col("turn") + 1, "leads": F.col("turn") == 1}
        )
        .withColumnRenamed("task", "sent_task")
        .drop("turn", "along")
    )


def place_in_task() -> Column:
    """How many rows of its task come before a row."""
    return F.monotonically_increasing_id().bitwiseAND((1 << PLACE_BITS) - 1)


def offsets_of(counts: Iterable[Count]) -> list[Count]:
    """The rows of `OFFSETS`, from what each task has of each process."""
    offsets: list[Count] = []
    before: dict[int, int] = {}
    current, place = -1, 0
    for task, process, count in sorted(counts):
        if task != current:
            current, place = task, 0
        offsets.append((task, process, before.get(process, 0) - place))
        before[process] = before.get(process, 0) + count
        place += count
    return offsets


def numbered_messages(sent: DataFrame, offsets: DataFrame) -> DataFrame:
    """The copies with the sequences and the numbers of their messages.

    In:  what `sequenced` gives; `SENT_OFFSETS`.
    Out: the same, but for sent_task and sent_place; sequence, message_id.
    """
    known = sent.join(F.broadcast(offsets), on=["sent_task", "sender"], how="inner")
    return known.withColumns(
        {
            "sequence": F.col("sent_place") + F.col("offset") + 1,
            "message_id": F.col("sent_place") + F.col("offset") + F.col("first_message_id"),
        }
    ).drop("sent_task", "sent_place", "offset", "first_message_id")


def ends_of(copies: DataFrame) -> DataFrame:
    """A submission and a delivery for every copy.

    In:  what `numbered_messages` gives.
    Out: process, time_ns, phase, submitted_ns, rank, sender, sequence, message_id, target,
         payload_bytes, message, answers, label, causes; trace_id, span_id: as they were recorded;
         handler: the span whose work it is part of.
    """
    mutual = F.when(F.col("mutual"), F.lit(MUTUAL)).otherwise(F.lit(ORDINARY))
    submissions = end_of_copies(
        copies,
        process=F.col("sender"),
        time_ns=F.col("submitted_ns"),
        phase=F.lit(SENDING),
        handler=F.col("sent_by"),
        trace_id=F.col("sent_in"),
        span_id=F.col("sent_span"),
    )
    deliveries = end_of_copies(
        copies,
        process=F.col("receiver"),
        time_ns=F.col("delivered_ns"),
        phase=mutual,
        handler=F.col("received_by"),
        trace_id=F.coalesce("received_in", "sent_in"),
        span_id=F.col("received_span"),
    )
    return submissions.unionAll(deliveries)


def end_of_copies(copies: DataFrame, **different: Column) -> DataFrame:
    """One end of every copy: what is different at the two ends, and what is the same."""
    return copies.select(
        *[column.alias(name) for name, column in different.items()],
        *("submitted_ns", "rank", "sender", "sequence", "message_id"),
        F.col("receiver").alias("target"),
        *("payload_bytes", "message", "answers", "label", "causes"),
    )


def event_log(ends: DataFrame, tasks: int, offsets: DataFrame) -> DataFrame:
    """The events of every process with their positions, sorted.

    In:  what `ends_of` gives, along, task; `OFFSETS`.
    Out: the columns of the event log.
    """
    spread = ends.select(
        *("along", "task", "process", *ALONG, "payload_bytes", "trace_id", "span_id")
    ).repartitionById(tasks, "task")
    placed = spread.sortWithinPartitions("along", *ALONG).withColumn("place", place_in_task())
    known = placed.join(F.broadcast(offsets), on=["task", "process"], how="inner")
    computed = {
        "kind": F.when(F.col("phase") == SENDING, SUBMITTED).otherwise(DELIVERED),
        "position": F.col("place") + F.col("offset"),
        "packet": F.lit(None),
        "packet_kind": F.lit(None),
        "metadata_bytes": F.lit(0),
    }
    return known.select(
        *(
            computed.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
            for field in EVENTS.fields
        )
    )
