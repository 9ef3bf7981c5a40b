"""`judge`: an event log in, findings out, in this process; it reads no files and needs no Spark.

Audits of small logs, the watch, and whoever has a table of events call it. Spark judges larger logs
slice by slice, with the same judges, and its result has the same fields.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.rules import JUDGED
from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.columns.arrays import column_of
from antecede_audit.columns.arrow_rows import repeated
from antecede_audit.eventlog.checked import RUN_ID, checked
from antecede_audit.judging.copies import Rows
from antecede_audit.judging.definition import ORDERS, PROCESS, TRACE, Order, check_order
from antecede_audit.judging.event_columns import EventColumns, RunSize, run_sizes
from antecede_audit.judging.finding_tables import (
    REPORTED,
    SIDES,
    VIOLATIONS,
    Columns,
    Identities,
    arrow_table,
    chosen,
    columns_of,
    latest_cause_of_each,
)
from antecede_audit.judging.raw_findings import (
    DISORDER,
    INVENTION,
    LOSS,
    ORDER_CODES,
    REASONS,
    VIOLATION,
)
from antecede_audit.judging.slices import judge_rows
from antecede_audit.judging.summary import AuditSummary, JudgingMethod
from antecede_audit.judging.violation_figures import ViolationFigures, summary_of

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

SpanNames: TypeAlias = Mapping[tuple[str, str], tuple[str | None, list[tuple[str, str]] | None]]
"""By trace and span: what it is called, and its attributes."""

ONLY_RUN: Final = "run"
"""What a run is called in a table that names none."""

NOTHING_CUT: Final[Mapping[str, Set[int]]] = {}
NOTHING_MOVED: Final[Mapping[str, Mapping[int, int]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is wrong with an event log; the tables have the columns that `antecede audit` writes."""

    violations: ArrowTable
    """One row per message delivered too early at a process."""
    duplicates: ArrowTable
    losses: ArrowTable
    inventions: ArrowTable
    runs: tuple[RunSize, ...]
    """The runs of the log, and how much of everything each has."""
    summary: AuditSummary

    @property
    def causal(self) -> bool:
        """Whether no message was delivered before one that caused it."""
        return self.summary.causal


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedLog:
    """A checked event log in memory."""

    runs: tuple[RunSize, ...]
    names: tuple[str, ...]
    """What the runs are called."""
    table: ArrowTable
    """All rows, and `run`, which is the number of the run."""
    rows: Rows

    @classmethod
    def of(cls, table: ArrowTable) -> Self:
        """In: what `checked` returns, with run_id and source: which log of several it is from."""
        log = EventColumns(table)
        runs = run_sizes(log)
        return cls(
            runs=tuple(runs),
            names=tuple(run.run_id for run in runs),
            table=table.append_column("run", pa.array(log.run)),
            rows=log.rows(),
        )


def judge(events: ArrowTable, order: Order | None = None) -> Findings:
    """Whether effects overtook causes in these events, and what else is wrong with them.

    In: an Arrow table with the columns of the event log; those about packets and sizes may be
    absent. With `run_id` it may have several runs. `order` says which events of a process are
    ordered: all of them ("process"), or those of one trace ("trace", the default if there are
    traces). Integers may be of any type that holds them. `LocalError` names the column, the row and
    the value that the event log does not allow.
    """
    check_order(order)
    there = set(events.column_names)
    columns = [name for name in ALL_COLUMNS if name in JUDGED or name in there]
    table = checked(events, columns)
    runs = events[RUN_ID] if RUN_ID in there else repeated(ONLY_RUN, len(table))
    table = table.select(columns).append_column(RUN_ID, runs.cast(pa.string()))
    return judge_log(LoadedLog.of(table.append_column("source", pa.repeat(0, len(table)))), order)


def no_span_names(_run: int) -> SpanNames:
    """Nobody has written down what spans are called."""
    return {}


def judge_log(
    log: LoadedLog,
    order: Order | None = None,
    *,
    cut_off: Mapping[str, Set[int]] = NOTHING_CUT,
    clock_offsets: Mapping[str, Mapping[int, int]] = NOTHING_MOVED,
    span_names: Callable[[int], SpanNames] = no_span_names,
) -> Findings:
    """The same of a log that is loaded.

    By run, `cut_off` has processes whose logs break off, `clock_offsets` how far somebody has moved
    clocks of processes. `span_names` says of a run, by its number, what its spans are called.
    """
    names = log.names
    orders = ORDERS if any(run.traced for run in log.runs) else (PROCESS,)
    asked = order or orders[-1]
    shown: Order = asked if asked in orders else PROCESS
    findings = columns_of(judge_rows(log.rows, 0, orders))
    clocks = {names.index(run): of for run, of in clock_offsets.items()}
    early = {
        each: latest_cause_of_each(of_kind(findings, VIOLATION, each), clocks) for each in orders
    }
    findings, unknown = known_only(findings, cut_off, names)
    figures = {each: ViolationFigures.of(of_order, names) for each, of_order in early.items()}
    method = method_of(log, findings)
    summary = summary_of(log.runs, counts_of(findings), figures, asked, shown, method)
    identities = identities_of(log, early[shown], span_names) if TRACE in orders else {}
    return Findings(
        violations=arrow_table(VIOLATIONS, early[shown], names, identities),
        **{
            name: arrow_table(schema, of_kind(findings, what), names)
            for name, (what, schema) in REPORTED.items()
        },
        runs=log.runs,
        summary=replace(summary, unknown=unknown, cut_off=ends_of(log, cut_off)),
    )


