"""The audit on Spark: `audit` of DataFrames, on whatever session they are; `audit_logs` of paths.

from antecede_audit import audit

with audit(spark.read.parquet("events"), order="trace") as found:
    found.violations.show()
"""

import json
from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede_audit.jobs.audit import build_result
from antecede_audit.jobs.event_logs import (
    LogSource,
    check_separate,
    cut_off,
    moved_clocks,
    names_of,
)
from antecede_audit.judging.definition import PROCESS, TRACE, Order, check_order
from antecede_audit.judging.event_columns import RunSize
from antecede_audit.judging.finding_tables import REPORTED
from antecede_audit.judging.findings import Violation
from antecede_audit.judging.raw_findings import ORDER_CODES, VIOLATION
from antecede_audit.judging.slice_plan import SLICE_COPIES
from antecede_audit.judging.summary import (
    REPLACED,
    SUMMARY,
    TABLES,
    AuditResult,
    AuditSummary,
    Found,
    JudgingMethod,
)
from antecede_audit.judging.verdict import NOTHING_CUT, NOTHING_MOVED, ONLY_RUN
from antecede_audit.judging.violation_figures import ViolationFigures, summary_of
from antecede_audit.spark import finding_tables
from antecede_audit.spark.audit_judge import JudgedLog, Tell, judged_events, settings_for
from antecede_audit.spark.audit_stages import counted
from antecede_audit.spark.event_logs import (
    find_source_anywhere,
    narrowed,
    read_logs,
    read_spans,
    with_all_columns,
)
from antecede_audit.spark.job_names import named_jobs, silent
from antecede_audit.spark.pieces import LogReader, of_files, of_rows
from antecede_audit.spark.settings import (
    PersistedTables,
    moved_to,
    persist_packed,
    persisted,
    private_session,
    spark_conf,
)
from antecede_audit.spark.storage import Storage
from antecede_audit.spark.survey import LogSurvey, survey_log
from antecede_audit.spark.table_formats import PARQUET, check_format
from antecede_audit.spark.witnesses import with_witnesses
from antecede_audit.spark.written_rows import blaming_spark, check_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTables(PersistedTables):
    """What an audit found, as tables."""

    violations: DataFrame
    """One row per message delivered too early at a process."""
    duplicates: DataFrame
    losses: DataFrame
    inventions: DataFrame
    runs: tuple[RunSize, ...]
    """The runs of the log, and how much of everything each has."""
    summary: AuditSummary
    counted: DataFrame
    """What was judged: the submissions and deliveries of the log, and run_id."""
    _early: tuple[DataFrame, Sequence[str]] | None = field(repr=False)
    """The violations as judges hand them over, and what runs are called; None if they have more."""

    def moved_to(self, session: SparkSession) -> "AuditTables":
        """The same tables in another session; whoever has them lets go of these."""
        return replace(
            self,
            violations=moved_to(session, self.violations),
            duplicates=moved_to(session, self.duplicates),
            losses=moved_to(session, self.losses),
            inventions=moved_to(session, self.inventions),
            counted=moved_to(session, self.counted),
        )

    def write_violations(self, folder: Path) -> bool:
        """Write the violations to a folder of this machine, if workers can do that alone."""
        if self._early is not None:
            finding_tables.write_violations(*self._early, folder)
        return self._early is not None


def audit(
    events: DataFrame,
    *,
    order: Order | None = None,
    spans: DataFrame | None = None,
    slice_copies: int = SLICE_COPIES,
    tell: Tell = silent,
) -> AuditTables:
    """Whether effects overtook causes in these events; nothing in their session changes meanwhile.

    In: the columns of the event log; `trace_id` and `span_id` if there are traces, `run_id` if
    there are several runs. `order` says which events of a process are ordered: all of them
    ("process"), or those of one trace ("trace", the default if there are traces). `spans` may have
    `trace_id, span_id, operation, attributes`, and `run_id`. Integers may be of any type that holds
    them; `LocalError` if a row is not what the event log allows.
    """
    check_order(order)
    lent = events.sparkSession
    session = private_session(lent)
    named = with_all_columns(moved_to(session, events))
    spans = spans if spans is None else moved_to(session, spans)
    with spark_conf(session, settings_for(session)), ExitStack() as stack:
        tell = stack.enter_context(named_jobs(session, "audit", tell))
        tell("runs of the log")
        pieces = of_rows(named)
        looked = survey_log(pieces, stack)
        names = [run.run_id for run in looked.runs]
        log = narrowed(named)
        found = tables_of_findings(log, pieces, looked, names, order, spans, slice_copies, tell)
    return found.moved_to(lent)


