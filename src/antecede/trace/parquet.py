"""The event log as Parquet, through pyarrow, which is loaded only when a Parquet file is touched.

Rows turn into columns without a loop in Python, since a column of packed rows is every eleventh
integer. Each block of the log becomes a row group.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias, final

from antecede.core.errors import LocalError
from antecede.trace.atomic import blaming
from antecede.trace.events import COLUMNS, KINDS
from antecede.trace.fields import Fields
from antecede.trace.log import NULL, EventLog
from antecede.trace.restore import restored
from antecede.trace.sinks import FileSink

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; these names say at least what is meant."""
ArrowArray: TypeAlias = Any
ArrowSchema: TypeAlias = Any

READ_ROWS: Final = 1 << 14
"""How many rows become Python objects at a time."""


def load(name: str) -> ModuleType:
    """A module of pyarrow, or `LocalError` that says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise LocalError("Parquet files need pyarrow: pip install antecede[lab]") from error


def event_schema() -> ArrowSchema:
    """The columns of the event log, their types, and which of them may be null."""
    pa = load("pyarrow")
    return pa.schema(
        [
            pa.field("process", pa.int32(), nullable=False),
            pa.field("position", pa.int64(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("sender", pa.int32()),
            pa.field("sequence", pa.int64()),
            pa.field("target", pa.int32()),
            pa.field("packet", pa.int64()),
            pa.field("packet_kind", pa.string()),
            pa.field("time_ns", pa.int64(), nullable=False),
            pa.field("payload_bytes", pa.int32(), nullable=False),
            pa.field("metadata_bytes", pa.int32(), nullable=False),
        ]
    )


@final
class ParquetSink(FileSink):
    """Writes a log as Parquet, a row group per block."""

    def _open(self, partial: Path, stack: ExitStack) -> None:
        pq = load("pyarrow.parquet")
        with blaming(self.path, "write"):
            self._writer = pq.ParquetWriter(str(partial), event_schema(), compression="zstd")
        stack.callback(self._writer.close)

    def write_rows(self, rows: bytes, packet_kinds: list[str]) -> None:
        """Append a row group."""
        with blaming(self.path, "write"):
            self._writer.write_table(event_table(rows, packet_kinds))


def event_table(rows: bytes, packet_kinds: Sequence[str]) -> ArrowTable:
    """Packed rows as an Arrow table with the columns of the event log."""
    pa = load("pyarrow")
    schema = event_schema()
    words = native_words(rows)
    columns = []
    for index, name in enumerate(COLUMNS):
        codes = int64_array(words[index :: len(COLUMNS)], schema.field(name).nullable)
        if name == "kind":
            codes = pa.array(KINDS).take(codes)
        elif name == "packet_kind":
            codes = pa.array(packet_kinds, pa.string()).take(codes)
        columns.append(fitting(codes, schema.field(name)))
    return pa.table(columns, schema=schema)


def native_words(rows: bytes) -> "array[int]":
    """The integers of packed rows."""
    words = array("q", rows)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def int64_array(words: "array[int]", nullable: bool) -> ArrowArray:
    """An Arrow array over the same memory, in which -1 is null if the column has nulls."""
    pa = load("pyarrow")
    whole = pa.Array.from_buffers(pa.int64(), len(words), [None, pa.py_buffer(words)])
    if not nullable:
        return whole
    pc = load("pyarrow.compute")
    return pc.if_else(pc.equal(whole, NULL), pa.scalar(None, pa.int64()), whole)


def fitting(values: ArrowArray, column: Any) -> ArrowArray:  # noqa: ANN401 - an Arrow field, untyped
    """The values in the column's type; `LocalError` if one does not fit."""
    pa = load("pyarrow")
    try:
        return values.cast(column.type)
    except pa.ArrowInvalid as error:
        raise LocalError(f"column {column.name!r} does not fit {column.type}: {error}") from error


def read_parquet(paths: Sequence[Path], source: Path) -> EventLog:
    """The log that these files hold together; `LocalError` names the row and column at fault.

    A dataset has no order between its files, so where rows do not come in the order of their
    positions they are sorted first.
    """
    table = read_table(paths, source, COLUMNS)
    if not comes_in_order(table):
        table = table.sort_by([("process", "ascending"), ("position", "ascending")])
    return restored(numbered_rows(table), f"{source}, row")


def read_table(paths: Sequence[Path], source: Path, columns: Sequence[str]) -> ArrowTable:
    """These columns of all the files, one below the other, and `row`, which counts from 1."""
    pa = load("pyarrow")
    pq = load("pyarrow.parquet")
    tables = []
    for path in paths:
        with reading(path), pq.ParquetFile(path) as file:
            for column in columns:
                if column not in file.schema_arrow.names:
                    raise LocalError(f"{path}: column {column!r} is missing")
            tables.append(file.read(columns=list(columns)))
    with reading(source):
        table = pa.concat_tables(tables, promote_options="permissive")
    return table.append_column("row", pa.array(range(1, len(table) + 1), pa.int64()))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into a `LocalError` that names it."""
    pa = load("pyarrow")
    try:
        with blaming(path, "read"):
            yield
    except pa.ArrowException as error:
        raise LocalError(f"{path}: {error}") from error


def numbered_rows(table: ArrowTable) -> Iterator[tuple[int, Fields]]:
    """Every row as a mapping, with its number."""
    for batch in table.to_batches(max_chunksize=READ_ROWS):
        for fields in batch.to_pylist():
            yield fields["row"], fields


def comes_in_order(table: ArrowTable) -> bool:
    """Whether every process's positions follow each other as the table stands."""
    expected: dict[object, int] = {}
    for batch in table.select(["process", "position"]).to_batches(max_chunksize=READ_ROWS):
        processes, positions = (column.to_pylist() for column in batch.columns)
        for process, position in zip(processes, positions, strict=True):
            if position != expected.get(process, 0):
                return False
            expected[process] = position + 1
    return True


def write_table(path: Path, partial: Path, schema: ArrowSchema, rows: Iterable[Fields]) -> None:
    """Write rows in this schema to `partial`, which is to become `path`."""
    pa = load("pyarrow")
    pq = load("pyarrow.parquet")
    with blaming(path, "write"):
        pq.write_table(pa.Table.from_pylist(list(rows), schema), str(partial), compression="zstd")
