"""The figures of every batch, as rows beside the findings."""

from dataclasses import asdict, fields
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.types import LongType, StructField, StructType

from antecede.audit.progress import Channel, Progress

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
