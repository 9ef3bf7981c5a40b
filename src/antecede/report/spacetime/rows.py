"""Rows of an event log as tuples, from wherever they are, without an object for each.

A row is `antecede.trace.events.COLUMNS` in that order: kinds are their codes, nulls are -1, and
packet kinds are indexes into a list that comes with the rows. Of a long run a part is read: the one
asked for, or the first so many events.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeAlias

from antecede.core.errors import LocalError
from antecede.trace.datasets import common_source, suffix_of
from antecede.trace.events import COLUMNS, KINDS
from antecede.trace.files import read_files
from antecede.trace.log import NULL, EventLog
from antecede.trace.parquet import ArrowArray, ArrowTable, load, reading

Row: TypeAlias = tuple[int, ...]

PACKED: Final = struct.Struct("<11q")
TIME: Final = itemgetter(COLUMNS.index("time_ns"))

EVENTS_MAX: Final = 2_000_000
"""So many events of a run are read at most: about 250,000 messages of hybrid buffering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of a run, in times since its start; None: no limit on that side."""

    from_ns: int | None = None
    to_ns: int | None = None


WHOLE: Final = Window()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of one run, or of a part of it."""

    rows: list[Row]
    packet_kinds: Sequence[str]
    start_ns: int
    """When the run began, whether that is among the rows or not."""
    total: int
    """How many rows the whole run has."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.rows) == self.total


def rows_of_log(log: EventLog, window: Window = WHOLE, most: int = EVENTS_MAX) -> Rows:
    """The rows of a log in memory."""
    rows = [row for block in log.blocks() for row in PACKED.iter_unpack(block)]
    start_ns = min(map(TIME, rows), default=0)
    low_ns, high_ns = limits(map(TIME, rows), start_ns, window, most)
    return Rows(
        rows=[row for row in rows if low_ns <= TIME(row) <= high_ns],
        packet_kinds=log.packet_kinds,
        start_ns=start_ns,
        total=len(rows),
    )


def limits(times: Iterable[int], start_ns: int, window: Window, most: int) -> tuple[int, int]:
    """From when to when events are taken, so that they are at most about so many."""
    low_ns = start_ns + (window.from_ns or 0)
    later = sorted(time_ns for time_ns in times if time_ns >= low_ns)
    high_ns = later[min(most, len(later)) - 1] if later else low_ns
    if window.to_ns is not None:
        high_ns = min(high_ns, start_ns + window.to_ns)
    return low_ns, high_ns


def rows_of_files(files: list[Path], window: Window = WHOLE, most: int = EVENTS_MAX) -> Rows:
    """The rows that these files hold together.

    Parquet is read column by column, several times as fast as row by row.
    """
    if any(suffix_of(file) != ".parquet" for file in files):
        return rows_of_log(read_files(files), window, most)
    ds = load("pyarrow.dataset")
    source = common_source(files)
    with reading(source):
        dataset = ds.dataset([str(file) for file in files], format="parquet", partitioning=None)
        times = dataset.to_table(columns=["time_ns"])["time_ns"]
        low_ns, high_ns, start_ns = column_limits(times, window, most)
        inside = (ds.field("time_ns") >= low_ns) & (ds.field("time_ns") <= high_ns)
        table = dataset.to_table(columns=list(COLUMNS), filter=inside)
    rows, packet_kinds = rows_of_table(table, source)
    return Rows(rows=rows, packet_kinds=packet_kinds, start_ns=start_ns, total=len(times))


def column_limits(times: ArrowArray, window: Window, most: int) -> tuple[int, int, int]:
    """The same as `limits` for a column, and when the run began."""
    pc = load("pyarrow.compute")
    if len(times) == 0:
        return 0, 0, 0
    start_ns = pc.min(times).as_py()
    low_ns = start_ns + (window.from_ns or 0)
    later = times.filter(pc.greater_equal(times, low_ns))
    high_ns = low_ns if len(later) == 0 else pc.max(later).as_py()
    if len(later) > most:
        last = pc.array_sort_indices(later)[most - 1].as_py()
        high_ns = later[last].as_py()
    if window.to_ns is not None:
        high_ns = min(high_ns, start_ns + window.to_ns)
    return low_ns, high_ns, start_ns


def rows_of_table(table: ArrowTable, source: Path) -> tuple[list[Row], list[str]]:
    """The rows of an Arrow table with the columns of the event log, and its packet kinds."""
    pa = load("pyarrow")
    kinds: list[str] = []
    columns: list[list[int]] = []
    for name in COLUMNS:
        column = table[name]
        if name == "kind":
            columns.append(codes_of(column.to_pylist(), KINDS, source))
        elif name == "packet_kind":
            codes, kinds = interned(column.to_pylist())
            columns.append(codes)
        else:
            columns.append(column.cast(pa.int64()).fill_null(NULL).to_pylist())
    return list(zip(*columns, strict=True)), kinds


def codes_of(values: list[str | None], known: Sequence[str], source: Path) -> list[int]:
    """The place of each value among the known ones."""
    code = {value: number for number, value in enumerate(known)}
    try:
        return [code[value] for value in values]  # type: ignore[index] # a null is unknown too
    except KeyError as error:
        raise LocalError(
            f"{source}: column 'kind' is {error.args[0]!r}, not one of {', '.join(known)}"
        ) from None


def interned(values: list[str | None]) -> tuple[list[int], list[str]]:
    """Small numbers for texts, in the order in which they come up, and what they mean."""
    code: dict[str, int] = {}
    codes = [NULL if value is None else code.setdefault(value, len(code)) for value in values]
    return codes, list(code)
