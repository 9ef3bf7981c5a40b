"""The judge of long runs is of the oracle's opinion, and finds what protocols do wrong."""

import pytest

from antecede.eventlog.log import EventLog
from antecede.network_model.faults import Faults
from antecede.testing import Uniform
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.observer import MetadataSize
from antecede_lab.simulator.recorder import Recorder
from antecede_lab.simulator.workloads.open_loop import Poisson
from tests.properties.long_runs import RunningJudge, judged_run

SLOW = Faults(latency=Uniform(1_000_000, 60_000_000))
LOSSY = Faults(latency=Uniform(1_000_000, 60_000_000), loss=0.1, duplication=0.1)


def both(protocol: str, seed: int, faults: Faults) -> tuple[RunningJudge, EventLog]:
    """A run that the judge has watched, and its log for the oracle."""
    info = find_protocol(protocol)
    judge, log = RunningJudge(4), EventLog()
    workload = Poisson(4, messages=80, interval_ns=5_000_000, seed=seed, multicast=0.3, fan_out=2)
    recorder = Recorder(log, MetadataSize(info))
    Simulation(info, workload, faults=faults, seed=seed, observers=[judge, recorder]).run()
    judge.end()
    return judge, log


@pytest.mark.parametrize("protocol", ["hybrid", "hybrid-facts", "fifo", "none"])
@pytest.mark.parametrize("faults", [SLOW, LOSSY], ids=["slow", "lossy"])
def test_the_judge_and_the_oracle_agree(protocol: str, faults: Faults) -> None:
    """Also about runs without causal order, with losses and with doubles."""
    wrong = 0
    for seed in range(6):
        judge, log = both(protocol, seed, faults)
        verdict = check_log(log)
        found = {kind for kind, *_ in judge.findings}
        assert ("early" in found) == bool(verdict.violations), seed
        assert ("missing" in found) == bool(verdict.losses), seed
        assert ("unknown" in found) == bool(verdict.duplicates or verdict.inventions), seed
        assert bool(found) != verdict.ok, seed
        wrong += bool(found)
    assert (wrong > 0) == (protocol in ("fifo", "none"))


@pytest.mark.parametrize(
    ("protocol", "host"), [("hybrid", "core"), ("hybrid", "node"), ("hybrid-facts", "core")]
)
def test_a_longer_run_is_right(protocol: str, host: str) -> None:
    judge = judged_run(find_protocol(protocol), 3, 400, host)
    assert judge.findings == []
    assert judge.messages == 400
    assert judge.deliveries >= 400
