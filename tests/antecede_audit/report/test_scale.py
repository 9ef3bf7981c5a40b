"""Places on paper, and marks worth making."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.report.charts.scale import (
    Scale,
    bounds,
    duration_marks,
    linear_marks,
    log_marks,
    number_text,
    percent_text,
    plain,
    time_text,
)

SECOND = 1_000_000_000


def test_values_go_to_their_places_and_others_to_the_edge() -> None:
    scale = Scale(low=0, high=10, start=100, end=200)

    assert [scale.place(value) for value in (0, 5, 10, -3, 99)] == [100, 150, 200, 100, 200]


def test_a_logarithmic_scale_gives_powers_equal_room() -> None:
    scale = Scale(low=1, high=10_000, start=0, end=4, log=True)

    assert [scale.place(10**power) for power in range(5)] == pytest.approx([0, 1, 2, 3, 4])


def test_marks_are_round() -> None:
    assert linear_marks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert linear_marks(3, 47) == [10, 20, 30, 40]
    assert log_marks(1, 1000) == [1, 10, 100, 1000]
    assert log_marks(4, 60) == [5, 10, 20, 50]
    assert log_marks(12, 30) == [15, 20, 25, 30]
    assert log_marks(1, 1e12) == [1, 1e3, 1e6, 1e9, 1e12]
    assert duration_marks(0, 9.5 * SECOND) == [0, 2e9, 4e9, 6e9, 8e9]
    assert duration_marks(0, 1900 * SECOND) == [0, 600e9, 1200e9, 1800e9]
    assert duration_marks(0, 7200 * SECOND) == [0, 1800e9, 3600e9, 5400e9, 7200e9]


@given(st.floats(min_value=1e-6, max_value=1e12), st.floats(min_value=1.0001, max_value=1e9))
def test_marks_lie_between_the_ends_and_are_not_many(low: float, times: float) -> None:
    high = low * times
    for marks in (linear_marks(low, high), log_marks(low, high)):
        assert all(low * 0.99 <= mark <= high * 1.01 for mark in marks)
        assert len(marks) <= 12


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.5, "0.5"), (1.234, "1.23"), (12.0, "12"), (1234, "1,234"), (0.0123, "0.0123")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert plain(value) == text


def test_large_numbers_on_an_axis_are_short() -> None:
    assert [number_text(value) for value in (1000, 10_000, 2_500_000)] == ["1,000", "10k", "2.5M"]
    assert percent_text(0.125) == "12.5 %"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1500, "1.5 µs"),
        (-2_000_000, "-2 ms"),
        (90 * SECOND, "90 s"),
        (300 * SECOND, "5 min"),
        (3 * 3600 * SECOND, "3 h"),
    ],
)
def test_durations_are_in_the_unit_that_suits_them(value: float, text: str) -> None:
    assert time_text(value) == text


def test_bounds_leave_out_what_cannot_be_shown() -> None:
    assert bounds([], log=False) is None
    assert bounds([0.0, -1.0], log=True) is None
    assert bounds([0.0, 1.0, 8.0], log=True) == (1.0, 8.0)
    assert bounds([4.0, 4.0], log=True) == (2.0, 8.0)
    assert bounds([0.0], log=False) == (0.0, 1.0)
