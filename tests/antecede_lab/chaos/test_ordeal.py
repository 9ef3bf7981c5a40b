"""Simulated clusters in trouble: whoever crashes or is suspected, the rest goes on in order."""

import pytest

from antecede_lab.chaos.simulated import fault_plan, run_plan
from antecede_lab.simulator.nodes.departures import POWER_FAILED
from antecede_lab.simulator.nodes.faults import EXPEL_GONE, parse_node_fault

NODE_RULES = ["hybrid", "hybrid-sps", "hybrid-csps"]


def wrong(protocol: str, seeds: range) -> dict[int, dict[str, int]]:
    found = {seed: run_plan(protocol, fault_plan(seed)).findings() for seed in seeds}
    return {seed: findings for seed, findings in found.items() if findings}


def test_whatever_befalls_a_cluster_the_rest_goes_on_in_order() -> None:
    assert wrong("hybrid", range(60)) == {}


@pytest.mark.parametrize("protocol", ["hybrid", "hybrid-sps"])
def test_power_fails_too_and_the_rest_goes_on_in_order(protocol: str) -> None:
    seeds = range(40) if protocol == "hybrid" else range(8)
    outcomes = {seed: run_plan(protocol, fault_plan(seed, journal=True)) for seed in seeds}
    assert {s: o.findings() for s, o in outcomes.items() if o.findings()} == {}
    assert sum(o.result.reports.get(POWER_FAILED, 0) for o in outcomes.values()) > len(seeds)


@pytest.mark.parametrize("seed", [101107, 102839])
def test_what_was_wrong_in_a_campaign_stays_right(seed: int) -> None:
    """One was met although it was expelled; a late hello gave away the token of an expelled one."""
    assert wrong("hybrid", range(seed, seed + 1)) == {}


@pytest.mark.parametrize("seed", [500032, 500465])
def test_a_life_that_was_replaced_while_it_had_no_power_does_not_come_back(seed: int) -> None:
    """Its power returned when that of the life after it had failed, and nobody took it for gone."""
    assert run_plan("hybrid", fault_plan(seed, journal=True)).findings() == {}


@pytest.mark.long
@pytest.mark.parametrize("protocol", NODE_RULES)
def test_whatever_befalls_thousands_of_clusters_the_rest_goes_on_in_order(protocol: str) -> None:
    assert wrong(protocol, range(1_000, 4_000)) == {}


def test_an_ordeal_follows_from_its_seed() -> None:
    once, again = (run_plan("hybrid", fault_plan(7)) for _ in range(2))
    assert once.ordeal.node_faults == again.ordeal.node_faults
    assert once.result.log is not None
    assert again.result.log is not None
    assert once.result.log.digest() == again.result.log.digest()
    assert once.result.departures == again.result.departures


def test_ordeals_have_all_there_is_to_go_through() -> None:
    ordeals = [fault_plan(seed) for seed in range(60)]
    for kind in ("crash", "restart", "pause", "expel", EXPEL_GONE):
        assert any(ordeal.count(kind) for ordeal in ordeals), kind
    assert any(ordeal.network.partitions for ordeal in ordeals)
    assert any(ordeal.network.delay_jumps for ordeal in ordeals)
    for fault in ordeals[0].node_faults:
        assert parse_node_fault(str(fault)) == fault
