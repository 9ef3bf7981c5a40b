"""Judges whole runs whose clocks cannot be trusted, by the graph of events alone.

Positions and messages give an order of all events, or say that there is none. Where there is one,
the place in it serves as a clock, and everything goes on as in a slice. A run is held in memory as
a whole, about 400 bytes a copy: this is for small ones. In large ones only the stretches in which
the clock is wrong are judged without it (`antecede_audit.spark.clocks`).
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.judging.copies import LATEST, ArrowBatch, Rows
from antecede_audit.judging.definition import Order
from antecede_audit.judging.kernel_input import find_overtakings, relevant_events
from antecede_audit.judging.overtaking import could_be_late
from antecede_audit.judging.raw_findings import DISORDER, ArrowTable, packed_findings
from antecede_audit.judging.settling import in_causal_order
from antecede_audit.judging.slices import (
    Slice,
    SliceJudge,
    UntrustedTimes,
    rows_of_slices,
    violations_table,
)


def judge_slices(
    batches: Iterator[ArrowBatch],
    slices: Mapping[int, Slice],
    orders: Sequence[Order],
    blurs: Mapping[int, UntrustedTimes],
    buckets: int,
) -> Iterator[ArrowBatch]:
    """The findings of each slice; a slice without an entry in `slices` has whole runs.

    In:  what `into_slices` returns; the packed batches of one slice follow each other.
    Out: `PACKED`, of which violations are in so many buckets.
    """
    for number, rows in rows_of_slices(batches, blurs):
        if number in slices:
            judge = SliceJudge(rows, number, slices[number], orders)
            del rows  # The judge lets go of them as soon as it can.
            found = judge.findings()
            del judge
        else:
            found = judge_whole_runs(rows, number, orders)
        yield from packed_findings(until_clear(found, blurs), buckets)


def until_clear(found: ArrowTable, blurs: Mapping[int, UntrustedTimes]) -> ArrowTable:
    """Let flights that end while the clock is wrong last until it is right again."""
    if not blurs:
        return found
    runs, ends_ns = (found[name].to_numpy().copy() for name in ("run", "other_clock_ns"))
    for run in np.unique(runs).tolist():
        if run in blurs:
            ends_ns[runs == run] = blurs[run].latest(ends_ns[runs == run])
    place = found.column_names.index("other_clock_ns")
    return found.set_column(place, found.schema.field(place), pa.array(ends_ns))


def judge_whole_runs(rows: Rows, number: int, orders: Sequence[Order]) -> ArrowTable:
    """The findings about whole runs; those without a clock are judged without it."""
    found = SliceJudge(rows, number, None, orders).findings()
    is_disorder = pc.equal(found["what"], DISORDER)
    bad = pc.unique(found.filter(is_disorder)["run"])
    if not len(bad):
        return found
    kept = found.filter(pc.or_(is_disorder, pc.invert(pc.is_in(found["run"], bad))))
    parts = [
        ClocklessJudge(rows.chosen(rows.run == run), number, None, orders).findings()
        for run in bad.to_pylist()
    ]
    return pa.concat_tables([kept, *parts])


class ClocklessJudge(SliceJudge):
    """Judges one run, looking at no clock."""

    def findings(self) -> ArrowTable:
        self._report_copies()
        self._report_messages()
        visible = self._messages.position != LATEST
        events = self._events.chosen(visible[self._events.message])
        ordered, stuck = in_causal_order(events, len(self._places), len(visible))
        may_be_late = self._submitted & self._delivered
        by_place = ordered.chosen(np.lexsort((ordered.position, ordered.place)))
        watched = may_be_late & could_be_late(by_place, self._messages, len(self._copies))
        ordered = ordered.chosen(relevant_events(ordered, self._messages))
        for order in self._orders:
            if stuck:
                self._settle(self._events, order, may_be_late)
                continue
            found = find_overtakings(self._copies, ordered, watched, len(self._places), order)
            self._tables.append(violations_table(self._copies, found, order))
        return pa.concat_tables(self._tables)
