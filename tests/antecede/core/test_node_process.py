"""What a runtime may ask of every protocol that nodes speak, whichever it is."""

import pytest

from antecede.core import (
    Deliver,
    DeliveryUnknown,
    Effect,
    EffectList,
    Expelled,
    Fenced,
    LocalError,
    Message,
    NodeProcess,
    NotSentTo,
    RemoteError,
    SelfExpelled,
    Transmit,
)
from antecede.core.packets import Ack, DataPacket, YouAreExpelled
from antecede_lab.catalogue import PROTOCOLS

ALICE, BOB, CAROL = range(3)
FOR_NODES = ["hybrid", "hybrid-sps", "hybrid-csps", "fifo", "none"]

every_order = pytest.mark.parametrize("order", FOR_NODES)


def process(order: str, me: int = ALICE) -> NodeProcess:
    made = PROTOCOLS[order].create(me, [ALICE, BOB, CAROL], patience_ns=10**9)
    assert isinstance(made, NodeProcess)
    return made


def ids(effects: list[Effect]) -> list[int]:
    """The messages of the copies that leave."""
    return [
        int(effect.packet.carried.sequence)
        for effect in effects
        if isinstance(effect, Transmit) and isinstance(effect.packet, DataPacket)
    ]


@every_order
def test_a_copy_that_was_lost_leaves_again_at_once(order: str) -> None:
    alice = process(order)
    for targets in ([BOB], [CAROL], [BOB], [BOB]):
        alice.submit(targets, b"", 0)
    alice.arrive(BOB, Ack(1), 0)

    assert ids(alice.lost(BOB, 4)) == [4]
    assert ids(alice.lost(CAROL, 2)) == [2]
    for target, sequence in ((BOB, 1), (BOB, 2), (CAROL, 3), (BOB, 99), (BOB, 0), (7, 1)):
        assert alice.lost(target, sequence) == []


@every_order
@pytest.mark.parametrize("last", [4, 10**15])
def test_a_run_of_copies_that_was_lost_leaves_again_in_order(order: str, last: int) -> None:
    alice = process(order)
    for targets in ([BOB], [CAROL], [BOB], [BOB]):
        alice.submit(targets, b"", 0)
    outbox = EffectList()
    alice.lost_into(BOB, 2, last, outbox)

    assert ids(outbox.effects) == [3, 4]


@every_order
def test_what_is_held_is_counted(order: str) -> None:
    alice = process(order)
    assert (alice.oldest_unacked(), alice.unacked_by(BOB), alice.buffered()) == (1, 0, 0)
    for targets in ([BOB], [CAROL], [BOB, CAROL]):
        alice.submit(targets, b"payload", 0)
    assert alice.buffered_bytes() == 21
    assert (alice.oldest_unacked(), alice.unacked_by(BOB), alice.buffered()) == (1, 2, 3)

    alice.arrive(BOB, Ack(1), 0)
    assert (alice.oldest_unacked(), alice.unacked_by(BOB), alice.unacked_by(CAROL)) == (2, 1, 2)
    assert alice.buffered_bytes() == alice.clone().buffered_bytes() == 14
    assert alice.unacked_by(7) == 0


@every_order
def test_what_came_is_told(order: str) -> None:
    bob = process(order, BOB)
    assert bob.receive_position(ALICE) == (0, 0)
    bob.arrive(ALICE, DataPacket(Message(ALICE, 1, b""), 0, False), 0)
    assert bob.receive_position(ALICE) == (1, 0)
    bob.arrive(ALICE, DataPacket(Message(ALICE, 5, b""), 3, False), 0)
    assert bob.receive_position(ALICE) == (1, 0 if order == "none" else 1)


@every_order
def test_a_process_can_join(order: str) -> None:
    alice, erin = process(order), 7
    with pytest.raises(LocalError, match="unknown target 7"):
        alice.submit([erin], b"", 0)
    with pytest.raises(RemoteError, match="from 7"):
        alice.arrive(erin, Ack(1), 0)

    alice.add_process(erin)
    assert ids(alice.submit([erin], b"", 0)) == [1]
    hello = Message(erin, 1, b"hello")
    assert alice.arrive(erin, DataPacket(hello, 0, False), 0)[0] == Deliver(hello)
    for known in (ALICE, BOB, erin):
        with pytest.raises(LocalError, match=f"process {known} is known already"):
            alice.add_process(known)
    with pytest.raises(LocalError, match="outside 0 <= id"):
        alice.add_process(-1)


@every_order
def test_a_clone_knows_who_joined(order: str) -> None:
    alice = process(order)
    alice.add_process(7)

    assert ids(alice.clone().submit([7], b"", 0)) == [1]


@every_order
def test_what_is_gone_for_ever_is_not_waited_for(order: str) -> None:
    alice = process(order)
    alice.submit([BOB, CAROL], b"", 0)
    alice.submit([BOB], b"", 0)

    assert alice.abandon_into(BOB, 0, EffectList()) == [1, 2]
    assert (alice.unacked_by(BOB), alice.oldest_unacked(), alice.buffered()) == (0, 1, 1)


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_where_there_are_no_permits_nothing_waits_and_nothing_is_permitted(order: str) -> None:
    alice = process(order)
    alice.submit([BOB], b"", 0)

    assert alice.waiting() == []
    assert alice.owed_permits() == []
    assert alice.frontier(BOB) == 0
    assert alice.reports() == []


@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_the_frontier_is_what_a_peer_may_be_permitted(order: str) -> None:
    alice = process(order)
    assert alice.frontier(BOB) == 0
    alice.submit([CAROL], b"", 0)
    alice.submit([BOB], b"", 0)
    assert (alice.frontier(BOB), alice.frontier(CAROL)) == (0, 1)
    alice.arrive(CAROL, Ack(1), 0)
    assert alice.frontier(BOB) == 2
    alice.arrive(BOB, Ack(2), 0)
    assert (alice.frontier(BOB), alice.frontier(CAROL), alice.frontier(7)) == (2, 2, 0)


@every_order
def test_a_process_can_be_expelled_and_stops_when_it_hears_of_it(order: str) -> None:
    alice, bob = process(order), process(order, BOB)
    alice.submit([BOB], b"", 0)
    alice.expel_into(BOB, 0, EffectList())
    assert alice.reports() == [Expelled(BOB, 0), DeliveryUnknown(1, BOB)]
    assert (alice.unacked_by(BOB), alice.buffered()) == (0, 0)
    assert ids(alice.submit([BOB], b"", 0)) == []
    assert alice.reports() == [NotSentTo(2, BOB)]

    [greeting] = bob.submit([ALICE], b"", 0)
    assert isinstance(greeting, Transmit)
    assert alice.arrive(BOB, greeting.packet, 0) == [Transmit(BOB, YouAreExpelled())]
    assert bob.arrive(ALICE, YouAreExpelled(), 0) == []
    assert bob.reports() == [SelfExpelled(ALICE)]
    assert bob.deadline_ns() is None
    assert bob.expire(10**12) == []
    for running in (bob, bob.clone()):
        with pytest.raises(Fenced):
            running.submit([ALICE], b"", 0)
    with pytest.raises(LocalError, match="cannot expel itself"):
        alice.expel_into(ALICE, 0, EffectList())
