"""Judges a log while it grows: batch by batch, each finding once, also across restarts."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.streaming.query import StreamingQuery

from antecede.audit.history import Order
from antecede.audit.progress import Channel, Progress
from antecede.pipeline.audit.inputs import ONLY_RUN
from antecede.pipeline.audit.library import audit
from antecede.pipeline.schemas import EVENTS, with_run_id
from antecede.pipeline.watch import window as w
from antecede.pipeline.watch.progress import read_progress, worst_channels, write_progress
from antecede.pipeline.watch.state import State, forget_state, read_state, write_state

Format: TypeAlias = Literal["parquet", "json", "orc"]
Tell: TypeAlias = Callable[[list[Progress], list[Channel]], None]

FRESH_BY: Final = {
    "violations": "late_delivered_ns",
    "duplicates": "last_delivered_ns",
    "inventions": "delivered_ns",
}
"""When a finding shows: it is of this batch if that was not judged before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How patient a watch is; all of them are times of the log, not of the watch."""

    order: Order | None = None
    patience_ns: int = 30 * 10**9
    """A process that is silent for longer than this no longer holds the others up."""
    lost_after_ns: int = 60 * 10**9
    """A copy that takes longer is reported lost; if it comes after all, that is taken back."""
    horizon_ns: int = 600 * 10**9
    """A copy that takes longer no longer keeps everything since then in memory."""
    finished: bool = False
    """Nothing more will come: judge everything."""


def watch(
    session: SparkSession,
    source: str,
    out: str,
    settings: Settings,
    *,
    form: Format = "parquet",
    every_s: float = 10,
    once: bool = False,
    tell: Tell | None = None,
) -> StreamingQuery:
    """Start to judge the event log that files in the folder `source` make up, now and later.

    Findings go to `out/violations` and so on, a folder for each batch. `once` judges what is there
    and ends. A watch on the same `out` goes on where the last one ended.
    """
    watching = Watching(session, out, settings, tell)
    stream = session.readStream.schema(EVENTS).format(form).option("recursiveFileLookup", "true")
    rows = stream.load(source).withColumn("run_id", F.lit(ONLY_RUN))
    writer = rows.writeStream.foreachBatch(watching.judge)
    writer = writer.option("checkpointLocation", f"{out}/checkpoint")
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{max(1, round(every_s * 1_000))} milliseconds").start()


def finish(session: SparkSession, out: str, settings: Settings, tell: Tell | None = None) -> None:
    """Judge what is left of a log to which nothing was added since the last batch.

    Should more come nevertheless, the batch that brings it takes the place of this one.
    """
    batches = read_progress(session, out)
    if batches:
        nothing = session.createDataFrame([], with_run_id(EVENTS))
        Watching(session, out, settings, tell).judge(nothing, batches[-1].batch + 1)


def brought_rows(query: StreamingQuery) -> bool:
    """Whether there was anything new."""
    return any(one["numInputRows"] for one in query.recentProgress)


class Watching:
    """One watch: what is done with every batch."""

    def __init__(
        self, session: SparkSession, out: str, settings: Settings, tell: Tell | None
    ) -> None:
        self._session: Final = session
        self._out: Final = out
        self._states: Final = f"{out}/state"
        self._settings: Final = settings
        self._tell: Final = tell

    def judge(self, batch: DataFrame, number: int) -> None:
        """Judge what this batch completes; done twice, it has the same effect as once."""
        session = batch.sparkSession
        before = read_state(session, self._states, number)
        rows = before.window.unionByName(batch).persist()
        try:
            last = w.last_times(rows)
            found = w.marks_of(last, self._settings.patience_ns, self._settings.finished)
            marks = w.advanced(found, before.marks)
            window = w.marked(rows, marks, before.marks).persist()
            after = self._judged(window, before, marks, number)
            write_state(session, self._states, number, after)
            window.unpersist()
        finally:
            rows.unpersist()
        forget_state(session, self._states, number)
        if self._tell is not None:
            out = self._out
            self._tell(read_progress(session, out), worst_channels(session, out))

    def _judged(
        self, window: DataFrame, before: State, marks: dict[str, int], number: int
    ) -> State:
        """Write what is found, and return what is to be remembered."""
        settings = self._settings
        open_copies = w.under_way(window).persist()
        arrivals = newly_delivered(window)
        patience_ns = 0 if settings.finished else settings.lost_after_ns
        late = F.col("submitted_ns") <= F.col("mark_ns") - patience_ns
        missing = open_copies.where(late).drop("mark_ns")
        lost = missing.join(before.lost, list(w.COPY), "leftanti")
        back = before.lost.join(arrivals, list(w.COPY), "leftsemi")
        tables = {"losses": lost, "retracted": back, **self._audited(window, before)}
        counts = {name: self._written(table, name, number) for name, table in tables.items()}
        newest = max(marks.values(), default=0)
        write_progress(
            window,
            self._out,
            Progress(
                batch=number,
                mark_ns=newest,
                clock_ns=time.time_ns(),
                events=w.closed(window).where("time_ns > judged_ns").count(),
                open_copies=open_copies.count(),
                **counts,
            ),
        )
        return State(
            w.kept(window, open_copies, settings.horizon_ns),
            before.lost.join(arrivals, list(w.COPY), "leftanti").unionByName(lost),
            self._seen(before, arrivals, marks),
            marks,
        )

    def _audited(self, window: DataFrame, before: State) -> dict[str, DataFrame]:
        """The findings about what is closed, as far as they are new."""
        known = w.closed(window).drop("mark_ns", "judged_ns")
        marks = window.select("run_id", "judged_ns").distinct()
        with audit(known, order=self._settings.order) as found:
            fresh = {
                name: getattr(found, name)
                .join(F.broadcast(marks), "run_id")
                .where(F.col(when) > F.col("judged_ns"))
                .drop("judged_ns")
                .localCheckpoint()
                for name, when in FRESH_BY.items()
            }
        # Whose submission has long been dropped was not invented: it came a second time.
        unknown = fresh["inventions"]
        key = {"target": F.col("process")}
        seen = before.seen.select(*w.COPY, F.col("delivered_ns").alias("first_delivered_ns"))
        again = unknown.withColumns(key).join(seen, list(w.COPY))
        fresh["inventions"] = (
            unknown.withColumns(key).join(seen, list(w.COPY), "leftanti").drop("target")
        )
        repeated = again.select(
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

    def _seen(self, before: State, arrivals: DataFrame, marks: dict[str, int]) -> DataFrame:
        """What was delivered within the horizon."""
        both = before.seen.unionByName(arrivals)
        first = both.groupBy(*w.COPY).agg(F.min("delivered_ns").alias("delivered_ns"))
        oldest = min(marks.values(), default=0) - self._settings.horizon_ns
        return first.where(F.col("delivered_ns") > oldest)

    def _written(self, table: DataFrame, name: str, number: int) -> int:
        """Write what there is of a table, and count it."""
        rows = table.persist()
        try:
            count = rows.count()
            if count:
                place = f"{self._out}/{name}/batch={number}"
                rows.coalesce(1).write.mode("overwrite").parquet(place)
            return count
        finally:
            rows.unpersist()


def newly_delivered(window: DataFrame) -> DataFrame:
    """In: what `window.marked` gives. Out: the copies delivered since it was judged last."""
    fresh = w.closed(window).where("kind = 'delivered' AND time_ns > judged_ns")
    return fresh.select(
        "run_id",
        F.col("process").alias("target"),
        "sender",
        "sequence",
        F.col("time_ns").alias("delivered_ns"),
    )
