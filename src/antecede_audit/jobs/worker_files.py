"""Tables that Python workers write, a file for each task, into a folder on this machine's disk."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq

Batch: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

Rows = TypeVar("Rows")
"""What stages are given."""

TaskNumber: TypeAlias = Callable[[Path], tuple[int, int]]
"""By the folder that it writes to: the number of a task, and of the attempt at it."""

SELDOM_REPEATED: Final = ("span_id", "parent_id", "targets", "causes")

SHARED: Final = "is not a folder that all executors see: choose one that is, or a path of a store"
"""What is wrong with a path of this machine's disk where executors run on others."""

ROWS: Final = "rows written"
SUMS: Final = pa.schema([("name", pa.string()), ("sum", pa.int64())])


def next_task(folder: Path) -> tuple[int, int]:
    """The number of a task where they come one after the other, and which attempt at it this is."""
    return len(list(folder.iterdir())), 0


def part_name(task: int) -> str:
    """What the file of a task is called."""
    return f"part-{task:05}.zstd.parquet"


def encodings(schema: Any) -> dict[str, Any]:  # noqa: ANN401 pyarrow has no types
    """How columns are written: numbers that mostly grow as differences, and what is often the same
    as places in a dictionary, which is in vain for ids of spans."""
    growing = [field.name for field in schema if pa.types.is_int64(field.type)]
    others = (*growing, *SELDOM_REPEATED)
    return {
        "compression": "zstd",
        "column_encoding": dict.fromkeys(growing, "DELTA_BINARY_PACKED"),
        "use_dictionary": [name for name in schema.names if name not in others],
    }


def write_parquet_part(
    rows: Iterable[Rows],
    stage: Callable[[Iterable[Rows]], Iterator[Batch]],
    folder: str,
    names: Sequence[str],
    counted: Sequence[str],
    numbered: TaskNumber,
) -> Iterator[Batch]:
    """Write what a stage makes of the rows of a task into a file; out come the sums of some
    columns, and how many rows there are.

    A task that is done again replaces its file.
    """
    task, attempt = numbered(Path(folder))
    target = Path(folder) / part_name(task)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{folder} {SHARED}")
    unfinished = target.with_name(f".{target.name}.{attempt}")
    sums = dict.fromkeys((*counted, ROWS), 0)
    writer = None
    try:
        for batch in stage(rows):
            for name in counted:
                sums[name] += pc.sum(batch[name]).as_py() or 0
            sums[ROWS] += batch.num_rows
            wanted = batch.select(names)
            if writer is None:
                writer = pq.ParquetWriter(unfinished, wanted.schema, **encodings(wanted.schema))
            writer.write_batch(wanted)
    finally:
        if writer is not None:
            writer.close()
    if writer is not None:
        unfinished.replace(target)
    columns = [pa.array(list(sums), pa.string()), pa.array(list(sums.values()), pa.int64())]
    yield pa.record_batch(columns, schema=SUMS)


def without_leftovers(folder: Path) -> bool:
    """Remove what failed tasks have left behind; whether there is anything else."""
    for left in folder.glob(".*"):
        left.unlink()
    return any(folder.iterdir())
