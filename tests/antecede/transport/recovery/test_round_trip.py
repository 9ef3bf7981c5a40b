"""The round-trip time against the arithmetic of RFC 9002, sections 5.3, 6.1.2 and 6.2.1."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.transport.recovery.round_trip import (
    ACK_DELAY_NS,
    FIRST_GUESS_NS,
    GRANULARITY_NS,
    RttEstimator,
)

MS = 1_000_000
ROUNDING_NS = 100
"""Whole nanoseconds against fractions: each step is off by one at most, and old errors fade."""

samples = st.lists(
    st.tuples(st.integers(1, 2_000 * MS), st.integers(0, 100 * MS)), min_size=1, max_size=60
)


class Rfc9002:
    """The estimator as the RFC writes it, in fractions."""

    def __init__(self) -> None:
        self.least: Fraction | None = None
        self.smoothed = Fraction(0)
        self.variation = Fraction(0)

    def measured(self, latest: int, ack_delay: int) -> None:
        if self.least is None:
            self.least = Fraction(latest)
            self.smoothed = Fraction(latest)
            self.variation = Fraction(latest, 2)
            return
        self.least = min(self.least, Fraction(latest))
        ack_delay = min(ack_delay, ACK_DELAY_NS)
        adjusted = Fraction(latest)
        if latest >= self.least + ack_delay:
            adjusted -= ack_delay
        self.variation = Fraction(3, 4) * self.variation + abs(self.smoothed - adjusted) / 4
        self.smoothed = Fraction(7, 8) * self.smoothed + adjusted / 8


@given(samples)
def test_it_is_smoothed_as_the_rfc_says(samples: list[tuple[int, int]]) -> None:
    trip, rfc = RttEstimator(), Rfc9002()
    for latest, ack_delay in samples:
        trip.on_sample(latest, ack_delay)
        rfc.measured(latest, ack_delay)

    assert trip.samples == len(samples)
    assert trip.latest_ns == samples[-1][0]
    assert trip.least_ns == rfc.least
    assert abs(trip.smoothed_ns - rfc.smoothed) <= ROUNDING_NS
    assert abs(trip.variation_ns - rfc.variation) <= ROUNDING_NS


@given(samples)
def test_patience_follows_from_it_as_the_rfc_says(samples: list[tuple[int, int]]) -> None:
    trip = RttEstimator()
    for latest, ack_delay in samples:
        trip.on_sample(latest, ack_delay)

    smoothed, variation = int(trip.smoothed_ns), int(trip.variation_ns)
    assert trip.probe_timeout_ns() == smoothed + max(4 * variation, GRANULARITY_NS) + ACK_DELAY_NS
    longest = Fraction(max(smoothed, samples[-1][0]))
    assert abs(int(trip.loss_delay_ns()) - max(longest * 9 / 8, Fraction(GRANULARITY_NS))) < 1


def test_before_the_first_measurement_a_round_trip_is_guessed() -> None:
    trip = RttEstimator()
    assert (trip.smoothed_ns, trip.variation_ns) == (FIRST_GUESS_NS, FIRST_GUESS_NS // 2)

    trip.on_sample(8 * MS, 3 * MS)
    assert (trip.smoothed_ns, trip.variation_ns, trip.least_ns) == (8 * MS, 4 * MS, 8 * MS)


@pytest.mark.parametrize(
    ("ack_delay_ns", "smoothed_ns"),
    [(0, 17 * MS), (8 * MS, 16 * MS), (8 * MS + 1, 17 * MS), (10**15, 17 * MS)],
    ids=["none", "as far as plausible", "more than plausible", "absurd"],
)
def test_a_peers_word_about_its_delay_counts_as_far_as_it_is_plausible(
    ack_delay_ns: int, smoothed_ns: int
) -> None:
    """After a round trip of 16 ms one of 24 ms, of which the peer says that it waited."""
    trip = RttEstimator()
    trip.on_sample(16 * MS, 0)
    trip.on_sample(24 * MS, ack_delay_ns)
    assert trip.smoothed_ns == smoothed_ns


@pytest.mark.parametrize("elapsed_ns", [0, -5])
def test_an_answer_that_took_no_time_took_a_nanosecond(elapsed_ns: int) -> None:
    trip = RttEstimator()
    trip.on_sample(elapsed_ns, 0)
    assert trip.smoothed_ns == 1
    assert trip.loss_delay_ns() == GRANULARITY_NS
