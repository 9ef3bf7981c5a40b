"""The network in memory: time, faults and a bottleneck, the same in every run."""

import pytest

from antecede.core.process import NEVER_NS
from antecede.events import PeerMet
from antecede.network_model.faults import Faults, Partition
from antecede.network_model.latency import Constant, Uniform
from antecede.network_model.memory_network import Bottleneck, MemoryNetwork
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    address_of,
    introduce,
    make_endpoint,
    session_of,
    submit,
)

Arrival = tuple[int, str, str, bytes]


def arrivals(network: MemoryNetwork) -> list[Arrival]:
    """Everything that is on its way, in the order in which it arrives."""
    found = []
    while (time_ns := int(network.next_arrival_ns())) < NEVER_NS:
        found.append((time_ns, *network.take_arrival()))
    return found


def carried(faults: Faults, seed: int = 1, count: int = 100) -> list[Arrival]:
    """What becomes of so many datagrams from one place to another, sent a millisecond apart."""
    network = MemoryNetwork(faults, seed)
    for number in range(count):
        network.carry("here", "there", b"%d" % number)
        network.now_ns += MS
    return arrivals(network)


def test_a_network_without_faults_delays_and_nothing_else() -> None:
    assert carried(Faults(latency=Constant(7 * MS)), count=3) == [
        (SECOND + 7 * MS + number * MS, "there", "here", b"%d" % number) for number in range(3)
    ]


def test_datagrams_meet_the_faults_that_were_asked_for() -> None:
    lossy = carried(Faults(loss=0.3), count=1_000)
    assert 600 < len(lossy) < 800
    doubled = carried(Faults(duplication=0.3), count=1_000)
    assert 1_200 < len(doubled) < 1_400
    shuffled = [data for _, _, _, data in carried(Faults(latency=Uniform(MS, 50 * MS)))]
    assert shuffled != sorted(shuffled, key=int)
    assert sorted(shuffled, key=int) == [b"%d" % number for number in range(100)]


def test_the_same_seed_means_the_same_fate() -> None:
    faults = Faults(loss=0.3, duplication=0.3, latency=Uniform(MS, 50 * MS))
    assert carried(faults, seed=4) == carried(faults, seed=4)
    assert carried(faults, seed=4) != carried(faults, seed=5)


def test_a_partition_speaks_of_addresses_in_the_order_they_were_named() -> None:
    cut = Partition(start_ns=0, end_ns=2 * SECOND, island=frozenset([1]))
    network = MemoryNetwork(Faults(partitions=(cut,)))
    for address in ("zero", "one", "two"):
        network.reserve(address)
    for source, target in (("zero", "two"), ("zero", "one"), ("one", "two"), ("two", "zero")):
        network.carry(source, target, b"x")
    assert [(source, target) for _, target, source, _ in arrivals(network)] == [
        ("zero", "two"),
        ("two", "zero"),
    ]
    network.now_ns = 2 * SECOND
    network.carry("zero", "one", b"healed")
    assert len(arrivals(network)) == 1


def test_a_bottleneck_lets_through_one_after_the_other() -> None:
    bottleneck = Bottleneck(1_000_000, 5_000)
    assert [bottleneck.pass_through(1_000, 0) for _ in range(6)] == [
        *(number * MS for number in range(1, 6)),
        -1,
    ]
    assert bottleneck.dropped == 1
    assert bottleneck.pass_through(1_000, MS) == 6 * MS, "a millisecond later there is room again"
    assert bottleneck.pass_through(1_000, SECOND) == SECOND + MS


def test_what_does_not_fit_a_bottleneck_is_lost() -> None:
    bottleneck = Bottleneck(100_000, 2_000)
    network = MemoryNetwork(Faults(latency=Constant(MS)), 1, bottleneck)
    for _ in range(5):
        network.carry("here", "there", bytes(1_000))
    assert [time_ns for time_ns, *_ in arrivals(network)] == [
        SECOND + 10 * MS + MS,
        SECOND + 20 * MS + MS,
    ]
    assert bottleneck.dropped == 3


def test_a_network_without_endpoints_stands_still() -> None:
    network = MemoryNetwork()
    assert network.next_ns() == NEVER_NS
    assert not network.step()
    network.run_for(SECOND)
    assert network.now_ns == 2 * SECOND


def test_time_passes_from_one_event_to_the_next() -> None:
    network = MemoryNetwork(Faults(latency=Constant(3 * MS)))
    ann, bob = make_endpoint(ANN), make_endpoint(BOB)
    introduce(ann, BOB, network.now_ns)
    introduce(bob, ANN, network.now_ns)
    network.attach(address_of(ANN), ann)
    network.attach(address_of(BOB), bob)
    times = []
    while network.now_ns < SECOND + 20 * MS:
        assert network.step()
        times.append(int(network.now_ns) - SECOND)
    assert times[:3] == [0, 3 * MS, 6 * MS], "hello, welcome, and the first datagram"
    assert times == sorted(times)
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])

    submit(ann, [BOB], b"x", network.now_ns)
    network.collect(address_of(ANN))
    assert network.next_arrival_ns() == network.now_ns + 3 * MS
    assert ann.out == [], "what was written has been taken"
    network.run_for(3 * MS)
    assert [message.payload for message in bob.take_inbox()] == [b"x"]


def test_what_is_for_nobody_is_lost() -> None:
    network = MemoryNetwork()
    ann = make_endpoint(ANN)
    introduce(ann, BOB, network.now_ns)
    introduce(ann, CAT, network.now_ns)
    network.attach(address_of(ANN), ann)
    network.attach(address_of(BOB), make_endpoint(BOB))
    network.detach(address_of(BOB))
    network.run_for(SECOND)
    assert not session_of(ann, BOB).met
    with pytest.raises(KeyError):
        network.collect(address_of(BOB))


def test_the_latest_at_an_address_is_who_answers() -> None:
    network = MemoryNetwork()
    ann, first, second = make_endpoint(ANN), make_endpoint(BOB), make_endpoint(BOB, incarnation=2)
    introduce(ann, BOB, network.now_ns)
    for endpoint in (first, second):
        introduce(endpoint, ANN, network.now_ns)
        network.attach(address_of(BOB), endpoint)
    network.attach(address_of(ANN), ann)
    network.run_for(SECOND)
    assert not session_of(first, ANN).met
    assert session_of(second, ANN).met
