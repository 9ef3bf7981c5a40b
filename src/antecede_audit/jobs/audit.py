"""The audit of logs that fit into this process: the same tables and summary, without Spark.

On a hundred thousand events Spark spends seconds planning what one pass of the kernel decides in a
fraction of one. The verdict is the same, as the judges are: a small log is one slice.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.eventlog.atomic_files import check_replaceable
from antecede.eventlog.parquet import reading
from antecede.eventlog.schema import Event
from antecede_audit.jobs.audit_files import SmallLog, files_of, read_small
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
from antecede_audit.jobs.outputs import write_together
from antecede_audit.judging.definition import ORDERS, PROCESS, TRACE, History, Order
from antecede_audit.judging.finding_tables import (
    REPORTED,
    SIDES,
    VIOLATIONS,
    Columns,
    Identities,
    arrow_table,
    columns_of,
    latest_cause_of_each,
)
from antecede_audit.judging.finding_tables import chosen as rows_chosen
from antecede_audit.judging.raw_findings import (
    DISORDER,
    INVENTION,
    LOSS,
    ORDER_CODES,
    REASONS,
    VIOLATION,
)
from antecede_audit.judging.run_sizes import RunSize
from antecede_audit.judging.summary import ViolationFigures, summary_of
from antecede_audit.judging.verdict_summary import (
    REPLACED,
    AuditResult,
    AuditSummary,
    Found,
    JudgingMethod,
)
from antecede_audit.judging.without_clock import judge_whole_runs
from antecede_audit.judging.witness import violation_of, witnessed
from antecede_audit.paths import is_local_path

SMALL_EVENTS: Final = 1_000_000
"""Logs with at most so many events are judged in one process: a few hundred megabytes."""


def audit_here(
    paths: Sequence[str],
    out: str,
    *,
    order: Order | None = None,
    explain: int = 0,
    events_max: int = SMALL_EVENTS,
    tell: Callable[[str], None] = lambda _: None,
) -> AuditResult | None:
    """Audit these logs if they are files here, of few events; None if they are not.

    The tables in the folder `out` are replaced, as by `antecede_audit.spark.audit_job.audit`.
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
    orders = ORDERS if any(run.traced for run in log.runs) else (PROCESS,)
    chosen = order or orders[-1]
    findings = columns_of(judge_whole_runs(log.rows, 0, orders))
    by_name = dict(zip(names, log.runs, strict=True))
    cut = cut_off(sources, by_name)
    clocks = {names.index(run): of for run, of in moved_clocks(sources, by_name).items()}
    early = {
        each: latest_cause_of_each(of_kind(findings, VIOLATION, each), clocks) for each in orders
    }
    shown: Order = chosen if chosen in orders else PROCESS
    findings, unknown = known_only(findings, cut, names)
    figures = {each: ViolationFigures.of(of_order, names) for each, of_order in early.items()}
    summary = summary_of(
        log.runs, counts_of(findings), figures, chosen, shown, method_of(log, findings, names)
    )
    summary = replace(summary, unknown=unknown, cut_off=ends_of(log, cut, names))
    worst_first = early[shown]
    identities = identities_of(log, sources, worst_first) if TRACE in orders else {}
    tables = {"violations": arrow_table(VIOLATIONS, worst_first, names, identities)} | {
        name: arrow_table(schema, of_kind(findings, what), names)
        for name, (what, schema) in REPORTED.items()
    }
    write_together(Path(out), tables, summary.as_object(), REPLACED)
    if explain:
        tell("looking for the reasons")
    worst = explained(log, worst_first, names, explain, chosen, identities)
    return build_result(summary, worst, names, log.runs, sources)


def of_kind(findings: Columns, what: int, order: Order = PROCESS) -> Columns:
    """The findings of one kind; of those that have an order, the ones by this."""
    return rows_chosen(
        findings, (findings["what"] == what) & (findings["order"] == ORDER_CODES[order])
    )


def counts_of(findings: Columns) -> dict[tuple[int, int], tuple[int, int]]:
    """By kind and order: how many findings there are, and the sum of their numbers."""
    pairs = set(zip(findings["what"].tolist(), findings["order"].tolist(), strict=True))
    counts = {}
    for what, order in pairs:
        which = (findings["what"] == what) & (findings["order"] == order)
        counts[what, order] = int(which.sum()), int(findings["number"][which].sum())
    return counts


def method_of(log: SmallLog, findings: Columns, names: Sequence[str]) -> JudgingMethod:
    """How the log was judged."""
    return JudgingMethod(
        slices=1 if len(log.rows) else 0,
        overlap_ns=0,
        long_flights=0,
        sequential=reasons_of(findings, names),
        clock_offsets_ns={},
        blurred={},
    )


