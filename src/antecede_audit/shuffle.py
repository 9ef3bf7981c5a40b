"""Where parcels are: with Spark, or in this process. What is done with them is the same.

An ingest is a chain of stages, each a function of the parcels of one task, and of moves between
them. Spark has many tasks at once and much room; `LocalShuffle` does one after the other, and all
of it in memory, which is quicker for what is little: to start Spark takes longer than to ingest
that.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.columns.arrow_rows import (
    ArrowTable,
    Batch,
    Integers,
    Schema,
    gc_disabled,
)
from antecede_audit.parcels import PARCELS, tables_of_partition
from antecede_audit.spark.job_names import named
from antecede_audit.spark.persisting import persist_packed
from antecede_audit.spark.settings import BATCH_BY_BYTES, spark_conf

Stage: TypeAlias = Callable[[Iterable[Batch]], Iterator[Batch]]
"""What a task does with its parcels."""

ROWS_OF_A_TASK: Final = 1 << 18
"""About so many rows are in one task of Spark's, and in the memory of its worker."""

ROWS_WORTH_A_TASK: Final = 1 << 14
"""To start a task takes longer than to deal with fewer rows: for fewer there is one task alone."""

MEDIAN_ACCURACY: Final = 10_000
LEAST: Final = "least"
SUM: Final = "sum"
MEDIAN: Final = "median"
"""How values are put together; of an even number of them the median is the lower of two."""


class Shuffle(ABC):
    """Parcels on their way through an ingest."""

    @abstractmethod
    def only(self, *sorts: str) -> "Shuffle":
        """Those of these sorts."""

    @abstractmethod
    def through(self, stage: Stage) -> "Shuffle":
        """What a stage makes of them, in parcels again."""

    @abstractmethod
    def moved(self, sorts: Sequence[str], tasks: int, buckets: int | None = None) -> "Shuffle":
        """Those of these sorts, each in the task of the number of its bucket; if there are so many
        more buckets than tasks, a task has several in a row."""

    @abstractmethod
    def kept(self, stack: ExitStack) -> "Shuffle":
        """The same, worked out once only until the stack is left."""

    @abstractmethod
    def dropped(self) -> None:
        """Let go of what was kept: what came of it is kept by now."""

    @abstractmethod
    def batches(self) -> list[Batch]:
        """All of them, which are few, or here already."""

    @abstractmethod
    def gathered(self, stage: Stage, schema: Schema) -> ArrowTable:
        """The few rows of this schema that a stage makes of them."""

    @abstractmethod
    def grouped(
        self, stage: Stage, schema: Schema, by: Sequence[str], how: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """The rows that a stage makes of them, those with equal keys put together like this."""

    @abstractmethod
    def tasks_for(self, rows: int) -> int:
        """In how many tasks so many rows are dealt with."""

    @abstractmethod
    def weighed(self, stack: ExitStack) -> None:
        """From here on, until the stack is left, there is nothing but parcels."""

    def collected(self, schemas: Mapping[str, Schema]) -> dict[str, Batch]:
        """The rows in parcels of these sorts: they are known to be few."""
        return tables_of_partition(self.only(*schemas).batches(), schemas)[1]


def without_gc(batches: Iterable[Batch], stage: Stage) -> Iterator[Batch]:
    """What a stage makes of parcels while Python's collector is at rest."""
    with gc_disabled():
        yield from stage(batches)


def default_partitions(spark: SparkSession) -> int:
    """In how many tasks Spark does what is worth that many."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def tasks_by_size(wanted: int, rows: int) -> int:
    """In how many tasks this many rows are dealt with, where `wanted` are usual."""
    return max(1, min(wanted, rows // ROWS_WORTH_A_TASK), rows // ROWS_OF_A_TASK)


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
        stage = named(partial(without_gc, stage=stage))
        return self._parcels.mapInArrow(stage, from_arrow_schema(schema))

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


@final
class LocalShuffle(Shuffle):
    """Parcels in this process, task by task."""

    HOW: Final[dict[str, Callable[[Integers], Any]]] = {
        LEAST: np.min,
        SUM: np.sum,
        MEDIAN: lambda values: np.sort(values)[(len(values) - 1) // 2],
    }

    def __init__(self, tasks: Sequence[Sequence[Batch]], wanted: int = 1) -> None:
        self._tasks: Final = tasks
        self._wanted: Final = wanted

    def only(self, *sorts: str) -> "LocalShuffle":
        wanted = pa.array(sorts)
        return self._of(
            [one.filter(pc.is_in(one["sort"], wanted)) for one in task] for task in self._tasks
        )

    def through(self, stage: Stage) -> "LocalShuffle":
        return self._of([*without_gc(task, stage)] for task in self._tasks)

    def moved(self, sorts: Sequence[str], tasks: int, buckets: int | None = None) -> "LocalShuffle":
        parcels = pa.Table.from_batches(self.only(*sorts).batches(), PARCELS)
        bucket = parcels["bucket"].to_numpy()
        task = bucket if buckets is None else bucket * tasks // buckets
        parcels = parcels.set_column(1, PARCELS.field(1), pa.array(task, pa.int32()))
        return self._of(
            parcels.filter(pa.array(task == number)).to_batches() for number in range(tasks)
        )

    def kept(self, stack: ExitStack) -> "LocalShuffle":  # noqa: ARG002 it goes when nobody has it
        return self

    def dropped(self) -> None:
        pass

    def batches(self) -> list[Batch]:
        return [one for task in self._tasks for one in task]

    def gathered(self, stage: Stage, schema: Schema) -> ArrowTable:
        batches = [one for task in self._tasks for one in without_gc(task, stage)]
        return pa.Table.from_batches(batches, schema)

    def grouped(
        self, stage: Stage, schema: Schema, by: Sequence[str], how: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        lists = [(name, "list") for name in how]
        groups = self.gathered(stage, schema).group_by([*by], use_threads=False).aggregate(lists)
        values = {
            name: [int(self.HOW[one](each.values.to_numpy())) for each in groups[f"{name}_list"]]
            for name, one in how.items()
        }
        columns = {name: groups[name].to_pylist() for name in by} | values
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def tasks_for(self, rows: int) -> int:  # noqa: ARG002 there is one processor
        return self._wanted

    def weighed(self, stack: ExitStack) -> None:
        pass

    def _of(self, tasks: Iterable[Sequence[Batch]]) -> "LocalShuffle":
        return LocalShuffle([*tasks], self._wanted)
