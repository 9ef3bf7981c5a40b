"""Has event logs judged, and counts what was found, run by run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    found = {name: read_columns(out / name) for name in TABLES}
    runs = [run_id for log in logs for run_id in find_runs(Path(log))]
    counts = {name: Counter(row["run_id"] for row in rows) for name, rows in found.items()}
    kinds = Counter((row["run_id"], row["kind"]) for row in found["violations"])
    worst: dict[str, int] = {}
    for row in found["violations"]:
        worst[row["run_id"]] = max(worst.get(row["run_id"], 0), row["held_back_ns"])
    return [
        Judged(
            run_id=run_id,
            fifo=kinds[run_id, "fifo"],
            transitive=kinds[run_id, "transitive"],
            duplicates=counts["duplicates"][run_id],
            losses=counts["losses"][run_id],
            inventions=counts["inventions"][run_id],
            held_back_ns_max=worst.get(run_id, 0),
        )
        for run_id in runs
    ]


def read_columns(folder: Path) -> list[dict[str, Any]]:
    """The rows of a table of findings, in the columns that are counted."""
    pq = load("pyarrow.parquet")
    rows: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.parquet")):
        table = pq.read_table(file, partitioning=None)
        wanted = [name for name in ("run_id", "kind", "held_back_ns") if name in table.column_names]
        rows += table.select(wanted).to_pylist()
    return rows
