"""Stages over the log of one run in memory, as Arrow: what others have Spark do with many runs."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.pipeline.metrics.instants import AT_TARGET, COPY
from antecede.trace.events import KINDS
from antecede.trace.parquet import ArrowArray, ArrowTable


def instants_of(events: ArrowTable) -> ArrowTable:
    """When each submitted copy was submitted, transmitted, arrived and delivered, the first time.

    In:  process, kind, sender, sequence, target, time_ns.
    Out: sender, sequence, target, submitted_ns, transmitted_ns, arrived_ns, delivered_ns.
    """
    key = list(COPY[1:])
    events = events.filter(pc.is_valid(events["sender"]))
    kinds, times_ns = events["kind"], events["time_ns"]
    there = pc.is_in(kinds, pa.array(AT_TARGET))
    target = pc.if_else(there, events["process"], events["target"])
    columns = {"sender": events["sender"], "sequence": events["sequence"], "target": target}
    columns |= {kind: pc.if_else(pc.equal(kinds, kind), times_ns, None) for kind in KINDS}
    # One thread: several would give the copies in another order each time.
    copies = pa.table(columns).group_by(key, use_threads=False)
    first = copies.aggregate([(kind, "min") for kind in KINDS])
    instants = first.rename_columns([*key, *(f"{kind}_ns" for kind in KINDS)])
    return instants.filter(pc.is_valid(instants["submitted_ns"]))


def open_at_once(lanes: ArrowArray, opened_ns: ArrowArray, closed_ns: ArrowArray) -> ArrowTable:
    """How much is open in each lane at every moment at which something opens there.

    In:  of everything that opens: its lane, when it opens, and when it closes (null: never).
    Out: lane, time_ns, opened (how many then), level (after all that happens at that moment).
    """
    count = len(lanes)
    opening = {"lane": lanes, "time_ns": opened_ns, "opened": pa.repeat(1, count)}
    closing = {"lane": lanes, "time_ns": closed_ns, "opened": pa.repeat(0, count)}
    marks = pa.concat_tables(
        [
            pa.table(opening | {"change": pa.repeat(1, count)}),
            pa.table(closing | {"change": pa.repeat(-1, count)}),
        ]
    )
    moments = (
        marks.filter(pc.is_valid(marks["time_ns"]))
        .group_by(["lane", "time_ns"])
        .aggregate([("opened", "sum"), ("change", "sum")])
        .sort_by([("lane", "ascending"), ("time_ns", "ascending")])
        .rename_columns(["lane", "time_ns", "opened", "change"])
    )
    changes = moments["change"].to_numpy()
    _, firsts, sizes = np.unique(moments["lane"].to_numpy(), return_index=True, return_counts=True)
    passed = np.cumsum(changes)
    before = np.repeat((passed - changes)[firsts], sizes)
    levels = moments.drop_columns("change").append_column("level", pa.array(passed - before))
    return levels.filter(pc.greater(levels["opened"], 0))