def of_kind(findings: Columns, what: int, order: Order = PROCESS) -> Columns:
    """The findings of one kind; of those that have an order, the ones by this."""
    return chosen(findings, (findings["what"] == what) & (findings["order"] == ORDER_CODES[order]))


def counts_of(findings: Columns) -> dict[tuple[int, int], tuple[int, int]]:
    """By kind and order: how many findings there are, and the sum of their numbers."""
    pairs = set(zip(findings["what"].tolist(), findings["order"].tolist(), strict=True))
    counts = {}
    for what, order in pairs:
        which = (findings["what"] == what) & (findings["order"] == order)
        counts[what, order] = int(which.sum()), int(findings["number"][which].sum())
    return counts


def method_of(log: LoadedLog, findings: Columns) -> JudgingMethod:
    """How the log was judged: as a whole, and which runs without a clock."""
    told = findings["what"] == DISORDER
    pairs = zip(findings["run"][told].tolist(), findings["number"][told].tolist(), strict=True)
    reasons: dict[str, list[str]] = {}
    for run, number in sorted(set(pairs)):
        reasons.setdefault(log.names[run], []).append(REASONS[number])
    return JudgingMethod(
        slices=1 if len(log.rows) else 0,
        overlap_ns=0,
        long_flights=0,
        sequential=reasons,
        clock_offsets_ns={},
        blurred={},
    )


def known_only(
    findings: Columns, cut_off: Mapping[str, Set[int]], names: Sequence[str]
) -> tuple[Columns, dict[str, int]]:
    """Without losses and inventions that may be due to logs which break off; and how many."""
    unknown = {}
    for name, what, column in (
        ("losses", LOSS, "process"),
        ("inventions", INVENTION, "sender"),
    ):
        doubtful = np.zeros(len(findings["what"]), np.bool_)
        for run, processes in cut_off.items():
            here = findings["run"] == number_of(run, names)
            doubtful |= here & np.isin(findings[column], list(processes))
        doubtful &= findings["what"] == what
        unknown[name] = int(doubtful.sum())
        findings = chosen(findings, ~doubtful)
    return findings, unknown


def ends_of(log: LoadedLog, cut_off: Mapping[str, Set[int]]) -> dict[str, dict[str, int | None]]:
    """By run and process: the last submission or delivery that is known."""
    rows = log.rows
    place = np.where(rows.delivered, rows.process, rows.sender)
    found: dict[str, dict[str, int | None]] = {}
    for run, processes in cut_off.items():
        here = rows.run == number_of(run, log.names)
        found[run] = {}
        for process in sorted(processes):
            times_ns = rows.time_ns[here & (place == process)]
            found[run][str(process)] = int(times_ns.max()) if len(times_ns) else None
    return found


def number_of(run: str, names: Sequence[str]) -> int:
    """Which of the runs this is; no row has the number of one of which nothing can be read."""
    return names.index(run) if run in names else -1


def places_of(early: Columns, position: str) -> Iterator[tuple[int, int, int]]:
    """The run, the process and the position of each."""
    columns = (early[name].tolist() for name in ("run", "process", position))
    return zip(*columns, strict=True)


def identities_of(
    log: LoadedLog, early: Columns, span_names: Callable[[int], SpanNames]
) -> Identities:
    """The traces and spans that the deliveries of violations are part of."""
    table = log.table.filter(pc.equal(log.table["kind"], "delivered"))
    wanted = {place for side in SIDES for place in places_of(early, f"{side}_position")}
    # Of the many deliveries few are early: texts are made of those alone.
    numbers = (column_of(table, name).tolist() for name in ("run", "process", "position"))
    places = enumerate(zip(*numbers, strict=True))
    row_of = {place: row for row, place in places if place in wanted}
    table = table.take(pa.array(row_of.values(), pa.int64()))
    ids = (
        table[name].to_pylist() if name in table.column_names else [None] * len(table)
        for name in ("trace_id", "span_id")
    )
    at = dict(zip(row_of, zip(*ids, strict=True), strict=True))
    called = {run: span_names(run) for run in np.unique(early["run"]).tolist()}
    found: dict[str, list[object]] = {}
    for side in SIDES:
        for place in places_of(early, f"{side}_position"):
            trace_id, span_id = at[place]
            operation, attributes = called[place[0]].get((trace_id, span_id), (None, None))
            for name, value in (
                ("trace_id", trace_id or None),
                ("span_id", span_id),
                ("operation", operation),
                ("attributes", attributes),
            ):
                found.setdefault(f"{side}_{name}", []).append(value)
    return found
