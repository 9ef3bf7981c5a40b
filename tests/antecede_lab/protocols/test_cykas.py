"""Cykas: the rules, and the runs that show what the rules cost and what breaks them."""

from collections.abc import Mapping

import pytest

from antecede.core import BufferFull, Deliver, LocalError, Message, RemoteError, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.cykas import (
    CykasAck,
    CykasEntry,
    CykasMessage,
    CykasProcess,
    YouCanTell,
    may_leave,
)
from antecede_lab.protocols.mf import MfAck
from tests.random_network import play
from tests.timed_network import Delays, TimedNetwork, units

CYKAS = PROTOCOLS["cykas"]
SEEDS = range(80)
# The processes of the figure; ME is its i.
X, Y, J, K, ME, R = range(6)


def cykas_group(count: int, **options: bool) -> dict[int, CykasProcess]:
    return {me: CykasProcess(me, range(count), **options) for me in range(count)}


def packet(sequence: int, eager: bool, sender: int = 0) -> CykasMessage:
    return CykasMessage(Message(sender, sequence, b"m"), eager)


# The rules.


@pytest.mark.parametrize("seed", SEEDS)
def test_over_a_reliable_network_everything_is_delivered_causally(seed: int) -> None:
    run = play(CYKAS, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    for process in run.processes:
        assert isinstance(process, CykasProcess)
        assert (process.mode, process.buffered()) == (0, 0)


def test_a_message_is_eager_while_an_earlier_one_is_not_acknowledged() -> None:
    alice = CykasProcess(0, range(3))
    assert alice.submit([1], b"m", 0) == [Transmit(1, packet(1, eager=False))]
    assert alice.submit([2], b"m", 0) == [Transmit(2, packet(2, eager=True))]


def test_the_receiver_of_an_eager_message_delivers_it_but_sends_nothing() -> None:
    bob = CykasProcess(1, range(3))
    assert bob.arrive(0, packet(2, eager=True), 0) == [
        Deliver(Message(0, 2, b"m")),
        Transmit(0, CykasAck(2)),
    ]
    assert bob.mode == 1
    assert bob.submit([2], b"m", 0) == []
    assert bob.arrive(0, YouCanTell(), 0) == [Transmit(2, packet(1, eager=False, sender=1))]
    assert bob.mode == 0


def test_the_yct_leaves_when_all_earlier_messages_and_the_eager_one_are_acknowledged() -> None:
    alice = CykasProcess(0, range(3))
    alice.submit([1], b"m", 0)
    alice.submit([2], b"m", 0)
    assert alice.clone().arrive(1, CykasAck(1), 0) == []
    assert alice.arrive(2, CykasAck(2), 0) == []
    assert alice.arrive(1, CykasAck(1), 0) == [Transmit(2, YouCanTell())]
    assert alice.buffered() == 0


def test_to_one_process_there_is_one_message_in_flight_and_nothing_overtakes_it() -> None:
    alice = CykasProcess(0, range(3))
    alice.submit([1], b"m", 0)
    assert alice.submit([1], b"m", 0) == []
    assert alice.submit([2], b"m", 0) == []
    assert alice.arrive(1, CykasAck(1), 0) == [
        Transmit(1, packet(2, eager=False)),
        Transmit(2, packet(3, eager=True)),
    ]


def test_a_message_may_leave_if_no_secret_is_kept_and_none_is_in_flight() -> None:
    flying = CykasEntry(Message(0, 1, b""), 1)
    assert may_leave(0, None)
    assert not may_leave(1, None)
    assert not may_leave(0, flying)


def test_messages_to_oneself_are_delivered_at_once_even_in_secret_mode() -> None:
    bob = CykasProcess(1, range(3))
    bob.arrive(0, packet(2, eager=True), 0)
    assert bob.submit([1], b"note", 0) == [Deliver(Message(1, 1, b"note"))]
    assert bob.submit([2, 1], b"both", 0) == [Deliver(Message(1, 2, b"both"))]


@pytest.mark.parametrize("targets", [[1, 2], [], [7], [1, 1]])
def test_targets_that_make_no_sense_are_refused(targets: list[int]) -> None:
    alice = CykasProcess(0, range(3))
    before = alice.fingerprint()
    with pytest.raises(LocalError):
        alice.submit(targets, b"", 0)
    assert alice.fingerprint() == before


def test_a_full_buffer_says_so() -> None:
    alice = CykasProcess(0, range(2), send_limit=2)
    alice.submit([1], b"", 0)
    alice.submit([1], b"", 0)
    with pytest.raises(BufferFull):
        alice.submit([1], b"", 0)
    alice.arrive(1, CykasAck(1), 0)
    alice.submit([1], b"", 0)


def test_what_nobody_can_send_is_refused() -> None:
    alice = CykasProcess(0, range(3))
    alice.submit([1], b"m", 0)
    alice.arrive(2, packet(4, eager=False, sender=2), 0)
    before = alice.fingerprint()
    bad = [
        (1, CykasAck(2)),
        (2, CykasAck(1)),
        (2, YouCanTell()),
        (2, packet(4, eager=True, sender=2)),
        (2, packet(5, eager=True, sender=1)),
        (0, YouCanTell()),
        (1, MfAck(1)),
    ]
    for source, wrong in bad:
        with pytest.raises(RemoteError):
            alice.arrive(source, wrong, 0)
    assert alice.fingerprint() == before


def test_a_clone_goes_its_own_way() -> None:
    alice = CykasProcess(0, range(3))
    for target in (1, 2, 2):
        alice.submit([target], b"m", 0)
    alice.arrive(1, packet(4, eager=True, sender=1), 0)
    twin = alice.clone()
    before = alice.fingerprint()
    assert twin.fingerprint() == before

    assert twin.arrive(1, CykasAck(1), 0) == alice.clone().arrive(1, CykasAck(1), 0)
    assert twin.fingerprint() != before
    assert alice.fingerprint() == before


# The figure of Almeida's paper: Cykas against a process that knows more.


def figure(processes: Mapping[int, CykasProcess]) -> TimedNetwork:
    delays = Delays(
        of_copies={(b"k0", X): units(1.2), (b"j0", Y): units(3.0), (b"k1", Y): units(3.5)}
    )
    network = TimedNetwork(processes, delays)
    for time, source, target, payload in [
        (0.0, K, X, b"k0"),
        (0.2, K, ME, b"b"),
        (0.5, J, Y, b"j0"),
        (0.7, J, ME, b"a"),
        (2.2, ME, R, b"m"),
        (3.2, K, Y, b"k1"),
        (3.4, K, ME, b"c"),
    ]:
        network.submit_at(units(time), source, [target], payload)
    return network


def test_in_the_figure_m_waits_for_a_message_that_has_nothing_to_do_with_it() -> None:
    processes = cykas_group(6)
    network = figure(processes)
    modes = [0]

    def watch() -> None:
        if processes[ME].mode != modes[-1]:
            modes.append(processes[ME].mode)

    network.run(units(20), watch)

    assert modes == [0, 1, 2, 1, 2, 1, 0]
    assert network.when("delivered", b"b", ME) == [units(1.2)]
    assert network.when("delivered", b"a", ME) == [units(1.7)]
    assert network.when("delivered", b"c", ME) == [units(4.4)]
    assert network.when("transmitted", b"m") == [units(8.7)]
    assert network.ledger.violations == []
    assert network.ledger.undelivered() == []


# Starvation: two senders take turns in keeping i quiet.

PERIOD_NS = units(1)
STARVED, READER, K1, K2, P, Q = range(6)


def starving_network(
    processes: Mapping[int, CykasProcess], rounds: int, judge: bool
) -> TimedNetwork:
    slow = {
        pair: 40 * PERIOD_NS // 100
        for far in (P, Q)
        for near in processes
        for pair in ((near, far), (far, near))
    }
    network = TimedNetwork(
        processes, Delays(usual_ns=5 * PERIOD_NS // 100, of_pairs=slow), judge=judge
    )
    for number in range(rounds):
        start_ns = number * PERIOD_NS
        network.submit_at(start_ns, K1, [P], b"s")
        network.submit_at(start_ns, K1, [STARVED], b"e")
        network.submit_at(start_ns + PERIOD_NS // 2, K2, [Q], b"s")
        network.submit_at(start_ns + PERIOD_NS // 2, K2, [STARVED], b"e")
    network.submit_at(PERIOD_NS // 10, STARVED, [READER], b"m")
    return network


def test_traffic_of_others_can_keep_a_message_back_as_long_as_it_lasts() -> None:
    processes = cykas_group(6)
    network = starving_network(processes, rounds=1000, judge=False)
    lowest = [9]

    def watch() -> None:
        if network.now_ns >= PERIOD_NS // 10:
            lowest[0] = min(lowest[0], processes[STARVED].mode)

    network.run(1000 * PERIOD_NS, watch)

    assert network.when("transmitted", b"m") == []
    assert lowest == [1]
    assert len(network.when("delivered", b"e", STARVED)) == 2000


def test_when_the_traffic_stops_the_message_leaves() -> None:
    network = starving_network(cykas_group(6), rounds=100, judge=True)
    network.run(200 * PERIOD_NS)

    assert network.when("transmitted", b"m") == [10035 * PERIOD_NS // 100]
    assert network.ledger.undelivered() == []


# Rule 7 to the letter: the YCT may overtake its message.


def overtaking_network(literal: bool) -> TimedNetwork:
    delays = Delays(
        of_copies={(b"s1", X): units(0.5), (b"e1", ME): units(100), (b"s2", Y): units(50)},
        of_pairs={(X, J): units(0.5)},
    )
    network = TimedNetwork(cykas_group(6, literal_rule_7=literal), delays)
    for time, source, target, payload in [
        (0.0, J, X, b"s1"),
        (0.1, J, ME, b"e1"),
        (3.0, K, Y, b"s2"),
        (3.1, K, ME, b"e2"),
        (5.0, ME, Y, b"m"),
    ]:
        network.submit_at(units(time), source, [target], payload)
    return network


def test_by_the_letter_of_rule_7_a_yct_overtakes_and_a_secret_gets_out() -> None:
    network = overtaking_network(literal=True)
    network.run(units(300))

    assert network.when("transmitted", b"m") == [units(5)]
    assert network.when("delivered", b"m", Y) == [units(6)]
    assert network.when("delivered", b"s2", Y) == [units(53)]
    assert network.ledger.violations == [f"({ME}, 1) overtakes ({K}, 1) at {Y}"]


def test_a_yct_that_waits_for_its_message_keeps_the_secret() -> None:
    network = overtaking_network(literal=False)
    network.run(units(300))

    assert network.when("transmitted", b"m") == [units(55)]
    assert network.ledger.violations == []
    assert network.ledger.undelivered() == []


def test_by_the_letter_of_rule_7_some_random_runs_violate_causality() -> None:
    runs = [play(CYKAS, seed, literal_rule_7=True) for seed in range(400)]

    assert any(run.ledger.violations for run in runs)


# Letting messages skip ahead in the send buffer.


def skipping_network(skip: bool) -> TimedNetwork:
    a, b, c, d = range(4)
    delays = Delays(of_copies={(b"a0", c): units(5), (b"b0", d): units(5)})
    network = TimedNetwork(cykas_group(4, skip=skip), delays)
    for source, target, payload in [
        (a, c, b"a0"),
        (a, c, b"a1"),
        (a, b, b"a2"),
        (b, d, b"b0"),
        (b, d, b"b1"),
        (b, a, b"b2"),
    ]:
        network.submit_at(0, source, [target], payload)
    return network


def test_messages_that_skip_ahead_deadlock() -> None:
    """Each of the two keeps the other's secret, and needs to send before it can tell."""
    network = skipping_network(skip=True)
    network.run(units(1000))

    assert network.is_quiet()
    assert network.ledger.undelivered() == [((0, 2), 2), ((1, 2), 3)]
    modes = [p.mode for p in network.processes.values() if isinstance(p, CykasProcess)]
    assert modes == [1, 1, 0, 0]


def test_messages_that_wait_their_turn_all_arrive() -> None:
    network = skipping_network(skip=False)
    network.run(units(1000))

    assert network.is_quiet()
    assert network.ledger.undelivered() == []
    assert network.ledger.violations == []


def test_the_unsafe_variants_are_not_in_the_catalogue() -> None:
    alice = CYKAS.create(0, range(3))
    assert alice.submit([1], b"m", 0) == [Transmit(1, packet(1, eager=False))]
    assert alice.submit([1], b"m", 0) == []
    assert alice.submit([2], b"m", 0) == []
    with pytest.raises(RemoteError):
        alice.arrive(1, YouCanTell(), 0)
