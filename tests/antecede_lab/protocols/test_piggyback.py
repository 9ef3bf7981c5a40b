"""Piggyback: a message brings what it depends on, and what everybody has is carried no more."""

from random import Random

import pytest

from antecede.core import BufferFull, Deliver, Effect, Message, RemoteError, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfAck
from antecede_lab.protocols.piggyback import (
    PiggybackAck,
    PiggybackMessage,
    PiggybackProcess,
    Predecessor,
)
from antecede_lab.wire import metadata_size
from tests.antecede.core.wrong_on_purpose import changed, goes_wrong
from tests.properties.schedule import CALM, Schedule, broken_promises, run_randomly
from tests.random_network import play

PIGGYBACK = PROTOCOLS["piggyback"]
ALICE, BOB, CAROL = EVERYONE = (0, 1, 2)


def group() -> list[PiggybackProcess]:
    return [PiggybackProcess(me, EVERYONE) for me in EVERYONE]


def sent(
    sender: PiggybackProcess, targets: list[int], payload: bytes
) -> dict[int, PiggybackMessage]:
    found: dict[int, PiggybackMessage] = {}
    for effect in sender.submit(targets, payload, 0):
        assert isinstance(effect, Transmit)
        assert isinstance(effect.packet, PiggybackMessage)
        found[effect.target] = effect.packet
    return found


