"""How parcels move between the stages of an ingest, in this process or on Spark.

An ingest is a chain of stages, each a function of the parcels of one task, and of moves between
them. Spark has many tasks at once and much room (`antecede_audit.spark.shuffle`). `LocalShuffle`
does one task after the other, all in memory: a small ingest takes less time than Spark's start.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import (
    ArrowTable,
    Batch,
    Integers,
    Schema,
    gc_disabled,
)
from antecede_audit.parcels import PARCELS, tables_of_partition

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


def tasks_by_size(wanted: int, rows: int) -> int:
    """In how many tasks this many rows are dealt with, where `wanted` are usual."""
    return max(1, min(wanted, rows // ROWS_WORTH_A_TASK), rows // ROWS_OF_A_TASK)


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
