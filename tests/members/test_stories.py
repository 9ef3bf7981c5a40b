"""The named scenarios of membership, under every load."""

import pytest

from tests.members.scenes import LOADS, SECOND, Steady, everybody, hub, played, split
from tests.members.stories import STORIES

SHARES = list(LOADS.values())


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_well(name: str) -> None:
    place = list(STORIES).index(name)
    assert STORIES[name](place, SHARES[place % len(SHARES)]) == []


@pytest.mark.long
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_well_with_many_seeds(name: str, load: str) -> None:
    for seed in range(100, 130):
        assert STORIES[name](seed, LOADS[load]) == [], f"seed {seed}"


def test_without_a_majority_everybody_waits_and_is_counted_as_that() -> None:
    result = played(everybody(4), partitions=[split([2, 3], SECOND)])
    assert {(stuck.members, stuck.running) for stuck in result.stuck} == {(4, 2)}
    assert not any(stuck.has_majority for stuck in result.stuck)


def test_who_is_idle_has_nothing_to_do_with_the_traffic() -> None:
    workload = Steady(hub(3), seed=1, until_ns=SECOND, idle=[3])
    assert workload.processes == 4
    assert workload.remaining() == 1
