"""Packed rows on their way between the stages of an ingest on Spark."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.columns.arrow_rows import ArrowTable, Batch, Schema
from antecede_audit.parcels import PARCELS
from antecede_audit.shuffle import (
    LEAST,
    MEDIAN,
    MEDIAN_ACCURACY,
    SUM,
    Shuffle,
    Stage,
    tasks_by_size,
    without_gc,
)
from antecede_audit.spark.job_names import named
from antecede_audit.spark.settings import BATCH_BY_BYTES, persist_packed, spark_conf


def default_partitions(spark: SparkSession) -> int:
    """In how many tasks Spark does what is worth that many."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


@final
class SparkShuffle(Shuffle):
    """Parcels that Spark has."""

    HOW: Final[dict[str, Callable[[str], Column]]] = {
        LEAST: F.min,
        SUM: F.sum,
        MEDIAN: partial(F.percentile_approx, percentage=0.5, accuracy=MEDIAN_ACCURACY),
    }

    def __init__(self, parcels: DataFrame) -> None:
        self._parcels: Final = parcels

    def rows(self, stage: Stage, schema: Schema) -> DataFrame:
        """What a stage makes of them, as a table of Spark's."""
        columns = from_arrow_schema(schema)
        return self._parcels.mapInArrow(named(partial(without_gc, stage=stage)), columns)

    def only(self, *sorts: str) -> "SparkShuffle":
        return SparkShuffle(self._parcels.where(F.col("sort").isin(*sorts)).select(*PARCELS.names))

    def through(self, stage: Stage) -> "SparkShuffle":
        return SparkShuffle(self.rows(stage, PARCELS))

    def moved(self, sorts: Sequence[str], tasks: int, buckets: int | None = None) -> "SparkShuffle":
        wanted = self.only(*sorts)._parcels
        if buckets is not None:
            task = (F.col("bucket") * tasks / buckets).cast("int")
            wanted = wanted.withColumn("bucket", task)
        return SparkShuffle(wanted.repartitionById(tasks, "bucket"))

    def kept(self, stack: ExitStack) -> "SparkShuffle":
        # On disk, where the system caches them: in Java's memory they would crowd out sorting.
        return SparkShuffle(persist_packed(self._parcels, stack))

    def dropped(self) -> None:
        self._parcels.unpersist()

    def batches(self) -> list[Batch]:
        found: list[Batch] = self._parcels.toArrow().to_batches()
        return found

    def gathered(self, stage: Stage, schema: Schema) -> ArrowTable:
        return self.rows(stage, schema).toArrow()

    def grouped(
        self, stage: Stage, schema: Schema, by: Sequence[str], how: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        values = [self.HOW[one](name).alias(name) for name, one in how.items()]
        rows = self.rows(stage, schema).groupBy(*by).agg(*values).collect()
        return [row.asDict() for row in rows]

    def tasks_for(self, rows: int) -> int:
        return tasks_by_size(default_partitions(self._parcels.sparkSession), rows)

    def weighed(self, stack: ExitStack) -> None:
        stack.enter_context(spark_conf(self._parcels.sparkSession, BATCH_BY_BYTES))
