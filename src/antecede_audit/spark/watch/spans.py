"""Judges spans while they come: requests of OTLP, documents of Jaeger or Zipkin in a folder.

A span is told when it ends. What a process did up to a time is known once it has told of an end
that is later than that by the *longest* a span takes; so the mark is the smallest of the last ends,
less that. Messages have both their ends as soon as both spans are there: none is lost or invented,
and only what came too early is looked for.

Events are made anew in every batch, from the spans of the horizon, so their numbers are none to
remember. Processes are numbered as they turn up, and the numbers of messages are hashes of the
spans between which they went.
"""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from antecede.eventlog.processes import FOLDER as NAMES_FOLDER
from antecede_audit.judging.finding_tables import VIOLATIONS
from antecede_audit.spark.ingest_library import spans_to_events
from antecede_audit.spark.readers import SPAN_ROWS
from antecede_audit.spark.schemas import PROCESSES, with_run_id
from antecede_audit.spark.settings import persisted
from antecede_audit.spark.watch.history import write_progress
from antecede_audit.spark.watch.progress import BatchProgress
from antecede_audit.spark.watch.state import (
    MARK_COLUMNS,
    NEVER,
    WatchSettings,
    WatchState,
    findings_about,
    forget_state,
    monotonic,
    read_state,
    watermarks_of,
    write_batch,
    write_state,
)

SPANS: Final = "spans"
NAMES: Final = "names"
STORED: Final = with_run_id(StructType(SPAN_ROWS.fields[:-1]))
"""A span in the columns that `spans_to_events` asks for, and its run."""

REMEMBERED: Final[Mapping[str, StructType | str]] = {SPANS: STORED, NAMES: PROCESSES}
"""The spans of traces in which something ended within the horizon; the numbers of processes."""

ROLES: Final = ("process", "early_sender", "late_sender")
NEVER_FOUND: Final = ("open_copies", "duplicates", "losses", "retracted", "inventions")
POSITIVE: Final = (1 << 63) - 1


class SpanWatch:
    """One watch of spans: what is done with every batch."""

    def __init__(self, out: str, settings: WatchSettings) -> None:
        self._out: Final = out
        self._states: Final = f"{out}/state"
        self._settings: Final = settings

    def judge(
        self, batch: DataFrame, number: int, *, finished: bool = False
    ) -> tuple[BatchProgress, dict[str, int]]:
        """Judge what this batch completes, everything if nothing more will come; idempotent.

        In: `SPAN_ROWS`, run_id. Returns what it came to, and how far each run is judged.
        """
        session = batch.sparkSession
        before = read_state(session, self._states, number, REMEMBERED)
        known = {row["name"]: row["process"] for row in before.tables[NAMES].collect()}
        with ExitStack() as stack:
            come = persisted(batch, stack)
            self._write_rejects(come, number)
            told = come.where("rejected IS NULL").select(*STORED.names)
            spans = persisted(before.tables[SPANS].unionByName(told), stack)
            last = last_ends(spans)
            marks = monotonic(self._marks(last, finished), before.marks)
            names = numbered(known, last)
            events = 0
            fresh = []
            for run, mark_ns in sorted(marks.items()):
                judged_ns = before.marks.get(run, NEVER)
                own = spans.where(F.col("run_id") == run)
                found, count = self._found(own, run, names, (judged_ns, mark_ns), stack)
                events += count
                fresh += [found] if found is not None else []
            early = self._write_findings(session, fresh, number)
            progress = progress_of(number, marks, events, early)
            write_progress(session, self._out, progress)
            rows = [(process, name) for name, process in names.items()]
            called = session.createDataFrame(rows, PROCESSES).coalesce(1)
            remembered = {SPANS: self._recent(spans, marks), NAMES: called}
            write_state(session, self._states, number, WatchState(remembered, marks))
            called.write.mode("overwrite").parquet(f"{self._out}/{NAMES_FOLDER}")
        forget_state(session, self._states, number)
        return progress, marks

    def _marks(self, last: list[Row], finished: bool) -> dict[str, int]:
        """Up to when each run can be judged."""
        settings = self._settings
        found = watermarks_of(last, settings.patience_ns, finished)
        if finished:
            return found
        return {run: mark - settings.longest_ns for run, mark in found.items()}

    def _found(
        self,
        spans: DataFrame,
        run: str,
        names: Mapping[str, int],
        stretch: tuple[int, int],
        stack: ExitStack,
    ) -> tuple[DataFrame | None, int]:
        """What came too early in a stretch of a run, and how many events that has."""
        judged_ns, mark_ns = stretch
        if mark_ns <= judged_ns:
            return None, 0
        traffic = stack.enter_context(spans_to_events(spans, repair=False))
        events = traffic.events.where(F.col("time_ns") <= mark_ns).withColumn("run_id", F.lit(run))
        events = persisted(events, stack)
        count = events.where(F.col("time_ns") > judged_ns).count()
        found = stack.enter_context(findings_about(events, self._settings.order, ["violations"]))
        fresh = found["violations"].where(F.col("late_delivered_ns") > judged_ns)
        numbers = [(row["process"], names[row["name"]]) for row in traffic.processes.collect()]
        return lasting(fresh, events, dict(numbers)), count

    def _recent(self, spans: DataFrame, marks: Mapping[str, int]) -> DataFrame:
        """The spans that later ones may need: whole traces."""
        since = [(run, mark - self._settings.horizon_ns) for run, mark in marks.items()]
        table = spans.sparkSession.createDataFrame(since, MARK_COLUMNS)
        ends = spans.groupBy("run_id", "trace_id").agg(F.max(end_of_span()).alias("end"))
        recent = ends.join(F.broadcast(table), "run_id").where(F.col("end") > F.col("mark_ns"))
        return spans.join(recent, ["run_id", "trace_id"], "leftsemi").select(*STORED.names)

    def _write_rejects(self, come: DataFrame, number: int) -> None:
        rejects = come.where("rejected IS NOT NULL").select("source", "rejected.*")
        write_batch(rejects, f"{self._out}/rejects/batch={number}", rejects.count())

    def _write_findings(self, session: SparkSession, fresh: list[DataFrame], number: int) -> int:
        """Write what came too early; how much there is."""
        nothing = session.createDataFrame([], from_arrow_schema(VIOLATIONS))
        found = reduce(DataFrame.unionByName, fresh, nothing).persist()
        count = found.count()
        write_batch(found, f"{self._out}/violations/batch={number}", count)
        found.unpersist()
        return count


