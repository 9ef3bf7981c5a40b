"""Rooms in random worlds: nothing twice, nothing early, nothing lost, one view in the end."""

import pytest

from tests.antecede.groups.mutants import mutant
from tests.antecede.groups.random_worlds import (
    driver_of,
    findings,
    findings_of_two_rooms,
    findings_with_forgetful_nodes,
)
from tests.seeds import seeds


def test_rooms_keep_their_promises_in_random_worlds() -> None:
    assert [found for seed in seeds(800) for found in failures(seed)] == []


@pytest.mark.long
def test_rooms_keep_their_promises_in_many_random_worlds() -> None:
    assert [found for seed in range(800, 40_000) for found in failures(seed)] == []


def failures(seed: int) -> list[str]:
    """What is wrong in the world of a seed, with what repeats it."""
    return [f"seed {seed}: {one}" for one in findings(seed, driver_of(seed))]


def test_two_rooms_of_one_name_stay_apart() -> None:
    assert [found for seed in seeds(200) for found in failures_of_two_rooms(seed)] == []


@pytest.mark.long
def test_two_rooms_of_one_name_stay_apart_in_many_worlds() -> None:
    assert [found for seed in range(200, 6_000) for found in failures_of_two_rooms(seed)] == []


@pytest.mark.parametrize("name", ["who is counted in elsewhere does not say so", "rooms mix"])
def test_two_rooms_mix_without_the_rule(name: str) -> None:
    driver = mutant(name)

    assert any(findings_of_two_rooms(seed, driver) for seed in range(300))


def test_nodes_that_forget_their_rooms_in_a_restart_are_missed_by_nobody() -> None:
    assert [found for seed in seeds(200) for found in failures_of_forgetful(seed)] == []


@pytest.mark.long
def test_nodes_that_forget_their_rooms_are_missed_by_nobody_in_many_worlds() -> None:
    assert [found for seed in range(200, 6_000) for found in failures_of_forgetful(seed)] == []


def failures_of_forgetful(seed: int) -> list[str]:
    """What is wrong where nodes that restart are in no room, with what repeats it."""
    wrong = findings_with_forgetful_nodes(seed, driver_of(seed))
    return [f"seed {seed}: {one}" for one in wrong]


def failures_of_two_rooms(seed: int) -> list[str]:
    """What is wrong where two rooms have the same name, with what repeats it."""
    return [f"seed {seed}: {one}" for one in findings_of_two_rooms(seed, driver_of(seed))]