def payloads(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


# The rule.


def test_a_message_brings_its_predecessors_and_nothing_waits() -> None:
    """The triangle: Bob's answer arrives with the message that it would have overtaken."""
    alice, bob, carol = group()
    slow = sent(alice, [CAROL], b"first")[CAROL]
    relay = sent(alice, [BOB], b"relay")[BOB]
    assert relay.before == (Predecessor(Message(ALICE, 1, b"first"), (CAROL,)),)

    assert payloads(bob.arrive(ALICE, relay, 0)) == [b"relay"]
    answer = sent(bob, [CAROL], b"answer")[CAROL]
    assert answer.before == (Predecessor(Message(ALICE, 1, b"first"), (CAROL,)),)

    assert payloads(carol.arrive(BOB, answer, 0)) == [b"first", b"answer"]
    assert carol.arrive(ALICE, slow, 0) == [Transmit(ALICE, PiggybackAck(1))]


def test_what_is_meant_for_nobody_else_is_not_kept() -> None:
    alice, bob, _ = group()
    bob.arrive(ALICE, sent(alice, [BOB], b"for you")[BOB], 0)

    assert sent(bob, [CAROL], b"hello")[CAROL].before == ()


def test_a_multicast_is_carried_for_its_other_targets() -> None:
    alice, bob, _ = group()
    copy = sent(alice, [CAROL, BOB], b"both")[BOB]
    assert copy.targets == (BOB, CAROL)
    bob.arrive(ALICE, copy, 0)

    [carried] = sent(bob, [CAROL], b"x")[CAROL].before
    assert carried == Predecessor(Message(ALICE, 1, b"both"), (CAROL,))
    assert sent(bob, [ALICE], b"y")[ALICE].before == (
        Predecessor(Message(BOB, 1, b"x"), (CAROL,)),
    ), "its sender has it, and Bob's own message to Carol is news"


def test_an_acknowledgement_ends_the_carrying() -> None:
    alice, _, _ = group()
    sent(alice, [CAROL], b"a")
    assert len(sent(alice, [CAROL], b"b")[CAROL].before) == 1
    alice.arrive(CAROL, PiggybackAck(2), 0)

    assert sent(alice, [BOB], b"c")[BOB].before == (), "it came with both"


def test_a_stable_id_lets_others_forget_and_is_told_once() -> None:
    alice, bob, carol = group()
    slow = sent(alice, [CAROL], b"first")[CAROL]
    bob.arrive(ALICE, sent(alice, [BOB], b"relay")[BOB], 0)
    carol.arrive(ALICE, slow, 0)
    alice.arrive(CAROL, PiggybackAck(1), 0)
    alice.arrive(BOB, PiggybackAck(2), 0)

    news = sent(alice, [BOB], b"news")[BOB]
    assert news.stable == ((ALICE, 2),)
    assert sent(alice, [BOB], b"more")[BOB].stable == ()
    bob.arrive(ALICE, news, 0)
    assert sent(bob, [CAROL], b"answer")[CAROL].before == ()


def test_carried_payloads_count_as_metadata() -> None:
    alice, _, _ = group()
    sent(alice, [CAROL], bytes(1000))
    packet = sent(alice, [BOB], b"hi")[BOB]

    assert 1000 < metadata_size(packet) < 1020
    assert packet.metadata_integers == 1 + 1 + (2 + 1)


def test_a_message_to_oneself_is_delivered_at_once_and_never_carried() -> None:
    alice, _, _ = group()
    assert alice.submit([ALICE], b"me", 0) == [Deliver(Message(ALICE, 1, b"me"))]
    assert sent(alice, [BOB], b"b")[BOB].before == ()


def test_too_many_unacknowledged_messages_are_refused() -> None:
    alice = PiggybackProcess(0, EVERYONE, send_limit=1)
    alice.submit([BOB], b"", 0)
    with pytest.raises(BufferFull):
        alice.submit([BOB], b"", 0)
    alice.arrive(BOB, PiggybackAck(1), 0)
    alice.submit([BOB], b"", 0)


# As a whole.


@pytest.mark.parametrize("seed", range(40))
def test_everything_is_delivered_causally_and_once(seed: int) -> None:
    run = play(PIGGYBACK, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    assert [process.buffered() for process in run.processes] == [0] * len(run.processes)


def test_what_is_carried_does_not_grow_with_the_length_of_a_run() -> None:
    """Twice in one run, at the same depth of traffic: the past that is carried is as long."""
    schedule = Schedule(PIGGYBACK, 5)
    carried: list[int] = []
    for part in range(6):
        run_randomly(schedule, Random(part), messages=120, eagerness=0.3, trouble=CALM)
        carried.append(max_carried(schedule))

    assert broken_promises(PIGGYBACK, schedule) == []
    assert max(carried[3:]) <= 2 * max(carried[:3])
    assert max(carried) < 60


def max_carried(schedule: Schedule) -> int:
    """The longest past that somebody would carry now."""
    longest = 0
    for me, process in enumerate(schedule.processes):
        for target in schedule.everyone:
            if target != me:
                [effect] = process.clone().submit([target], b"", 0)
                assert isinstance(effect, Transmit)
                assert isinstance(effect.packet, PiggybackMessage)
                longest = max(longest, len(effect.packet.before))
    return longest


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "carries nothing": ("            if target not in kept.had:\n", "            if False:\n"),
    "carries only its own": (
        "            if target not in kept.had:\n",
        "            if target not in kept.had and key[0] == self._members.me:\n",
    ),
    "believes that what was sent is there": (
        "                keys.append(key)\n",
        "                keys.append(key)\n                kept.had[target] = True\n",
    ),
    "keeps only what it may have to deliver itself": (
        "            if pending:\n",
        "            if pending and key[0] == source and False:\n",
    ),
    "calls the last one stable": (
        "self._stable[me] = next(iter(self._unacked), int(self._sequence) + 1) - 1",
        "self._stable[me] = int(self._sequence)",
    ),
    "delivers what it has delivered": (
        "key[1] > self._delivered.get(key[0], 0)",
        "key[1] > self._delivered.get(key[0], 0) - 1",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    info = changed(
        PIGGYBACK, "antecede_lab/protocols/piggyback.py", "PiggybackProcess", WRONG_ON_PURPOSE[name]
    )

    assert any(goes_wrong(info, seed) for seed in range(60))


# Packets that no correct process sends.


def forged(
    before: tuple[Predecessor, ...] = (), stable: tuple[tuple[int, int], ...] = ()
) -> PiggybackMessage:
    return PiggybackMessage(Message(ALICE, 2, b""), (BOB,), before, stable)


FORGERIES = {
    "somebody else's message": PiggybackMessage(Message(CAROL, 1, b""), (BOB,), (), ()),
    "not for the receiver": PiggybackMessage(Message(ALICE, 1, b""), (CAROL,), (), ()),
    "carries itself": forged((Predecessor(Message(ALICE, 2, b""), (CAROL,)),)),
    "carries a message number zero": forged((Predecessor(Message(CAROL, 0, b""), (BOB,)),)),
    "carries the receiver's own": forged((Predecessor(Message(BOB, 1, b""), (CAROL,)),)),
    "carries a stranger's": forged((Predecessor(Message(9, 1, b""), (BOB,)),)),
    "carries one for a stranger": forged((Predecessor(Message(CAROL, 1, b""), (9,)),)),
    "carries one for its sender": forged((Predecessor(Message(CAROL, 1, b""), (BOB, CAROL)),)),
    "carries one that it waits for itself": forged(
        (Predecessor(Message(CAROL, 1, b""), (ALICE, BOB)),)
    ),
    "carries one for nobody": forged((Predecessor(Message(CAROL, 1, b""), ()),)),
    "carries one out of order": forged((Predecessor(Message(ALICE, 1, b""), (CAROL, BOB)),)),
    "a stranger is stable": forged(stable=((9, 1),)),
    "stable at zero": forged(stable=((CAROL, 0),)),
    "stable out of order": forged(stable=((CAROL, 1), (ALICE, 1))),
    "knows better than the receiver": forged(stable=((BOB, 1),)),
    "an acknowledgement of nothing": PiggybackAck(1),
    "another protocol's": MfAck(1),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str) -> None:
    bob = PiggybackProcess(BOB, EVERYONE, carry_limit=4)
    before = bob.fingerprint()

    with pytest.raises(RemoteError):
        bob.arrive(ALICE, FORGERIES[name], 0)
    assert bob.fingerprint() == before


def test_more_predecessors_than_allowed_are_refused() -> None:
    bob = PiggybackProcess(BOB, EVERYONE, carry_limit=1)
    two = tuple(Predecessor(Message(CAROL, number, b""), (BOB,)) for number in (1, 2))
    bob.arrive(ALICE, forged(two[:1]), 0)
    with pytest.raises(RemoteError, match="2 messages"):
        bob.arrive(ALICE, forged(two), 0)


def test_an_acknowledgement_that_comes_again_is_refused() -> None:
    alice, _, _ = group()
    sent(alice, [BOB, CAROL], b"")
    alice.arrive(BOB, PiggybackAck(1), 0)
    with pytest.raises(RemoteError):
        alice.arrive(BOB, PiggybackAck(1), 0)