def known_only(
    findings: Columns, cut: Mapping[str, Set[int]], names: Sequence[str]
) -> tuple[Columns, dict[str, int]]:
    """Without losses and inventions that may be due to logs which break off; and how many."""
    unknown = {}
    for name, what, column in (
        ("losses", LOSS, "process"),
        ("inventions", INVENTION, "sender"),
    ):
        doubtful = np.zeros(len(findings["what"]), np.bool_)
        for run, processes in cut.items():
            here = findings["run"] == number_of(run, names)
            doubtful |= here & np.isin(findings[column], list(processes))
        doubtful &= findings["what"] == what
        unknown[name] = int(doubtful.sum())
        findings = {key: values[~doubtful] for key, values in findings.items()}
    return findings, unknown


def ends_of(
    log: SmallLog, cut: Mapping[str, Set[int]], names: Sequence[str]
) -> dict[str, dict[str, int | None]]:
    """By run and process: the last submission or delivery that is known."""
    rows = log.rows
    place = np.where(rows.delivered, rows.process, rows.sender)
    found: dict[str, dict[str, int | None]] = {}
    for run, processes in cut.items():
        here = rows.run == number_of(run, names)
        found[run] = {}
        for process in sorted(processes):
            times_ns = rows.time_ns[here & (place == process)]
            found[run][str(process)] = int(times_ns.max()) if len(times_ns) else None
    return found


def number_of(run: str, names: Sequence[str]) -> int:
    """Which of the runs this is; no row has the number of one of which nothing can be read."""
    return names.index(run) if run in names else -1


def reasons_of(findings: Columns, names: Sequence[str]) -> dict[str, list[str]]:
    """The runs that had to be judged without a clock, and why."""
    told = findings["what"] == DISORDER
    pairs = zip(findings["run"][told].tolist(), findings["number"][told].tolist(), strict=True)
    reasons: dict[str, list[str]] = {}
    for run, number in sorted(set(pairs)):
        reasons.setdefault(names[run], []).append(REASONS[number])
    return reasons


def identities_of(log: SmallLog, sources: Sequence[LogSource], early: Columns) -> Identities:
    """The traces and spans that the deliveries of violations are part of."""
    columns = ("run", "process", "position", "kind", "trace_id", "span_id")
    table = log.table.filter(pc.equal(log.table["kind"], "delivered")).select(columns)
    places = zip(*(table[name].to_pylist() for name in columns[:3]), strict=True)
    steps = zip(table["trace_id"].to_pylist(), table["span_id"].to_pylist(), strict=True)
    at = dict(zip(places, steps, strict=True))
    named = {run: spans_of(log, sources, run) for run in np.unique(early["run"]).tolist()}
    found: dict[str, list[object]] = {}
    for side in SIDES:
        keys = zip(
            *(early[name].tolist() for name in ("run", "process", f"{side}_position")), strict=True
        )
        for key in keys:
            trace_id, span_id = at[key]
            operation, attributes = named[key[0]].get((trace_id, span_id), (None, None))
            for name, value in (
                ("trace_id", trace_id or None),
                ("span_id", span_id),
                ("operation", operation),
                ("attributes", attributes),
            ):
                found.setdefault(f"{side}_{name}", []).append(value)
    return found


def spans_of(
    log: SmallLog, sources: Sequence[LogSource], run: int
) -> dict[tuple[str, str], tuple[str | None, list[tuple[str, str]] | None]]:
    """By trace and span: what it is called, and its attributes, if ingest has written that down."""
    facts = log.runs[run]
    folder = spans_folder(sources[facts.source], facts.run_id)
    if folder is None:
        return {}
    with reading(Path(folder)):
        table = pq.read_table(folder, partitioning=None)
    names = ("trace_id", "span_id", "operation", "attributes")
    columns = [table[name].to_pylist() for name in names]
    return {(trace, span): (name, more) for trace, span, name, more in zip(*columns, strict=True)}


def explained(
    log: SmallLog,
    early: Columns,
    names: Sequence[str],
    count: int,
    order: Order,
    identities: Identities,
) -> list[Found]:
    """The worst violations with their witnesses."""
    rank = np.lexsort(
        (
            early["early_sequence"],
            early["early_sender"],
            early["process"],
            np.argsort(np.argsort(names))[early["run"]] if len(names) else early["run"],
            -early["held_back_ns"],
        )
    )
    worst: list[Found] = []
    histories: dict[int, History] = {}
    for place in rank[:count].tolist():
        row = {name: int(values[place]) for name, values in early.items()}
        run = row.pop("run")
        steps = {name: values[place] for name, values in identities.items()}
        name, violation = violation_of({**row, **steps, "run_id": names[run]})
        if run not in histories:
            histories[run] = History(events_of(log, run), order)
        worst.append((name, witnessed(violation, histories[run])))
    return worst


def events_of(log: SmallLog, run: int) -> list[Event]:
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
