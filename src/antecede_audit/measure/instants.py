"""From events to copies: the four instants of each, the delays between them, who is where when.

This is for the log of one run that fits this process or task; `antecede_audit.spark.measure_stages`
has the same for logs of any size.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.parquet import ArrowArray, ArrowTable
from antecede.eventlog.schema import KINDS

COPY: Final = ("run_id", "sender", "sequence", "target")
"""What names a copy."""

AT_TARGET: Final = ("arrived", "delivered")
"""Kinds of events that happen at the target of a copy."""


def instants_of(events: ArrowTable) -> ArrowTable:
    """When each submitted copy was submitted, transmitted, arrived and delivered, the first time.

    In:  process, kind, sender, sequence, target, time_ns.
    Out: sender, sequence, target, submitted_ns, transmitted_ns, arrived_ns, delivered_ns.
    """
    key = list(COPY[1:])
    events = events.filter(pc.is_valid(events["sender"]))
    kinds, times_ns = events["kind"].cast(pa.string()), events["time_ns"]
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
    ends = pc.is_valid(closed_ns).to_numpy(zero_copy_only=False)
    closings = pc.drop_null(closed_ns).to_numpy()
    lane = np.concatenate([lanes.to_numpy(), lanes.to_numpy()[ends]])
    time_ns = np.concatenate([opened_ns.to_numpy(), closings])
    change = np.repeat(np.array([1, -1], np.int8), [len(lanes), len(closings)])
    order = np.lexsort((time_ns, lane))
    lane, time_ns, change = lane[order], time_ns[order], change[order]
    # What happens at one moment counts together: the last row of it has all.
    is_last = np.append((np.diff(lane) != 0) | (np.diff(time_ns) != 0), np.True_)[: len(lane)]
    level, opened = (np.cumsum(one, dtype=np.int64)[is_last] for one in (change, change > 0))
    lane, time_ns = lane[is_last], time_ns[is_last]
    _, firsts, sizes = np.unique(lane, return_index=True, return_counts=True)
    before = np.repeat(np.insert(level, 0, 0)[firsts], sizes)
    columns = {
        "lane": lane,
        "time_ns": time_ns,
        "opened": np.diff(opened, prepend=0),
        "level": level - before,
    }
    return pa.table(columns).filter(pa.array(columns["opened"] > 0))
