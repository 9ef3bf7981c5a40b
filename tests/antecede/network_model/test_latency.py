"""The latency distributions: whole nanoseconds, the right shape, nonsense refused."""

from collections.abc import Callable

import pytest

from antecede.core.errors import LocalError
from antecede.network_model.keyed_random import KeyedRandom
from antecede.network_model.latency import (
    DELAY_NS_MAX,
    EXACT_SPAN_NS,
    Constant,
    Exponential,
    Latency,
    Lognormal,
    Uniform,
)
from antecede_lab.simulator.networks import Empirical, Geography, Pareto

MS = 1_000_000
DRAWS = 5_000


def drawn(latency: Latency, source: int = 0, target: int = 1) -> list[int]:
    """Many delays between two processes, in ascending order."""
    chance = KeyedRandom(3)
    delays = []
    for number in range(DRAWS):
        chance.key(source, target, number)
        delays.append(int(latency.draw(source, target, chance)))
    return sorted(delays)


def mean(delays: list[int]) -> float:
    return sum(delays) / len(delays)


def test_a_constant_latency_is_constant() -> None:
    assert set(drawn(Constant(7))) == {7}


def test_a_uniform_latency_fills_its_span() -> None:
    delays = drawn(Uniform(MS, 3 * MS))

    assert MS <= delays[0] < 1.01 * MS
    assert 2.99 * MS < delays[-1] <= 3 * MS
    assert 1.97 * MS < mean(delays) < 2.03 * MS


def test_a_short_span_is_drawn_in_whole_numbers_as_floats_would() -> None:
    for span_ns in (0, 1, MS, EXACT_SPAN_NS - 1, EXACT_SPAN_NS):
        chance, same = KeyedRandom(5), KeyedRandom(5)
        for number in range(DRAWS):
            chance.key(number)
            same.key(number)
            assert Uniform(7, 7 + span_ns).draw(0, 1, chance) == 7 + int(same.unit() * span_ns)


def test_an_exponential_latency_adds_its_mean_to_its_base() -> None:
    delays = drawn(Exponential(MS, base_ns=5 * MS))

    assert 5 * MS <= delays[0] < 5.01 * MS
    assert 5.9 * MS < mean(delays) < 6.1 * MS
    assert 5.64 * MS < delays[DRAWS // 2] < 5.74 * MS


def test_a_lognormal_latency_has_its_median_and_spread() -> None:
    delays = drawn(Lognormal(MS, 0.5))

    assert 0.96 * MS < delays[DRAWS // 2] < 1.04 * MS
    # One standard deviation of the logarithm up and down.
    assert 1.55 * MS < delays[int(0.8413 * DRAWS)] < 1.75 * MS
    assert 0.57 * MS < delays[int(0.1587 * DRAWS)] < 0.65 * MS


def test_a_pareto_latency_never_falls_below_its_least_and_has_a_heavy_tail() -> None:
    delays = drawn(Pareto(MS, 1.5))

    assert MS <= delays[0] < 1.01 * MS
    assert 1.52 * MS < delays[DRAWS // 2] < 1.66 * MS
    assert delays[-1] > 50 * MS


def test_no_tail_is_longer_than_the_longest_delay_there_is() -> None:
    delays = drawn(Pareto(DELAY_NS_MAX // 2, 0.5))

    assert delays[-1] == DELAY_NS_MAX


def test_an_empirical_latency_repeats_its_samples_equally_often() -> None:
    delays = drawn(Empirical([10, 20, 20, 30]))

    assert set(delays) == {10, 20, 30}
    assert 0.46 < delays.count(20) / DRAWS < 0.54


def test_geography_depends_on_where_the_processes_are_and_on_the_direction() -> None:
    latency = Geography([[MS, 10 * MS], [30 * MS, MS]], jitter=0.0)

    assert set(drawn(latency, 0, 1)) == {10 * MS}
    assert set(drawn(latency, 1, 0)) == {30 * MS}
    assert set(drawn(latency, 0, 2)) == {MS}, "processes 0 and 2 are at the same site"
    assert set(drawn(latency, 4, 5)) == {10 * MS}


def test_jitter_only_ever_adds_to_a_distance() -> None:
    delays = drawn(Geography([[10 * MS]], jitter=0.1))

    assert delays[0] >= 10 * MS
    assert 10.9 * MS < mean(delays) < 11.1 * MS


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(-1),
        lambda: Constant(DELAY_NS_MAX + 1),
        lambda: Uniform(2, 1),
        lambda: Exponential(-5),
        lambda: Exponential(1, base_ns=-1),
        lambda: Lognormal(0, 0.5),
        lambda: Lognormal(MS, -0.1),
        lambda: Lognormal(MS, 6.0),
        lambda: Pareto(0, 1.5),
        lambda: Pareto(MS, 0.1),
        lambda: Empirical([]),
        lambda: Empirical([1, -1]),
        lambda: Geography([]),
        lambda: Geography([[1, 2]]),
        lambda: Geography([[1, -2], [1, 1]]),
        lambda: Geography([[1]], jitter=-1.0),
    ],
)
def test_a_latency_that_makes_no_sense_is_refused(make: Callable[[], Latency]) -> None:
    with pytest.raises(LocalError):
        make()
