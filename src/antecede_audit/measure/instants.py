"""From events to copies, and from copies to moments: who is where when, and what follows what.

A *lane* is what is ordered by itself: one process, or the whole system. Its moments are gone
through in the order of time, batch by batch, so that a lane may be longer than memory: whoever
sorts the moments holds them. On Spark that is a shuffle by lane, in this process one sort.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.eventlog.parquet import ArrowArray, ArrowBatch, ArrowTable
from antecede.eventlog.schema import KINDS
from antecede_audit.measure.distributions import Integers

Flags: TypeAlias = NDArray[np.bool_]

COPY: Final = ("run_id", "sender", "sequence", "target")
"""What names a copy."""

MESSAGE: Final = COPY[:3]
"""What names a message."""

AT_TARGET: Final = ("arrived", "delivered")
"""Kinds of events that happen at the target of a copy."""

INSTANTS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("sender", pa.int32()),
        ("sequence", pa.int64()),
        ("target", pa.int32()),
        *((f"{kind}_ns", pa.int64()) for kind in KINDS),
    ]
)
"""A copy, and when it was submitted, transmitted, arrived and delivered, the first time."""

MOMENTS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("measure", pa.string()),
        ("lane", pa.int32()),
        ("time_ns", pa.int64()),
        ("opened", pa.int64()),
        ("change", pa.int64()),
    ]
)
"""How many things open at a moment, and how many more are open after it; of several rows of one
moment the sums count."""

LANE: Final = ("run_id", "measure", "lane")

SYSTEM: Final = -1
"""The lane of the whole system; other lanes are processes."""


def instants_of(events: ArrowTable) -> ArrowTable:
    """The copies that were submitted; every event of a message must be there.

    In:  process, kind, sender, sequence, target, time_ns, and run_id if there are several runs.
    Out: `INSTANTS`; run_id if it was there.
    """
    key = [name for name in COPY if name in events.column_names or name != "run_id"]
    events = events.filter(pc.is_valid(events["sender"]))
    kinds, times_ns = events["kind"].cast(pa.string()), events["time_ns"]
    there = pc.is_in(kinds, pa.array(AT_TARGET))
    target = pc.if_else(there, events["process"], events["target"])
    columns = {name: target if name == "target" else events[name] for name in key}
    columns |= {kind: pc.if_else(pc.equal(kinds, kind), times_ns, None) for kind in KINDS}
    # One thread: several would give the copies in another order each time.
    copies = pa.table(columns).group_by(key, use_threads=False)
    first = copies.aggregate([(kind, "min") for kind in KINDS])
    instants = first.rename_columns([*key, *(f"{kind}_ns" for kind in KINDS)])
    # A relay has copies too that were never submitted to it.
    return instants.filter(pc.is_valid(instants["submitted_ns"]))


def travelling(instants: ArrowTable) -> ArrowTable:
    """The copies that are not to oneself."""
    return instants.filter(pc.not_equal(instants["sender"], instants["target"]))


# Moments.


def moments_of(
    runs: ArrowArray,
    measure: str,
    lanes: ArrowArray,
    opened_ns: ArrowArray,
    closed_ns: ArrowArray | None = None,
) -> ArrowTable:
    """The moments of what opens then, and closes then: `MOMENTS`.

    What has no time of opening is left out; what has none of closing stays open.
    """
    rows = pa.table({"run_id": runs, "lane": lanes, "opened_ns": opened_ns})
    if closed_ns is not None:
        rows = rows.append_column("closed_ns", closed_ns)
    rows = rows.filter(pc.is_valid(rows["opened_ns"]))
    parts = [moments_at(rows, measure, "opened_ns", 1, 1)]
    if closed_ns is not None:
        rows = rows.filter(pc.is_valid(rows["closed_ns"]))
        parts.append(moments_at(rows, measure, "closed_ns", 0, -1))
    return pa.concat_tables(parts)


def moments_at(
    rows: ArrowTable, measure: str, time_ns: str, opened: int, change: int
) -> ArrowTable:
    """One moment for each row, at the time in this column."""
    columns = {
        "run_id": rows["run_id"],
        "measure": pa.repeat(measure, len(rows)),
        "lane": rows["lane"],
        "time_ns": rows[time_ns],
        "opened": pa.repeat(opened, len(rows)),
        "change": pa.repeat(change, len(rows)),
    }
    return pa.table(columns).cast(MOMENTS)


def in_order(moments: ArrowTable) -> ArrowTable:
    """The same by lane and time."""
    moments = moments.combine_chunks()
    keys = [codes(moments[name]) for name in ("time_ns", *reversed(LANE))]
    return moments.take(pa.array(np.lexsort(keys)))


def codes(column: ArrowArray) -> Integers:
    """A number for each value: the same for equal ones."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_string(whole.type):
        whole = whole.dictionary_encode().indices
    numbers: Integers = whole.to_numpy()
    return numbers


