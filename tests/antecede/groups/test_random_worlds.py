"""Rooms in random worlds: nothing twice, nothing early, nothing lost, one view in the end."""

import pytest

from tests.antecede.groups.random_worlds import driver_of, findings
from tests.seeds import seeds


def test_rooms_keep_their_promises_in_random_worlds() -> None:
    assert [found for seed in seeds(1_000) for found in failures(seed)] == []


@pytest.mark.long
def test_rooms_keep_their_promises_in_many_random_worlds() -> None:
    assert [found for seed in range(1_000, 40_000) for found in failures(seed)] == []


def failures(seed: int) -> list[str]:
    """What is wrong in the world of a seed, with what repeats it."""
    return [f"seed {seed}: {one}" for one in findings(seed, driver_of(seed))]
