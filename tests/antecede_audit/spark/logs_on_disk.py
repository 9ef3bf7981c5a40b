"""Puts runs into one Parquet file with a column that names them, and compares verdicts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.eventlog import Event
from antecede.eventlog.parquet import event_schema
from antecede_audit.judging import VIOLATION_COLUMNS, OracleVerdict, Order, check_log
from antecede_audit.judging.summary import TABLES
from antecede_audit.spark.audit import AuditTables

Runs = Mapping[str, Sequence[Event]]
TRACED = ("early_trace_id", "late_trace_id", "early_span_id", "late_span_id")
JUDGED = (*VIOLATION_COLUMNS, *TRACED)
Rows = dict[str, list[tuple[Any, ...]]]


def write_runs(path: Path, runs: Runs) -> str:
    """One file with all the runs."""
    schema = event_schema().append(pa.field("run_id", pa.string(), nullable=False))
    events = [event for log in runs.values() for event in log]
    columns = {name: [getattr(event, name) for event in events] for name in schema.names[:-1]}
    columns["run_id"] = [run_id for run_id, log in runs.items() for _ in log]
    pq.write_table(pa.table(columns, schema), path)
    return str(path)


def verdicts_of(found: AuditTables) -> dict[str, Rows]:
    """Everything that was found, by run."""
    tables = {name: getattr(found, name) for name in TABLES}
    return by_run(
        {name: [row.asDict() for row in table.collect()] for name, table in tables.items()}
    )


def by_run(tables: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, Rows]:
    """The rows of tables, by run; of violations the columns that the oracle knows."""
    found: dict[str, Rows] = {}
    for name, rows in tables.items():
        for row in rows:
            run_id = row.pop("run_id")
            columns = JUDGED if name == "violations" else row
            found.setdefault(run_id, {}).setdefault(name, []).append(
                tuple(row[column] for column in columns)
            )
    return {run_id: in_order(rows) for run_id, rows in found.items()}


def oracle_of(runs: Runs, order: Order = "process") -> dict[str, Rows]:
    """The same as the oracle has it."""
    found = {
        run_id: rows_of(check_log(log, witnesses=False, order=order))
        for run_id, log in runs.items()
    }
    return {run_id: rows for run_id, rows in found.items() if rows}


def rows_of(verdict: OracleVerdict) -> Rows:
    """The rows of a verdict's tables; tables without rows are left out."""
    tables: Rows = {
        "violations": [
            (*violation.row(), *(getattr(violation, name) for name in TRACED))
            for violation in verdict.violations
        ],
        "duplicates": [
            (d.process, *d.message, d.deliveries, d.first_delivered_ns, d.last_delivered_ns)
            for d in verdict.duplicates
        ],
        "losses": [(loss.target, *loss.message, loss.submitted_ns) for loss in verdict.losses],
        "inventions": [(i.process, *i.message, i.delivered_ns) for i in verdict.inventions],
    }
    return in_order({name: rows for name, rows in tables.items() if rows})


def in_order(rows: Rows) -> Rows:
    return {name: sorted(rows[name], key=str) for name in sorted(rows)}
