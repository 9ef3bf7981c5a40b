"""Keyed randomness: the key decides, history does not, and the numbers look random."""

from collections.abc import Callable

import pytest

from antecede.network_model.keyed_random import NETWORK, WORKLOAD, KeyedRandom, mixed, threshold_of

DRAWS = 20_000


def words(chance: KeyedRandom, count: int = 8) -> list[int]:
    return [int(chance.word()) for _ in range(count)]


def keyed(seed: int, *key: int) -> list[int]:
    chance = KeyedRandom(seed)
    chance.key(*key)
    return words(chance)


def test_the_numbers_are_these_and_stay_these() -> None:
    """Recorded runs can be repeated only as long as nobody touches the generator."""
    chance = KeyedRandom(1)
    chance.key(2, 3, 5, 7)

    assert words(chance, 4) == [2_415_328_818, 2_649_971_350, 154_587_997, 2_875_967_707]


def test_a_key_begins_its_own_stream_whatever_was_drawn_before() -> None:
    chance = KeyedRandom(9)
    chance.key(4, 1)
    expected = words(chance)
    chance.key(4, 2)
    words(chance, 100)
    chance.key(4, 1)

    assert words(chance) == expected


@pytest.mark.parametrize(
    "other", [(1, 2, 3, 5), (1, 2, 4, 4), (1, 3, 3, 4), (2, 2, 3, 4), (4, 3, 2, 1), (1, 2, 3)]
)
def test_every_part_of_the_key_counts(other: tuple[int, ...]) -> None:
    assert keyed(1, 1, 2, 3, 4) != keyed(1, *other)


def test_large_numbers_in_keys_and_seeds_are_told_apart() -> None:
    assert keyed(1, 1 << 40) != keyed(1, 1 << 41)
    assert keyed(1 << 40, 1) != keyed(1 << 41, 1)


def test_purposes_have_nothing_in_common() -> None:
    network, workload = KeyedRandom(5, NETWORK), KeyedRandom(5, WORKLOAD)
    network.key(1, 2)
    workload.key(1, 2)

    assert set(words(network, 100)).isdisjoint(words(workload, 100))


def test_different_words_are_scrambled_to_different_words() -> None:
    assert len({int(mixed(word)) for word in range(50_000)}) == 50_000


def draws(draw: Callable[[KeyedRandom], float]) -> list[float]:
    """One number for each of many neighbouring keys, as the simulator draws them."""
    chance = KeyedRandom(11)
    drawn = []
    for number in range(DRAWS):
        chance.key(number % 7, number % 11, number)
        drawn.append(draw(chance))
    return drawn


def test_numbers_below_a_limit_are_spread_evenly() -> None:
    counts = [0] * 10
    for number in draws(lambda chance: float(chance.below(10))):
        counts[int(number)] += 1

    assert sum(counts) == DRAWS
    assert all(0.9 < 10 * count / DRAWS < 1.1 for count in counts)


def test_units_lie_strictly_between_0_and_1_around_a_half() -> None:
    units = draws(lambda chance: chance.unit())

    assert 0 < min(units) < 0.01
    assert 0.99 < max(units) < 1
    assert 0.49 < sum(units) / DRAWS < 0.51


def test_successive_numbers_of_one_stream_are_not_correlated() -> None:
    products = draws(lambda chance: (chance.unit() - 0.5) * (chance.unit() - 0.5))

    assert abs(sum(products) / DRAWS) < 0.003


def test_exponential_waits_have_the_mean_asked_for_and_no_memory() -> None:
    waits = draws(lambda chance: chance.exponential(100.0))

    assert 97 < sum(waits) / DRAWS < 103
    assert 0.34 < sum(wait > 100 for wait in waits) / DRAWS < 0.40


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.3, 1.0])
def test_things_happen_as_often_as_they_should(probability: float) -> None:
    threshold = threshold_of(probability)
    happened = sum(draws(lambda chance: chance.happens(threshold)))

    assert abs(happened / DRAWS - probability) <= 0.015 * (0 < probability < 1)
