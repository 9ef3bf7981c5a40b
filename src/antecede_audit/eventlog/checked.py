"""The rules of the event log for whole columns: `antecede.eventlog.rules` says what they are.

Every table of events goes through `checked`, whether it comes from files, from a caller or from
Spark. A number that is whole counts as an integer, whatever the type of its column.

Nearly all tables are right, and a few operations on columns show it. Only if they do not, rows are
looked at one after the other by `check_row`, so that every reader gives the same reason.
"""

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from antecede.core.errors import LocalError
from antecede.eventlog.layout import common_source
from antecede.eventlog.parquet import (
    OPTIONAL,
    READ_ROWS,
    ArrowArray,
    ArrowSchema,
    ArrowTable,
    event_schema,
    fitted,
    is_text,
    load_pyarrow,
    read_table,
)
from antecede.eventlog.rules import ABOUT_MESSAGES, ADDRESSED, INTEGERS, MESSAGE, TEXTS, check_row
from antecede.eventlog.schema import ALL_COLUMNS, KINDS

RUN_ID: Final = "run_id"
"""Which run a row belongs to; never null where a table has it."""

REASON: Final = "reason"
"""Why a row cannot be used; null if it can."""


def read_parquet(
    files: Sequence[Path], columns: Sequence[str] = ALL_COLUMNS, more: Sequence[str] = ()
) -> ArrowTable:
    """These columns of all the files, checked, more that none may lack, and `row`: its number."""
    source = common_source(list(files))
    required = [name for name in columns if name not in OPTIONAL]
    optional = [name for name in columns if name in OPTIONAL]
    return checked(read_table(files, source, [*required, *more], optional), columns, str(source))


def checked(
    table: ArrowTable,
    columns: Sequence[str] = ALL_COLUMNS,
    where: str = "",
    first_row: int | None = 1,
) -> ArrowTable:
    """These columns in the log's own types, and all other columns as they are.

    `LocalError` names the column, the first row that is wrong, and its value. Rows are counted from
    `first_row`, unless a column `row` has their numbers; if it is None, the run is named instead.
    Columns that are `OPTIONAL` may be absent: then they are null. Texts may stay dictionaries.
    """
    pc = load_pyarrow("pyarrow.compute")
    for name in columns:
        if name not in table.column_names and name not in OPTIONAL:
            place = f"{where}: " if where else ""
            raise LocalError(f"{place}column {name!r} is missing")
    if RUN_ID in table.column_names and table[RUN_ID].null_count:
        number = pc.index(pc.is_null(table[RUN_ID]), value=True).as_py()
        raise LocalError(f"{name_of_row(table, number, where, first_row)}column 'run_id' is null")
    found = fit_columns(table, columns)
    if not is_right(found, columns):
        for number, reason in faults_in_rows(table, columns):
            raise LocalError(f"{name_of_row(table, number, where, first_row)}{reason}")
        found = force_columns(found, columns)
    return found


def name_of_row(table: ArrowTable, number: int, where: str, first_row: int | None) -> str:
    """What to call a row before a reason; nothing if there is nothing to call it by."""
    names = [where] if where else []
    if "row" in table.column_names:
        names.append(f"row {table['row'][number].as_py()}")
    elif first_row is not None:
        names.append(f"row {first_row + number}")
    elif RUN_ID in table.column_names and table[RUN_ID][number].as_py():
        names.append(table[RUN_ID][number].as_py())
    return f"{', '.join(names)}: " if names else ""


def with_reasons(table: ArrowTable, columns: Sequence[str]) -> ArrowTable:
    """These columns in the log's own types, and `REASON`: a row that is refused has nothing else.

    Columns that are absent count as columns of nulls.
    """
    pa, pc = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.compute")
    found = fit_columns(table, columns).select(columns)
    if is_right(found, columns):
        return found.append_column(REASON, pa.nulls(len(found), pa.string()))
    reasons: list[str | None] = [None] * len(table)
    for number, reason in faults_in_rows(table, columns):
        reasons[number] = reason
    said = pa.array(reasons, pa.string())
    right = pc.is_null(said)
    # The place of each row among those that are right; taking a null gives a row of nulls.
    places = pc.subtract(pc.cumulative_sum(pc.cast(right, pa.int64())), 1)
    chosen = pc.if_else(right, places, None)
    kept = force_columns(fit_columns(table.filter(right), columns).select(columns), columns)
    return kept.take(chosen).append_column(REASON, said)


