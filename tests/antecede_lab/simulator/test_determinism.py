"""The same seed gives the same run: twice, compiled or not, and whichever protocol carries it."""

import pytest

from antecede.core.catalogue import ProtocolInfo
from antecede.eventlog.log import EventLog
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Lognormal, Uniform
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.networks import build_network
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Broadcast, Poisson, Workload
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload

MS = 1_000_000
ROUGH = Faults(
    latency=Lognormal(MS, 0.7), loss=0.1, duplication=0.05, reordering=0.1, reordering_ns=3 * MS
)

DIGESTS: dict[tuple[str, str, str], str] = {
    ("hybrid", "poisson", "lossy"): "b07468ddc2451776472a805232c407bb",
    ("hybrid", "groups", "wan"): "ce730c1ed7f2a7150b023fbbee90ee97",
    ("hybrid-sps", "poisson", "lossy"): "0cd643dcb1fa8e468df2676c65f86b42",
    ("hybrid-sps", "groups", "wan"): "9c5ab7d7d233632d3a7456be8e013886",
    ("hybrid-facts", "poisson", "lossy"): "7bc853a1020658e50fc08cfb1ebabc52",
    ("hybrid-facts", "groups", "wan"): "3b0dfb4120a614d48ee484ba9bfeb46e",
    ("hybrid-csps", "service-dag", "lan"): "59bf42f94233135c28ce7bd61f47beef",
    ("paper-multicast", "broadcast", "lossy"): "dba946f2a85e9145cc96c591339829f8",
    ("rst", "request-reply", "reliable"): "af321454112c471758882c480d01b65c",
    ("ks", "groups", "lossy"): "3e3adc7e049bfa0171f9bd379ae9fa9f",
    ("newtop", "broadcast", "fifo"): "0fef3d1c4d4f06266d6e12cc5e68bdc4",
    ("tree", "pipeline", "lossy"): "88c9c22d9d894ecf4ebffacdcc9e8045",
    ("piggyback", "groups", "reliable"): "65ee52c458207ddc19c9ed41b14ada08",
    ("psync", "broadcast", "lossy"): "b18ab70e590a778f566898a9e8d12fd4",
    ("separators", "groups", "lossy"): "ed76853ed963b88813c83716e879d324",
    ("topology", "request-reply", "reliable"): "c2af8d67d197e3d8ed74cd03ac8805c2",
    ("blocking", "service-dag", "lossy"): "54bbcb8715566811cbe4ef3b01fd7930",
    ("baldoni", "broadcast", "fifo"): "f3319a849119a66c915353aeb0ad94f0",
    ("saturn", "groups", "lossy"): "0d192086a584b5fc207da6d62dfecb29",
    ("none", "poisson", "lossy"): "3dcb203f1d43141e6eca196475c7a313",
}
"""By protocol, workload and network. They hold for the interpreted and for the compiled build.

A change of any of them means that recorded seeds no longer repeat what they once showed: that may
be right, when the generator, the fault model or a protocol changes, but it must be meant.
"""


def digest(result_log: EventLog | None) -> str:
    assert result_log is not None
    return result_log.digest()


def named_run(protocol: str, workload: str, network: str) -> str:
    traffic = TrafficSettings(processes=5, messages=60, interval_ns=2 * MS, seed=3)
    result = simulate(
        protocol,
        build_workload(workload, traffic),
        faults=build_network(network),
        seed=3,
        patience_ns=20 * MS,
        record=True,
        link=True,
    )
    assert result.leftovers.empty
    return digest(result.log)


@pytest.mark.parametrize("run", DIGESTS, ids="-".join)
def test_these_runs_are_what_they_always_were(run: tuple[str, str, str]) -> None:
    assert named_run(*run) == DIGESTS[run]


def traffic(info: ProtocolInfo, seed: int) -> Workload:
    if info.broadcast_only:
        return Broadcast(5, messages=40, interval_ns=MS, seed=seed)
    multicast = 0.3 if info.multicast else 0.0
    return Poisson(5, messages=80, interval_ns=MS, seed=seed, multicast=multicast)


def rough_run(protocol: str, seed: int) -> str:
    result = simulate(
        protocol,
        traffic(PROTOCOLS[protocol], seed),
        faults=ROUGH,
        seed=seed,
        patience_ns=15 * MS,
        record=True,
        link=True,
    )
    return digest(result.log)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_repeats_itself_and_another_seed_is_another_run(protocol: str) -> None:
    assert rough_run(protocol, 1) == rough_run(protocol, 1)
    assert rough_run(protocol, 1) != rough_run(protocol, 2)


def first_flights(protocol: str) -> dict[tuple[int, int, int], int]:
    """How long the first transmission of every copy was under way, or -1 if it was lost."""
    result = simulate(
        protocol,
        Poisson(5, messages=80, interval_ns=MS, seed=6),
        faults=Faults(latency=Uniform(0, 3 * MS), loss=0.1, duplication=0.1),
        seed=6,
        patience_ns=15 * MS,
        record=True,
        link=True,
    )
    arrivals: dict[int, int] = {}
    for event in result.log or []:
        if event.kind == "arrived" and event.packet is not None:
            arrivals.setdefault(event.packet, event.time_ns)
    flights: dict[tuple[int, int, int], int] = {}
    for event in result.log or []:
        if event.kind == "transmitted" and event.sender is not None and event.sequence is not None:
            assert event.packet is not None
            assert event.target is not None
            arrival_ns = arrivals.get(event.packet, event.time_ns - 1)
            copy = event.sender, event.sequence, event.target
            flights.setdefault(copy, arrival_ns - event.time_ns)
    return flights


@pytest.mark.parametrize("protocol", ["paper-sps", "rst", "ks", "mf", "none"])
def test_protocols_under_one_seed_meet_the_same_network(protocol: str) -> None:
    """The first copy of every message takes equally long, whatever else is on the way."""
    expected = first_flights("hybrid")

    assert len(expected) == 80
    assert first_flights(protocol) == expected


@pytest.mark.parametrize("protocol", ["paper-sps", "rst", "none"])
def test_protocols_under_one_seed_carry_the_same_traffic(protocol: str) -> None:
    def submissions(name: str) -> list[tuple[int, int, int, int]]:
        workload = Poisson(5, messages=80, interval_ns=MS, seed=6)
        result = simulate(name, workload, faults=Faults(), record=True)
        return [
            (event.time_ns, event.process, event.sequence or 0, event.target or 0)
            for event in result.log or []
            if event.kind == "submitted"
        ]

    assert submissions(protocol) == submissions("hybrid")
