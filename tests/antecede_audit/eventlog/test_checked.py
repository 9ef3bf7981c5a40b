"""Rows and columns are checked by the same rules: whatever a row says, both say the same of it."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from antecede.core.errors import LocalError
from antecede.eventlog import ALL_COLUMNS, KINDS
from antecede.eventlog.parquet import event_schema
from antecede.eventlog.rules import INTEGERS, JUDGED, TEXTS, check_row
from antecede_audit.eventlog.checked import REASON, checked, with_reasons
from antecede_audit.eventlog.tables import read_event_table, table_of_lines
from tests.antecede.eventlog.sample_logs import Row, small_rows

EDGES = sorted({edge + by for one in INTEGERS.values() for edge in one[:2] for by in (-1, 0, 1)})

integers = st.one_of(
    st.none(),
    st.integers(-2, 5),
    st.sampled_from([edge for edge in EDGES if -(1 << 63) <= edge < 1 << 63]),
)
texts = st.one_of(st.none(), st.sampled_from(["", "a", "message"]))
kinds = st.one_of(st.none(), st.sampled_from([*KINDS, "sent", "", "Delivered"]))

changes = st.dictionaries(st.sampled_from([*INTEGERS, "kind"]), integers, max_size=3).flatmap(
    lambda numbers: st.fixed_dictionaries(
        {name: st.just(value) for name, value in numbers.items() if name != "kind"},
        optional={"kind": kinds, **dict.fromkeys(TEXTS, texts)},
    )
)
hostile_rows = st.lists(
    st.tuples(st.sampled_from(small_rows()), changes).map(lambda pair: pair[0] | pair[1]),
    min_size=1,
    max_size=6,
)
columns_read = st.sampled_from([ALL_COLUMNS, JUDGED, (*JUDGED, "trace_id", "span_id")])

wide = pa.schema(
    [
        field if field.type == pa.string() else pa.field(field.name, pa.int64())
        for field in event_schema()
    ]
).remove_metadata()


def first_reason(rows: list[Row], columns: tuple[str, ...]) -> tuple[int, str] | None:
    """The first row that the check of rows refuses, counted from 1, and why."""
    for number, row in enumerate(rows, start=1):
        try:
            check_row(row, columns)
        except LocalError as error:
            return number, str(error)
    return None


def as_decimals(table: pa.Table) -> pa.Table:
    """Integers as decimals, as Spark has what is unsigned in 64 bits."""
    arrays = [
        column.cast(pa.decimal128(20, 0)) if pa.types.is_integer(column.type) else column
        for column in table.columns
    ]
    return pa.table(arrays, names=table.column_names)


def as_dictionaries(table: pa.Table) -> pa.Table:
    """Texts in dictionaries, as categories of pandas are."""
    arrays = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(arrays, names=table.column_names)


@given(
    rows=hostile_rows, columns=columns_read, shape=st.sampled_from(["wide", "decimals", "texts"])
)
def test_rows_and_columns_get_the_same_verdict(
    rows: list[Row], columns: tuple[str, ...], shape: str
) -> None:
    table = pa.Table.from_pylist(rows, wide)
    if shape == "decimals":
        table = as_decimals(table)
    elif shape == "texts":
        table = as_dictionaries(table)
    refused = first_reason(rows, columns)
    if refused is None:
        found = checked(table, columns)
        types = {field.name: field.type for field in event_schema()}
        for name in columns:
            kind = found[name].type
            assert getattr(kind, "value_type", kind) == types[name]
        told = found.select(columns).to_pylist()
        assert told == [{name: row[name] for name in columns} for row in rows]
    else:
        with pytest.raises(LocalError) as caught:
            checked(table, columns, "log")
        assert str(caught.value) == f"log, row {refused[0]}: {refused[1]}"


@given(rows=hostile_rows, columns=columns_read)
def test_lines_and_columns_give_the_same_reason_for_every_row(
    rows: list[Row], columns: tuple[str, ...]
) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    by_line = table_of_lines(lines, columns, "here")
    by_column = with_reasons(pa.Table.from_pylist(rows, wide), columns)
    reasons = [None if one is None else f"here: {one}" for one in by_column[REASON].to_pylist()]
    assert reasons == by_line[REASON].to_pylist()
    assert by_column.drop(REASON).to_pylist() == by_line.drop(REASON).to_pylist()


@given(rows=hostile_rows)
def test_a_reason_names_the_column_and_the_value(rows: list[Row]) -> None:
    refused = first_reason(rows, ALL_COLUMNS)
    assume(refused is not None)
    assert refused is not None
    number, reason = refused
    names = re.findall(r"'(\w+)'", reason)
    row = rows[number - 1]
    assert names[0] in ALL_COLUMNS
    value = row[names[0]]
    assert "null" in reason or repr(value) in reason.removeprefix(f"column {names[0]!r}")


@pytest.mark.parametrize("column", JUDGED)
def test_a_table_without_a_column_that_it_needs_is_refused(column: str) -> None:
    table = pa.Table.from_pylist(small_rows()).drop(column)
    with pytest.raises(LocalError, match=f"^log: column '{column}' is missing$"):
        checked(table, JUDGED, "log")
    with pytest.raises(LocalError, match=f"^column '{column}' is missing$"):
        checked(table.slice(0, 0), JUDGED)


def test_columns_that_may_be_absent_are_null_and_others_come_along() -> None:
    table = pa.Table.from_pylist([row | {"mine": 7} for row in small_rows()])
    found = checked(table.drop(["packet", "packet_kind", "trace_id"]))
    assert found.column_names == [*ALL_COLUMNS, "mine"]
    assert found["packet"].null_count == found["trace_id"].null_count == len(found)
    assert found["mine"].to_pylist() == [7] * len(found)


@pytest.mark.parametrize(
    "value", [1.5, float("inf"), float("nan"), Decimal("1.5"), "1", True, b"1", [1]]
)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:  # noqa: ANN401 - of any type
    table = pa.Table.from_pylist([row | {"position": value} for row in small_rows()])
    shown = re.escape(repr(value))
    with pytest.raises(
        LocalError, match=f"^row 1: column 'position' must be an integer, not {shown}"
    ):
        checked(table)


def test_whole_numbers_of_other_types_are_taken() -> None:
    table = pa.Table.from_pylist([row | {"sequence": Decimal("1.00")} for row in small_rows()[:4]])
    assert checked(table)["sequence"].to_pylist() == [1] * 4


def test_a_row_without_a_run_is_refused() -> None:
    rows = [row | {"run_id": "a" if number else None} for number, row in enumerate(small_rows())]
    with pytest.raises(LocalError, match=r"^row 1: column 'run_id' is null$"):
        checked(pa.Table.from_pylist(rows))


def test_files_of_both_formats_are_one_table(tmp_path: Path) -> None:
    rows = small_rows()
    pq.write_table(pa.Table.from_pylist(rows[:2]), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[2:]))
    table = read_event_table([tmp_path / "a.parquet", tmp_path / "b.jsonl"])
    assert sorted(table.to_pylist(), key=str) == sorted(rows, key=str)
