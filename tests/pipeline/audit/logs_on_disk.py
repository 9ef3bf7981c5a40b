"""Puts runs into one Parquet file with a column that names them, and compares verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.audit import Verdict, check_log
from antecede.pipeline.audit.judge import Judged
from antecede.pipeline.audit.verdict import duplicates, inventions, losses, violations
from antecede.trace import Event
from antecede.trace.parquet import event_schema

Runs = Mapping[str, Sequence[Event]]
Rows = dict[str, list[tuple[Any, ...]]]


def write_runs(path: Path, runs: Runs) -> str:
    """One file with all the runs."""
    schema = event_schema().append(pa.field("run_id", pa.string(), nullable=False))
    rows = [asdict(event) | {"run_id": run_id} for run_id, log in runs.items() for event in log]
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    return str(path)


def verdicts_of(judged: Judged) -> dict[str, Rows]:
    """Everything that was found, by run."""
    tables = {
        "violations": violations(judged.findings),
        "duplicates": duplicates(judged.findings),
        "losses": losses(judged.findings),
        "inventions": inventions(judged.findings),
    }
    found: dict[str, Rows] = {}
    for name, table in tables.items():
        for row in table.collect():
            found.setdefault(row["run_id"], {}).setdefault(name, []).append(tuple(row)[1:])
    return {run_id: in_order(rows) for run_id, rows in found.items()}


def oracle_of(runs: Runs) -> dict[str, Rows]:
    """The same as the oracle has it."""
    found = {run_id: rows_of(check_log(log, witnesses=False)) for run_id, log in runs.items()}
    return {run_id: rows for run_id, rows in found.items() if rows}


def rows_of(verdict: Verdict) -> Rows:
    """The rows of a verdict's tables; tables without rows are left out."""
    tables: Rows = {
        "violations": [violation.row() for violation in verdict.violations],
        "duplicates": [
            (d.process, *d.message, d.deliveries, d.first_delivered_ns, d.last_delivered_ns)
            for d in verdict.duplicates
        ],
        "losses": [(loss.target, *loss.message, loss.submitted_ns) for loss in verdict.losses],
        "inventions": [(i.process, *i.message, i.delivered_ns) for i in verdict.inventions],
    }
    return in_order({name: rows for name, rows in tables.items() if rows})


def in_order(rows: Rows) -> Rows:
    return {name: sorted(rows[name]) for name in sorted(rows)}
