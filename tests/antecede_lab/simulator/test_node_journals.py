"""Simulated nodes with journals in memory: power fails at every single write, and at many."""

from random import Random

import pytest

from antecede.core.errors import LocalError
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_audit.judging.departures import judge_departures
from antecede_audit.judging.oracle import check_log
from antecede_lab.simulator.nodes.departures import POWER_FAILED
from antecede_lab.simulator.nodes.faults import EXPEL, POWER, NodeFault, parse_node_fault
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads.open_loop import Poisson

MS = 1_000_000
NODES = 3
BAD = Faults(latency=Uniform(MS, 20 * MS), loss=0.1, duplication=0.1)


def power(write: int, process: int, away_ms: int = 30) -> NodeFault:
    return NodeFault(kind=POWER, process=process, start_ns=0, end_ns=away_ms * MS, write=write)


def run(
    faults: list[NodeFault], protocol: str = "hybrid", seed: int = 1, messages: int = 36
) -> RunResult:
    workload = Poisson(
        NODES, messages=messages, interval_ns=10 * MS, seed=seed, multicast=0.4, payload_bytes=8
    )
    return simulate(
        protocol,
        workload,
        faults=BAD,
        seed=seed,
        record=True,
        measure=False,
        until_ns=600_000 * MS,
        host="node",
        node_faults=faults,
    )


def assert_nothing_is_wrong(result: RunResult, why: object) -> None:
    """Lost, doubled, out of order: by the log, which has only what was on disk."""
    assert result.log is not None
    verdict = check_log(result.log, witnesses=False)
    assert verdict.ok, (why, verdict.findings[:3])
    assert result.leftovers.pending == 0, why


@pytest.mark.parametrize("protocol", ["hybrid", "hybrid-sps"])
def test_power_fails_at_every_write_of_one_node(protocol: str) -> None:
    """Until it is told of a write that it does not get to."""
    write = 0
    failed = True
    while failed:
        write += 1
        result = run([power(write, 0)], protocol)
        assert_nothing_is_wrong(result, write)
        failed = POWER_FAILED in result.reports
    assert write > 30


@pytest.mark.parametrize("seed", range(12))
def test_power_fails_again_and_again_everywhere(seed: int) -> None:
    random = Random(seed)
    faults = [
        power(random.randrange(1, 60), process, random.choice((1, 30, 400)))
        for process in range(NODES)
        for _ in range(4)
    ]
    result = run(faults, seed=seed, messages=60)
    assert_nothing_is_wrong(result, seed)
    assert result.reports[POWER_FAILED] >= NODES


@pytest.mark.parametrize("seed", range(12))
def test_one_that_is_expelled_while_its_power_fails_hides_no_loss(seed: int) -> None:
    """Whoever is gone: what the others had sent it is delivered, or they were told."""
    random = Random(seed)
    faults = [power(random.randrange(10, 50), process, 200) for process in range(NODES)]
    at_ns = random.randrange(200) * MS
    faults.append(NodeFault(kind=EXPEL, process=2, start_ns=at_ns, end_ns=at_ns, by=0))
    result = run(faults, seed=seed, messages=60)
    assert result.log is not None
    judgement = judge_departures(result.log, result.departures)
    assert judgement.findings() == {}, seed


def test_power_failures_have_a_notation() -> None:
    fault = power(40, 1, 100)
    assert parse_node_fault("power:40:100ms:1") == fault == parse_node_fault(str(fault))
    with pytest.raises(LocalError):
        parse_node_fault("power:40:1")
