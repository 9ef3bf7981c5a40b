"""The violations of an audit, however many there are: they stream by, and little of them is kept.

Counts, maxima and the worst cases are of all rows. Quantiles need all values at once, so for those
a sample is kept: every row, or of very many every second, third and so on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.audit.findings import IDENTITY_COLUMNS, VIOLATION_COLUMNS
from antecede.trace.datasets import PARTITION
from antecede.trace.parquet import ArrowTable, load, reading

SAMPLE_MAX: Final = 1_000_000
"""So many violations are kept for quantiles: some 50 MB."""

WORST_KEPT: Final = 100
"""So many violations of each run can be jumped to: those that came far too early."""

CHANNEL: Final = ("run_id", "process", "early_sender", "late_sender")
HELD_BACK: Final = "held_back_ns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What is kept of the violations."""

    rows: int
    channels: ArrowTable
    """`CHANNEL`, kind, count, longest_ns: a row for each channel."""
    sample: ArrowTable
    """`CHANNEL` and held_back_ns, of some violations or of all."""
    worst: ArrowTable
    """All columns: of each run the violations that came far too early, the worst first."""


def gather_violations(folder: Path, sample_max: int = SAMPLE_MAX) -> Gathered:
    """Go through the violations in a folder once."""
    pa = load("pyarrow")
    rows = rows_in(folder)
    stride = max(1, -(-rows // sample_max))
    channels: list[ArrowTable] = []
    worst: list[ArrowTable] = []
    sample: list[ArrowTable] = []
    passed = 0
    for table in tables_in(folder):
        channels = [counted([*channels, as_channels(table)])]
        worst = [worst_of([*worst, table])]
        chosen = pa.array(range(-passed % stride, len(table), stride), pa.int64())
        sample.append(table.select([*CHANNEL, HELD_BACK]).take(chosen))
        passed += len(table)
    return Gathered(
        rows=rows,
        channels=channels[0],
        sample=pa.concat_tables(sample),
        worst=worst[0],
    )


def tables_in(folder: Path) -> Iterator[ArrowTable]:
    """The rows of the dataset with their runs, some at a time; at least one table."""
    pa = load("pyarrow")
    ds = load("pyarrow.dataset")
    parted = any(folder.glob(f"{PARTITION}*"))
    by_run = ds.partitioning(pa.schema([("run_id", pa.string())]), flavor="hive")
    with reading(folder):
        dataset = ds.dataset(folder, format="parquet", partitioning=by_run if parted else None)
        names = dataset.schema.names
        if not names:
            yield empty(VIOLATION_COLUMNS)
            return
        optional = [name for name in ("run_id", *IDENTITY_COLUMNS) if name in names]
        columns = [*VIOLATION_COLUMNS, *optional]
        yield named(dataset.schema.empty_table().select(columns))
        for batch in dataset.to_batches(columns=columns):
            yield named(pa.Table.from_batches([batch]))


def named(table: ArrowTable) -> ArrowTable:
    """The same rows with a run, which has no name if nothing says so."""
    if "run_id" in table.column_names:
        return table
    pa = load("pyarrow")
    return table.append_column("run_id", pa.array([""] * len(table), pa.string()))


def empty(columns: Sequence[str]) -> ArrowTable:
    """A table without rows, for a dataset without files."""
    pa = load("pyarrow")
    types = {"kind": pa.string(), "run_id": pa.string()}
    names = ("run_id", *columns)
    return pa.table({name: pa.array([], types.get(name, pa.int64())) for name in names})


def rows_in(folder: Path) -> int:
    """How many rows a dataset has; none if there is no such folder."""
    if not folder.is_dir():
        return 0
    ds = load("pyarrow.dataset")
    with reading(folder):
        return int(ds.dataset(folder, format="parquet", partitioning="hive").count_rows())


def as_channels(table: ArrowTable) -> ArrowTable:
    """Each violation as a channel that has one."""
    pa = load("pyarrow")
    one = pa.array([1] * len(table), pa.int64())
    keys = table.select([*CHANNEL, "kind"])
    return keys.append_column("count", one).append_column("longest_ns", table[HELD_BACK])


def counted(parts: Sequence[ArrowTable]) -> ArrowTable:
    """Channels that stand several times in these tables, once each."""
    pa = load("pyarrow")
    keys = [*CHANNEL, "kind"]
    grouped = pa.concat_tables(parts).group_by(keys)
    summed = grouped.aggregate([("count", "sum"), ("longest_ns", "max")])
    return summed.select([*keys, "count_sum", "longest_ns_max"]).rename_columns(
        [*keys, "count", "longest_ns"]
    )


def worst_of(parts: Sequence[ArrowTable]) -> ArrowTable:
    """Of each run the violations in these tables that came far too early, the worst first."""
    pa, pc = load("pyarrow"), load("pyarrow.compute")
    ranked = pa.concat_tables(parts).sort_by([("run_id", "ascending"), (HELD_BACK, "descending")])
    runs = pc.run_end_encode(ranked["run_id"].combine_chunks())
    ends = runs.run_ends.to_pylist() if len(ranked) else []
    starts = [0, *ends][: len(ends)]
    kept = [
        place
        for start, end in zip(starts, ends, strict=True)
        for place in range(start, min(end, start + WORST_KEPT))
    ]
    return ranked.take(pa.array(kept, pa.int64()))
