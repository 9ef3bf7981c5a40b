"""Cuts a log into slices: the rows of each piece, packed for the slices that see them.

Spark moves packed batches, not rows: `antecede_audit.columns.packed_batch` says why.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from pyspark.sql import DataFrame

from antecede_audit.columns.arrays import equal_runs, offset_of_each, stable_order
from antecede_audit.columns.arrow_rows import Integers
from antecede_audit.columns.packed_batch import PACKED_ROWS, packed_rows
from antecede_audit.judging.copies import ArrowBatch, Rows
from antecede_audit.judging.event_columns import EventColumns, RunKey
from antecede_audit.judging.slice_plan import SlicePlan
from antecede_audit.spark.audit_stages import spread
from antecede_audit.spark.clocks import Offsets
from antecede_audit.spark.job_names import named
from antecede_audit.spark.pieces import LogReader, Reader
from antecede_audit.spark.schemas import PACKED

ROWS: Final = "rows"
"""The table whose packed batches go to slices, as `Rows.packed` makes them."""


def into_slices(
    pieces: LogReader, numbers: Mapping[RunKey, int], offsets: Offsets, plan: SlicePlan, parts: int
) -> DataFrame:
    """Each row of the plan's runs once for each slice that sees it, those of one slice together.

    `numbers` are those of the runs, `offsets` what is added to their clocks. Out: `PACKED`, by
    slice.
    """
    whole = pieces.counted()
    cut = partial(cut_pieces, read=whole.read, numbers=numbers, offsets=offsets, plan=plan)
    even = spread(whole.table.mapInArrow(named(cut), PACKED), parts, "partition")
    return even.sortWithinPartitions("partition") if plan.count > parts else even


def cut_pieces(
    batches: Iterator[ArrowBatch],
    read: Reader,
    numbers: Mapping[RunKey, int],
    offsets: Offsets,
    plan: SlicePlan,
) -> Iterator[ArrowBatch]:
    """The rows of pieces in packed batches."""
    for batch in batches:
        for table in read(batch):
            rows = with_offsets(EventColumns(table).rows(numbers), offsets)
            yield from keyed_by_slice(rows, plan)


def with_offsets(rows: Rows, offsets: Offsets) -> Rows:
    """The rows with the time that they are judged by."""
    if not offsets:
        return rows
    clock_ns = rows.clock_ns.copy()
    place = np.where(rows.delivered, rows.process, rows.sender)
    for run, of_run in offsets.items():
        ours = np.flatnonzero(rows.run == run)
        clock_ns[ours] += offset_of_each(place[ours], of_run)
    return replace(rows, clock_ns=clock_ns)


def keyed_by_slice(rows: Rows, plan: SlicePlan) -> Iterator[ArrowBatch]:
    """Rows, packed for the slices that see them."""
    placed, first, last = plan.slices_of(rows.run, rows.clock_ns)
    index, number = seen_by(first, last)
    if plan.wanted is not None:
        is_wanted = np.isin(number, list(plan.wanted))
        index, number = index[is_wanted], number[is_wanted]
    order = stable_order(number)
    index, number = placed[index[order]], number[order]
    for start, end in equal_runs(number):
        contents = [
            rows.chosen(as_range(index[begin : min(begin + PACKED_ROWS, end)])).packed()
            for begin in range(start, end, PACKED_ROWS)
        ]
        yield packed_rows(ROWS, [int(number[start])] * len(contents), contents)


def seen_by(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """A row's number and a slice's for each that sees it: from its first to its last."""
    index = [np.arange(len(first))]
    number = [first]
    # Hardly any row is seen by more than two.
    while len(more := index[-1][last[index[-1]] > number[-1]]):
        number.append(first[more] + len(number))
        index.append(more)
    return np.concatenate(index), np.concatenate(number)


def as_range(index: Integers) -> Integers | slice:
    """The same rows; if they follow each other, as a slice, which copies nothing."""
    begin, end = int(index[0]), int(index[-1]) + 1
    follows = end - begin == len(index) and bool(np.all(np.diff(index) == 1))
    return slice(begin, end) if follows else index
