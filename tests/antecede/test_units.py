"""Durations, shares and counts as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError
from antecede.units import (
    duration_text,
    parse_count,
    parse_duration,
    parse_number,
    parse_share,
    parse_size,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("1ns", 1),
        ("250us", 250_000),
        ("250µs", 250_000),
        ("1.5ms", 1_500_000),
        (" 1.5 ms ", 1_500_000),
        (".5s", 500_000_000),
        ("2min", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("0.1s", 100_000_000),
    ],
)
def test_durations_are_exact(text: str, duration_ns: int) -> None:
    assert parse_duration(text) == duration_ns


@pytest.mark.parametrize("text", ["", "5", "ms", "-1ms", "1 day", "1e3ms", "1.ms", "1ms2", "9e99h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(LocalError, match="duration"):
        parse_duration(text)


def test_a_duration_beyond_all_clocks_is_refused() -> None:
    with pytest.raises(LocalError, match="36 years"):
        parse_duration("99999999h")


@pytest.mark.parametrize(
    ("text", "share"), [("0", 0.0), ("1%", 0.01), ("5%", 0.05), ("0.05", 0.05), ("100%", 1.0)]
)
def test_shares(text: str, share: float) -> None:
    assert parse_share(text) == share


def test_a_bare_one_needs_a_unit() -> None:
    for text in ("1", "1.0"):
        with pytest.raises(LocalError, match="may be one in a hundred or all; write 1% or 100%"):
            parse_share(text)


@pytest.mark.parametrize("text", ["", "%", "1.1", "101%", "-5%", "five"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_share(text)


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("1000", 1000), ("20k", 20_000), ("1.5M", 1_500_000), ("1_0", 10)]
)
def test_counts(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "k", "1.5", "-3", "3m", "0x10", "1.0005k"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_count(text)


@pytest.mark.parametrize(("text", "number"), [("1.5", 1.5), ("2e-3", 0.002), (" 7 ", 7.0)])
def test_numbers(text: str, number: float) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["", "nan", "inf", "-1", "1e999"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_number(text)


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0"),
        (7, "7.00 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (15_040, "15.0 µs"),
        (1_250_000, "1.25 ms"),
        (99_960_000, "100 ms"),
        (2_500_000_000, "2.50 s"),
        (4_000_000_000_000, "4,000 s"),
    ],
)
def test_durations_are_told_in_three_digits(duration_ns: int, text: str) -> None:
    assert duration_text(duration_ns) == text


@given(duration_ns=st.integers(1, 10**12))
def test_what_is_told_can_be_read_again(duration_ns: int) -> None:
    told = duration_text(duration_ns).replace(",", "")

    assert abs(parse_duration(told) - duration_ns) <= 0.01 * duration_ns


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1400", 1400),
        ("1_400", 1400),
        ("12B", 12),
        ("64KiB", 65_536),
        (" 1.5 MiB ", 1_572_864),
        ("1.5MB", 1_500_000),
        ("2kB", 2_000),
        ("1GiB", 1 << 30),
        ("1GB", 1_000_000_000),
    ],
)
def test_sizes_are_exact(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1", "64 mb", "1TiB", "1e3", "0.3B", "1.0001KiB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(LocalError, match="is not a size"):
        parse_size(text)


@given(size=st.integers(0, 1 << 40))
def test_a_size_written_out_is_read_back(size: int) -> None:
    assert parse_size(size_text(size)) == size


def test_sizes_are_written_in_the_largest_whole_unit() -> None:
    assert [size_text(size) for size in (1400, 65_536, 64 << 20, 3 << 30)] == [
        "1400",
        "64KiB",
        "64MiB",
        "3GiB",
    ]
