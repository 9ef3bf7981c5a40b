"""Puts together what the judge of long flights needs: groups of them, and all that went on then.

Flights of about the same length that begin about the same time are a group: they are followed in
one pass over what went on meanwhile. Lengths differ by a factor of eight at most, and a group
begins within a window as long as its longest flight. So every event is in two windows of each
length, and the work is that of a few passes over the log however many long flights there are.

The log is cut into the same slices once more. What a slice sees of a flight goes on as it is; the
ends that no slice could put together, which are few, are sent to the judge first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.types import LongType, StructField, StructType

from antecede_audit.columns.arrays import LATEST, column_of, equal_runs, stable_order
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.columns.packed_batch import PACKED_ROWS, packed_rows
from antecede_audit.judging.copies import COLUMNS, NEVER, ArrowBatch, Copies, gather_copies
from antecede_audit.judging.kernel_input import NOTHING, find_messages, number_places
from antecede_audit.judging.long_flights import OTHERS, WATCHED
from antecede_audit.judging.slice_plan import SlicePlan
from antecede_audit.judging.slices import Slice, UntrustedTimes, rows_of_slices
from antecede_audit.spark.open_copies import is_long
from antecede_audit.spark.schemas import PACKED

GROUP_WIDTH: Final = 1 << 16
"""About 65,536 long flights are followed at a time: a set of them takes 8 KiB."""

RATIO: Final = 8
"""Lengths of flights in a group differ by this factor at most."""


COPIES: Final = "copies"
"""The table whose packed batches go to groups, as `Copies.packed` makes them."""

BY_START: Final = StructType([*PACKED.fields, StructField("start_ns", LongType(), nullable=False)])
"""Packed batches of copies, each for its group, and when the slice begins that they are of."""


def with_windows(copies: DataFrame, shortest_ns: int) -> DataFrame:
    """The ends that no slice could put together, and of long flights the window that they are in.

    In:  what `join_ends` returns.
    Out: the same, of some; width_ns, window: its length, and its number among those of that length.
    """
    length = F.greatest(F.col("other_clock_ns") - F.col("clock_ns"), F.lit(1))
    times = F.greatest(F.ceil(F.log(length / shortest_ns) / F.log(F.lit(RATIO))), F.lit(0))
    # Logarithms are not exact, so that the next wider window may be the right one.
    width = (F.lit(shortest_ns) * F.pow(F.lit(RATIO), times)).cast("long")
    width = F.when(width < length, width * RATIO).otherwise(width)
    open_ends = copies.where((F.col("deliveries") > 0) & ~F.col("met"))
    return open_ends.withColumn("width_ns", F.when(is_long(), width)).withColumn(
        "window", window_of("clock_ns")
    )


def window_of(clock_ns: str) -> Column:
    """The window that a time is in: a whole number, also before 0, and without rounding."""
    within = F.pmod(F.col(clock_ns), F.col("width_ns"))
    return F.call_function("div", F.col(clock_ns) - within, F.col("width_ns"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightWindows:
    """The windows that long flights begin in, by run, width and number, a column each."""

    run: Integers
    width_ns: Integers
    window: Integers
    begin_ns: Integers
    """When the first of the flights begins."""
    end_ns: Integers
    """When the last of them ends: no later than the next window does."""
    parts: Integers
    """The number of groups that the flights are spread over."""
    first: Integers
    """The number of the first of those groups; the others follow."""

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.parts.sum())

    def around(self, run: int, begin_ns: Integers, end_ns: Integers) -> tuple[Integers, Integers]:
        """Which of some stretches of time lie within which windows' flights.

        Out: the number of the stretch, and that of the window, for each pair.
        """
        index, window = [NOTHING], [NOTHING]
        ours = np.flatnonzero(self.run == run)
        for width_ns in np.unique(self.width_ns[ours]).tolist():
            alike = ours[self.width_ns[ours] == width_ns]
            for number in (begin_ns // width_ns, begin_ns // width_ns - 1):
                place = np.searchsorted(self.window[alike], number)
                found = alike[np.minimum(place, len(alike) - 1)]
                within = (begin_ns >= self.begin_ns[found]) & (end_ns <= self.end_ns[found])
                hits = np.flatnonzero(within & (self.window[found] == number))
                index.append(hits)
                window.append(found[hits])
        return np.concatenate(index), np.concatenate(window)

    def touching(self, run: int, stretch: Slice) -> bool:
        """Whether flights are under way in this stretch of a run."""
        late = (self.begin_ns < stretch.end_ns) & (self.end_ns >= stretch.start_ns)
        return bool(np.any(late & (self.run == run)))


def find_windows(flights: DataFrame, group_width: int = GROUP_WIDTH) -> FlightWindows:
    """The windows of long flights, and how many groups each of them has.

    In: what `with_windows` returns.
    """
    length = F.col("other_clock_ns") - F.col("clock_ns")
    rows = (
        flights.where(F.col("width_ns").isNotNull())
        .groupBy("run", "width_ns", "window")
        .agg(
            F.min("clock_ns").alias("begin_ns"),
            F.max("other_clock_ns").alias("end_ns"),
            F.count(F.lit(1)).alias("flights"),
            F.sum(length.cast("double")).alias("together_ns"),
        )
        .orderBy("run", "width_ns", "window")
        .collect()
    )
    parts = []
    for row in rows:
        # Twice as many as there are on average, for times when there are more.
        at_once = 2 * row["together_ns"] / (row["end_ns"] - row["begin_ns"] + 1)
        parts.append(1 + int(min(row["flights"], at_once)) // group_width)
    counts = np.array(parts, np.int64)
    names = ("run", "width_ns", "window", "begin_ns", "end_ns")
    return FlightWindows(
        **{name: np.array([row[name] for row in rows], np.int64) for name in names},
        parts=counts,
        first=np.cumsum(counts) - counts,
    )


def during(plan: SlicePlan, windows: FlightWindows) -> SlicePlan:
    """The plan for those slices only in which long flights are under way."""
    wanted = {
        number
        for run in plan.cut
        for number in plan.slices_of_run(run)
        if windows.touching(run, plan.slices[number])
    }
    return plan.restricted(wanted)


def pack_ends(
    batches: Iterator[ArrowBatch], windows: FlightWindows, blurs: Mapping[int, UntrustedTimes]
) -> Iterator[ArrowBatch]:
    """Ends for the groups that want to know of them.

    In:  what `with_windows` returns.
    Out: `BY_START`.
    """
    for batch in batches:
        table = pa.Table.from_batches([batch])
        runs = column_of(table, "run")
        for run in np.unique(runs).tolist():
            ours = table.filter(pa.array(runs == run))
            yield from packed_ends(ours, run, windows, blurs.get(run))


def packed_ends(
    ends: ArrowBatch, run: int, windows: FlightWindows, blurs: UntrustedTimes | None
) -> Iterator[ArrowBatch]:
    """The ends of one run."""
    copies = copies_of_ends(ends)
    end_ns = copies.delivered_clock_ns
    submitted = copies.submitted_position != NEVER
    begin_ns = np.where(submitted, copies.submitted_clock_ns, end_ns)
    index, window = windows.around(run, begin_ns, end_ns)
    group = windows.first[window] + part_of(copies.chosen(index), windows.parts[window])
    own = is_own(ends, index, window, windows)
    if blurs is not None:
        copies = copies.replaced(delivered_clock_ns=blurs.blurred(end_ns))
    yield from packed_copies(copies.chosen(index[own]), group[own], WATCHED)
    # Of all groups of a window but its own, a flight is one of the others.
    number = np.repeat(np.arange(len(index)), windows.parts[window])
    nth = np.arange(len(number)) - np.repeat(
        np.cumsum(windows.parts[window]) - windows.parts[window], windows.parts[window]
    )
    every = windows.first[window][number] + nth
    other = ~own[number] | (every != group[number])
    yield from packed_copies(copies.chosen(index[number[other]]), every[other], OTHERS)


def is_own(ends: ArrowBatch, index: Integers, window: Integers, windows: FlightWindows) -> Flags:
    """Whether the flight with this index is one of those of the window."""
    width_ns, number = (column_of(ends, name)[index] for name in ("width_ns", "window"))
    own: Flags = (width_ns == windows.width_ns[window]) & (number == windows.window[window])
    return own


def part_of(copies: Copies, parts: Integers) -> Integers:
    """Which of the groups of its window each flight is in; `parts` is how many these are."""
    mixed: Integers = (copies.sender * 31 + copies.sequence * 7 + copies.process) % parts
    return mixed


def copies_of_ends(ends: ArrowBatch) -> Copies:
    """In: what `with_windows` returns."""
    sources = {
        "submitted_position": "position",
        "submitted_ns": "time_ns",
        "submitted_clock_ns": "clock_ns",
        "delivered_position": "other_position",
        "delivered_ns": "other_ns",
        "delivered_clock_ns": "other_clock_ns",
        # Who reports an open copy says here in which trace it is delivered.
        "delivered_trace": "other_sequence",
    } | {name: name for name in ("run", "sender", "sequence", "process", "deliveries")}
    nothing = np.zeros(len(ends), np.int64)
    columns = {
        name: column_of(ends, sources[name]) if name in sources else nothing for name in COLUMNS
    }
    return Copies(**columns)


def pack_slices(
    batches: Iterator[ArrowBatch],
    slices: Mapping[int, Slice],
    windows: FlightWindows,
    blurs: Mapping[int, UntrustedTimes],
) -> Iterator[ArrowBatch]:
    """What begins in slices, for the groups during whose flights it does.

    In:  what `cutting.into_slices` returns.
    Out: `BY_START`.
    """
    for number, rows in rows_of_slices(batches, blurs):
        gathered = gather_copies(rows)
        stretch = slices[number]
        copies = begun_in(gathered.copies, gathered.messages, stretch)
        del rows, gathered
        delivered = copies.delivered_position != NEVER
        end_ns = np.where(delivered, copies.delivered_clock_ns, copies.submitted_clock_ns)
        run = int(copies.run[0]) if len(copies) else NEVER
        index, window = windows.around(run, copies.submitted_clock_ns, end_ns)
        for entry in np.unique(window).tolist():
            content = copies.chosen(np.sort(index[window == entry]))
            for part in range(int(windows.parts[entry])):
                group = np.full(len(content), windows.first[entry] + part)
                yield from packed_copies(content, group, stretch.start_ns)


def begun_in(copies: Copies, of_copy: Integers, stretch: Slice) -> Copies:
    """The copies of messages that begin in this stretch, which begin where their message does.

    In: copies, and the number of each one's message.
    """
    visible = copies.submitted_position != NEVER
    messages = find_messages(copies, of_copy, number_places(copies), visible)
    begun = (messages.position != LATEST) & (messages.clock_ns >= stretch.start_ns)
    begun &= messages.clock_ns < stretch.next_ns
    chosen = np.flatnonzero(begun[of_copy])
    message = of_copy[chosen]
    return copies.chosen(chosen).replaced(
        submitted_position=messages.position[message],
        submitted_clock_ns=messages.clock_ns[message],
        submitted_trace=messages.trace[message],
    )


def packed_copies(copies: Copies, group: Integers, start_ns: int) -> Iterator[ArrowBatch]:
    """Copies as `BY_START`, each for its group."""
    order = stable_order(group)
    for start, end in equal_runs(group[order]):
        for begin in range(start, end, PACKED_ROWS):
            which = order[begin : min(begin + PACKED_ROWS, end)]
            row = packed_rows(COPIES, [int(group[which[0]])], [copies.chosen(which).packed()])
            yield row.append_column("start_ns", pa.array([start_ns], pa.int64()))
