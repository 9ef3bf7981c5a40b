"""Attackers on the network of simulated nodes: order and delivery hold, nobody is displaced."""

import pytest

from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_audit.judging.oracle import check_log
from antecede_lab.simulator.nodes.adversary import Adversary
from antecede_lab.simulator.nodes.host import name_of
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads.open_loop import Poisson
from tests.antecede.runtime.security.guarded import everybody
from tests.antecede_lab.chaos.attackers import OffPath, OnPath

NODES = 4
MS = 1_000_000
HARMLESS = {"PeerMet", "PeerSilent", "PeerBack", "PeerRefused"}
"""What an attacker may make a node say about others."""


def run(adversary: Adversary | None, seed: int, *, keyed: bool, messages: int = 120) -> RunResult:
    names = [name_of(process) for process in range(NODES)]
    return simulate(
        "hybrid",
        Poisson(NODES, messages=messages, interval_ns=5 * MS, seed=seed, multicast=0.3),
        faults=Faults(latency=Uniform(MS, 5 * MS), loss=0.02, duplication=0.02),
        seed=seed,
        record=True,
        measure=False,
        until_ns=120_000 * MS,
        host="node",
        adversary=adversary,
        guards=dict(everybody(names)) if keyed else None,
    )


def assert_unharmed(result: RunResult) -> None:
    """Everything was delivered, once and in causal order, and nobody was taken for another."""
    assert result.log is not None
    verdict = check_log(result.log, witnesses=False)
    assert verdict.ok, verdict.findings[:3]
    assert result.leftovers.pending == 0
    assert set(result.reports) <= HARMLESS, result.reports
    assert not result.departures.gone


@pytest.mark.parametrize("keyed", [False, True], ids=["without keys", "with keys"])
@pytest.mark.parametrize("seed", range(3))
def test_who_can_only_send_harms_nobody(seed: int, keyed: bool) -> None:
    attacker = OffPath(NODES, seed)
    assert_unharmed(run(attacker, seed, keyed=keyed))
    assert attacker.sent > 200


@pytest.mark.parametrize("seed", range(4))
def test_who_has_everything_in_its_hands_can_delay_and_no_more_where_there_are_keys(
    seed: int,
) -> None:
    attacker = OnPath(seed)
    result = run(attacker, seed, keyed=True)
    assert_unharmed(result)
    assert attacker.sent > 100
    assert result.refused > 10


def test_a_run_with_keys_and_an_attacker_is_the_same_every_time() -> None:
    first, second = (run(OnPath(1), 1, keyed=True) for _ in range(2))
    assert first.log is not None
    assert second.log is not None
    assert first.log.digest() == second.log.digest()
    assert (first.refused, first.packets) == (second.refused, second.packets)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 400))
def test_attackers_for_longer(seed: int) -> None:
    assert_unharmed(run(OffPath(NODES, seed, 2.0), seed, keyed=seed % 2 == 0, messages=400))
    assert_unharmed(run(OnPath(seed, 0.6), seed, keyed=True, messages=400))


def test_without_keys_who_has_everything_in_its_hands_can_do_what_it_likes() -> None:
    """So the promise is about keys: some of these runs are not as they should be."""
    harmed = 0
    for seed in range(12):
        try:
            assert_unharmed(run(OnPath(seed, 0.6), seed, keyed=False))
        except AssertionError:
            harmed += 1
    assert harmed
