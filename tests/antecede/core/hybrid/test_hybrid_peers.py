"""What a runtime asks a hybrid process about its peers, and tells it: lost, unsettled, gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core import Effect, LocalError, Message, Transmit
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import Ack, DataPacket, Permit
from antecede.core.process import EffectList
from tests.antecede.core.hybrid.test_hybrid_runtime import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    next_ring,
    own,
    process,
)

# Many lost copies at once.


def again(alice: HybridProcess, target: int, first: int, last: int) -> list[Effect]:
    outbox = EffectList()
    alice.lost_into(target, first, last, outbox)
    return outbox.effects


def test_a_run_of_copies_that_was_lost_is_transmitted_again_in_order() -> None:
    alice = process(ALICE)
    for targets in ([BOB], [CAROL], [BOB], [BOB], [CAROL], [BOB]):
        alice.submit(targets, b"", 0)

    assert again(alice, BOB, 2, 5) == [
        Transmit(BOB, own(3, 1, flagged=True)),
        Transmit(BOB, own(4, 3, flagged=True)),
    ]
    assert again(alice, BOB, 5, 9) == [Transmit(BOB, own(6, 4, flagged=True))]
    alice.arrive(BOB, Ack(3), 0)
    assert again(alice, BOB, 1, 4) == [Transmit(BOB, own(4, 3, flagged=True))]


@pytest.mark.parametrize(
    ("target", "first", "last"),
    [(BOB, 7, 9), (BOB, 4, 3), (BOB, 1, 1), (BOB, 5, 5), (DAVE, 1, 9), (99, 1, 9)],
    ids=["beyond", "empty", "acknowledged", "held back", "nothing sent", "stranger"],
)
def test_of_a_run_only_what_is_under_way_is_transmitted(target: int, first: int, last: int) -> None:
    alice = process(ALICE)
    for _ in range(4):
        alice.submit([BOB], b"", 0)
    alice.arrive(BOB, Ack(1), 0)
    alice.arrive(CAROL, DataPacket(Message(CAROL, 1, b""), 0, True), 0)
    alice.submit([BOB], b"held back", 0)
    before = alice.fingerprint()
    assert again(alice, target, first, last) == []
    assert alice.fingerprint() == before


@given(
    targets=st.lists(st.sampled_from([[BOB], [CAROL], [BOB, CAROL]]), max_size=30),
    acked=st.integers(0, 30),
    first=st.integers(1, 32),
    last=st.integers(1, 32),
)
def test_a_run_is_as_good_as_one_after_the_other(
    targets: list[list[int]], acked: int, first: int, last: int
) -> None:
    alice = process(ALICE)
    for each in targets:
        alice.submit(each, b"", 0)
    alice.arrive(BOB, Ack(acked), 0)
    single = [effect for number in range(first, last + 1) for effect in alice.lost(BOB, number)]
    assert again(alice, BOB, first, last) == single


# What is not settled.


def test_a_process_knows_what_each_of_the_others_owes_it() -> None:
    alice = process(ALICE)
    assert (
        alice.unacked_by(BOB),
        alice.unacked_by(99),
        alice.oldest_unacked(),
        alice.buffered(),
    ) == (0, 0, 1, 0)
    alice.submit([BOB, CAROL], b"", 0)
    alice.submit([BOB], b"", 0)
    assert (alice.unacked_by(BOB), alice.unacked_by(CAROL), alice.oldest_unacked()) == (2, 1, 1)
    alice.arrive(BOB, Ack(2), 0)
    assert (
        alice.unacked_by(BOB),
        alice.unacked_by(CAROL),
        alice.oldest_unacked(),
        alice.buffered(),
    ) == (0, 1, 1, 1)
    alice.arrive(CAROL, Ack(1), 0)
    assert (alice.unacked_by(CAROL), alice.oldest_unacked(), alice.buffered()) == (0, 3, 0)
    alice.submit([ALICE], b"", 0)
    assert alice.oldest_unacked() == 4


def test_a_process_knows_what_it_has_from_each_of_the_others() -> None:
    bob = process(BOB)
    assert (bob.receive_position(ALICE), bob.receive_position(99)) == ((0, 0), (0, 0))
    bob.arrive(ALICE, own(1, 0, flagged=False), 0)
    bob.arrive(ALICE, own(4, 3, flagged=False), 0)
    bob.arrive(ALICE, own(5, 4, flagged=False), 0)
    assert bob.receive_position(ALICE) == (1, 2)
    bob.arrive(ALICE, own(3, 1, flagged=False), 0)
    assert bob.receive_position(ALICE) == (5, 0)


# Peers that are gone.


def forgotten(alice: HybridProcess, target: int) -> tuple[list[int], list[Effect]]:
    outbox = EffectList()
    return alice.abandon_into(target, 0, outbox), outbox.effects


def transmits(effects: list[Effect]) -> list[Transmit]:
    return [effect for effect in effects if isinstance(effect, Transmit)]


def test_what_a_peer_that_is_gone_has_not_delivered_is_named_once() -> None:
    alice = process(ALICE)
    for targets in ([BOB], [CAROL], [BOB, CAROL], [BOB]):
        alice.submit(targets, b"", 0)
    alice.arrive(BOB, Ack(1), 0)

    assert forgotten(alice, BOB) == ([3, 4], [Transmit(CAROL, Permit(3))])
    assert forgotten(alice, BOB) == ([], [])
    assert (alice.unacked_by(BOB), alice.unacked_by(CAROL), alice.buffered()) == (0, 2, 2)
    assert next_ring(alice)[1] == [
        Transmit(CAROL, own(2, 0, flagged=False)),
        Transmit(CAROL, own(3, 2, flagged=False)),
    ]
    alice.arrive(CAROL, Ack(3), 200)
    assert (alice.buffered(), next_ring(alice)) == (0, (-1, []))


def test_a_peer_that_is_gone_lets_the_others_go_on() -> None:
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)
    alice.submit([CAROL], b"", 0)
    assert forgotten(alice, BOB) == ([1], [Transmit(CAROL, Permit(2))])


def test_what_was_held_back_for_a_peer_that_is_gone_never_leaves() -> None:
    alice = process(ALICE)
    alice.arrive(CAROL, DataPacket(Message(CAROL, 1, b""), 0, True), 0)
    alice.submit([BOB], b"", 0)
    alice.submit([BOB, DAVE], b"", 0)
    assert [(held.target, held.count) for held in alice.waiting()] == [(BOB, 2), (DAVE, 1)]

    undelivered, effects = forgotten(alice, BOB)
    assert undelivered == [1, 2]
    assert all(effect.packet.message is None for effect in transmits(effects))
    assert [(held.target, held.count) for held in alice.waiting()] == [(DAVE, 1)]
    assert [owed.holds for owed in alice.owed_permits()] == [1], "what is given up does not count"
    effects = alice.arrive(CAROL, Permit(1), 0)
    assert effects == [Transmit(DAVE, own(2, 0, flagged=False))]


def test_permits_that_a_peer_owed_stay_missing_when_it_is_gone() -> None:
    alice = process(ALICE)
    alice.arrive(BOB, DataPacket(Message(BOB, 1, b""), 0, True), 0)
    alice.submit([CAROL], b"", 0)
    assert forgotten(alice, BOB) == ([], [])
    assert [repr(held.missing) for held in alice.waiting()] == [f"[1 of {BOB}]"]


def test_an_ack_from_a_peer_that_is_gone_means_nothing() -> None:
    alice = process(ALICE)
    alice.submit([BOB, CAROL], b"", 0)
    forgotten(alice, BOB)
    before = alice.fingerprint()
    assert alice.arrive(BOB, Ack(1), 0) == []
    assert alice.fingerprint() == before
    assert alice.lost(BOB, 1) == []


@pytest.mark.parametrize("target", [ALICE, 99])
def test_only_others_can_be_gone(target: int) -> None:
    with pytest.raises(LocalError, match=f"process {target} is not one of the others"):
        forgotten(process(ALICE), target)


def test_a_process_that_was_never_spoken_to_can_be_gone() -> None:
    alice = process(ALICE)
    assert forgotten(alice, DAVE) == ([], [])


@given(st.lists(st.tuples(st.sampled_from([BOB, CAROL, DAVE]), st.booleans()), max_size=40))
def test_whoever_goes_the_rest_is_settled_when_it_is_acknowledged(
    steps: list[tuple[int, bool]],
) -> None:
    """Messages to one or to all, in any order; Bob goes in the middle, the others answer."""
    alice = process(ALICE)
    for number, (target, to_all) in enumerate(steps, 1):
        if number == len(steps) // 2:
            forgotten(alice, BOB)
        alice.submit([CAROL, DAVE, BOB] if to_all else [target], b"", 0)
    forgotten(alice, BOB)
    for target in (CAROL, DAVE):
        alice.arrive(target, Ack(max([0, *owed_to(target, steps)])), 0)
    assert (alice.buffered(), alice.oldest_unacked()) == (0, len(steps) + 1)
    assert next_ring(alice) == (-1, [])


def owed_to(target: int, steps: list[tuple[int, bool]]) -> list[int]:
    """The ids of the messages that were for `target`."""
    return [number for number, (other, to_all) in enumerate(steps, 1) if to_all or other == target]
