"""Reads logs that fit the memory of this process with room to spare, and puts copies together.

What `facts` and `stages` have Spark do, done here by numpy: on a small log Spark takes seconds to
plan what takes a fraction of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import LocalError
from antecede.pipeline.audit.copies import NEVER, Copies, Flags, Integers
from antecede.pipeline.audit.facts import REQUIRED, RunFacts
from antecede.pipeline.audit.judging import LATEST
from antecede.pipeline.audit.small_files import RunFiles, read_rows
from antecede.trace.events import KINDS

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

READ: Final = ("process", "position", "kind", "sender", "sequence", "target", "time_ns")
INTEGERS: Final = tuple(name for name in READ if name != "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallLog:
    """A log in memory."""

    runs: list[RunFacts]
    table: ArrowTable
    """All rows: the columns read, and `run`, which stands for the run."""
    copies: Copies


def read_small(files: Sequence[RunFiles], columns: Sequence[str] = READ) -> SmallLog:
    """The log in these files; `LocalError` if rows lack what every row must have."""
    tables: list[ArrowTable] = []
    keys: list[tuple[int, str]] = []
    for source, run_id, parts in files:
        wanted = columns if run_id is not None else (*columns, "run_id")
        table = read_rows(parts, wanted)
        if run_id is not None:
            table = table.append_column("run_id", pa.array([run_id] * len(table), pa.string()))
        check_rows(table)
        names = table["run_id"].combine_chunks().cast(pa.string()).dictionary_encode()
        numbers = names.indices.to_numpy(zero_copy_only=False).astype(np.int64) + len(keys)
        keys += [(source, name) for name in names.dictionary.to_pylist()]
        tables.append(table.select(columns).append_column("run", pa.array(numbers)))
    table = pa.concat_tables(tables, promote_options="permissive")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.zeros(len(keys), np.int64)
    place[order] = [number for number, _ in enumerate(order)]
    run = place[table["run"].to_numpy()]
    table = table.set_column(table.column_names.index("run"), "run", pa.array(run))
    rows = Rows(table)
    return SmallLog(
        runs=rows.facts([keys[key] for key in order]),
        table=table,
        copies=with_overtaken(rows.copies()),
    )


def check_rows(table: ArrowTable) -> None:
    """`LocalError` if rows lack what every row must have."""
    bad = pc.invert(pc.is_in(table["kind"], pa.array(KINDS)))
    for name in REQUIRED:
        bad = pc.or_(bad, pc.is_null(table[name]))
    count = pc.sum(bad).as_py() or 0
    if count:
        raise LocalError(f"this is no event log: {count} rows lack one of {', '.join(REQUIRED)}")


class Rows:
    """The rows of a log as arrays."""

    def __init__(self, table: ArrowTable) -> None:
        self.run: Integers = table["run"].to_numpy()
        self.columns: dict[str, Integers] = {
            name: pc.fill_null(table[name].cast(pa.int64()), NEVER).to_numpy() for name in INTEGERS
        }
        is_message = flags(pc.and_(pc.is_valid(table["sender"]), pc.is_valid(table["sequence"])))
        own = self.columns["process"] == self.columns["sender"]
        self.is_submission: Flags = is_message & own & flags(pc.equal(table["kind"], "submitted"))
        self.is_delivery: Flags = is_message & flags(pc.equal(table["kind"], "delivered"))

    def facts(self, keys: Sequence[tuple[int, str]]) -> list[RunFacts]:
        """How much of everything each run has; `keys` are their sources and ids."""
        count = len(keys)
        times_ns = self.columns["time_ns"]
        counted = self.is_submission | self.is_delivery
        first_ns, last_ns = np.full(count, LATEST), np.full(count, -LATEST)
        np.minimum.at(first_ns, self.run[counted], times_ns[counted])
        np.maximum.at(last_ns, self.run[counted], times_ns[counted])
        nothing = first_ns == LATEST
        first_ns[nothing] = last_ns[nothing] = 0
        process = self.columns["process"]
        place = self.run * (int(process.max(initial=0)) + 1) + process
        _, first, index, events = np.unique(
            place, return_index=True, return_inverse=True, return_counts=True
        )
        lowest, highest = np.full(len(first), LATEST), np.full(len(first), -1)
        np.minimum.at(lowest, index, self.columns["position"])
        np.maximum.at(highest, index, self.columns["position"])
        crowded = set(self.run[first][events > highest - lowest + 1].tolist())
        figures = {
            "events": np.bincount(self.run, minlength=count),
            "processes": np.bincount(self.run[first], minlength=count),
            "submissions": np.bincount(self.run[self.is_submission], minlength=count),
            "deliveries": np.bincount(self.run[self.is_delivery], minlength=count),
            "first_ns": first_ns,
            "last_ns": last_ns,
        }
        return [
            RunFacts(
                source=source,
                run_id=run_id,
                crowded=number in crowded,
                **{name: int(values[number]) for name, values in figures.items()},
            )
            for number, (source, run_id) in enumerate(keys)
        ]

    def copies(self) -> Copies:
        """One for each message and process: the first submission to it, the first delivery."""
        counted = np.flatnonzero(self.is_submission | self.is_delivery)
        run, delivery = self.run[counted], self.is_delivery[counted]
        column = {name: values[counted] for name, values in self.columns.items()}
        process = np.where(delivery, column["process"], column["target"])
        keys = (column["sequence"], process, column["sender"], run)
        order = np.lexsort((column["position"], *keys))
        is_new = np.zeros(len(order), np.bool_)
        is_new[:1] = True
        for key in keys:
            is_new[1:] |= key[order][1:] != key[order][:-1]
        group = np.cumsum(is_new) - 1
        first = order[is_new]
        ends = {
            "submitted": first_of(group, order, ~delivery[order], len(first)),
            "delivered": first_of(group, order, delivery[order], len(first)),
        }
        last = first_of(group[::-1], order[::-1], delivery[order][::-1], len(first))
        times: dict[str, Integers] = {}
        for kind, row in ends.items():
            there = row != NEVER
            times[f"{kind}_position"] = np.where(there, column["position"][row], NEVER)
            times[f"{kind}_ns"] = np.where(there, column["time_ns"][row], 0)
        return Copies(
            run=run[first],
            sender=column["sender"][first],
            sequence=column["sequence"][first],
            process=process[first],
            deliveries=np.bincount(group[delivery[order]], minlength=len(first)),
            last_delivered_ns=np.where(last != NEVER, column["time_ns"][last], 0),
            overtaken=np.zeros(len(first), np.int64),
            **times,
        )


def flags(values: Any) -> Flags:  # noqa: ANN401 - an Arrow array, untyped
    """Arrow's booleans as numpy's."""
    found: Flags = values.to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def first_of(group: Integers, rows: Integers, which: Flags, groups: int) -> Integers:
    """Of each group the first row that is flagged, or `NEVER`."""
    chosen = np.full(groups, NEVER)
    # Of several values assigned to one place the last stays: so the first must come last.
    chosen[group[which][::-1]] = rows[which][::-1]
    return chosen


def with_overtaken(copies: Copies) -> Copies:
    """Mark the copies delivered after something that was submitted later or at the same time."""
    delivered = np.flatnonzero(copies.delivered_position != NEVER)
    order = delivered[
        np.lexsort(
            (
                copies.delivered_position[delivered],
                copies.process[delivered],
                copies.run[delivered],
            )
        )
    ]
    if not len(order):
        return copies
    changes = np.diff(copies.run[order]) != 0
    changes |= np.diff(copies.process[order]) != 0
    place = np.concatenate([[0], np.cumsum(changes)])
    times_ns, rank = np.unique(copies.submitted_ns[order], return_inverse=True)
    # Something delivered where nobody sent it may have been submitted at any time.
    rank[copies.submitted_position[order] == NEVER] = len(times_ns)
    # Later places have larger numbers, so that a running maximum starts anew at each.
    number = place * (len(times_ns) + 1) + rank
    overtaken = np.zeros(len(copies), np.int64)
    overtaken[order[1:]] = np.maximum.accumulate(number)[:-1] >= number[1:]
    return copies.replaced(overtaken=overtaken)


def run_in(copies: Copies, run: int) -> Copies:
    """The copies of one run; they stand in the order of runs."""
    first, end = np.searchsorted(copies.run, [run, run + 1])
    return copies.chosen(np.arange(first, end))
