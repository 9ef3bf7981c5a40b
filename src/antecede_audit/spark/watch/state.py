"""What a watch remembers between two batches: tables in a folder for each batch.

Spark hands a batch out again if the process ended before it was done with. The folder of batch N is
made from that of N - 1 and the rows of the batch alone, and that of N - 1 goes only when N + 1 is
made: so a batch that comes again finds what it found the first time, and overwrites the same.

Most batches are small, and Spark would spend seconds on planning what takes a fraction of one: the
findings about their rows are judged in this process. The verdict is the same.

A log is judged up to its *mark*: the time up to which every process has told all it did, that is
the smallest of their last times. (One that has been silent for longer than the *patience* no longer
holds the others up.) A message that is delivered too early is found when the late one comes; all
that happened between the two began when the late one was submitted. So what is kept is everything
since the earliest submission of a copy that is still under way. A copy that takes longer than the
*horizon* no longer keeps what came after it: its own submission stays, the rest is dropped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.types import StructType

from antecede_audit.jobs.event_logs import WITNESSED
from antecede_audit.jobs.limits import ROWS_MAX, fits_here
from antecede_audit.judging.definition import Order
from antecede_audit.judging.verdict import judge
from antecede_audit.spark.audit import audit
from antecede_audit.spark.storage import Storage, literal
from antecede_audit.spark.written_rows import check_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """How patient a watch is; all of them are times of the log, not of the watch."""

    order: Order | None = None
    patience_ns: int = 30 * 10**9
    """A process that is silent for longer than this no longer holds the others up."""
    lost_after_ns: int = 60 * 10**9
    """A copy that takes longer is reported lost; if it comes after all, that is taken back."""
    horizon_ns: int = 600 * 10**9
    """A copy that takes longer no longer keeps everything since then in memory."""
    longest_ns: int = 60 * 10**9
    """Of spans: one that takes longer may be told too late to be judged."""


NEVER: Final = -(1 << 62)
"""Before any time: nothing has been judged."""

COPY: Final = ("run_id", "target", "sender", "sequence")
MARKED: Final = "run_id string, mark_ns long, judged_ns long"


def last_times(window: DataFrame) -> list[Row]:
    """In: run_id, process, time_ns. The last time of every process."""
    return window.groupBy("run_id", "process").agg(F.max("time_ns").alias("last_ns")).collect()


def watermarks_of(last: Iterable[Row], patience_ns: int, finished: bool) -> dict[str, int]:
    """Up to when each run can be judged; all of it, if nothing more will come."""
    times: dict[str, list[int]] = {}
    for row in last:
        times.setdefault(row["run_id"], []).append(row["last_ns"])
    if finished:
        return {run: max(of) for run, of in times.items()}
    return {run: min(t for t in of if t >= max(of) - patience_ns) for run, of in times.items()}


def monotonic(marks: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """The marks never go back: a process that was given up may come again with old events."""
    return {**before, **{run: max(mark, before.get(run, NEVER)) for run, mark in marks.items()}}


def with_watermark(
    window: DataFrame, marks: Mapping[str, int], judged: Mapping[str, int]
) -> DataFrame:
    """In: run_id, and more. Out: also mark_ns, and judged_ns: how far it was judged before."""
    rows = [(run, mark, judged.get(run, NEVER)) for run, mark in marks.items()]
    table = window.sparkSession.createDataFrame(rows, MARKED)
    return window.join(F.broadcast(table), "run_id")


def below_watermark(window: DataFrame) -> DataFrame:
    """In: what `with_watermark` gives. Out: the rows that can be judged now."""
    return window.where(F.col("time_ns") <= F.col("mark_ns"))


def undelivered(window: DataFrame) -> DataFrame:
    """In: what `with_watermark` gives. Out: the copies submitted and not delivered up to the
    mark.
    """
    known = below_watermark(window)
    sent = known.where(F.col("kind") == "submitted").select(
        *COPY, F.col("time_ns").alias("submitted_ns"), "mark_ns"
    )
    arrived = known.where(F.col("kind") == "delivered").select(
        "run_id", F.col("process").alias("target"), "sender", "sequence"
    )
    return sent.join(arrived, list(COPY), "leftanti")


def needed_later(window: DataFrame, open_copies: DataFrame, horizon_ns: int) -> DataFrame:
    """In: what `with_watermark` and `undelivered` give. Out: the rows that later ones may need."""
    young = open_copies.where(F.col("submitted_ns") > F.col("mark_ns") - horizon_ns)
    since = young.groupBy("run_id").agg(F.min("submitted_ns").alias("since_ns"))
    with_since = window.join(F.broadcast(since), "run_id", "left")
    needed = F.col("time_ns") >= F.coalesce(F.col("since_ns"), F.col("mark_ns") + 1)
    waiting = open_copies.select(*COPY, F.lit(True).alias("waits"))
    rows = with_since.join(waiting, list(COPY), "left")
    return rows.where(needed | (F.col("waits") & (F.col("kind") == "submitted"))).drop(
        "since_ns", "waits", "mark_ns", "judged_ns"
    )


MARKS: Final = "marks"
MARK_COLUMNS: Final = "run_id string, mark_ns long"


@dataclass(frozen=True, slots=True)
class WatchState:
    """What there is after a batch."""

    tables: Mapping[str, DataFrame]
    """By name."""
    marks: Mapping[str, int] = field(default_factory=dict)
    """How far each run is judged."""


def read_state(
    session: SparkSession, folder: str, batch: int, tables: Mapping[str, StructType | str]
) -> WatchState:
    """What was left by the batch before this one, as tables of these types; at first nothing."""
    if batch == 0:
        return WatchState({name: session.createDataFrame([], of) for name, of in tables.items()})
    place = f"{folder}/{batch - 1}"
    found = {
        name: session.read.schema(of).parquet(literal(f"{place}/{name}"))
        for name, of in (*tables.items(), (MARKS, MARK_COLUMNS))
    }
    return WatchState(found, {row["run_id"]: row["mark_ns"] for row in found[MARKS].collect()})


def write_state(session: SparkSession, folder: str, batch: int, state: WatchState) -> None:
    """Leave these tables to the next batch."""
    marks = session.createDataFrame(sorted(state.marks.items()), MARK_COLUMNS)
    for name, table in {**state.tables, MARKS: marks}.items():
        table.coalesce(2).write.mode("overwrite").parquet(f"{folder}/{batch}/{name}")


def forget_state(session: SparkSession, folder: str, batch: int) -> None:
    """Remove what only the batch before this one needed; it is done with."""
    if batch >= 2:
        Storage(session).remove(f"{folder}/{batch - 2}")


def write_batch(rows: DataFrame, place: str, count: int) -> None:
    """Write the `rows` that a batch found; idempotent, also if it had found something before."""
    places = Storage(rows.sparkSession)
    if count:
        rows.coalesce(1).write.mode("overwrite").parquet(place)
        check_rows(places, place, count)
    elif places.removes(place):
        places.remove(place)
    elif places.exists(place):
        rows.limit(0).coalesce(1).write.mode("overwrite").parquet(place)


@contextmanager
def findings_about(
    events: DataFrame, order: Order | None, names: Sequence[str], events_max: int = ROWS_MAX
) -> Iterator[dict[str, DataFrame]]:
    """The tables of an audit that have these names, while the context is open.

    In: the event log, run_id.
    """
    few = events.select(*WITNESSED, "run_id").limit(events_max + 1).toArrow()
    if fits_here(few.num_rows, rows_max=events_max):
        create = events.sparkSession.createDataFrame
        found = judge(few, order)
        yield {name: create(getattr(found, name)) for name in names}
        return
    with audit(events, order=order) as tables:
        yield {name: getattr(tables, name) for name in names}
