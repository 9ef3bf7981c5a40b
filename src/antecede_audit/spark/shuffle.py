"""Rows between the stages of an ingest on Spark: packed batches through Spark's own exchange.

Spark sees a table of three columns, `PACKED`: which table, which partition, and a packed batch of
up to 65,536 rows. A stage is a `mapInArrow`, called in Spark's plans after its function: it unpacks
what its partition has, and packs what it makes of that. An exchange is `repartitionById` by the
column `partition`, so Spark shuffles, spills, persists and retries as it always does; only to
look into rows, or to split a partition that turns out large, it cannot.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from typing import Any, Final, TypeAlias, final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.columns.arrow_rows import ArrowTable, Batch, Schema, gc_disabled
from antecede_audit.columns.packed_batch import PACKED_ROWS, pack, packed_rows, unpack
from antecede_audit.shuffle import (
    LEAST,
    MEDIAN,
    MEDIAN_ACCURACY,
    SUM,
    Keyed,
    LastStage,
    Shuffle,
    Stage,
    Table,
    partitions_by_size,
    split,
    whole_partition,
    without_gc,
)
from antecede_audit.spark.job_names import named
from antecede_audit.spark.schemas import PACKED
from antecede_audit.spark.settings import BATCH_BY_BYTES, persist_packed, spark_conf

FirstStage: TypeAlias = Callable[[Iterable[Batch]], Iterator[Keyed]]
"""A stage whose input are not packed batches but rows of Spark's."""


def default_partitions(spark: SparkSession) -> int:
    """How many partitions a shuffle has in this session, if it has enough rows for them."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


@final
class SparkShuffle(Shuffle):
    """Rows that Spark has, in packed batches of some tables."""

    HOW: Final[dict[str, Callable[[str], Column]]] = {
        LEAST: F.min,
        SUM: F.sum,
        MEDIAN: partial(F.percentile_approx, percentage=0.5, accuracy=MEDIAN_ACCURACY),
    }

    def __init__(self, packed: DataFrame, tables: Sequence[Table] = ()) -> None:
        self._packed: Final = packed
        self._tables: Final = tuple(tables)

    @classmethod
    def reading(cls, sources: Sequence[tuple[DataFrame, FirstStage]]) -> "SparkShuffle":
        """What first stages make of tables of Spark's, all together."""
        made = [
            rows.mapInArrow(named(partial(pack_stage, stage=stage)), PACKED)
            for rows, stage in sources
        ]
        return cls(reduce(DataFrame.unionByName, made))

    def last(self, stage: LastStage, schema: Schema) -> DataFrame:
        """What a last stage makes of all partitions, as a table of Spark's."""
        run = partial(run_last, stage=stage, tables=self._tables)
        return self._packed.mapInArrow(named(run), from_arrow_schema(schema))

    def select(self, *tables: Table) -> "SparkShuffle":
        names = [table.name for table in tables]
        rows = self._packed.where(F.col("table").isin(names)).select(*PACKED.names)
        return SparkShuffle(rows, tables)

    def map(self, stage: Stage) -> "SparkShuffle":
        run = partial(run_stage, stage=stage, tables=self._tables)
        return SparkShuffle(self._packed.mapInArrow(named(run), PACKED))

    def exchange(
        self, tables: Sequence[Table], partitions: int, keys: int | None = None
    ) -> "SparkShuffle":
        rows = self.select(*tables)._packed
        if keys is not None:
            number = (F.col("partition") * partitions / keys).cast("int")
            rows = rows.withColumn("partition", number)
        return SparkShuffle(rows.repartitionById(partitions, "partition"), tables)

    def persist(self, stack: ExitStack) -> "SparkShuffle":
        # On disk, where the system caches them: in Java's memory they would crowd out sorting.
        return SparkShuffle(persist_packed(self._packed, stack), self._tables)

    def unpersist(self) -> None:
        self._packed.unpersist()

    def collect(self, *tables: Table) -> list[Batch]:
        batches = self.select(*tables)._packed.toArrow().to_batches()
        rows = (keyed._replace(partition=0) for keyed in unpack_rows(batches, tables))
        return whole_partition(rows, *tables)[1]

    def collect_last(self, stage: LastStage, schema: Schema) -> ArrowTable:
        return self.last(stage, schema).toArrow()

    def aggregate(
        self, stage: LastStage, schema: Schema, by: Sequence[str], how: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        values = [self.HOW[one](name).alias(name) for name, one in how.items()]
        rows = self.last(stage, schema).groupBy(*by).agg(*values).collect()
        return [row.asDict() for row in rows]

    def partitions_for(self, rows: int) -> int:
        return partitions_by_size(default_partitions(self._packed.sparkSession), rows)

    def all_packed(self, stack: ExitStack) -> None:
        stack.enter_context(spark_conf(self._packed.sparkSession, BATCH_BY_BYTES))


def run_stage(batches: Iterable[Batch], stage: Stage, tables: Sequence[Table]) -> Iterator[Batch]:
    """In a worker: a stage between two exchanges. In, out: `PACKED`."""
    with gc_disabled():
        for keyed in stage(unpack_rows(batches, tables)):
            yield from pack_rows(keyed)


def run_last(
    batches: Iterable[Batch], stage: LastStage, tables: Sequence[Table]
) -> Iterator[Batch]:
    """In a worker: a last stage. In: `PACKED`. Out: what the stage yields."""
    return without_gc(stage, unpack_rows(batches, tables))


def pack_stage(batches: Iterable[Batch], stage: FirstStage) -> Iterator[Batch]:
    """In a worker: a first stage. Out: `PACKED`."""
    with gc_disabled():
        for keyed in stage(batches):
            yield from pack_rows(keyed)


def pack_rows(keyed: Keyed) -> Iterator[Batch]:
    """Rows in packed batches, each for one partition. Out: `PACKED`."""
    numbers: list[int] = []
    contents: list[bytes] = []
    for number, rows in split(keyed):
        for begin in range(0, rows.num_rows, PACKED_ROWS):
            numbers.append(number)
            contents.append(pack(rows.slice(begin, PACKED_ROWS)))
    if contents:
        yield packed_rows(keyed.table.name, numbers, contents)


def unpack_rows(batches: Iterable[Batch], tables: Sequence[Table]) -> Iterator[Keyed]:
    """The rows in packed batches of these tables. In: `PACKED`."""
    by_name = {table.name: table for table in tables}
    for batch in batches:
        columns = (batch["table"].to_pylist(), batch["partition"].to_pylist(), batch["content"])
        for name, number, content in zip(*columns, strict=True):
            yield Keyed(by_name[name], unpack(content, by_name[name].schema), number)