def changes(table: ArrowTable, columns: Sequence[str]) -> Flags:
    """Which rows differ from the one before in one of these columns; the first does."""
    found = np.ones(len(table), np.bool_)
    if len(table):
        found[1:] = False
    for name in columns:
        found[1:] |= np.diff(codes(table[name])) != 0
    return found


class LaneWalk:
    """Goes along lanes, and says at every moment at which something opens how much is open then.

    It holds one moment back, the last, as more of it may come with the next batch.
    """

    def __init__(self) -> None:
        self._held = MOMENTS.empty_table()
        self._lane: tuple[object, ...] | None = None
        self._level = 0
        self._opened_ns: int | None = None

    def take(self, batch: ArrowBatch) -> ArrowTable:
        """Moments that follow those before, in order; what is known of all but the last.

        Out: run_id, measure, lane, time_ns, opened, level (after all that happens at that moment),
        gap_ns (since something opened in the lane before; null if nothing has).
        """
        rows = pa.concat_tables([self._held, pa.Table.from_batches([batch]).cast(MOMENTS)])
        rows = summed_moments(rows.combine_chunks())
        done = len(rows) - 1 if len(rows) else 0
        self._held = rows.slice(done)
        return self._walked(rows.slice(0, done))

    def end(self) -> ArrowTable:
        """What is known of the last moment."""
        last, self._held = self._held, MOMENTS.empty_table()
        return self._walked(last)

    def _walked(self, rows: ArrowTable) -> ArrowTable:
        """The same of rows each of which is a moment."""
        if not len(rows):
            return walked_table(rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
        begins = changes(rows, LANE)
        begins[0] = lane_at(rows, 0) != self._lane
        time_ns, opened = rows["time_ns"].to_numpy(), rows["opened"].to_numpy()
        total = np.cumsum(rows["change"].to_numpy())
        lane = np.cumsum(begins)
        # What was open in all lanes so far, and how long ago something opened: by lane.
        before = np.concatenate([[-self._level], total[np.flatnonzero(begins) - 1]])
        if begins[0]:
            before[1] = 0
        level = total - before[lane]
        gap_ns = np.full(len(rows), -1, np.int64)
        places = np.flatnonzero(opened > 0)
        follows = np.diff(lane[places]) == 0
        gap_ns[places[1:][follows]] = np.diff(time_ns[places])[follows]
        if len(places) and lane[places[0]] == 0 and self._opened_ns is not None:
            gap_ns[places[0]] = time_ns[places[0]] - self._opened_ns
        self._lane, self._level = lane_at(rows, -1), int(level[-1])
        here = places[lane[places] == lane[-1]]
        if len(here):
            self._opened_ns = int(time_ns[here[-1]])
        elif lane[-1] > 0:
            self._opened_ns = None
        return walked_table(rows, level, gap_ns)


def lane_at(rows: ArrowTable, place: int) -> tuple[object, ...]:
    """Which lane a row is in."""
    return tuple(rows[name][place].as_py() for name in LANE)


def summed_moments(rows: ArrowTable) -> ArrowTable:
    """One row for each moment; in: `MOMENTS` in order."""
    if not len(rows):
        return rows
    firsts = np.flatnonzero(changes(rows, (*LANE, "time_ns")))
    moments = rows.take(pa.array(firsts))
    for place, name in enumerate(("opened", "change"), start=4):
        sums = np.add.reduceat(rows[name].to_numpy(), firsts)
        moments = moments.set_column(place, MOMENTS.field(name), pa.array(sums))
    return moments


def walked_table(rows: ArrowTable, level: Integers, gap_ns: Integers) -> ArrowTable:
    """What is known of moments, those left out at which nothing opens."""
    table = rows.drop_columns(["change"])
    table = table.append_column("level", pa.array(level, pa.int64()))
    table = table.append_column("gap_ns", pa.array(gap_ns, pa.int64(), mask=gap_ns < 0))
    return table.filter(pc.greater(table["opened"], 0))


def walked(batches: Iterable[ArrowBatch]) -> Iterator[ArrowTable]:
    """What `LaneWalk.take` gives of all moments; in: `MOMENTS` in order."""
    walk = LaneWalk()
    for batch in batches:
        yield walk.take(batch)
    yield walk.end()


def open_at_once(lanes: ArrowArray, opened_ns: ArrowArray, closed_ns: ArrowArray) -> ArrowTable:
    """How much is open in each lane at every moment at which something opens there.

    In:  of everything that opens: its lane, when it opens, and when it closes (null: never).
    Out: lane, time_ns, opened (how many then), level (after all that happens at that moment).
    """
    moments = moments_of(pa.repeat("", len(lanes)), "", lanes, opened_ns, closed_ns)
    return pa.concat_tables(walked(in_order(moments).to_batches()))
