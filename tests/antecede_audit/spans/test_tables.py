"""Message tables: headers and none, units, dates, several receivers, causes, Parquet."""

import io
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from antecede_audit.spans.formats.catalogue import detected
from antecede_audit.spans.formats.message_tables import time_of
from antecede_audit.spans.formats.records import LINE, InvalidRecordError, MessageRecord
from tests.antecede_audit.spans.samples import as_lines, copies_of, read, rejects_of

SECOND = 1_000_000_000


def copy(sender: str, receiver: str, sent: int, received: int | None = None) -> MessageRecord:
    return MessageRecord(
        message=str(sent),
        label=None,
        sender=sender,
        receiver=receiver,
        sent_ns=sent,
        received_ns=received,
        causes=None,
        payload_bytes=0,
    )


def test_a_table_without_a_header_has_sender_receiver_and_seconds() -> None:
    assert read(as_lines("582 364 0", "168 472 2797")) == [
        copy("582", "364", 0),
        copy("168", "472", 2797 * SECOND),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "  "])
def test_columns_are_found_by_their_names(delimiter: str) -> None:
    lines = ["when,to,from,time_us,received_us", "x,b,a,5,9", "x,c,a,6,"]
    if delimiter == "  ":
        lines = [line for line in lines if not line.endswith(",")]
    found = read(as_lines(*[line.replace(",", delimiter) for line in lines]))

    assert found[0] == copy("a", "b", 5_000, 9_000)
    assert rejects_of(found) == []


def test_a_cell_may_list_several_receivers() -> None:
    expected = [copy("a", "b", SECOND), copy("a", "c", SECOND)]

    assert read(as_lines("sender,receivers,time", "a,b;c,1")) == expected
    assert read(as_lines("sender,receivers,time", 'a,"b, c",1')) == expected
    assert read(as_lines("a b|c 1")) == expected
    assert read(as_lines("a b,c 1")) == expected


def test_equal_times_of_one_sender_are_one_message_unless_there_are_ids() -> None:
    without = copies_of(read(as_lines("sender,receiver,time", "a,b,1", "a,c,1", "a,d,2")))
    assert [one.message for one in without] == [f"{SECOND}", f"{SECOND}", f"{2 * SECOND}"]

    named = copies_of(read(as_lines("id,sender,receiver,time", "x,a,b,1", "x,a,c,1", "y,a,d,1")))
    assert [one.message for one in named] == [f"{SECOND}/x", f"{SECOND}/x", f"{SECOND}/y"]


def test_causes_are_ids_or_numbers_of_lines() -> None:
    named = as_lines("id,sender,receiver,time,cause", "x,a,b,1,", "y,b,a,2,x", "z,b,c,3,x;y")
    assert [(one.label, one.causes) for one in copies_of(read(named))] == [
        ("x", []),
        ("y", ["x"]),
        ("z", ["x", "y"]),
    ]
    numbered = as_lines("# a comment", "a b 1 1.5", "b a 2 2.5 1")
    with_header = as_lines("sender,receiver,time,received,cause", "a,b,1,1.5,", "b,a,2,2.5,1")
    assert [(one.label, one.causes) for one in copies_of(read(with_header))] == [
        (f"{LINE}1", []),
        (f"{LINE}2", [f"{LINE}1"]),
    ]
    assert [one.causes for one in copies_of(read(numbered))] == [[], [f"{LINE}1"]]


def test_the_number_of_a_line_is_no_id() -> None:
    found = copies_of(read(as_lines("id,sender,receiver,time,cause", ",a,b,1,", "1,b,a,2,1")))

    assert [(one.label, one.causes) for one in found] == [(f"{LINE}1", []), ("1", ["1"])]


def test_without_a_header_the_longest_of_the_first_lines_tells_which_columns_there_are() -> None:
    found = read(as_lines("a b 1", "b c 2 2.5", "c d 3 what is this"))

    assert copies_of(found) == [copy("a", "b", SECOND), copy("b", "c", 2 * SECOND, 5 * SECOND // 2)]
    assert rejects_of(found) == [("line 3, column 4", "receive time is not a time")]


def test_sizes_are_read() -> None:
    found = copies_of(read(as_lines("sender,receiver,time,bytes", "a,b,1,700", "a,b,2,")))

    assert [one.payload_bytes for one in found] == [700, 0]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("1700000000", 1_700_000_000 * SECOND),
        ("1700000000123", 1_700_000_000_123 * 1_000_000),
        ("1700000000123456", 1_700_000_000_123_456 * 1_000),
        ("1700000000123456789", 1_700_000_000_123_456_789),
    ],
)
def test_the_unit_of_times_since_1970_is_told_by_the_first(first: str, expected: int) -> None:
    headed = copies_of(read(as_lines("sender,receiver,time", f"a,b,{first}", "a,b,7")))
    bare = copies_of(read(as_lines(f"a b {first}", "a b 7")))

    assert headed == bare
    assert headed[0].sent_ns == expected
    assert headed[1].sent_ns == 7 * expected // int(first)
    parquet = as_parquet(sender=["a"], receiver=["b"], time=[int(first)])
    assert copies_of(read(parquet)) == headed[:1]
    told = copies_of(read(as_lines("a b 7"), "messages", "us"))
    assert told[0].sent_ns == 7_000


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("1700000000.25", 1_700_000_000_250_000_000),
        ("1700000000123.5", 1_700_000_000_123_500_000),
        ("1.7e15", 1_700_000_000_000_000_000),
    ],
)
def test_times_since_1970_may_have_fractions(first: str, expected: int) -> None:
    assert copies_of(read(as_lines("sender,receiver,time", f"a,b,{first}")))[0].sent_ns == expected
    parquet = as_parquet(sender=["a"], receiver=["b"], time=[float(first)])
    assert copies_of(read(parquet))[0].sent_ns == expected


