"""What each batch of a watch came to: one row, for those who look on."""

from dataclasses import asdict, dataclass, fields

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The figures of one batch."""

    batch: int
    mark_ns: int
    """Up to when the log is judged."""
    clock_ns: int
    """When it was judged, by the clock of the watch."""
    events: int
    open_copies: int
    """Copies that are under way."""
    violations: int
    duplicates: int
    losses: int
    retracted: int
    """Losses that came after all."""
    inventions: int


COLUMNS = StructType(
    [StructField(field.name, LongType(), nullable=False) for field in fields(Progress)]
)


def write_progress(table: DataFrame, out: str, progress: Progress) -> None:
    """Add the row of a batch; done twice, it is there once."""
    row = table.sparkSession.createDataFrame([tuple(asdict(progress).values())], COLUMNS)
    row.coalesce(1).write.mode("overwrite").parquet(f"{out}/progress/{progress.batch}")


def read_progress(session: SparkSession, out: str) -> list[Progress]:
    """All batches so far, in order."""
    read = session.read.schema(COLUMNS).option("recursiveFileLookup", "true")
    rows = read.parquet(f"{out}/progress").orderBy("batch").collect()
    return [Progress(**row.asDict()) for row in rows]
