"""What the batches of a watch came to: on disk, and for those who look on.

Every batch adds a folder with one row to `progress/`. Every hundredth batch puts the rows of all
batches before it into one folder. So the cost of a batch does not grow with the number of batches:
a watch reads its history once, when it starts, and then adds to what it has in memory.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Final, final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.types import LongType, StructField, StructType

from antecede_audit.spark.storage import Storage, literal
from antecede_audit.spark.watch.progress import BatchProgress, Channel
from antecede_audit.spark.written_rows import check_rows

FOLDER: Final = "progress"
COLUMNS: Final = StructType(
    [StructField(field.name, LongType(), nullable=False) for field in fields(BatchProgress)]
)
TOGETHER: Final = 100
"""The rows of this number of batches are put together."""

WHOLE: Final = "before-"
"""How folders are called that have the rows of all batches before one."""

CHANNELS_SHOWN: Final = 10
EARLY: Final = ("run_id", "process", "early_sender", "early_sequence")


def write_progress(
    session: SparkSession, out: str, progress: BatchProgress, *, together: int = TOGETHER
) -> None:
    """Add the row of a batch; idempotent.

    Spark hands out a batch only when it is done with those before it, so their rows are final.
    """
    write_rows(session, [progress], f"{out}/{FOLDER}/{progress.batch}")
    if progress.batch and progress.batch % together == 0:
        put_together(session, out, progress.batch)


def write_rows(session: SparkSession, rows: list[BatchProgress], place: str) -> None:
    """A table of batches, in one file."""
    table = session.createDataFrame([tuple(asdict(one).values()) for one in rows], COLUMNS)
    table.coalesce(1).write.mode("overwrite").parquet(place)
    check_rows(Storage(session), place, len(rows))


def put_together(session: SparkSession, out: str, number: int) -> None:
    """Put the rows of all batches before this one into one folder.

    Whoever is killed in the midst of it leaves some rows in two folders, which readers here notice.
    """
    places = Storage(session)
    top = f"{out}/{FOLDER}"
    done = [name for name in places.names(top) if is_before(name, number)]
    rows = [one for one in read_progress(session, out) if one.batch < number]
    if rows and places.removes(top):
        whole = f"{WHOLE}{number}"
        write_rows(session, rows, f"{top}/{whole}")
        for name in done:
            if name != whole:
                places.remove(f"{top}/{name}")


def is_before(name: str, number: int) -> bool:
    """Whether a folder of `progress/` has rows of earlier batches only."""
    plain = name.removeprefix(WHOLE)
    return plain.isdecimal() and (int(plain) < number or name.startswith(WHOLE))


def read_progress(session: SparkSession, out: str) -> list[BatchProgress]:
    """All batches so far, in order."""
    read = session.read.schema(COLUMNS).option("recursiveFileLookup", "true")
    table = read.parquet(literal(f"{out}/{FOLDER}"))
    rows = table.dropDuplicates(["batch"]).orderBy("batch").collect()
    return [BatchProgress(**row.asDict()) for row in rows]


@final
class History:
    """What a running watch knows of all batches, without reading it again."""

    def __init__(self, out: str, horizon_ns: int) -> None:
        self._out: Final = out
        self._horizon_ns: Final = horizon_ns
        self._batches: list[BatchProgress] | None = None
        self._channels: Final[Counter[tuple[int, int]]] = Counter()
        self._recent: dict[tuple[object, ...], int] = {}
        """When messages were delivered that came too early, and may be found once more."""

    def add(self, session: SparkSession, progress: BatchProgress, marks: Mapping[str, int]) -> None:
        """A batch is written: take notice of it, and of its violations."""
        # What was delivered before the horizon is not found again.
        since = {run: mark_ns - self._horizon_ns for run, mark_ns in marks.items()}
        if self._batches is None:
            self._batches = read_progress(session, self._out)
            self._read(violations_in(session, f"{self._out}/violations"), since)
            return
        self._batches.append(progress)
        if progress.violations:
            self._count(violations_in(session, f"{self._out}/violations/batch={progress.batch}"))
        self._recent = {
            key: time_ns
            for key, time_ns in self._recent.items()
            if time_ns > since.get(str(key[0]), time_ns - 1)
        }

    def _read(self, found: DataFrame | None, since: Mapping[str, int]) -> None:
        """Count what there is when a watch starts: Spark does, as it may be much."""
        if found is None:
            return
        early = found.groupBy(*EARLY).agg(F.min("early_delivered_ns").alias("time_ns")).persist()
        counted = early.groupBy("early_sender", "process").agg(F.count(F.lit(1)).alias("rows"))
        for row in counted.collect():
            self._channels[row["early_sender"], row["process"]] = row["rows"]
        horizon = F.broadcast(session_table(early, since))
        for row in early.join(horizon, "run_id").where("time_ns > since_ns").collect():
            self._recent[tuple(row[name] for name in EARLY)] = row["time_ns"]
        early.unpersist()

    def _count(self, found: DataFrame | None) -> None:
        """Count those of a batch that were not found before, with an earlier cause."""
        if found is None:
            return
        early = found.groupBy(*EARLY).agg(F.min("early_delivered_ns").alias("time_ns"))
        for row in early.collect():
            key = tuple(row[name] for name in EARLY)
            if key not in self._recent:
                self._recent[key] = row["time_ns"]
                self._channels[row["early_sender"], row["process"]] += 1

    @property
    def batches(self) -> list[BatchProgress]:
        """All of them, in order."""
        return self._batches or []

    def worst_channels(self) -> list[Channel]:
        """Where most messages came too early, of all that were found."""
        ranked = sorted(self._channels.items(), key=lambda one: (-one[1], one[0]))
        return [
            Channel(sender=sender, process=process, violations=count)
            for (sender, process), count in ranked[:CHANNELS_SHOWN]
        ]


def session_table(beside: DataFrame, since: Mapping[str, int]) -> DataFrame:
    """Since when each run is looked at, as a table of the session of another."""
    rows = sorted(since.items())
    return beside.sparkSession.createDataFrame(rows, "run_id string, since_ns long")


def violations_in(session: SparkSession, place: str) -> DataFrame | None:
    """The violations in a folder; None if nothing has been found yet."""
    try:
        return session.read.parquet(literal(place))
    except AnalysisException:
        return None
