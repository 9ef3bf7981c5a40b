"""The histogram against the plain list of what it has counted."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError
from antecede_lab.simulator.histogram import Histogram, bit_length, bucket_of, bucket_start

durations = st.one_of(
    st.integers(0, 300), st.integers(0, 10**7), st.integers(0, 4 * 10**12), st.just(2**62)
)
samples = st.lists(durations, min_size=1, max_size=200)
shares = st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0])


def histogram_of(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


def nearest_rank(values: list[int], share: float) -> int:
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


@given(values=samples)
def test_count_mean_least_and_greatest_are_exact(values: list[int]) -> None:
    histogram = histogram_of(values)

    assert histogram.count == len(values)
    assert histogram.mean() == sum(values) / len(values)
    assert histogram.least == min(values)
    assert histogram.greatest == max(values)


@given(values=samples, share=shares)
def test_a_quantile_is_within_one_per_cent_of_the_nearest_rank(
    values: list[int], share: float
) -> None:
    truth = nearest_rank(values, share)

    assert abs(histogram_of(values).quantile(share) - truth) <= 0.01 * truth


@given(values=st.lists(st.integers(0, 127), min_size=1, max_size=100), share=shares)
def test_quantiles_of_short_durations_are_exact(values: list[int], share: float) -> None:
    assert histogram_of(values).quantile(share) == nearest_rank(values, share)


@given(left=st.lists(durations, max_size=50), right=st.lists(durations, max_size=50))
def test_merging_is_counting_both(left: list[int], right: list[int]) -> None:
    merged = histogram_of(left)
    merged.merge(histogram_of(right))

    assert merged == histogram_of(left + right)
    assert merged.count == len(left + right)


@given(value=durations)
def test_every_duration_lies_in_its_bucket_and_buckets_follow_each_other(value: int) -> None:
    bucket = bucket_of(value)

    assert bucket_start(bucket) <= value < bucket_start(bucket + 1)
    assert bucket_of(bucket_start(bucket)) == bucket
    assert bucket_of(bucket_start(bucket + 1) - 1) == bucket


@given(value=st.integers(0, 2**63 - 1))
def test_bit_length_is_that_of_python(value: int) -> None:
    assert bit_length(value) == value.bit_length()


def test_buckets_tell_where_everything_is() -> None:
    assert histogram_of([5, 5, 200, 201, 70_000]).buckets() == [
        (5, 5, 2),
        (200, 201, 2),
        (69_632, 70_655, 1),
    ]


def test_histograms_differ_if_one_duration_does() -> None:
    assert histogram_of([1, 2]) != histogram_of([1, 3])
    assert histogram_of([1000]) != histogram_of([1001])
    assert histogram_of([]) != 0


def test_an_empty_histogram_is_all_zeros() -> None:
    histogram = Histogram()

    assert (histogram.count, histogram.mean(), histogram.quantile(0.5)) == (0, 0.0, 0)
    assert (histogram.least, histogram.greatest, histogram.buckets()) == (0, 0, [])


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_quantile_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(LocalError):
        Histogram().quantile(share)


def test_the_mean_of_many_long_durations_does_not_overflow() -> None:
    assert histogram_of([2**62] * 10).mean() == float(2**62)


def test_the_mean_is_rounded_once_however_large_the_sum() -> None:
    """Both builds divide whole numbers; neither rounds them to floats before that."""
    values = [2**56 + 3, 2**56 + 7, 2**56 + 7]
    assert histogram_of(values).mean() == sum(values) / 3 != float(sum(values)) / 3.0
