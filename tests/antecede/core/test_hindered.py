"""Who keeps a process from permitting what it is asked to permit."""

from random import Random

import pytest

from antecede.core.effects import Transmit
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import Ack, Ask, DataPacket, Message, Permit
from antecede.core.process import NodeProcess
from antecede_lab.catalogue import PROTOCOLS
from tests.seeds import seeds

ME, ANN, BOB, CAT = 0, 1, 2, 3
MANY = 8_192


def process(name: str = "hybrid") -> HybridProcess:
    me = PROTOCOLS[name].create(ME, range(6))
    assert isinstance(me, HybridProcess)
    return me


def flagged(sender: int, sequence: int) -> DataPacket:
    """A message whose permit will be missing."""
    return DataPacket(Message(sender, sequence, b""), sequence - 1, True)


def test_whoever_has_not_acknowledged_the_oldest_message_is_named_but_never_the_asker() -> None:
    me = process()
    me.submit([ANN, BOB, CAT], b"", 0)
    assert me.hindered_by(ANN, 1) == [BOB, CAT]
    me.arrive(ANN, Ack(1), 0)
    me.arrive(BOB, Ack(1), 0)
    assert me.hindered_by(ANN, 1) == [CAT]
    assert me.hindered_by(CAT, 1) == [], "it waits for nobody but itself"
    me.arrive(CAT, Ack(1), 0)
    assert me.hindered_by(ANN, 1) == [], "the permit is there"


def test_a_message_that_has_not_left_hinders_nobody_who_may_ask() -> None:
    """Who has got something to ask for has got what left, and all of that is acknowledged."""
    me = process()
    me.arrive(CAT, flagged(CAT, 1), 0)
    me.submit([ANN, BOB], b"", 0)
    assert me.hindered_by(ANN, 1) == []
    me.arrive(CAT, Permit(1), 0)
    assert me.hindered_by(ANN, 1) == [BOB]


def test_what_only_the_asker_still_has_to_acknowledge_is_passed_over() -> None:
    me = process()
    me.submit([ANN], b"", 0)
    me.submit([ANN, BOB], b"", 0)
    assert me.hindered_by(ANN, 2) == [BOB]
    assert me.hindered_by(BOB, 2) == [ANN]


def test_who_is_not_known_and_what_was_never_sent_are_hindered_by_nobody() -> None:
    me, fifo = process(), PROTOCOLS["fifo"].create(ME, range(3))
    assert isinstance(fifo, NodeProcess)
    assert me.hindered_by(ANN, 1) == []
    me.submit([ANN], b"", 0)
    assert me.hindered_by(ANN, 9) == []
    assert fifo.hindered_by(ANN, 1) == []


def test_the_answer_names_one_target_of_thousands_of_messages_with_a_few_looks() -> None:
    """Entries are looked at through the queue, and one look is enough."""
    me = process()
    me.submit([ANN, BOB], b"", 0)
    for _ in range(MANY):
        me.submit([BOB], b"", 0)
    me.arrive(ANN, Ack(1), 0)
    assert me.hindered_by(ANN, 1) == [BOB]


@pytest.mark.parametrize("name", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_an_ask_is_granted_or_somebody_else_is_named_or_the_asker_owes_an_answer(name: str) -> None:
    """Whatever has happened: a permit that is refused has its reason."""
    named = 0
    for seed in seeds(60):
        random = Random(seed)
        me = process(name)
        left: dict[int, list[int]] = {ANN: [], BOB: [], CAT: []}
        arrived = dict.fromkeys(left, 0)
        for _ in range(60):
            peer = random.choice(list(left))
            kind = random.random()
            if kind < 0.2:
                arrived[peer] += 1
                effects = me.arrive(peer, flagged(peer, arrived[peer]), 0)
            elif kind < 0.6:
                effects = me.submit(random.sample(list(left), random.randint(1, 3)), b"", 0)
            elif kind < 0.9 and left[peer]:
                effects = me.arrive(peer, Ack(random.choice(left[peer])), 0)
            else:
                effects = me.arrive(peer, Permit(arrived[peer]), 0) if arrived[peer] else []
            for effect in effects:
                if isinstance(effect, Transmit) and isinstance(effect.packet, DataPacket):
                    left[effect.target].append(int(effect.packet.carried.sequence))
            named += sum(check(me, peer, ids) for peer, ids in left.items() if ids)
    assert named > 100


def check(me: NodeProcess, peer: int, ids: list[int]) -> bool:
    """Ask for the last one that has left; whether somebody is named."""
    lowest = ids[-1]
    processes = me.hindered_by(peer, lowest)
    before = me.fingerprint()
    twin = me.clone()
    granted = any(
        isinstance(effect, Transmit) and isinstance(effect.packet, Permit)
        for effect in twin.arrive(peer, Ask(me.acknowledged(peer), lowest), 0)
    )
    assert me.fingerprint() == before
    assert peer not in processes
    assert not (granted and processes)
    owes_us = me.unacked_by(peer) > 0 or peer in {int(owed.owner) for owed in me.owed_permits()}
    assert granted or processes or owes_us, "it waits for itself"
    for one in processes:
        assert me.unacked_by(one) > 0
    return bool(processes)
