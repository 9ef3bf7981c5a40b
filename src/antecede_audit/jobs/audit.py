"""The audit of logs that fit into this process: the same tables and summary, without Spark.

On a hundred thousand events Spark spends seconds planning what one pass of the kernel decides in a
fraction of one. The verdict is the same, as the judges are: a small log is one slice.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.eventlog.atomic_files import check_replaceable
from antecede.eventlog.parquet import reading
from antecede.eventlog.schema import Event
from antecede_audit.jobs.audit_files import files_of, read_small
from antecede_audit.jobs.event_logs import (
    WITNESSED,
    LogSource,
    check_separate,
    cut_off,
    find_source,
    moved_clocks,
    names_of,
    process_names,
    spans_folder,
)
from antecede_audit.jobs.limits import ROWS_MAX
from antecede_audit.jobs.outputs import write_together
from antecede_audit.judging.definition import History, Order
from antecede_audit.judging.event_columns import RunSize
from antecede_audit.judging.findings import Violation
from antecede_audit.judging.summary import REPLACED, TABLES, AuditResult, AuditSummary, Found
from antecede_audit.judging.verdict import Findings, LoadedLog, SpanNames, judge_log
from antecede_audit.judging.witness import witnessed
from antecede_audit.paths import is_local_path

RANKED_BY: Final = tuple(
    (name, "ascending") for name in ("run_id", "process", "early_sender", "early_sequence")
)
"""Violations that held messages back equally long are listed in this order."""


def audit_here(
    paths: Sequence[str],
    out: str,
    *,
    order: Order | None = None,
    explain: int = 0,
    events_max: int = ROWS_MAX,
    tell: Callable[[str], None] = lambda _: None,
) -> AuditResult | None:
    """Audit these logs if they are files here, of few events; None if they are not.

    The tables in the folder `out` are replaced, as by `antecede_audit.spark.audit.audit_logs`.
    """
    if not all(is_local_path(path) for path in (*paths, out)):
        return None
    check_replaceable(Path(out).absolute(), REPLACED)
    sources = [find_source(path) for path in paths]
    files = files_of(sources, events_max)
    if files is None:
        return None
    tell("judging")
    log = read_small(files)
    check_separate(log.runs, sources)
    names = names_of(log.runs, sources)
    log = replace(log, names=tuple(names))
    by_name = dict(zip(names, log.runs, strict=True))
    found = judge_log(
        log,
        order,
        cut_off=cut_off(sources, by_name),
        clock_offsets=moved_clocks(sources, by_name),
        span_names=lambda run: read_span_names(log.runs[run], sources),
    )
    tables = {name: getattr(found, name) for name in TABLES}
    write_together(Path(out), tables, found.summary.as_object(), REPLACED)
    if explain:
        tell("explaining violations")
    worst = explained(found, log, explain)
    return build_result(found.summary, worst, names, log.runs, sources)


def read_span_names(run: RunSize, sources: Sequence[LogSource]) -> SpanNames:
    """What the spans of a run are called, if ingest has written that down."""
    folder = spans_folder(sources[run.source], run.run_id)
    if folder is None:
        return {}
    with reading(Path(folder)):
        table = pq.read_table(folder, partitioning=None)
    names = ("trace_id", "span_id", "operation", "attributes")
    columns = [table[name].to_pylist() for name in names]
    return {(trace, span): (name, more) for trace, span, name, more in zip(*columns, strict=True)}


def explained(found: Findings, log: LoadedLog, count: int) -> list[Found]:
    """The worst violations with their witnesses."""
    rank = pc.sort_indices(found.violations, [("held_back_ns", "descending"), *RANKED_BY])
    worst: list[Found] = []
    histories: dict[str, History] = {}
    for row in found.violations.take(rank[:count]).to_pylist():
        run_id, violation = row["run_id"], Violation.of_row(row)
        if run_id not in histories:
            events = events_of(log, log.names.index(run_id))
            histories[run_id] = History(events, found.summary.order)
        worst.append((run_id, witnessed(violation, histories[run_id])))
    return worst


def events_of(log: LoadedLog, run: int) -> list[Event]:
    """The submissions and deliveries of a run."""
    counted = pc.is_in(log.table["kind"], pa.array(["submitted", "delivered"]))
    ours = pc.and_(counted, pc.equal(log.table["run"], run))
    columns = [name for name in WITNESSED if name in log.table.column_names]
    return [Event(**row) for row in log.table.filter(ours).select(columns).to_pylist()]


def build_result(
    summary: AuditSummary,
    worst: list[Found],
    names: Sequence[str],
    runs: Sequence[RunSize],
    sources: Sequence[LogSource],
) -> AuditResult:
    """What an audit leaves besides its tables: with the names of processes that are spoken of."""
    spoken_of = {channel.run_id for channel in summary.channels} | {run for run, _ in worst}
    spoken_of |= set(summary.cut_off)
    people = {run: process_names(run, names, runs, sources) for run in sorted(spoken_of)}
    return AuditResult(summary=summary, worst=worst, names=people)
