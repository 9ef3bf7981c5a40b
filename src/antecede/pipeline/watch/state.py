"""What a watch remembers between two batches: tables in a folder for each batch.

Spark hands a batch out again if the process ended before it was done with. The folder of batch N is
made from that of N - 1 and the rows of the batch alone, and that of N - 1 goes only when N + 1 is
made: so a batch that comes again finds what it found the first time, and overwrites the same.

Most batches are small, and Spark would spend seconds on planning what takes a fraction of one: the
findings about their rows are judged in this process. The verdict is the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.types import LongType, StructField, StructType

from antecede.audit.history import Order
from antecede.audit.progress import Channel, Progress
from antecede.pipeline.audit.library import audit
from antecede.pipeline.audit.small_job import SMALL_EVENTS, audit_small
from antecede.pipeline.places import Places

MARKS: Final = "marks"
MARK_COLUMNS: Final = "run_id string, mark_ns long"


@dataclass(frozen=True, slots=True)
class State:
    """What there is after a batch."""

    tables: Mapping[str, DataFrame]
    """By name."""
    marks: Mapping[str, int] = field(default_factory=dict)
    """How far each run is judged."""


def read_state(
    session: SparkSession, folder: str, batch: int, tables: Mapping[str, StructType | str]
) -> State:
    """What was left by the batch before this one, as tables of these types; at first nothing."""
    if batch == 0:
        return State({name: session.createDataFrame([], of) for name, of in tables.items()})
    place = f"{folder}/{batch - 1}"
    found = {
        name: session.read.schema(of).parquet(f"{place}/{name}")
        for name, of in (*tables.items(), (MARKS, MARK_COLUMNS))
    }
    return State(found, {row["run_id"]: row["mark_ns"] for row in found[MARKS].collect()})


def write_state(session: SparkSession, folder: str, batch: int, state: State) -> None:
    """Leave these tables to the next batch."""
    marks = session.createDataFrame(sorted(state.marks.items()), MARK_COLUMNS)
    for name, table in {**state.tables, MARKS: marks}.items():
        table.coalesce(2).write.mode("overwrite").parquet(f"{folder}/{batch}/{name}")


def forget_state(session: SparkSession, folder: str, batch: int) -> None:
    """Remove what only the batch before this one needed; it is done with."""
    if batch >= 2:
        Places(session).remove(f"{folder}/{batch - 2}")


COLUMNS: Final = StructType(
    [StructField(field.name, LongType(), nullable=False) for field in fields(Progress)]
)

CHANNELS_SHOWN: Final = 10


def write_progress(session: SparkSession, out: str, progress: Progress) -> None:
    """Add the row of a batch; done twice, it is there once."""
    row = session.createDataFrame([tuple(asdict(progress).values())], COLUMNS)
    row.coalesce(1).write.mode("overwrite").parquet(f"{out}/progress/{progress.batch}")


def read_progress(session: SparkSession, out: str) -> list[Progress]:
    """All batches so far, in order."""
    read = session.read.schema(COLUMNS).option("recursiveFileLookup", "true")
    rows = read.parquet(f"{out}/progress").orderBy("batch").collect()
    return [Progress(**row.asDict()) for row in rows]


def worst_channels(session: SparkSession, out: str) -> list[Channel]:
    """Where most messages came too early, of all that were found."""
    try:
        found = session.read.parquet(f"{out}/violations")
    except AnalysisException:  # Nothing has been found yet.
        return []
    early = found.select("process", "early_sender", "early_sequence").distinct()
    counted = early.groupBy("early_sender", "process").agg(F.count(F.lit(1)).alias("rows"))
    ranked = counted.orderBy(F.desc("rows"), "early_sender", "process").limit(CHANNELS_SHOWN)
    return [
        Channel(sender=row["early_sender"], process=row["process"], violations=row["rows"])
        for row in ranked.collect()
    ]


LOG: Final = "log.parquet"


@contextmanager
def findings_about(
    events: DataFrame, order: Order | None, names: Sequence[str], events_max: int = SMALL_EVENTS
) -> Iterator[dict[str, DataFrame]]:
    """The tables of an audit that have these names, while the context is open.

    In: the event log, run_id.
    """
    few = events.limit(events_max + 1).toArrow()
    tables = None if few.num_rows > events_max else found_here(events, few, order, names)
    if tables is not None:
        yield tables
        return
    with audit(events, order=order) as found:
        yield {name: getattr(found, name) for name in names}


def found_here(
    events: DataFrame, rows: object, order: Order | None, names: Sequence[str]
) -> dict[str, DataFrame] | None:
    """The tables of an audit in this process; None if that cannot be, where paths are elsewhere."""
    with TemporaryDirectory(prefix="antecede-") as scratch:
        log, out = Path(scratch) / LOG, Path(scratch) / "found"
        pq.write_table(rows, log)
        if audit_small([str(log)], str(out), order=order) is None:
            return None
        create = events.sparkSession.createDataFrame
        return {name: create(pq.read_table(out / name)) for name in names}
