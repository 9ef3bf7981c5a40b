"""Reads logs that fit the memory of this process with room to spare.

What `facts` and `stages` have Spark do, done here by pyarrow and numpy: on a small log Spark takes
seconds to plan what takes a fraction of one. From rows on, everything is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import LocalError
from antecede.pipeline.audit.copies import LATEST, NEVER, Flags, Integers, Rows
from antecede.pipeline.audit.facts import REQUIRED, RunFacts
from antecede.pipeline.audit.small_files import RunFiles, read_rows
from antecede.trace.events import KINDS, TRACE_COLUMNS

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

INTEGERS: Final = ("process", "position", "sender", "sequence", "target", "time_ns")
READ: Final = (*INTEGERS, "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallLog:
    """A log in memory."""

    runs: list[RunFacts]
    table: ArrowTable
    """All rows: the columns read, and `run`, which stands for the run."""
    rows: Rows


def read_small(files: Sequence[RunFiles], columns: Sequence[str] = READ) -> SmallLog:
    """The log in these files; `LocalError` if rows lack what every row must have."""
    tables: list[ArrowTable] = []
    keys: list[tuple[int, str]] = []
    for source, run_id, parts, lines in files:
        wanted = columns if run_id is not None else (*columns, "run_id")
        table = read_rows(parts, lines, wanted, TRACE_COLUMNS)
        if run_id is not None:
            table = table.append_column("run_id", pa.array([run_id] * len(table), pa.string()))
        check_rows(table)
        names = table["run_id"].combine_chunks().cast(pa.string()).dictionary_encode()
        numbers = names.indices.to_numpy(zero_copy_only=False).astype(np.int64) + len(keys)
        keys += [(source, name) for name in names.dictionary.to_pylist()]
        kept = [*columns, *(name for name in TRACE_COLUMNS if name in table.column_names)]
        tables.append(table.select(kept).append_column("run", pa.array(numbers)))
    table = pa.concat_tables(tables, promote_options="permissive")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.zeros(len(keys), np.int64)
    place[order] = [number for number, _ in enumerate(order)]
    run = place[table["run"].to_numpy()]
    table = table.set_column(table.column_names.index("run"), "run", pa.array(run))
    log = LogColumns(table)
    return SmallLog(
        runs=log.facts([keys[key] for key in order]),
        table=table,
        rows=log.rows(),
    )


def check_rows(table: ArrowTable) -> None:
    """`LocalError` if rows lack what every row must have."""
    bad = pc.invert(pc.is_in(table["kind"], pa.array(KINDS)))
    for name in REQUIRED:
        bad = pc.or_(bad, pc.is_null(table[name]))
    count = pc.sum(bad).as_py() or 0
    if count:
        raise LocalError(f"this is no event log: {count} rows lack one of {', '.join(REQUIRED)}")


class LogColumns:
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
        self.trace: Integers = trace_numbers(table)

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
            "traced": np.bincount(self.run[counted & (self.trace != 0)], minlength=count),
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

    def rows(self) -> Rows:
        """What the definition of causal delivery looks at."""
        counted = np.flatnonzero(self.is_submission | self.is_delivery)
        delivered = self.is_delivery[counted]
        column = {name: values[counted] for name, values in self.columns.items()}
        return Rows(
            run=self.run[counted],
            sender=column["sender"],
            sequence=column["sequence"],
            process=np.where(delivered, column["process"], column["target"]),
            delivered=delivered,
            position=column["position"],
            time_ns=column["time_ns"],
            clock_ns=column["time_ns"],
            trace=self.trace[counted],
        )


def trace_numbers(table: ArrowTable) -> Integers:
    """A number for each row's trace; 0 if it has none."""
    if "trace_id" not in table.column_names:
        return np.zeros(len(table), np.int64)
    coded = table["trace_id"].combine_chunks().cast(pa.string()).dictionary_encode()
    numbers: Integers = pc.fill_null(coded.indices, NEVER).to_numpy().astype(np.int64) + 1
    nameless = [number + 1 for number, name in enumerate(coded.dictionary.to_pylist()) if not name]
    numbers[np.isin(numbers, nameless)] = 0
    return numbers


def flags(values: Any) -> Flags:  # noqa: ANN401 - an Arrow array, untyped
    """Arrow's booleans as numpy's."""
    found: Flags = values.to_numpy(zero_copy_only=False).astype(np.bool_)
    return found
