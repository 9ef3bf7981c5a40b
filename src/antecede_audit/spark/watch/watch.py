"""Judges a log while it grows: batch by batch, each finding once, also across restarts."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from signal import SIGINT, signal
from threading import Event
from typing import Final, Literal, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from antecede.eventlog.layout import PARTITION
from antecede.eventlog.processes import FOLDER
from antecede_audit.judging.verdict import ONLY_RUN
from antecede_audit.spark.job_names import named_jobs
from antecede_audit.spark.readers import SPAN_ROWS, spans_in_values
from antecede_audit.spark.schemas import EVENTS, with_run_id
from antecede_audit.spark.settings import persisted
from antecede_audit.spark.storage import Storage, literal
from antecede_audit.spark.watch.history import History, write_progress
from antecede_audit.spark.watch.progress import BatchProgress, Channel
from antecede_audit.spark.watch.reading import FILE, accepted, event_rows
from antecede_audit.spark.watch.spans import SpanWatch
from antecede_audit.spark.watch.state import (
    COPY,
    MARK_COLUMNS,
    WatchSettings,
    WatchState,
    below_watermark,
    findings_about,
    forget_state,
    last_times,
    monotonic,
    needed_later,
    read_state,
    undelivered,
    watermarks_of,
    with_watermark,
    write_batch,
    write_state,
)

Format: TypeAlias = Literal["parquet", "json", "orc", "otlp", "jaeger", "zipkin"]
Tell: TypeAlias = Callable[[list[BatchProgress], list[Channel]], None]

SPAN_FORMATS: Final = frozenset({"otlp", "jaeger", "zipkin"})
FILES: Final = "path string, modificationTime timestamp, length bigint, content binary"
"""What Spark knows of files that it reads whole."""

LOOK_S: Final = 0.2
"""Every 0.2 s it is asked whether a watch has ended."""

CHECKPOINT: Final = "checkpoint"
COMMITS: Final = f"{CHECKPOINT}/commits"
SIGN: Final = f"{CHECKPOINT}/metadata"
"""By this file Spark knows where it was; folders of versions without notes have it, too."""

WRITTEN: Final = (
    *("violations", "duplicates", "inventions", "losses", "retracted", "rejects"),
    *("progress", "state", CHECKPOINT, FOLDER, "index.html"),
)
"""What a watch leaves in its folder."""

WINDOW: Final = "window"
LOST: Final = "lost"
SEEN: Final = "seen"
REMEMBERED: Final[Mapping[str, StructType | str]] = {
    WINDOW: with_run_id(EVENTS),
    LOST: "run_id string, target int, sender int, sequence long, submitted_ns long",
    SEEN: "run_id string, target int, sender int, sequence long, delivered_ns long",
}
"""Rows of the log that later ones may need, those beyond the mark included; copies that were
reported lost, and may still come; copies delivered not long ago, which may come twice.
"""

FRESH_BY: Final = {
    "violations": "late_delivered_ns",
    "duplicates": "last_delivered_ns",
    "inventions": "delivered_ns",
}
"""When a finding shows: it is of this batch if that was not judged before."""


def watch(
    session: SparkSession,
    source: str,
    out: str,
    settings: WatchSettings,
    *,
    format_name: Format = "parquet",
    every_s: float = 10,
    once: bool = False,
    tell: Tell | None = None,
) -> StreamingQuery:
    """Start to judge the event logs that files in the folder `source` make up, now and later.

    Files below a folder `run_id=…` are one run, all others another. In the formats of spans they
    are read as by `antecede ingest`.

    Findings go to `out/violations` and so on, a folder for each batch. `once` judges what is there
    and ends; `finish` then judges what that left open. A watch on the same `out` goes on where the
    last one ended.
    """
    claim_folder(session, out)
    stream = session.readStream.option("recursiveFileLookup", "true")
    if format_name in SPAN_FORMATS:
        files = stream.format("binaryFile").schema(FILES).load(literal(source))
        rows = spans_in_values(files, format_name=format_name)
        rows = rows.withColumn("run_id", run_of_file(F.col("source")))
    else:
        rows = event_rows(stream, source, format_name)
        rows = rows.withColumn("run_id", run_of_file(F.col(FILE)))
    writer = rows.writeStream.foreachBatch(judge_of(out, settings, format_name, tell))
    writer = writer.option("checkpointLocation", f"{out}/{CHECKPOINT}")
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{max(1, round(every_s * 1_000))} milliseconds").start()


def claim_folder(session: SparkSession, out: str) -> None:
    """Note that the folder is that of a watch; `LocalError` if others have files in its way."""
    places = Storage(session)
    here = places.local(out)
    known = places.exists(f"{out}/{SIGN}") if here is None else is_watch(here)
    places.claim(out, WRITTEN, known=known)


def is_watch(out: str | Path) -> bool:
    """Whether a folder of this machine is that of a watch, by what Spark keeps in it."""
    return (Path(out) / SIGN).is_file()


def run_of_file(path: Column) -> Column:
    """The run that a file belongs to: that of its folder `run_id=…`, or the only one."""
    escaped = F.regexp_extract(path, f"/{PARTITION}([^/]+)/", 1)
    # Signs that a path cannot have are escaped twice: by whoever named the folder, and as an URL.
    named = escaped
    for _ in range(2):
        named = F.url_decode(F.replace(named, F.lit("+"), F.lit("%2B")))
    return F.when(escaped == "", F.lit(ONLY_RUN)).otherwise(named)


def judge_of(
    out: str,
    settings: WatchSettings,
    format_name: Format,
    tell: Tell | None,
    *,
    finished: bool = False,
) -> Callable[[DataFrame, int], None]:
    """What is done with every batch of files of this format; `finished`: it is the last one."""
    judge = (SpanWatch if format_name in SPAN_FORMATS else EventWatch)(out, settings).judge
    history = History(out, settings.horizon_ns)

    def judge_and_tell(batch: DataFrame, number: int) -> None:
        with named_jobs(batch.sparkSession, "watch") as describe:
            describe(f"batch {number}")
            progress, marks = judge(batch, number, finished=finished)
            if tell is not None:
                history.add(batch.sparkSession, progress, marks)
                tell(history.batches, history.worst_channels())

    return judge_and_tell


def finish(
    session: SparkSession,
    out: str,
    settings: WatchSettings,
    format_name: Format = "parquet",
    tell: Tell | None = None,
) -> None:
    """Judge what is left of a log to which nothing will be added, after the watch has ended.

    That is a batch of its own, after all of Spark's: only then is everything there, also where
    Spark began with a batch that a killed watch had left. Should more come nevertheless, the batch
    that brings it takes the place of this one.
    """
    done = [int(name) for name in Storage(session).names(f"{out}/{COMMITS}") if name.isdecimal()]
    if done:
        rows = with_run_id(SPAN_ROWS if format_name in SPAN_FORMATS else EVENTS)
        nothing = session.createDataFrame([], rows)
        judge_of(out, settings, format_name, tell, finished=True)(nothing, max(done) + 1)


def wait_for(query: StreamingQuery) -> bool:
    """Wait until a watch ends, or somebody presses Ctrl-C; whether somebody did.

    Spark's own answer to Ctrl-C asks Java by the line that this process waits on, and fails.
    """
    pressed = Event()
    before = signal(SIGINT, lambda _number, _frame: pressed.set())
    try:
        while query.isActive:
            if pressed.wait(LOOK_S):
                return True
    finally:
        signal(SIGINT, before)
    query.awaitTermination()  # It says why, if the watch has failed.
    return False


class EventWatch:
    """One watch: what is done with every batch."""

    def __init__(self, out: str, settings: WatchSettings) -> None:
        self._out: Final = out
        self._states: Final = f"{out}/state"
        self._settings: Final = settings

    def judge(
        self, batch: DataFrame, number: int, *, finished: bool = False
    ) -> tuple[BatchProgress, dict[str, int]]:
        """Judge what this batch completes, everything if nothing more will come; idempotent.

        Returns what it came to, and how far each run is judged.
        """
        session = batch.sparkSession
        before = read_state(session, self._states, number, REMEMBERED)
        come = accepted(batch, f"{self._out}/rejects/batch={number}")
        with ExitStack() as stack:
            rows = persisted(before.tables[WINDOW].unionByName(come), stack)
            last = last_times(rows)
            found = watermarks_of(last, self._settings.patience_ns, finished)
            marks = monotonic(found, before.marks)
            window = persisted(with_watermark(rows, marks, before.marks), stack)
            open_copies = persisted(undelivered(window), stack)
            progress, after = self._judged(window, open_copies, before, marks, number, finished)
            write_state(session, self._states, number, after)
        forget_state(session, self._states, number)
        return progress, marks

    def _judged(
        self,
        window: DataFrame,
        open_copies: DataFrame,
        before: WatchState,
        marks: dict[str, int],
        number: int,
        finished: bool,
    ) -> tuple[BatchProgress, WatchState]:
        """Write what is found, and return that in figures and what is to be remembered."""
        settings = self._settings
        arrivals = newly_delivered(window)
        patience_ns = 0 if finished else settings.lost_after_ns
        late = F.col("submitted_ns") <= F.col("mark_ns") - patience_ns
        missing = open_copies.where(late).drop("mark_ns")
        known_lost = before.tables[LOST]
        lost = missing.join(known_lost, list(COPY), "leftanti")
        back = known_lost.join(arrivals, list(COPY), "leftsemi")
        known = below_watermark(window)
        counted = {
            "events": known.where("time_ns > judged_ns"),
            "open_copies": open_copies,
        }
        log = known.drop("mark_ns", "judged_ns")
        with findings_about(log, settings.order, list(FRESH_BY)) as found:
            fresh = self._fresh(found, window, before)
            tables = {"losses": lost, "retracted": back, **fresh}
            counts = self._written(tables, counted, number)
        newest = max(marks.values(), default=0)
        progress = BatchProgress(batch=number, mark_ns=newest, clock_ns=time.time_ns(), **counts)
        write_progress(window.sparkSession, self._out, progress)
        remembered = {
            WINDOW: needed_later(window, open_copies, settings.horizon_ns),
            LOST: known_lost.join(arrivals, list(COPY), "leftanti").unionByName(lost),
            SEEN: self._seen(before, arrivals, marks),
        }
        return progress, WatchState(remembered, marks)

    def _fresh(
        self, found: Mapping[str, DataFrame], window: DataFrame, before: WatchState
    ) -> dict[str, DataFrame]:
        """Those of the findings that are new."""
        marks = F.broadcast(window.select("run_id", "judged_ns").distinct())
        fresh = {
            name: found[name].join(marks, "run_id").where(f"{when} > judged_ns").drop("judged_ns")
            for name, when in FRESH_BY.items()
        }
        # Whose submission has long been dropped was not invented: it came a second time.
        unknown = fresh["inventions"].withColumn("target", F.col("process"))
        seen = before.tables[SEEN].select(*COPY, F.col("delivered_ns").alias("first_delivered_ns"))
        fresh["inventions"] = unknown.join(seen, list(COPY), "leftanti").drop("target")
        repeated = unknown.join(seen, list(COPY)).select(
            "run_id",
            "process",
            "sender",
            "sequence",
            F.lit(2).cast("long").alias("deliveries"),
            "first_delivered_ns",
            F.col("delivered_ns").alias("last_delivered_ns"),
        )
        fresh["duplicates"] = fresh["duplicates"].unionByName(repeated)
        return fresh

    def _seen(self, before: WatchState, arrivals: DataFrame, marks: dict[str, int]) -> DataFrame:
        """What was delivered within the horizon."""
        both = before.tables[SEEN].unionByName(arrivals)
        first = both.groupBy(*COPY).agg(F.min("delivered_ns").alias("delivered_ns"))
        # By run: one that is idle does not keep what others delivered long ago.
        since = [(run, mark_ns - self._settings.horizon_ns) for run, mark_ns in marks.items()]
        oldest = both.sparkSession.createDataFrame(since, MARK_COLUMNS)
        recent = first.join(F.broadcast(oldest), "run_id").where("delivered_ns > mark_ns")
        return recent.drop("mark_ns")

    def _written(
        self, tables: Mapping[str, DataFrame], counted: Mapping[str, DataFrame], number: int
    ) -> dict[str, int]:
        """Write what there is of the tables, and count them and others, all in one query."""
        with ExitStack() as stack:
            for rows in tables.values():
                persisted(rows, stack)
            counts = [
                rows.agg(F.count(F.lit(1)).alias("rows")).withColumn("name", F.lit(name))
                for name, rows in (*tables.items(), *counted.items())
            ]
            found = {row["name"]: row["rows"] for row in reduce(DataFrame.union, counts).collect()}
            for name, rows in tables.items():
                write_batch(rows, f"{self._out}/{name}/batch={number}", found[name])
        return found


def newly_delivered(window: DataFrame) -> DataFrame:
    """In: what `with_watermark` gives. Out: the copies delivered since it was judged last."""
    fresh = below_watermark(window).where("kind = 'delivered' AND time_ns > judged_ns")
    return fresh.select(
        "run_id",
        F.col("process").alias("target"),
        "sender",
        "sequence",
        F.col("time_ns").alias("delivered_ns"),
    )
