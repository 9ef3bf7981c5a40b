"""How rows get from one stage of an ingest to the next: the contract, and its form in one process.

An ingest is a chain of stages. A stage is a function: the rows of one partition in, rows out, each
of them of a table and keyed for a partition of the next stage (`Keyed`). `exchange` brings each row
to its partition. Stages neither pack rows nor know where they run.

`LocalShuffle` runs one partition after the other in this process, and hands batches on as they are.
`antecede_audit.spark.shuffle.SparkShuffle` has Spark exchange them, as packed batches.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa

from antecede_audit.columns.arrow_rows import (
    ArrowTable,
    Batch,
    Integers,
    Schema,
    concat_batches,
    gc_disabled,
)

PARTITION_ROWS: Final = 1 << 18
"""A partition has about 262,144 rows at most, and so has the memory of the worker that has it."""

PARTITION_ROWS_MIN: Final = 1 << 14
"""Fewer than 16,384 rows are one partition: to start a task takes longer than to deal with them."""

CHUNK_ROWS: Final = 1 << 17
"""A stage that does not need its partition as a whole gets about 131,072 rows at a time."""

MEDIAN_ACCURACY: Final = 1 << 22
"""Medians on Spark are those of this process for up to 2,097,152 values; of more they may be a few
places off (`percentile_approx`)."""

LEAST: Final = "least"
SUM: Final = "sum"
MEDIAN: Final = "median"
"""How values are aggregated; of an even number of them the median is the lower of two."""


class Table(NamedTuple):
    """A table between stages: what it is called, and its columns."""

    name: str
    schema: Schema


class Keyed(NamedTuple):
    """Rows of one table, and the partition of the next stage that each of them is for.

    Those that a stage is given have one number: that of the partition they came for.
    """

    table: Table
    rows: Batch
    partition: Integers | int = 0


Stage: TypeAlias = Callable[[Iterable[Keyed]], Iterator[Keyed]]
"""What becomes of the rows of one partition."""

LastStage: TypeAlias = Callable[[Iterable[Keyed]], Iterator[Batch]]
"""The same where nothing follows: rows of one schema, for no partition."""


class Shuffle(ABC):
    """The rows of some tables, in partitions, between two stages."""

    @abstractmethod
    def select(self, *tables: Table) -> "Shuffle":
        """The rows of these tables alone; they stay in their partitions."""

    @abstractmethod
    def map(self, stage: Stage) -> "Shuffle":
        """What a stage makes of each partition. Its tables have to be selected, or exchanged,
        before anything is done with them."""

    @abstractmethod
    def exchange(
        self, tables: Sequence[Table], partitions: int, keys: int | None = None
    ) -> "Shuffle":
        """The rows of these tables, each in its partition of so many. Where rows were keyed for
        more, `keys`, each partition gets those of several in a row."""

    @abstractmethod
    def persist(self, stack: ExitStack) -> "Shuffle":
        """The same, worked out once only, until the stack is closed."""

    @abstractmethod
    def unpersist(self) -> None:
        """Let the rows go: what is made of them is persisted by now, or written."""

    @abstractmethod
    def collect(self, *tables: Table) -> list[Batch]:
        """All rows of each of these tables, which are known to be few."""

    @abstractmethod
    def collect_last(self, stage: LastStage, schema: Schema) -> ArrowTable:
        """The few rows that a last stage makes of all partitions."""

    @abstractmethod
    def aggregate(
        self, stage: LastStage, schema: Schema, by: Sequence[str], how: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """The rows that a last stage makes of all partitions, grouped by these columns; `how` says
        how the others are aggregated."""

    @abstractmethod
    def partitions_for(self, rows: int) -> int:
        """How many partitions so many rows are worth."""

    @abstractmethod
    def all_packed(self, stack: ExitStack) -> None:
        """Say that nothing is read any more until the stack is closed, and all rows that move are
        between stages."""


def without_gc(stage: Callable[[Any], Iterator[Any]], rows: Iterable[Any]) -> Iterator[Any]:
    """What a stage makes of rows while Python does not look for garbage."""
    with gc_disabled():
        yield from stage(rows)


def partitions_by_size(usual: int, rows: int) -> int:
    """How many partitions this many rows are worth where `usual` are usual."""
    return max(1, min(usual, rows // PARTITION_ROWS_MIN), rows // PARTITION_ROWS)


def split(keyed: Keyed) -> Iterator[tuple[int, Batch]]:
    """These rows, those for one partition together, and its number."""
    rows, partition = keyed.rows, keyed.partition
    if isinstance(partition, int):
        yield partition, rows
        return
    order = np.argsort(partition, kind="stable")
    numbers = partition[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    ordered = rows.take(pa.array(order)) if len(starts) > 1 else rows
    for start, end in pairwise([*starts, len(numbers)]):
        yield int(numbers[start]), ordered.slice(start, end - start)


def whole_partition(rows: Iterable[Keyed], *tables: Table) -> tuple[int, list[Batch]]:
    """The number of a partition, and all that it has of each of these tables."""
    found: dict[str, list[Batch]] = {table.name: [] for table in tables}
    number = 0
    for keyed in rows:
        number = number_of(keyed)
        found[keyed.table.name].append(keyed.rows)
    return number, [concat_batches(found[table.name], table.schema) for table in tables]


def chunks(rows: Iterable[Keyed]) -> Iterator[Batch]:
    """The rows of one table, many at a time."""
    pending: list[Batch] = []
    count = 0
    for keyed in rows:
        for start in range(0, keyed.rows.num_rows, CHUNK_ROWS):
            pending.append(keyed.rows.slice(start, CHUNK_ROWS))
            count += pending[-1].num_rows
            if count >= CHUNK_ROWS:
                yield concat_batches(pending, keyed.table.schema)
                pending, count = [], 0
    if pending:
        yield concat_batches(pending, pending[0].schema)


def numbered_chunks(rows: Iterable[Keyed]) -> Iterator[tuple[int, Batch]]:
    """The same, and the number of the partition that they came for."""
    for number, group in groupby(rows, key=number_of):
        for chunk in chunks(group):
            yield number, chunk


def number_of(keyed: Keyed) -> int:
    """The partition that rows came for."""
    assert isinstance(keyed.partition, int), "a stage gets the rows of one partition"
    return keyed.partition


@final
class LocalShuffle(Shuffle):
    """Rows in this process: batches are handed on as they are, without a copy."""

    HOW: Final[dict[str, Callable[[Integers], Any]]] = {
        LEAST: np.min,
        SUM: np.sum,
        MEDIAN: lambda values: np.sort(values)[(len(values) - 1) // 2],
    }

    def __init__(self, partitions: Iterable[Iterable[Keyed]], usual: int = 1) -> None:
        self._partitions: Final = [[*rows] for rows in partitions]
        self._usual: Final = usual

    def select(self, *tables: Table) -> "LocalShuffle":
        names = {table.name for table in tables}
        return self._of(
            [keyed for keyed in rows if keyed.table.name in names] for rows in self._partitions
        )

    def map(self, stage: Stage) -> "LocalShuffle":
        made = (without_gc(stage, rows) for rows in self._partitions)
        return self._of([keyed for keyed in rows if keyed.rows.num_rows] for rows in made)

    def exchange(
        self, tables: Sequence[Table], partitions: int, keys: int | None = None
    ) -> "LocalShuffle":
        found: list[list[Keyed]] = [[] for _ in range(partitions)]
        for keyed in self.select(*tables)._all():
            pieces = split(keyed) if partitions > 1 else [(0, keyed.rows)]
            for key, rows in pieces:
                number = key if keys is None else key * partitions // keys
                found[number].append(Keyed(keyed.table, rows, number))
        return self._of(found)

    def persist(self, stack: ExitStack) -> "LocalShuffle":  # noqa: ARG002 it is worked out by now
        return self

    def unpersist(self) -> None:
        self._partitions.clear()

    def collect(self, *tables: Table) -> list[Batch]:
        rows = (keyed._replace(partition=0) for keyed in self.select(*tables)._all())
        return whole_partition(rows, *tables)[1]

    def collect_last(self, stage: LastStage, schema: Schema) -> ArrowTable:
        made = [batch for rows in self._partitions for batch in without_gc(stage, rows)]
        return pa.Table.from_batches(made, schema)

    def aggregate(
        self, stage: LastStage, schema: Schema, by: Sequence[str], how: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        lists = [(name, "list") for name in how]
        rows = self.collect_last(stage, schema)
        groups = rows.group_by([*by], use_threads=False).aggregate(lists)
        values = {
            name: [int(self.HOW[one](each.values.to_numpy())) for each in groups[f"{name}_list"]]
            for name, one in how.items()
        }
        columns = {name: groups[name].to_pylist() for name in by} | values
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def partitions_for(self, rows: int) -> int:  # noqa: ARG002 there is one processor
        return self._usual

    def all_packed(self, stack: ExitStack) -> None:
        """Nothing is packed here."""

    def _all(self) -> Iterator[Keyed]:
        return (keyed for rows in self._partitions for keyed in rows)

    def _of(self, partitions: Iterable[Iterable[Keyed]]) -> "LocalShuffle":
        return LocalShuffle(partitions, self._usual)