def test_a_bad_first_line_does_not_spoil_a_table() -> None:
    found = read(as_lines("oops", "a b 1", "a b 2"))

    assert len(copies_of(found)) == 2
    assert rejects_of(found) == [("line 1", "fewer than three columns")]


@pytest.mark.parametrize(
    ("text", "unit_ns", "expected"),
    [
        ("17", SECOND, 17 * SECOND),
        ("1.5", 1_000, 1_500),
        ("0.0000000014", SECOND, 1),
        ("-3", SECOND, -3 * SECOND),
        ("1e3", 1, 1_000),
        ("1970-01-02", 1, 86_400 * SECOND),
        ("2023-01-29T08:43:00.000001+00:00", 1, 1_674_981_780_000_001_000),
        ("1970-01-01T01:00:00+01:00", 1, 0),
        ("1970-01-01T00:00:00.000000789Z", SECOND, 789),
        ("1969-12-31 23:59:59,9999999", SECOND, -100),
    ],
)
def test_times_are_numbers_of_units_or_dates(text: str, unit_ns: int, expected: int) -> None:
    assert time_of(text, unit_ns, "time") == expected


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "1e300", "9" * 30, "2023-13-45", None])
def test_what_is_no_time_is_refused(text: str | None) -> None:
    with pytest.raises(InvalidRecordError):
        time_of(text, SECOND, "time")


def test_bad_lines_are_set_aside_and_the_others_are_read() -> None:
    data = as_lines(
        "sender,receiver,time,received,bytes",
        "a,b,1,2,3",
        "a,b",
        ",b,1,,",
        "a,,1,,",
        "a,b,soon,,",
        "a,b,1,late,",
        "a,b,1,2,many",
        "a,b,99999999999999999999,,",
        'a,"b,1',
        'c",b,1',
    )
    found = read(data + b"a,\xff,1,,\n")

    assert len(copies_of(found)) == 1
    assert rejects_of(found) == [
        ("line 3", "fewer than three columns"),
        ("line 4, column 1", "no sender"),
        ("line 5, column 2", "no receiver"),
        ("line 6, column 3", "time is not a time"),
        ("line 7, column 4", "receive time is not a time"),
        ("line 8, column 5", "size is not a number of bytes"),
        ("line 9, column 3", "time is more than 146 years from 1970 in s"),
        ("line 10", "quotes do not match"),
        ("line 11", "quotes do not match"),
        ("line 12, column 2", "receiver is not UTF-8"),
    ]


def test_of_a_file_that_is_said_to_be_a_table_and_is_none_every_line_is_a_reject() -> None:
    assert rejects_of(read(as_lines("dear reader,", "", "this is prose"), "messages")) == [
        ("line 1", "not a line of a message table"),
        ("line 3", "not a line of a message table"),
    ]
    assert detected(as_lines("dear reader,", "this is prose 7"), None) is None


@pytest.mark.parametrize("format_name", ["auto", "messages"])
@pytest.mark.parametrize(
    ("unit", "time", "reason"),
    [
        (None, 63_800_000_000, " in s, but not in ms (--time-unit ms)"),
        ("s", 1_700_000_000_000_000, " in s, but not in us (--time-unit us)"),
        ("ms", 1_700_000_000_000_000, " in ms, but not in us (--time-unit us)"),
        ("us", 17 * 10**17, " in us, but not in ns (--time-unit ns)"),
        ("ns", 17 * 10**18, " in ns"),
    ],
)
def test_every_line_with_a_time_that_does_not_fit_its_unit_says_where_and_why(
    format_name: str, unit: str | None, time: int, reason: str
) -> None:
    """All first lines are bad; one that is not comes later, and is read."""
    bad = [f"a,b,{time + number}" for number in range(40)]
    found = read(as_lines("# exported", "", *bad, "b,a,7"), format_name, unit)

    assert rejects_of(found) == [
        (f"line {number}, column 3", f"time is more than 146 years from 1970{reason}")
        for number in range(3, 43)
    ]
    assert [one.sender for one in copies_of(found)] == ["b"]


def as_parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_parquet_tables_are_read() -> None:
    data = as_parquet(
        sender=pa.array([1, 2]),
        receivers=pa.array([["x", "y"], ["z"]]),
        time_ms=pa.array([Decimal("1.5"), None], pa.decimal128(5, 2)),
        received=pa.array([datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)] * 2),
    )
    found = read(data)

    assert found[:2] == [copy("1", to, 1_500_000, 2 * SECOND) for to in ("x", "y")]
    assert rejects_of(found) == [("row 2", "no time")]


def test_a_date_too_far_away_costs_one_row_of_a_parquet_table() -> None:
    dates = [datetime(9999, 12, 31, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]
    found = read(as_parquet(sender=["a", "a"], receiver=["b", "b"], time=dates))

    assert rejects_of(found) == [("row 1", "time is more than 146 years from 1970")]
    assert copies_of(found) == [copy("a", "b", SECOND)]


def test_parquet_causes_may_be_numbers() -> None:
    found = copies_of(
        read(as_parquet(id=[7, 8], sender=["a", "b"], to=["b", "a"], time=[1, 2], cause=[None, 7]))
    )

    assert [(one.label, one.causes) for one in found] == [("7", []), ("8", ["7"])]


def test_a_parquet_file_that_is_no_message_table_or_damaged_is_one_reject() -> None:
    data = as_parquet(a=[1], b=[2])

    assert rejects_of(read(data)) == [("", "no columns for sender, receivers and time")]
    assert rejects_of(read(data[:-20])) == [("", "damaged Parquet file")]
