"""The event log as Parquet, through pyarrow, which is loaded only when a Parquet file is touched.

Rows turn into columns without a loop in Python, since a column of packed rows is every eleventh
integer. Blocks of the log become row groups, several of them one.
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
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.log import NULL, ROW_BYTES, Contexts
from antecede.eventlog.rules import Fields
from antecede.eventlog.schema import ALL_COLUMNS, COLUMNS, KINDS, TRACE_COLUMNS
from antecede.eventlog.sinks import FileSink
from antecede.installing import how_to_install

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; these names say at least what is meant."""
ArrowArray: TypeAlias = Any
ArrowBatch: TypeAlias = Any
ArrowSchema: TypeAlias = Any
ArrowWriter: TypeAlias = Any

GROWING: Final = ("position", "sequence", "packet", "time_ns")
"""Columns that mostly grow by a little: the difference to the row before is what is written."""

PRUNED: Final = ("process", "position", "time_ns")
"""Columns with minimum and maximum in the file, by which a reader may pass over parts of it."""

PACKET_COLUMNS: Final = ("packet", "packet_kind")
OPTIONAL: Final = (*PACKET_COLUMNS, *TRACE_COLUMNS)
"""Columns that a file of others may lack: then they are null."""

GROUP_ROWS: Final = 1 << 16
"""Rows that make a row group: many small ones are slow to write and to read."""

CACHED_ROWS: Final = 1 << 12
"""Rows that fit the processor's cache while they are turned into columns."""

READ_ROWS: Final = 1 << 14
"""How many rows become Python objects at a time."""


