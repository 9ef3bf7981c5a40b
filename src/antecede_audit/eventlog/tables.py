"""Event logs as checked Arrow tables: Parquet, JSON lines, and what a recorder left unfinished.

Arrow parses what is right, which nearly all lines are. What it cannot read, or what the rules of
the log refuse, is looked at line by line, as `antecede_audit.eventlog.read_events` does it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from antecede.core.errors import LocalError
from antecede.eventlog.fields import located
from antecede.eventlog.jsonl import parsed, read_objects
from antecede.eventlog.layout import common_source, suffix_of
from antecede.eventlog.parquet import reading
from antecede.eventlog.rules import check_row
from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.eventlog.checked import (
    REASON,
    RUN_ID,
    is_right,
    read_parquet,
    schema_of,
    with_reasons,
)

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""
ArrowSchema: TypeAlias = Any

SOME_LINE: Final = "a line of it"
"""What Spark can say of a line: it does not number them."""

LONGEST_LINE: Final = 1 << 24
"""JSON is parsed in blocks of 16 MiB; no line may be longer than one."""


def read_event_table(
    files: Sequence[Path],
    columns: Sequence[str] = ALL_COLUMNS,
    *,
    unfinished: Sequence[bytes] = (),
    run_ids: bool = False,
) -> ArrowTable:
    """These columns of all the files, one below the other; `LocalError` names a row that is wrong.

    Columns that are `OPTIONAL` are null where a file lacks them. `unfinished` are lines of files
    that their writers did not finish. With `run_ids` there is a column `run_id`, as files have it.
    """
    parquet = [file for file in files if suffix_of(file) == ".parquet"]
    tables = [read_json(file, columns) for file in files if file not in parquet]
    tables += [read_unfinished(one, columns) for one in unfinished]
    if parquet:
        tables.append(read_parquet(parquet, columns, [RUN_ID] if run_ids else []).drop("row"))
    if not tables:
        return schema_of(columns).empty_table()
    with reading(common_source(list(files) or [Path("these lines")])):
        return pa.concat_tables(tables, promote_options="permissive")


def read_json(file: Path, columns: Sequence[str]) -> ArrowTable:
    """These columns of a file of JSON lines; null where a line has no such field."""
    with reading(file):
        with pa.input_stream(str(file)) as stream:
            if not stream.read(1):
                return schema_of(columns).empty_table()
        try:
            table = pj.read_json(
                file,
                read_options=pj.ReadOptions(block_size=LONGEST_LINE),
                parse_options=parse_options(columns),
            ).select(columns)
        except pa.ArrowInvalid:
            check_lines(file, columns)
            raise
    if not is_right(table, columns):
        check_lines(file, columns)
    return table


def check_lines(file: Path, columns: Sequence[str]) -> None:
    """`LocalError` names the first line that is no row of an event log, if there is one."""
    for number, fields in read_objects(file):
        with located(f"{file}, line {number}"):
            check_row(fields, columns)


def read_unfinished(lines: bytes, columns: Sequence[str]) -> ArrowTable:
    """These columns of a file whose writer did not finish it, as far as it goes."""
    table = table_of_lines(lines, columns)
    reasons = pc.drop_null(table[REASON])
    if len(reasons):
        raise LocalError(f"in an unfinished file, {reasons[0].as_py()}")
    return table.drop(REASON)


def parse_options(columns: Sequence[str]) -> Any:  # noqa: ANN401 pyarrow has no types
    """How Arrow reads these columns of JSON lines."""
    return pj.ParseOptions(explicit_schema=schema_of(columns), unexpected_field_behavior="ignore")


def table_of_lines(
    lines: bytes, columns: Sequence[str], where: str = "line {number}"
) -> ArrowTable:
    """These columns of JSON lines, and `REASON`: a line that is refused has nothing else.

    `where` is what a line is called in its reason.
    """
    try:
        table = pj.read_json(
            pa.BufferReader(lines),
            read_options=pj.ReadOptions(block_size=max(len(lines), 1)),
            parse_options=parse_options(columns),
        ).select(list(columns))
    except pa.ArrowInvalid:
        return table_of_each_line(lines, columns, where)
    if not is_right(table, columns):
        return table_of_each_line(lines, columns, where)
    return table.append_column(REASON, pa.nulls(len(table), pa.string()))


def table_of_each_line(lines: bytes, columns: Sequence[str], where: str) -> ArrowTable:
    """The same, one line after the other."""
    rows = [
        row_of(line, where.format(number=number), columns)
        for number, line in enumerate(lines.splitlines(), start=1)
        if line.strip()
    ]
    return pa.Table.from_pylist(rows, reasoned_schema(columns))


def reasoned_schema(columns: Sequence[str]) -> ArrowSchema:
    """These columns of the event log, and `REASON`."""
    return schema_of(columns).append(pa.field(REASON, pa.string()))


def row_of(line: bytes, where: str, columns: Sequence[str]) -> dict[str, object]:
    """What a line says, or why it is refused."""
    try:
        fields = parsed(line, where)
        with located(where):
            check_row(fields, columns)
    except LocalError as error:
        return {REASON: str(error)}
    return {name: fields.get(name) for name in columns}


def check_batches(
    batches: Iterator[ArrowTable], columns: Sequence[str], more: Sequence[str]
) -> Iterator[ArrowTable]:
    """For Spark. In: rows in whatever types, and more columns. Out: as `parse_lines`."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        table = with_reasons(rows, columns).cast(reasoned_schema(columns))
        for name in more:
            table = table.append_column(name, rows[name])
        yield from table.combine_chunks().to_batches()


def parse_lines(
    batches: Iterator[ArrowTable], columns: Sequence[str], more: Sequence[str]
) -> Iterator[ArrowTable]:
    """For Spark. In: value, which are lines, and more columns. Out: what they say, and the same."""
    for batch in batches:
        rows = batch.filter(pc.not_equal(pc.utf8_trim_whitespace(batch.column("value")), ""))
        if not len(rows):
            continue
        text = "\n".join(rows.column("value").to_pylist()) + "\n"
        table = table_of_lines(text.encode(), columns, SOME_LINE)
        for name in more:
            table = table.append_column(name, rows.column(name))
        yield from table.combine_chunks().to_batches()
