"""Event logs as JSON lines, made into columns: those of the log, and why a line is refused.

Arrow parses what is right, which nearly all lines are. What it cannot read, or what the rules of
the log refuse, is looked at line by line, as `antecede_audit.eventlog.read_events` does it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from antecede.core.errors import LocalError
from antecede.eventlog.fields import located
from antecede.eventlog.jsonl import parsed
from antecede.eventlog.parquet import event_schema
from antecede.eventlog.rules import check_row
from antecede_audit.eventlog.table_rules import is_right

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""
ArrowSchema: TypeAlias = Any

REASON: Final = "reason"
"""Why a row cannot be used; null if it can."""


SOME_LINE: Final = "a line of it"
"""What Spark can say of a line: it does not number them."""


def schema_of_lines(columns: Sequence[str]) -> ArrowSchema:
    """These columns of the event log, all of which may be null, as absent fields are."""
    return pa.schema([event_schema().field(name).with_nullable(True) for name in columns])


def parse_options(columns: Sequence[str]) -> Any:  # noqa: ANN401 pyarrow has no types
    """How Arrow reads these columns of JSON lines."""
    return pj.ParseOptions(
        explicit_schema=schema_of_lines(columns), unexpected_field_behavior="ignore"
    )


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
    schema = schema_of_lines(columns).append(pa.field(REASON, pa.string()))
    return pa.Table.from_pylist(rows, schema)


def row_of(line: bytes, where: str, columns: Sequence[str]) -> dict[str, object]:
    """What a line says, or why it is refused."""
    try:
        fields = parsed(line, where)
        with located(where):
            check_row(fields, columns)
    except LocalError as error:
        return {REASON: str(error)}
    return {name: fields.get(name) for name in columns}


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