def schema_of(columns: Sequence[str]) -> ArrowSchema:
    """These columns of the event log, all of which may be null, as absent fields are."""
    pa = load_pyarrow("pyarrow")
    return pa.schema([event_schema().field(name).with_nullable(True) for name in columns])


def fit_columns(table: ArrowTable, columns: Sequence[str]) -> ArrowTable:
    """The table with these columns first, in the log's own types as far as their values allow."""
    pa = load_pyarrow("pyarrow")
    arrays = {}
    for field in schema_of(columns):
        if field.name not in table.column_names:
            arrays[field.name] = pa.nulls(len(table), field.type)
        elif is_dictionary_of_texts(table[field.name].type) and pa.types.is_string(field.type):
            arrays[field.name] = table[field.name]
        else:
            arrays[field.name] = fitted(table[field.name], field.type)
    others = [name for name in table.column_names if name not in arrays]
    return pa.table(arrays | {name: table[name] for name in others})


def force_columns(table: ArrowTable, columns: Sequence[str]) -> ArrowTable:
    """The same, where every row is right by itself, but a type is unusual: a decimal, say."""
    for field in schema_of(columns):
        values = table[field.name]
        if values.type != field.type and not is_dictionary_of_texts(values.type):
            place = table.schema.get_field_index(field.name)
            table = table.set_column(place, field, values.cast(field.type))
    return table


def is_dictionary_of_texts(kind: Any) -> bool:  # noqa: ANN401 - an Arrow type, untyped
    """Whether a column of this type has texts, each of which is stored once."""
    types = load_pyarrow("pyarrow").types
    return bool(types.is_dictionary(kind) and types.is_string(kind.value_type))


def faults_in_rows(
    table: ArrowTable, columns: Collection[str] = ALL_COLUMNS
) -> Iterator[tuple[int, str]]:
    """The place of every row that is wrong, from 0, and why; columns that are absent are null."""
    known = [name for name in table.column_names if name in columns]
    number = 0
    for batch in table.select(known).to_batches(max_chunksize=READ_ROWS):
        for fields in batch.to_pylist():
            try:
                check_row({name: as_integer(value) for name, value in fields.items()}, columns)
            except LocalError as error:
                yield number, str(error)
            number += 1


def as_integer(value: object) -> object:
    """A whole number as an integer, everything else as it is."""
    if isinstance(value, float | Decimal) and value == value // 1 and abs(value) != float("inf"):
        return int(value)
    return value


def is_right(table: ArrowTable, columns: Collection[str] = ALL_COLUMNS) -> bool:
    """Whether every row is right for certain; if not, some may be wrong, or of unusual types."""
    pa, pc = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.compute")
    there = set(table.column_names) & set(columns)
    required = {name for name, limits in INTEGERS.items() if not limits.nullable} & set(columns)
    if not {*required, *MESSAGE, *ADDRESSED, "kind"} <= there:
        return False
    for name in there & set(INTEGERS):
        low, high, nullable = INTEGERS[name]
        column = table[name]
        if column.null_count and not nullable:
            return False
        if column.null_count == len(column):
            continue
        if not pa.types.is_integer(column.type):
            return False
        ends = pc.min_max(column)
        if ends["min"].as_py() < low or ends["max"].as_py() > high:
            return False
    if any(not is_text(table[name].type) for name in there & set(TEXTS)):
        return False
    return has_only_kinds(table["kind"]) and names_messages(table)


def has_only_kinds(column: ArrowArray) -> bool:
    """Whether everything in the column is a kind of events."""
    pc = load_pyarrow("pyarrow.compute")
    if not len(column):
        return True
    known = set(pc.unique(column).to_pylist()) <= set(KINDS)
    return known and not column.null_count


def names_messages(table: ArrowTable) -> bool:
    """Whether sender, sequence and target are there where they must be."""
    pa, pc = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.compute")
    sender, sequence = (table[name] for name in MESSAGE)
    if not (sender.null_count or sequence.null_count or table["target"].null_count):
        return True
    if sender.null_count != sequence.null_count:
        return False
    if pc.any(pc.xor(pc.is_null(sender), pc.is_null(sequence))).as_py():
        return False
    kinds = pc.cast(table["kind"], pa.string())
    ours = pc.is_in(kinds, pa.array(ABOUT_MESSAGES))
    lacking = [pc.any(pc.and_(ours, pc.is_null(table[name]))).as_py() for name in ADDRESSED]
    return not any(lacking)
