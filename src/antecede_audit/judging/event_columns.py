"""The rows of a log as arrays: which runs there are, their sizes, and what counts for causality.

Every log goes through here, whoever reads it: in one piece if it is small, and otherwise piece by
piece in the workers of Spark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from antecede.eventlog.rules import JUDGED
from antecede_audit.columns.arrays import (
    LATEST,
    dense_ranks,
    dictionary_codes,
    extremes,
    integers_of,
    scattered,
    valid,
)
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.columns.hashing import hash_texts
from antecede_audit.judging.copies import NEVER, Rows, process_keys

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

RunKey: TypeAlias = tuple[int, str]
"""Which run of which source."""

READ: Final = JUDGED
"""What is read of a log in any case."""

INTEGERS: Final = tuple(name for name in READ if name != "kind")

TRACE_ID: Final = "trace_id"

SUMS: Final = ("events", "submissions", "deliveries", "traced")
LEAST: Final = ("low", "first_ns")
GREATEST: Final = ("high", "last_ns")


class EventColumns:
    """Some rows of a log.

    In: what `checked` returns of `READ` and perhaps trace_id; source and run_id.
    """

    def __init__(self, table: ArrowTable) -> None:
        self._table = table
        self.columns: dict[str, Integers] = {
            name: integers_of(table[name], NEVER) for name in INTEGERS
        }
        is_message = valid(table["sender"]) & valid(table["sequence"])
        own = self.columns["process"] == self.columns["sender"]
        kind, kinds = dictionary_codes(table["kind"])
        self._kind: Integers = kind
        self._kinds = kinds
        self.is_submission: Flags = is_message & own & self._is_kind("submitted")
        self.is_delivery: Flags = is_message & self._is_kind("delivered")
        self.runs, self.run = run_numbers(table)

    def _is_kind(self, name: str) -> Flags:
        code = self._kinds.index(name) if name in self._kinds else NEVER - 1
        flags: Flags = self._kind == code
        return flags

    @property
    def counted(self) -> Flags:
        """Which rows the definition of causal delivery looks at."""
        return self.is_submission | self.is_delivery

    @property
    def trace(self) -> Integers:
        """A number for each row's trace; 0 if it has none."""
        if TRACE_ID not in self._table.column_names:
            return np.zeros(len(self.run), np.int64)
        return trace_numbers(self._table[TRACE_ID])

    def by_process(self) -> dict[str, Integers]:
        """How much of everything each process of each run has: a row each.

        `run` is the number of the run in `runs`. Times without an event are `LATEST`, or less than
        any.
        """
        process = self.columns["process"]
        place, processes = dense_ranks(process_keys(self.run, process))
        counted = self.counted
        flags = {
            "events": np.ones(len(process), np.bool_),
            "submissions": self.is_submission,
            "deliveries": self.is_delivery,
            "traced": counted & (self.trace != 0),
        }
        found = {
            name: np.bincount(place[which], minlength=processes) for name, which in flags.items()
        }
        position, time_ns = self.columns["position"], self.columns["time_ns"]
        low, high = extremes(place, position, processes)
        first_ns, last_ns = extremes(place[counted], time_ns[counted], processes)
        return found | {
            "run": scattered(processes, place, self.run),
            "process": scattered(processes, place, process),
            "low": low,
            "high": high,
            "first_ns": first_ns,
            "last_ns": last_ns,
        }

    def rows(
        self, numbers: Mapping[RunKey, int] | None = None, chosen: Integers | None = None
    ) -> Rows:
        """What the definition of causal delivery looks at, or the chosen ones of it.

        Runs get these numbers, or their own.
        """
        which: Integers | slice = self._all_counted() if chosen is None else chosen
        delivered = self.is_delivery[which]
        column = {name: values[which] for name, values in self.columns.items()}
        run = self.run[which]
        if numbers is not None:
            run = np.array([numbers[key] for key in self.runs], np.int64)[run]
        return Rows(
            run=run,
            sender=column["sender"],
            sequence=column["sequence"],
            process=np.where(delivered, column["process"], column["target"]),
            delivered=delivered,
            position=column["position"],
            time_ns=column["time_ns"],
            clock_ns=column["time_ns"],
            trace=self.trace[which],
        )

    def _all_counted(self) -> Integers | slice:
        """Where the rows are that count; if all do, nothing has to be copied."""
        counted = self.counted
        return slice(None) if counted.all() else np.flatnonzero(counted)


def run_numbers(table: ArrowTable) -> tuple[list[RunKey], Integers]:
    """The runs of a table by source and id, and the number of each row's run among them."""
    codes, names = dictionary_codes(table["run_id"])
    source = integers_of(table["source"], NEVER)
    if len(names) == 1 and not codes.any() and source.min() == source.max():
        return [(int(source[0]), names[0])], codes
    width = len(names) + 1
    place = source * width + codes + 1
    numbers, count = dense_ranks(place)
    ids = ["", *names]
    keys = [(one // width, ids[one % width]) for one in scattered(count, numbers, place).tolist()]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys))
    return [keys[number] for number in order], rank[numbers]


def trace_numbers(column: Any) -> Integers:  # noqa: ANN401 pyarrow has no types
    """A number for each row's trace, the same wherever it is read; 0 if it has none.

    Should two hashes of 64 bits ever be equal at one process, they count as one trace.
    """
    codes, names = dictionary_codes(column)
    if not names:
        return np.zeros(len(codes), np.int64)
    numbers = hash_texts(pa.array(names, pa.string()))
    numbers[[number for number, name in enumerate(names) if not name]] = 0
    return np.append(numbers, 0)[codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """One run: which, and how much of everything it has."""

    source: int
    run_id: str
    events: int
    processes: int
    submissions: int
    """Rows, one per target."""
    deliveries: int
    first_ns: int
    last_ns: int
    crowded: bool
    """Whether a process has more events than positions."""
    traced: int = 0
    """Submissions and deliveries that belong to a trace."""

    @property
    def copies(self) -> int:
        """An upper limit of its copies, unless much is delivered where nobody sent it."""
        return max(self.submissions, self.deliveries)


def runs_of(rows: Sequence[dict[str, Any]]) -> list[RunSize]:
    """Runs by source and id, as they were counted."""
    for row in rows:
        if row["first_ns"] == LATEST:
            row["first_ns"] = row["last_ns"] = 0
    return sorted((RunSize(**row) for row in rows), key=lambda run: (run.source, run.run_id))


def run_sizes(log: EventColumns) -> list[RunSize]:
    """All runs of a log that is here as a whole."""
    seen = log.by_process()
    run, count = seen["run"], len(log.runs)
    columns = {
        name: np.bincount(run, seen[name], minlength=count).astype(np.int64) for name in SUMS
    }
    columns["processes"] = np.bincount(run, minlength=count)
    columns["first_ns"], _ = extremes(run, seen["first_ns"], count)
    _, columns["last_ns"] = extremes(run, seen["last_ns"], count)
    crowded = set(run[seen["events"] > seen["high"] - seen["low"] + 1].tolist())
    return runs_of(
        [
            {name: int(values[number]) for name, values in columns.items()}
            | {"source": source, "run_id": run_id, "crowded": number in crowded}
            for number, (source, run_id) in enumerate(log.runs)
        ]
    )
