"""Birman, Schiper, Stephenson: one vector is enough where everyone hears all."""

from collections.abc import Callable, Sequence

import pytest

from antecede.core import CausalProcess, Deliver, LocalError, Message, RemoteError, Transmit
from antecede_lab.protocols.bss import BssPacket, BssProcess, missing_before
from antecede_lab.protocols.vectors import EMPTY, Vector
from tests.antecede.core.brute_force import Create, Traffic, differs, random_schedule
from tests.antecede.core.patched import patched

EVERYONE = (0, 1, 2)


def sent(sender: CausalProcess, targets: Sequence[int], payload: bytes = b"") -> BssPacket:
    effect = sender.submit(targets, payload, 0)[0]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.packet, BssPacket)
    return effect.packet


# The rule.


def test_a_packet_carries_one_vector_that_counts_it() -> None:
    process = BssProcess(1, EVERYONE)
    process.arrive(0, BssPacket(Message(0, 1, b"news"), 3, Vector({0: 1})), 0)

    packet = sent(process, (0, 2), b"answer")

    assert packet == BssPacket(Message(1, 1, b"answer"), 3, Vector({0: 1, 1: 1}))
    assert packet.metadata_integers == 3


def test_an_answer_waits_for_what_it_answers() -> None:
    alice, bob, carol = (BssProcess(me, EVERYONE) for me in EVERYONE)
    news = sent(alice, (1, 2), b"news")
    bob.arrive(0, news, 0)
    answer = sent(bob, (0, 2), b"answer")

    assert carol.arrive(1, answer, 0) == []
    assert carol.arrive(0, news, 0) == [
        Deliver(Message(0, 1, b"news")),
        Deliver(Message(1, 1, b"answer")),
    ]


def test_what_is_missing_is_all_that_the_vector_counts_but_the_message_itself() -> None:
    packet = BssPacket(Message(0, 3, b""), 3, Vector({0: 3, 1: 1, 2: 5}))

    assert missing_before(packet, {1: 1}) == [(0, 2), (2, 5)]
    assert missing_before(packet, {0: 2, 1: 1, 2: 4}) == [(2, 5)]
    assert missing_before(packet, {0: 2, 1: 1, 2: 6}) == []


@pytest.mark.parametrize("targets", [(1,), (2,), (0,), (0, 1)])
def test_only_broadcasts_can_be_submitted(targets: tuple[int, ...]) -> None:
    process = BssProcess(0, EVERYONE)
    before = process.fingerprint()

    with pytest.raises(LocalError, match="all 2 others"):
        process.submit(targets, b"", 0)

    assert process.fingerprint() == before


def test_oneself_may_be_among_the_targets_or_not() -> None:
    process = BssProcess(0, EVERYONE)

    assert len(process.submit((2, 1), b"", 0)) == 2
    assert process.submit((2, 0, 1), b"me, too", 0)[2:] == [Deliver(Message(0, 2, b"me, too"))]


def test_who_is_alone_broadcasts_to_oneself() -> None:
    process = BssProcess(0, (0,))

    assert process.submit((0,), b"one", 0) == [Deliver(Message(0, 1, b"one"))]
    assert process.submit((0,), b"two", 0) == [Deliver(Message(0, 2, b"two"))]


def test_a_packet_does_not_change_after_it_left() -> None:
    process = BssProcess(0, EVERYONE)
    packet = sent(process, (1, 2))
    before = repr(packet)
    sent(process, (1, 2))

    assert repr(packet) == before


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "counts nothing of others": (
        "Vector(dict(self._time))",
        "Vector({message.sender: message.sequence})",
    ),
    "delivers a sender's messages in any order": (
        "        if delivered.get(process, 0) < needed:\n",
        "        if process != packet.carried.sender and delivered.get(process, 0) < needed:\n",
    ),
    "waits for the message itself": (
        "needed = count - 1 if process == packet.carried.sender else count",
        "needed = count",
    ),
    "waits for one less of everybody": (
        "needed = count - 1 if process == packet.carried.sender else count",
        "needed = count - 1",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    create: Create = patched(
        "antecede_lab/protocols/bss.py", WRONG_ON_PURPOSE[name], as_module="wrong_bss"
    ).BssProcess
    traffic = Traffic(broadcast=True, messages=20)

    assert any(differs(create, random_schedule(seed, traffic)) for seed in range(10))


# Packets that no correct process sends.

FORGERIES: dict[str, Callable[[Message], BssPacket]] = {
    "too few processes": lambda m: BssPacket(m, 2, Vector({0: 1})),
    "no time": lambda m: BssPacket(m, 3, EMPTY),
    "a time that does not count it": lambda m: BssPacket(m, 3, Vector({0: 2})),
    "a time that counts nobody": lambda m: BssPacket(m, 3, Vector({0: 1, 3: 1})),
    "a negative count": lambda m: BssPacket(m, 3, Vector({0: 1, 2: -1})),
    "a zero": lambda m: BssPacket(m, 3, Vector({0: 1, 2: 0})),
    "messages that the receiver never sent": lambda m: BssPacket(m, 3, Vector({0: 1, 1: 2})),
}


@pytest.mark.parametrize("processes", [(0, 1, 2), (0, 1, 200)])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str, processes: tuple[int, ...]) -> None:
    process = BssProcess(1, processes)
    sent(process, [other for other in processes if other != 1])
    before = process.fingerprint()

    with pytest.raises(RemoteError):
        process.arrive(0, FORGERIES[name](Message(0, 1, b"")), 0)

    assert process.fingerprint() == before