def load_pyarrow(name: str) -> ModuleType:
    """A module of pyarrow, or `LocalError` that says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise LocalError(f"Parquet files need pyarrow; {how_to_install('lab')}") from error


def event_schema() -> ArrowSchema:
    """The columns of the event log, their types, and which of them may be null."""
    pa = load_pyarrow("pyarrow")
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
            *(pa.field(name, pa.string()) for name in TRACE_COLUMNS),
        ]
    )


@final
class ParquetSink(FileSink):
    """Writes a log as Parquet, in row groups of several blocks."""

    def _open(self, partial: Path, stack: ExitStack) -> None:
        with os_errors_as_local(self.path, "write"):
            self._writer = open_writer(partial)
        self._maker = ArrowTableBuilder()
        self._tables: list[ArrowTable] = []
        self._rows = 0
        stack.callback(self._writer.close)
        stack.push(self._finish)

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Take a block; it is turned into columns at once, while it is in the processor's cache."""
        self._tables.append(self._maker.table(rows, packet_kinds, contexts))
        self._rows += len(rows) // ROW_BYTES
        if self._rows >= GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        tables, self._tables, self._rows = self._tables, [], 0
        if tables:
            pa = load_pyarrow("pyarrow")
            with os_errors_as_local(self.path, "write"):
                table = pa.concat_tables(tables).unify_dictionaries()
                self._writer.write_table(table, row_group_size=table.num_rows)

    def _finish(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is None:
            self._write_group()


def open_writer(path: Path) -> ArrowWriter:
    """A writer of tables as `ArrowTableBuilder` makes them.

    The encodings are what makes it quick and the files small (about 2 bytes a row instead of 11):
    looking for repetitions in a column that only grows takes half of the time and finds none.
    """
    pq = load_pyarrow("pyarrow.parquet")
    return pq.ParquetWriter(
        str(path),
        table_schema(),
        compression="zstd",
        use_dictionary=[name for name in ALL_COLUMNS if name not in GROWING],
        column_encoding=dict.fromkeys(GROWING, "DELTA_BINARY_PACKED"),
        write_statistics=list(PRUNED),
        store_schema=False,  # Readers shall see strings, not how they were encoded.
    )


@final
class ArrowTableBuilder:
    """Makes tables of packed rows; what is the same for all of them is looked up once."""

    def __init__(self) -> None:
        self._pa: Final[Any] = load_pyarrow("pyarrow")
        self._differs: Final = load_pyarrow("pyarrow.compute").not_equal
        self._schema: Final = table_schema()
        self._kinds: Final = self._pa.array(KINDS)
        self._null: Final = self._pa.scalar(NULL, self._pa.int64())

    def table(self, rows: bytes, packet_kinds: Sequence[str], contexts: Contexts) -> ArrowTable:
        """Packed rows as a table with the columns of the event log; kinds as dictionaries."""
        pa = self._pa
        words = {"kind": self._kinds, "packet_kind": pa.array(packet_kinds, pa.string())}
        arrays = []
        packed = [self._schema.field(name) for name in COLUMNS]
        for column, integers in zip(packed, integer_columns(rows), strict=True):
            values = self._int64_array(integers, column.nullable)
            if column.name in words:
                codes = values.cast(pa.int32())
                values = pa.DictionaryArray.from_arrays(codes, words[column.name], safe=False)
            elif column.type != values.type:
                values = cast_checked(values, column)
            arrays.append(values)
        arrays += self._identities(len(rows) // ROW_BYTES, contexts)
        return pa.table(arrays, schema=self._schema)

    def _identities(self, rows: int, contexts: Contexts) -> list[ArrowArray]:
        """The columns of trace and span ids."""
        pa = self._pa
        if not contexts:
            return [pa.nulls(rows, pa.string()).dictionary_encode() for _ in TRACE_COLUMNS]
        columns: list[list[str | None]] = [[None] * rows for _ in TRACE_COLUMNS]
        for number, context in contexts.items():
            for column, identity in zip(columns, context, strict=True):
                column[number] = identity
        return [pa.array(column, pa.string()).dictionary_encode() for column in columns]

    def _int64_array(self, integers: "array[int]", nullable: bool) -> ArrowArray:
        """An Arrow array over the same memory, in which -1 is null if the column has nulls."""
        pa = self._pa
        memory = pa.py_buffer(integers)
        whole = pa.Array.from_buffers(pa.int64(), len(integers), [None, memory])
        if not nullable:
            return whole
        present = self._differs(whole, self._null)
        return pa.Array.from_buffers(pa.int64(), len(integers), [present.buffers()[1], memory])


def event_table(rows: bytes, packet_kinds: Sequence[str]) -> ArrowTable:
    """Packed rows as an Arrow table with the columns of the event log; kinds as dictionaries."""
    return ArrowTableBuilder().table(rows, packet_kinds, {})


def table_schema() -> ArrowSchema:
    """The schema of the event log as tables have it in memory: kinds are dictionaries."""
    pa = load_pyarrow("pyarrow")
    coded = pa.dictionary(pa.int32(), pa.string())
    columns = [
        column.with_type(coded) if column.type == pa.string() else column
        for column in event_schema()
    ]
    return pa.schema(columns)


def integer_columns(rows: bytes) -> "Sequence[array[int]]":
    """The columns of packed rows, each in one piece of memory."""
    width = len(COLUMNS)
    try:
        numpy: Any = import_module("numpy")
    except ImportError:  # pyarrow does not insist on it.
        words = array("q", rows)
        if sys.byteorder == "big":
            words.byteswap()
        return [words[index::width] for index in range(width)]
    # Several times as fast, and other threads can run meanwhile.
    matrix = numpy.frombuffer(rows, "<i8").reshape(-1, width)
    columns = numpy.empty((width, len(matrix)), "=i8")
    for start in range(0, len(matrix), CACHED_ROWS):
        end = start + CACHED_ROWS
        columns[:, start:end] = matrix[start:end].T
    by_column: Sequence[array[int]] = columns
    return by_column


def cast_checked(values: ArrowArray, column: Any) -> ArrowArray:  # noqa: ANN401 - an Arrow field, untyped
    """The values in the column's type; `LocalError` if one does not fit."""
    pa = load_pyarrow("pyarrow")
    try:
        return values.cast(column.type)
    except pa.ArrowInvalid as error:
        raise LocalError(f"column {column.name!r} does not fit {column.type}: {error}") from error


def read_table(
    paths: Sequence[Path], source: Path, columns: Sequence[str], optional: Sequence[str] = ()
) -> ArrowTable:
    """These columns of all the files, one below the other, and `row`, which counts from 1.

    The optional ones are left out if no file has them, and null where some files lack them.
    """
    pa = load_pyarrow("pyarrow")
    pq = load_pyarrow("pyarrow.parquet")
    tables = []
    for path in paths:
        with reading(path), pq.ParquetFile(path) as file:
            for column in columns:
                if column not in file.schema_arrow.names:
                    raise LocalError(f"{path}: column {column!r} is missing")
            there = [column for column in optional if column in file.schema_arrow.names]
            tables.append(plain(file.read(columns=[*columns, *there])))
    with reading(source):
        table = pa.concat_tables(tables, promote_options="permissive")
    return table.append_column("row", pa.array(range(1, len(table) + 1), pa.int64()))


def plain(table: ArrowTable) -> ArrowTable:
    """The table with the types of the event log, as far as its values allow that.

    Files that others wrote have other types: 64-bit integers everywhere (pandas), unsigned ones
    (Polars, DuckDB), whole numbers as floats where some are null (pandas again), texts in
    dictionaries (categories). What does not fit stays as it is, and whoever
    checks the rows names it.
    """
    schema = event_schema()
    for place, column in enumerate(table.schema):
        if column.name in schema.names:
            kind = schema.field(column.name).type
            values = fitted(table[column.name], kind)
            table = table.set_column(place, column.with_type(values.type), values)
    return table


def fitted(column: ArrowArray, kind: Any) -> ArrowArray:  # noqa: ANN401 - an Arrow type, untyped
    """The column in this type if that changes nothing that it says, else as it is."""
    pa = load_pyarrow("pyarrow")
    if column.type == kind:
        return column
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        fits = is_text if pa.types.is_string(kind) else is_number
        return column.cast(kind) if fits(column.type) else column
    except pa.ArrowException:
        return column


def is_text(kind: Any) -> bool:  # noqa: ANN401 - an Arrow type, untyped
    """Whether a column of this type has texts, or nothing."""
    types = load_pyarrow("pyarrow").types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner))


def is_number(kind: Any) -> bool:  # noqa: ANN401 - an Arrow type, untyped
    """Whether a column of this type may have whole numbers, or has nothing."""
    types = load_pyarrow("pyarrow").types
    whole = types.is_decimal(kind) and kind.scale == 0
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind) or whole)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into a `LocalError` that names it."""
    pa = load_pyarrow("pyarrow")
    try:
        with os_errors_as_local(path, "read"):
            yield
    except pa.ArrowException as error:
        raise LocalError(f"{path}: {error}") from error


def numbered_rows(table: ArrowTable) -> Iterator[tuple[int, Fields]]:
    """Every row as a mapping, with its number."""
    for batch in table.to_batches(max_chunksize=READ_ROWS):
        for fields in batch.to_pylist():
            yield fields["row"], fields


def write_table(path: Path, partial: Path, schema: ArrowSchema, rows: Iterable[Fields]) -> None:
    """Write rows in this schema to `partial`, which is to become `path`."""
    pa = load_pyarrow("pyarrow")
    pq = load_pyarrow("pyarrow.parquet")
    with os_errors_as_local(path, "write"):
        pq.write_table(pa.Table.from_pylist(list(rows), schema), str(partial), compression="zstd")
