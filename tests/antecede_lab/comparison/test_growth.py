"""Growth by its exponent, and means by their intervals."""

from math import sqrt

import pytest

from antecede_lab.comparison.measurements import T_95, Estimate, estimate, exponent, name_of, t_95

SIZES = (5.0, 10.0, 20.0, 50.0, 100.0)


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_exponent_of_a_power_is_that_power(power: float) -> None:
    points = [(size, 3 * size**power) for size in SIZES]
    assert exponent(points) == pytest.approx(power)


def test_exponent_looks_at_the_larger_sizes() -> None:
    """A constant that dominates small groups does not hide the growth of large ones."""
    points = [(size, 100 + size**2) for size in SIZES]
    found = exponent(points)
    assert found is not None
    assert 1.8 < found < 2


def test_exponent_needs_two_points_of_different_size() -> None:
    assert exponent([]) is None
    assert exponent([(5.0, 3.0)]) is None
    assert exponent([(5.0, 3.0), (5.0, 4.0)]) is None


def test_what_is_nothing_throughout_does_not_grow() -> None:
    assert exponent([(5.0, 0.0), (10.0, 0.0)]) == 0.0


@pytest.mark.parametrize(
    ("power", "name"),
    [(-0.3, "O(1)"), (0.1, "O(1)"), (0.9, "O(n)"), (1.5, "n^1.5"), (2.1, "O(n²)"), (0.4, "n^0.4")],
)
def test_growth_has_its_usual_name_where_one_is_near(power: float, name: str) -> None:
    assert name_of(power) == name


def test_interval_is_students() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(2.776 * sqrt(2.5 / 5))
    assert found.samples == 5


def test_one_sample_has_no_interval() -> None:
    assert estimate([7.0]) == Estimate(mean=7.0, half_width=None, samples=1)
    assert estimate([7.0]).text() == "7.0"
    assert estimate([7.0, 7.0]).text() == "7.0 ± 0.0"


def test_quantiles_fall_towards_the_normal_one() -> None:
    assert list(T_95) == sorted(T_95, reverse=True)
    assert (t_95(1), t_95(30), t_95(31)) == (12.706, 2.042, 1.960)
