"""Has event logs judged, and counts what was found, run by run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from antecede.pipeline.audit.job import audit
from antecede.trace.datasets import find_runs
from antecede.trace.parquet import load

TABLES: Final = ("violations", "duplicates", "losses", "inventions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What an audit found in one run."""

    run_id: str
    fifo: int
    """Messages that came before an earlier one of the same sender."""
    transitive: int
    """Messages that came before something of another sender that happened before them."""
    duplicates: int
    losses: int
    inventions: int
    held_back_ns_max: int
    """The longest that causal order would have held one of them back."""

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return asdict(self)


def judge_logs(session: SparkSession, logs: Sequence[str], out: Path) -> list[Judged]:
    """Audit all runs of these datasets; the tables of the audit go into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    # By process: that is the order which the protocols under comparison promise.
    audit(session, logs, str(out), order="process")
    found = {name: count_rows(out / name) for name in TABLES}
    return [
        Judged(
            run_id=run_id,
            fifo=found["violations"].rows[run_id, "fifo"],
            transitive=found["violations"].rows[run_id, "transitive"],
            duplicates=found["duplicates"].rows[run_id, None],
            losses=found["losses"].rows[run_id, None],
            inventions=found["inventions"].rows[run_id, None],
            held_back_ns_max=found["violations"].worst.get(run_id, 0),
        )
        for log in logs
        for run_id in find_runs(Path(log))
    ]


@dataclass(slots=True)
class Counts:
    """What a table of findings has about each run."""

    rows: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """By run and kind; tables other than violations have no kinds."""
    worst: dict[str, int] = field(default_factory=dict)
    """By run: the longest that something would have been held back."""


def count_rows(folder: Path) -> Counts:
    """Count the rows of a table of findings; it streams by, whatever its size."""
    pq = load("pyarrow.parquet")
    counts = Counts()
    for file in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(file) as source:
            names = source.schema_arrow.names
            wanted = [name for name in ("run_id", "kind", "held_back_ns") if name in names]
            for batch in source.iter_batches(columns=wanted):
                add_batch(counts, batch)
    return counts


def add_batch(counts: Counts, batch: Any) -> None:  # noqa: ANN401 an Arrow batch, untyped
    """Count some rows more."""
    table = load("pyarrow").Table.from_batches([batch])
    keys = [name for name in ("run_id", "kind") if name in table.column_names]
    most = [("held_back_ns", "max")] if "held_back_ns" in table.column_names else []
    for row in table.group_by(keys).aggregate([([], "count_all"), *most]).to_pylist():
        run_id = row["run_id"]
        counts.rows[run_id, row.get("kind")] += row["count_all"]
        held_back_ns = row.get("held_back_ns_max", 0)
        counts.worst[run_id] = max(counts.worst.get(run_id, 0), held_back_ns)
