"""The audit as a function of DataFrames, on whatever session they belong to.

from antecede_audit import audit

with audit(spark.read.parquet("events"), order="trace") as found:
    found.violations.show()
"""

from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede_audit.judging.definition import PROCESS, TRACE, Order
from antecede_audit.judging.event_columns import RunSize
from antecede_audit.judging.finding_tables import REPORTED
from antecede_audit.judging.raw_findings import ORDER_CODES, VIOLATION
from antecede_audit.judging.slice_plan import SLICE_COPIES
from antecede_audit.judging.summary import AuditSummary, JudgingMethod
from antecede_audit.judging.verdict import NOTHING_CUT, NOTHING_MOVED, ONLY_RUN
from antecede_audit.judging.violation_figures import ViolationFigures, summary_of
from antecede_audit.spark import verdict
from antecede_audit.spark.audit_judge import JudgedLog, Tell, judged_events, settings_for
from antecede_audit.spark.audit_stages import counted
from antecede_audit.spark.event_logs import narrowed, with_all_columns
from antecede_audit.spark.job_names import named_jobs, silent
from antecede_audit.spark.pieces import LogReader, of_rows
from antecede_audit.spark.settings import (
    PersistedTables,
    moved_to,
    persist_packed,
    persisted,
    private_session,
    spark_conf,
)
from antecede_audit.spark.survey import LogSurvey, survey_log


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
            verdict.write_violations(*self._early, folder)
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
        found = audit_log(log, pieces, looked, names, order, spans, slice_copies, tell)
    return found.moved_to(lent)


def audit_log(
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
                verdict.violations_of(findings, each, names, clocks, judged.method.buckets), stack
            )
            for each in judged.orders
        }
        tell("counting findings")
        summary = summarise(judged, early, chosen, shown, names)
        known = verdict.violations(early[shown], names, traced=TRACE in judged.orders)
        if TRACE in judged.orders:
            deliveries = log.where(F.col("kind") == "delivered")
            known = verdict.identified(known, deliveries, with_run_id(spans, names))
            known = persisted(known, stack)
        named = with_run_ids(findings, names)
        duplicates, losses, inventions = (verdict.reported(named, name) for name in REPORTED)
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
        each: verdict.figures_of(table)
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
