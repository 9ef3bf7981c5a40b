"""The rules of the event log for whole columns: `antecede.eventlog.rules` says what they are.

A number that is whole counts as an integer, whatever the type of its column.

Nearly all tables are right, and a few operations on columns show it. Only if they do not, rows are
looked at one after the other, so that everybody gives the same reason.
"""

from collections.abc import Collection, Iterator
from decimal import Decimal

from antecede.core.errors import LocalError
from antecede.eventlog.parquet import (
    READ_ROWS,
    ArrowArray,
    ArrowTable,
    is_text,
    load_pyarrow,
    plain,
)
from antecede.eventlog.rules import ABOUT_MESSAGES, ADDRESSED, INTEGERS, MESSAGE, TEXTS, check_row
from antecede.eventlog.schema import ALL_COLUMNS, KINDS


def check_table(table: ArrowTable, where: str, columns: Collection[str] = ALL_COLUMNS) -> None:
    """`LocalError` if a row of these columns is wrong: says `where`, which row, and why.

    A row goes by its number in the column `row`, or by its place, counted from 1.
    """
    for number, reason in complaints(table, columns):
        shown = table["row"][number].as_py() if "row" in table.column_names else number + 1
        raise LocalError(f"{where} {shown}: {reason}")


def complaints(
    table: ArrowTable, columns: Collection[str] = ALL_COLUMNS
) -> Iterator[tuple[int, str]]:
    """The place of every row that is wrong, from 0, and why; columns that are absent are null."""
    if is_right(table, columns) or is_right(plain(table), columns):
        return
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