def progress_of(number: int, marks: Mapping[str, int], events: int, early: int) -> BatchProgress:
    """The figures of a batch of spans."""
    return BatchProgress(
        batch=number,
        mark_ns=max(marks.values(), default=0),
        clock_ns=time.time_ns(),
        events=events,
        violations=early,
        **dict.fromkeys(NEVER_FOUND, 0),
    )


def end_of_span() -> Column:
    """When a span ended; one that does not say ended when it started."""
    return F.coalesce("end_ns", "start_ns")


def last_ends(spans: DataFrame) -> list[Row]:
    """In: run_id, process, end_ns, start_ns. The last end of every process."""
    ends = spans.groupBy("run_id", "process").agg(F.max(end_of_span()).alias("last_ns"))
    return ends.collect()


def numbered(known: Mapping[str, int], last: list[Row]) -> dict[str, int]:
    """The numbers of processes, those that have just turned up after the others."""
    names = dict(known)
    for name in sorted({row["process"] for row in last} - set(known)):
        names[name] = len(names)
    return names


def lasting(found: DataFrame, events: DataFrame, numbers: Mapping[int, int]) -> DataFrame:
    """Violations with numbers of processes and messages that are the same in every batch."""
    sent = events.where("kind = 'submitted'").select(
        "sender", "sequence", F.col("span_id").alias("sent_span")
    )
    sent = sent.dropDuplicates(["sender", "sequence"])
    rows = found
    for side in ("early", "late"):
        own = sent.withColumnsRenamed({"sender": f"{side}_sender", "sequence": f"{side}_sequence"})
        ends = F.xxhash64(f"{side}_trace_id", "sent_span", f"{side}_span_id")
        rows = (
            rows.join(own, [f"{side}_sender", f"{side}_sequence"])
            .withColumn(f"{side}_sequence", ends.bitwiseAND(POSITIVE))
            .drop("sent_span")
        )
    pairs = [F.lit(one) for pair in numbers.items() for one in pair]
    lookup = F.create_map(*pairs)
    rows = rows.withColumns({role: lookup[F.col(role)].cast("int") for role in ROLES})
    return rows.select(*found.columns)
