"""What a watch remembers between two batches: tables in a folder for each batch.

Spark hands a batch out again if the process ended before it was done with. The folder of batch N is
made from that of N - 1 and the rows of the batch alone, and that of N - 1 goes only when N + 1 is
made: so a batch that comes again finds what it found the first time, and overwrites the same.
"""

from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from antecede.pipeline.places import Places
from antecede.pipeline.schemas import EVENTS, with_run_id

WINDOW: Final = "window"
LOST: Final = "lost"
SEEN: Final = "seen"
MARKS: Final = "marks"

LOST_COLUMNS: Final = "run_id string, target int, sender int, sequence long, submitted_ns long"
SEEN_COLUMNS: Final = "run_id string, target int, sender int, sequence long, delivered_ns long"
MARK_COLUMNS: Final = "run_id string, mark_ns long"


@dataclass(frozen=True, slots=True)
class State:
    """The tables after a batch."""

    window: DataFrame
    """Rows of the log that later ones may need, those beyond the mark included."""
    lost: DataFrame
    """Copies that were reported lost, and may still come."""
    seen: DataFrame
    """Copies that were delivered not long ago: they may come twice."""
    marks: dict[str, int] = field(default_factory=dict)
    """How far each run is judged."""


def read_state(session: SparkSession, folder: str, batch: int) -> State:
    """What was left by the batch before this one; nothing before the first."""
    if batch == 0:
        return State(
            session.createDataFrame([], with_run_id(EVENTS)),
            session.createDataFrame([], LOST_COLUMNS),
            session.createDataFrame([], SEEN_COLUMNS),
        )
    place = f"{folder}/{batch - 1}"
    read = session.read
    marks = read.schema(MARK_COLUMNS).parquet(f"{place}/{MARKS}").collect()
    return State(
        read.schema(with_run_id(EVENTS)).parquet(f"{place}/{WINDOW}"),
        read.schema(LOST_COLUMNS).parquet(f"{place}/{LOST}"),
        read.schema(SEEN_COLUMNS).parquet(f"{place}/{SEEN}"),
        {row["run_id"]: row["mark_ns"] for row in marks},
    )


def write_state(session: SparkSession, folder: str, batch: int, state: State) -> None:
    """Leave these tables to the next batch."""
    place = f"{folder}/{batch}"
    marks = session.createDataFrame(sorted(state.marks.items()), MARK_COLUMNS)
    for name, table in (
        (WINDOW, state.window),
        (LOST, state.lost),
        (SEEN, state.seen),
        (MARKS, marks),
    ):
        table.coalesce(2).write.mode("overwrite").parquet(f"{place}/{name}")


def forget_state(session: SparkSession, folder: str, batch: int) -> None:
    """Remove what only the batch before this one needed; it is done with."""
    if batch >= 2:
        Places(session).remove(f"{folder}/{batch - 2}")