def tables_of_findings(
    events: DataFrame,
    pieces: LogReader,
    looked: LogSurvey,
    names: Sequence[str],
    order: Order | None,
    spans: DataFrame | None,
    slice_copies: int,
    tell: Tell,
    cut: Mapping[str, Set[int]] = NOTHING_CUT,
    moved: Mapping[str, Mapping[int, int]] = NOTHING_MOVED,
) -> AuditTables:
    """The findings about these runs, which go by these names.

    `cut` has processes whose logs break off, `moved` those whose clocks somebody has repaired.

    In: the event log, source and run_id; the same in pieces, and what a look at them has shown.
    """
    with ExitStack() as stack:
        judged = judged_events(events, pieces, looked, stack, slice_copies=slice_copies, tell=tell)
        chosen = order or judged.orders[-1]
        shown: Order = chosen if chosen in judged.orders else PROCESS
        findings = judged.findings
        log = with_run_ids(counted(judged.events), names)
        clocks = {names.index(run): of for run, of in moved.items()} | judged.method.offsets
        early = {
            each: persist_packed(
                finding_tables.violations_of(findings, each, names, clocks, judged.method.buckets),
                stack,
            )
            for each in judged.orders
        }
        tell("counting findings")
        summary = summarise(judged, early, chosen, shown, names)
        known = finding_tables.violations(early[shown], names, traced=TRACE in judged.orders)
        if TRACE in judged.orders:
            deliveries = log.where(F.col("kind") == "delivered")
            known = finding_tables.identified(known, deliveries, with_run_id(spans, names))
            known = persisted(known, stack)
        named = with_run_ids(findings, names)
        duplicates, losses, inventions = (finding_tables.reported(named, name) for name in REPORTED)
        if cut:
            losses = without_cut_off(losses, cut, "target")
            inventions = without_cut_off(inventions, cut, "sender")
            summary = without_unknown(summary, losses, inventions, ends_of(log, cut))
        return AuditTables(
            violations=known,
            duplicates=duplicates,
            losses=losses,
            inventions=inventions,
            runs=tuple(judged.runs),
            summary=summary,
            counted=log,
            _early=None if TRACE in judged.orders else (early[shown], names),
            _stack=stack.pop_all(),
        )


def without_cut_off(found: DataFrame, cut: Mapping[str, Set[int]], column: str) -> DataFrame:
    """Without what may be there, in the part of a log that is missing."""
    doubtful = F.broadcast(cut_table(found, cut, column))
    return found.join(doubtful, ["run_id", column], "leftanti").select(*found.columns)


def cut_table(table: DataFrame, cut: Mapping[str, Set[int]], column: str) -> DataFrame:
    """The processes whose logs break off: run_id, and this column."""
    rows = [(run, process) for run, processes in cut.items() for process in sorted(processes)]
    return table.sparkSession.createDataFrame(rows, f"run_id string, {column} int")


def ends_of(log: DataFrame, cut: Mapping[str, Set[int]]) -> dict[str, dict[str, int | None]]:
    """By run and process: the last event that is known."""
    ours = log.join(F.broadcast(cut_table(log, cut, "process")), ["run_id", "process"], "leftsemi")
    last = ours.groupBy("run_id", "process").agg(F.max("time_ns").alias("last_ns"))
    found = {(row["run_id"], row["process"]): row["last_ns"] for row in last.collect()}
    return {
        run: {str(process): found.get((run, process)) for process in sorted(processes)}
        for run, processes in cut.items()
    }


def without_unknown(
    summary: AuditSummary,
    losses: DataFrame,
    inventions: DataFrame,
    cut_off: dict[str, dict[str, int | None]],
) -> AuditSummary:
    """The summary without what only looks lost or invented because logs break off."""
    lost, invented = losses.count(), inventions.count()
    return replace(
        summary,
        losses=lost,
        inventions=invented,
        cut_off=cut_off,
        unknown={
            "losses": summary.losses - lost,
            "inventions": summary.inventions - invented,
        },
    )


def with_run_id(spans: DataFrame | None, names: Sequence[str]) -> DataFrame | None:
    """The spans, each with its run; without one they are those of the only run."""
    if spans is None or "run_id" in spans.columns:
        return spans
    return spans.withColumn("run_id", F.lit(names[0] if names else ONLY_RUN))


