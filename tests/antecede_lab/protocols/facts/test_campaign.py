"""Random runs, judged by the definition, and the product compared with the reference."""

import pytest

from tests.antecede_lab.protocols.facts.campaign import (
    CONFIGURATIONS,
    Plan,
    broken,
    plans,
    run,
    twins,
)
from tests.antecede_lab.protocols.facts.lockstep import Twins
from tests.antecede_lab.protocols.facts.reference import Parameters

QUICK = 2
FULL = 46
"""Runs of each of the 72 plans: 3 312 in all."""

LOCKSTEP_QUICK = 60
LOCKSTEP_FULL = 2_400


@pytest.mark.parametrize("p", CONFIGURATIONS, ids=str)
def test_delivery_is_causal_complete_and_exactly_once(p: Parameters) -> None:
    for plan in plans([p]):
        for seed in range(QUICK):
            assert broken(run(plan, seed)) == [], (plan, seed)


@pytest.mark.long
@pytest.mark.parametrize("p", CONFIGURATIONS, ids=str)
def test_delivery_is_causal_complete_and_exactly_once_in_many_runs(p: Parameters) -> None:
    for plan in plans([p]):
        for seed in range(QUICK, QUICK + FULL):
            assert broken(run(plan, seed)) == [], (plan, seed)


def compared(seeds: range) -> int:
    """Packets compared in runs of the product beside the reference, all plans in turn."""
    every = plans()
    packets = 0
    for seed in seeds:
        plan = every[seed % len(every)]
        schedule = run(plan, seed, twins)
        assert broken(schedule) == [], (plan, seed)
        packets += sum(twin.compared for twin in schedule.suspicious if isinstance(twin, Twins))
    return packets


def test_the_product_sends_what_the_specification_says() -> None:
    assert compared(range(LOCKSTEP_QUICK)) > 5_000


@pytest.mark.long
def test_the_product_sends_what_the_specification_says_in_many_runs() -> None:
    assert compared(range(LOCKSTEP_QUICK, LOCKSTEP_QUICK + LOCKSTEP_FULL)) > 170_000


@pytest.mark.parametrize("cache_limit", [1, 3])
def test_caches_may_lose_anything(cache_limit: int) -> None:
    """Order and completeness hold with caches of next to nothing."""
    for p in CONFIGURATIONS[2::2]:
        for seed in range(6):
            plan = Plan(p=p, network="lossy")
            assert broken(run(plan, seed, cache_limit=cache_limit)) == [], (plan, seed)


@pytest.mark.long
@pytest.mark.parametrize("cache_limit", [1, 2, 4, 8])
def test_caches_may_lose_anything_in_many_runs(cache_limit: int) -> None:
    for seed in range(300):
        plan = Plan(p=CONFIGURATIONS[seed % len(CONFIGURATIONS)], network="lossy")
        assert broken(run(plan, seed, cache_limit=cache_limit)) == [], (plan, seed)
