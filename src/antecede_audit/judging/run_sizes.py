"""The runs of a log, and how much of everything each has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from antecede_audit.judging.copies import LATEST, extremes
from antecede_audit.judging.log_columns import EventColumns

SUMS: Final = ("events", "submissions", "deliveries", "traced")


LEAST: Final = ("low", "first_ns")


GREATEST: Final = ("high", "last_ns")


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
        """At most so many copies, unless much is delivered where nobody sent it."""
        return max(self.submissions, self.deliveries)


def runs_of(rows: Sequence[dict[str, Any]]) -> list[RunSize]:
    """Runs by source and id, as they were counted."""
    for row in rows:
        if row["first_ns"] == LATEST:
            row["first_ns"] = row["last_ns"] = 0
    return sorted((RunSize(**row) for row in rows), key=lambda run: (run.source, run.run_id))


def facts_of(log: EventColumns) -> list[RunSize]:
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
