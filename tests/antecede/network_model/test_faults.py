"""The fault model: what a network does to packets, statistically and packet by packet."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError
from antecede.network_model.faults import Faults, FaultyNetwork, Partition, SlowLink
from antecede.network_model.latency import DELAY_NS_MAX, Constant, Exponential, Lognormal, Uniform

MS = 1_000_000
PACKETS = 10_000


def fate(
    network: FaultyNetwork, source: int, target: int, sequence: int, number: int, now_ns: int = 0
) -> tuple[int, int]:
    """When the copies of a packet arrive; -1: not at all."""
    network.route(source, target, sequence, number, now_ns)
    return int(network.first_ns), int(network.second_ns)


def fates(faults: Faults, seed: int = 1) -> list[tuple[int, int]]:
    """What becomes of one message after another from 0 to 1, all sent at time 0."""
    network = FaultyNetwork(faults, seed)
    return [fate(network, 0, 1, number, number) for number in range(1, PACKETS + 1)]


def share(happened: int) -> float:
    return happened / PACKETS


def test_without_faults_everything_arrives_once_after_its_latency() -> None:
    assert set(fates(Faults(latency=Constant(5)))) == {(5, -1)}


def test_loss_loses_as_much_as_it_says() -> None:
    arrivals = fates(Faults(loss=0.2))

    assert 0.18 < share(arrivals.count((-1, -1))) < 0.22
    assert set(arrivals) == {(-1, -1), (MS, -1)}


def test_recovery_brings_what_is_lost_so_many_round_trips_later() -> None:
    """The round trip is 2 ms; what is lost twice comes twice as late."""
    arrivals = [first for first, _ in fates(Faults(loss=0.2, recovery=1.5))]

    assert min(arrivals) == MS
    assert 0.78 < share(arrivals.count(MS)) < 0.82
    assert 0.14 < share(arrivals.count(MS + 3 * MS)) < 0.18
    assert {(arrival - MS) % (3 * MS) for arrival in arrivals} == {0}


def test_recovery_leaves_what_is_not_lost_as_it_was() -> None:
    losing = Faults(latency=Uniform(0, MS), loss=0.2, duplication=0.1)
    pairs = zip(fates(losing), fates(replace(losing, recovery=1.0)), strict=True)
    assert all(one == other for one, other in pairs if one[0] >= 0 and one[1] >= 0)


def test_duplication_doubles_as_much_as_it_says_and_each_copy_has_its_own_delay() -> None:
    arrivals = fates(Faults(latency=Uniform(0, MS), duplication=0.1))
    doubled = [(first, second) for first, second in arrivals if second >= 0]

    assert 0.085 < share(len(doubled)) < 0.115
    assert sum(first == second for first, second in doubled) < 3
    assert any(second < first for first, second in doubled)


def test_one_copy_of_a_doubled_packet_may_be_lost() -> None:
    arrivals = fates(Faults(duplication=0.5, loss=0.5))

    assert 0.22 < share(arrivals.count((-1, -1))) < 0.28
    assert 0.22 < share(sum(second >= 0 for _, second in arrivals)) < 0.28


def test_reordering_delays_as_many_as_it_says_by_no_more_than_it_says() -> None:
    arrivals = fates(Faults(reordering=0.3, reordering_ns=10 * MS))
    late = [first for first, _ in arrivals if first > MS]

    assert 0.28 < share(len(late)) < 0.32
    assert max(late) <= 11 * MS
    assert 5.7 * MS < sum(late) / len(late) < 6.3 * MS


def test_switching_one_fault_on_leaves_the_others_as_they_were() -> None:
    """So that two settings can be compared with one seed."""
    lossy = Faults(latency=Lognormal(MS, 0.5), loss=0.2)
    also_doubling = replace(lossy, duplication=0.3)

    lost = [index for index, (first, _) in enumerate(fates(lossy)) if first < 0]
    survived = {index for index, (first, second) in enumerate(fates(also_doubling)) if second >= 0}
    assert survived.isdisjoint(lost)


def test_when_the_faults_have_stopped_nothing_is_lost_doubled_or_late() -> None:
    faults = Faults(
        loss=0.5, duplication=0.5, reordering=0.5, reordering_ns=MS, faults_until_ns=100
    )
    network = FaultyNetwork(faults, 1)

    before = [fate(network, 0, 1, number, number, 99) for number in range(1, 101)]
    after = [fate(network, 0, 1, number, number, 100) for number in range(101, 201)]

    assert len(set(before)) > 3
    assert set(after) == {(100 + MS, -1)}


@given(
    seed=st.integers(0, 2**62 - 1),
    gaps=st.lists(st.integers(0, 3 * MS), min_size=2, max_size=60),
    loss=st.floats(0, 0.5),
    duplication=st.floats(0, 0.5),
)
def test_a_fifo_network_never_reorders(
    seed: int, gaps: list[int], loss: float, duplication: float
) -> None:
    faults = Faults(latency=Exponential(MS), fifo=True, loss=loss, duplication=duplication)
    network = FaultyNetwork(faults, seed)
    now_ns = 0
    last_ns = 0
    for number, gap in enumerate(gaps, start=1):
        now_ns += gap
        for arrival_ns in fate(network, 3, 4, number % 7, number, now_ns):
            if arrival_ns >= 0:
                assert arrival_ns >= max(now_ns, last_ns)
                last_ns = arrival_ns


def test_other_pairs_of_a_fifo_network_do_not_wait_for_each_other() -> None:
    network = FaultyNetwork(Faults(latency=Uniform(0, 1000 * MS), fifo=True), 1)
    for number in range(1, 50):
        fate(network, 0, 1, number, number)

    backwards = [fate(network, 1, 0, number, number)[0] for number in range(1, 50)]
    assert min(backwards) < 900 * MS


def test_a_partition_cuts_while_it_lasts_and_heals() -> None:
    partition = Partition(start_ns=10, end_ns=20, island=frozenset([0, 1]))
    network = FaultyNetwork(Faults(latency=Constant(1), partitions=(partition,)), 1)

    def passes(source: int, target: int, now_ns: int) -> bool:
        return fate(network, source, target, 0, 0, now_ns)[0] >= 0

    assert passes(0, 2, 9)
    assert not passes(0, 2, 10)
    assert not passes(2, 0, 19)
    assert passes(0, 2, 20)
    assert passes(0, 1, 15), "both on the island"
    assert passes(2, 3, 15), "both on the mainland"


def test_a_slow_link_delays_one_direction_duplicates_included() -> None:
    slow = SlowLink(source=0, target=1, extra_ns=500)
    network = FaultyNetwork(Faults(latency=Constant(1), duplication=1.0, slow_links=(slow,)), 1)

    assert fate(network, 0, 1, 1, 1) == (501, 501)
    assert fate(network, 1, 0, 1, 1) == (1, 1)


@pytest.mark.parametrize(
    "faults",
    [
        Faults(latency=Uniform(0, MS)),
        Faults(latency=Uniform(0, MS), loss=0.1, duplication=0.1),
        Faults(latency=Uniform(0, MS), reordering=0.5, reordering_ns=MS),
    ],
)
def test_the_first_copy_of_a_message_meets_one_fate_whatever_else_is_sent(faults: Faults) -> None:
    """Two protocols under one seed meet the same network."""
    quiet = FaultyNetwork(faults, 7)
    busy = FaultyNetwork(faults, 7)
    for sequence in range(1, 100):
        fate(busy, 0, 1, 0, 10_000 + sequence)
        fate(busy, 0, 2, sequence, 20_000 + sequence)
        fate(busy, 1, 0, sequence, 30_000 + sequence)
        expected = fate(quiet, 0, 1, sequence, sequence)
        later = fate(busy, 0, 1, sequence, 7 * sequence, now_ns=MS)
        assert later == tuple(-1 if ns < 0 else ns + MS for ns in expected)


def test_a_retransmission_meets_a_fate_of_its_own() -> None:
    """Otherwise what was lost once would be lost for ever."""
    network = FaultyNetwork(Faults(loss=0.5), 1)
    attempts = [fate(network, 0, 1, 1, number) for number in range(100)]

    assert 30 < attempts.count((-1, -1)) < 70


def test_another_seed_is_another_network() -> None:
    faults = Faults(latency=Uniform(0, MS))

    assert fates(faults, 1) == fates(faults, 1)
    assert fates(faults, 1) != fates(faults, 2)


@pytest.mark.parametrize(
    ("faults", "complaint"),
    [
        (Faults(loss=1.5), "loss 1.5"),
        (Faults(duplication=-0.1), "duplication -0.1"),
        (Faults(reordering=2.0), "reordering 2.0"),
        (Faults(recovery=-1.0), "recovery after -1.0"),
        (Faults(loss=0.95, recovery=1.0), "nothing recovers"),
        (Faults(reordering_ns=-1), "reordering_ns -1"),
        (Faults(reordering=0.1), "needs reordering_ns"),
        (Faults(fifo=True, reordering=0.1, reordering_ns=1), "does not reorder"),
        (
            Faults(partitions=(Partition(start_ns=2, end_ns=1, island=frozenset([0])),)),
            "ends before it starts",
        ),
        (
            Faults(slow_links=(SlowLink(source=0, target=1, extra_ns=DELAY_NS_MAX + 1),)),
            "slow link",
        ),
        (Faults(slow_links=(SlowLink(source=0, target=1, extra_ns=-1),)), "slow link"),
    ],
)
def test_faults_that_make_no_sense_are_refused(faults: Faults, complaint: str) -> None:
    with pytest.raises(LocalError, match=complaint):
        FaultyNetwork(faults, 1)


def test_lossless_means_that_every_packet_arrives_exactly_once() -> None:
    partition = Partition(start_ns=0, end_ns=1, island=frozenset([0]))

    assert Faults(reordering=0.5, reordering_ns=1).lossless
    assert not Faults(loss=0.1).lossless
    assert Faults(loss=0.1, recovery=1.0).lossless
    assert not Faults(loss=0.1, recovery=1.0, duplication=0.1).lossless
    assert not Faults(duplication=0.1).lossless
    assert not Faults(partitions=(partition,)).lossless