def with_run_ids(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """In: run, and more. Out: run_id instead of run, and the same."""
    if len(names) == 1:
        return rows.withColumn("run_id", F.lit(names[0])).drop("run")
    table = rows.sparkSession.createDataFrame(list(enumerate(names)), "run int, run_id string")
    return rows.join(F.broadcast(table), on="run", how="inner").drop("run")


def summarise(
    judged: JudgedLog,
    early: Mapping[Order, DataFrame],
    order: Order,
    shown: Order,
    names: Sequence[str],
) -> AuditSummary:
    """The counts of everything."""
    grouped = judged.findings.groupBy("what", "order").agg(
        F.count(F.lit(1)).alias("rows"), F.sum("number").alias("number")
    )
    counts = {
        (row["what"], row["order"]): (row["rows"], row["number"]) for row in grouped.collect()
    }
    figures = {
        each: finding_tables.figures_of(table)
        if (VIOLATION, ORDER_CODES[each]) in counts
        else ViolationFigures()
        for each, table in early.items()
    }
    method = judged.method
    how = JudgingMethod(
        slices=method.plan.count,
        overlap_ns=method.plan.overlap_ns,
        long_flights=method.long_flights,
        sequential={names[run]: reasons for run, reasons in sorted(method.reasons.items())},
        clock_offsets_ns={
            names[run]: {str(process): ns for process, ns in sorted(offsets.items())}
            for run, offsets in sorted(method.offsets.items())
        },
        blurred={names[run]: share for run, share in sorted(method.blurred.items())},
    )
    return summary_of(judged.runs, counts, figures, order, shown, how)


def audit_logs(
    session: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    order: Order | None = None,
    explain: int = 0,
    tables: Sequence[str] = (),
    format_name: str = PARQUET,
    slice_copies: int = SLICE_COPIES,
    tell: Tell = silent,
) -> AuditResult:
    """Audit the event logs at these paths, and in these tables of a catalogue.

    The tables in the folder `out` are replaced; they are written in the format `format_name`.
    """
    session = private_session(session)
    check_format(session, format_name)
    with ExitStack() as stack:
        tell = stack.enter_context(named_jobs(session, "audit", tell))
        stack.enter_context(spark_conf(session, settings_for(session)))
        places = stack.enter_context(Storage(session))
        places.check_replaceable(out, REPLACED)
        sources = [find_source_anywhere(path, places) for path in paths]
        sources += [LogSource(path=name, run_id=None, is_table=True) for name in tables]
        tell("runs of the log")
        written = read_logs(session, sources)
        pieces = of_files(session, sources) or of_rows(written)
        looked = survey_log(pieces, stack)
        log = narrowed(written)
        runs = looked.runs
        check_separate(runs, sources)
        places.make_folder(out)
        names = names_of(runs, sources)
        by_name = dict(zip(names, runs, strict=True))
        spans = read_spans(session, sources, by_name)
        cut, moved = cut_off(sources, by_name), moved_clocks(sources, by_name)
        with tables_of_findings(
            log, pieces, looked, names, order, spans, slice_copies, tell, cut, moved
        ) as found:
            tell("writing findings")
            write_tables(found, out, places, format_name)
            summary = found.summary
            worst: list[Found] = []
            if explain and not summary.causal:
                tell("explaining violations")
                worst = explained(found, explain)
        return build_result(summary, worst, names, runs, sources)


def write_tables(found: AuditTables, out: str, places: Storage, format_name: str) -> None:
    """Replace the tables and the summary: all of them, or, if something goes wrong, none.

    `Storage.replacing` says what is promised where.
    """
    text = json.dumps(found.summary.as_object(), indent=2) + "\n"
    with places.replacing(out, REPLACED) as stage:
        for name in TABLES:
            with blaming_spark(name):
                write_table(found, name, stage, places, format_name)
        places.write(f"{stage}/{SUMMARY}", text.encode())


def write_table(
    found: AuditTables, name: str, stage: str, places: Storage, format_name: str
) -> None:
    """Write one of the tables; `LocalError` if not all of its rows are there then."""
    table: DataFrame = getattr(found, name)
    place, count = f"{stage}/{name}", rows_of(found.summary, name)
    if not count:
        # Known to be empty: Spark need not plan how to find that out.
        table.limit(0).write.format(format_name).mode("overwrite").save(place)
        return
    here = places.local(place) if name == "violations" and format_name == PARQUET else None
    if here is None or not found.write_violations(here):
        table.write.format(format_name).mode("overwrite").save(place)
    check_rows(places, place, count, format_name)


def rows_of(summary: AuditSummary, table: str) -> int:
    """How many rows a table of findings has."""
    if table == "violations":
        return summary.violation_count
    count: int = getattr(summary, table)
    return count


def explained(found: AuditTables, count: int) -> list[Found]:
    """The worst violations with their witnesses."""
    ranked = found.violations.orderBy(
        F.desc("held_back_ns"), "run_id", "process", "early_sender", "early_sequence"
    )
    worst = [
        (row["run_id"], Violation.of_row(row.asDict())) for row in ranked.limit(count).collect()
    ]
    summary = found.summary
    return with_witnesses(found.counted, worst, list(summary.method.sequential), summary.order)
