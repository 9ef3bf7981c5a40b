"""Newtop: nothing is delivered until everybody has been heard of."""

import pytest

from antecede.core import Deliver, LocalError, Message, RemoteError, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfAck
from antecede_lab.protocols.newtop import (
    SILENCE_NS,
    Heard,
    NewtopMessage,
    NewtopNull,
    NewtopProcess,
    is_ready,
)
from tests.random_network import play

NEWTOP = PROTOCOLS["newtop"]
SEEDS = range(60)


def group(count: int, **options: int) -> list[NewtopProcess]:
    return [NewtopProcess(me, range(count), **options) for me in range(count)]


def message(sender: int, sequence: int, clock: int) -> NewtopMessage:
    return NewtopMessage(Message(sender, sequence, b"m%d" % sequence), clock)


@pytest.mark.parametrize("seed", SEEDS)
def test_over_fifo_links_everything_is_delivered_causally_and_then_it_is_quiet(seed: int) -> None:
    run = play(NEWTOP, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    assert [process.deadline_ns() for process in run.processes] == [None] * len(run.processes)


def test_without_nulls_most_runs_end_stuck() -> None:
    runs = [play(NEWTOP, seed, timers=False) for seed in SEEDS]

    assert all(run.ledger.violations == [] for run in runs)
    assert sum(run.ledger.undelivered() != [] for run in runs) > len(runs) // 2


def test_others_deliver_the_messages_of_others_in_one_order() -> None:
    for seed in SEEDS:
        run = play(NEWTOP, seed)
        count = len(run.processes)
        for one in range(count):
            for two in range(one):
                pair = [
                    [it for it in run.ledger.identities(me) if it[0] not in (one, two)]
                    for me in (one, two)
                ]
                assert pair[0] == pair[1]


def test_a_message_waits_until_everybody_was_heard_of() -> None:
    alice, bob, carol = group(3)
    (to_bob, to_carol) = alice.submit([1, 2], b"news", 0)

    assert isinstance(to_bob, Transmit)
    assert isinstance(to_carol, Transmit)
    assert bob.arrive(0, to_bob.packet, 5) == []
    assert carol.arrive(0, to_carol.packet, 5) == []
    assert carol.deadline_ns() == 5 + SILENCE_NS
    null = NewtopNull(2)
    assert carol.expire(5 + SILENCE_NS) == [Transmit(0, null), Transmit(1, null)]
    assert carol.deadline_ns() is None
    assert bob.arrive(2, null, 6) == [Deliver(Message(0, 1, b"news"))]


def test_speaking_up_makes_a_null_superfluous() -> None:
    alice, bob, _ = group(3)
    effect = alice.submit([1, 2], b"news", 0)[0]
    assert isinstance(effect, Transmit)
    bob.arrive(0, effect.packet, 5)
    assert bob.deadline_ns() is not None

    effects = bob.submit([0, 2], b"more", 6)

    assert [e.packet for e in effects if isinstance(e, Transmit)] == [message_of(b"more")] * 2
    assert bob.deadline_ns() is None
    assert bob.expire(10 * SILENCE_NS) == []


def message_of(payload: bytes) -> NewtopMessage:
    return NewtopMessage(Message(1, 1, payload), 2)


def test_whoever_has_sent_a_higher_clock_owes_no_null() -> None:
    alice = group(3)[0]
    alice.arrive(1, NewtopNull(7), 0)
    alice.submit([1, 2], b"", 0)
    alice.arrive(2, message(2, 1, 8), 0)
    assert alice.deadline_ns() is None
    alice.arrive(2, message(2, 2, 9), 0)
    assert alice.deadline_ns() is not None


def test_nulls_are_not_answered() -> None:
    alice = group(3)[0]
    alice.arrive(1, NewtopNull(7), 0)
    assert alice.deadline_ns() is None


def test_equal_clocks_are_delivered_by_sender() -> None:
    me = NewtopProcess(9, [9, 1, 2])
    assert me.arrive(2, message(2, 1, 1), 0) == []
    assert me.arrive(1, message(1, 1, 1), 0) == [
        Deliver(Message(1, 1, b"m1")),
        Deliver(Message(2, 1, b"m1")),
    ]


def test_own_messages_are_delivered_at_once_and_have_their_number() -> None:
    alice = group(2)[0]
    assert alice.submit([1], b"you", 0) == [Transmit(1, NewtopMessage(Message(0, 1, b"you"), 1))]
    assert alice.submit([1, 0], b"all", 0) == [
        Transmit(1, NewtopMessage(Message(0, 2, b"all"), 2)),
        Deliver(Message(0, 2, b"all")),
    ]
    assert NewtopProcess(5, [5]).submit([5], b"", 0) == [Deliver(Message(5, 1, b""))]


def test_a_message_that_is_ready_has_been_passed_by_everybody() -> None:
    early, late = Heard(), Heard()
    early.clock, late.clock = 3, 5
    assert is_ready(3, [early, late])
    assert not is_ready(4, [early, late])
    assert is_ready(1, [])


@pytest.mark.parametrize("targets", [[1], [1, 0], [0], [], [1, 1, 2], [7]])
def test_whoever_leaves_somebody_out_is_told_so(targets: list[int]) -> None:
    alice = group(3)[0]
    before = alice.fingerprint()
    with pytest.raises(LocalError):
        alice.submit(targets, b"", 0)
    assert alice.fingerprint() == before


def test_what_a_fifo_link_cannot_bring_is_refused() -> None:
    alice = group(3)[0]
    alice.arrive(1, message(1, 4, 10), 0)
    before = alice.fingerprint()
    bad = [message(1, 5, 10), message(1, 4, 11), message(2, 5, 11), NewtopNull(9), MfAck(1)]
    for packet in bad:
        with pytest.raises(RemoteError):
            alice.arrive(1, packet, 0)
    with pytest.raises(RemoteError):
        alice.arrive(0, NewtopNull(12), 0)
    assert alice.fingerprint() == before


def test_a_full_buffer_refuses_a_source_but_not_the_one_all_wait_for() -> None:
    alice = group(3, receive_limit=2)[0]
    alice.arrive(1, message(1, 1, 1), 0)
    alice.arrive(1, message(1, 2, 2), 0)
    with pytest.raises(RemoteError):
        alice.arrive(1, message(1, 3, 3), 0)

    assert alice.arrive(2, message(2, 1, 1), 0) != []
    alice.arrive(1, message(1, 3, 3), 0)


def test_a_clone_goes_its_own_way() -> None:
    alice = group(3)[0]
    alice.submit([1, 2], b"", 0)
    alice.arrive(1, message(1, 1, 5), 0)
    twin = alice.clone()
    before = alice.fingerprint()
    assert twin.fingerprint() == before
    assert twin.deadline_ns() == alice.deadline_ns()

    twin.arrive(2, NewtopNull(5), 0)
    assert twin.fingerprint() != before
    assert alice.fingerprint() == before
