"""Prakash, Raynal, Singhal: barriers hold direct predecessors only."""

from collections.abc import Callable, Sequence

import pytest

from antecede.core import CausalProcess, Message, RemoteError, Transmit
from antecede_lab.protocols.prs import PrsPacket, PrsProcess, beyond, missing_before
from antecede_lab.protocols.vectors import EMPTY, Vector
from tests.antecede.core.brute_force import Create, Traffic, differs, random_schedule, run_through
from tests.antecede.core.patched import patched

EVERYONE = (0, 1, 2, 3)


def sent(sender: CausalProcess, targets: Sequence[int], payload: bytes = b"") -> PrsPacket:
    effect = sender.submit(targets, payload, 0)[0]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.packet, PrsPacket)
    return effect.packet


# The rule.


def test_a_send_takes_the_place_of_what_its_targets_had_to_wait_for() -> None:
    process = PrsProcess(0, EVERYONE)

    assert sent(process, (1, 2)).barriers == {}
    assert sent(process, (2,)).barriers == {1: Vector({0: 1}), 2: Vector({0: 1})}
    assert sent(process, (3,)).barriers == {1: Vector({0: 1}), 2: Vector({0: 2})}


def test_a_delivery_takes_the_place_of_what_it_followed_itself() -> None:
    """What others wait for and this message passed on is covered by it; the rest is not."""
    process = PrsProcess(1, EVERYONE)
    sent(process, (2,), b"concurrent")
    process.arrive(3, PrsPacket(Message(3, 1, b""), (1, 2), {}), 0)
    followed = {2: Vector({3: 1})}
    process.arrive(0, PrsPacket(Message(0, 1, b""), (1, 2), followed), 0)

    assert sent(process, (0,)).barriers == {2: Vector({0: 1, 1: 1})}


def test_barriers_of_others_are_united() -> None:
    process = PrsProcess(1, EVERYONE)
    process.arrive(3, PrsPacket(Message(3, 4, b""), (1,), {2: Vector({0: 1, 3: 3})}), 0)
    process.arrive(0, PrsPacket(Message(0, 9, b""), (1,), {2: Vector({0: 7, 3: 2})}), 0)

    assert sent(process, (0,)).barriers == {2: Vector({0: 7, 3: 3})}


def test_what_a_process_is_known_to_have_delivered_is_dropped() -> None:
    """A barrier of the sender itself is about messages that it has delivered."""
    process = PrsProcess(1, EVERYONE)
    process.arrive(3, PrsPacket(Message(3, 4, b""), (1,), {0: Vector({2: 5, 3: 3})}), 0)
    process.arrive(0, PrsPacket(Message(0, 1, b""), (1,), {0: Vector({2: 5})}), 0)

    assert sent(process, (2,)).barriers == {0: Vector({3: 3})}


@pytest.mark.parametrize("seed", range(10))
def test_a_process_never_carries_a_barrier_of_its_own(seed: int) -> None:
    schedule = random_schedule(seed, Traffic())
    run = run_through(PrsProcess, schedule)

    for me, process in run.actual.items():
        packet = sent(process, [other for other in EVERYONE if other != me])
        assert me not in packet.barriers


def test_what_is_missing_is_read_off_ones_own_barrier() -> None:
    packet = PrsPacket(Message(0, 9, b""), (1,), {1: Vector({2: 4, 0: 8}), 2: Vector({3: 1})})

    assert missing_before(packet, EMPTY, 1) == [(0, 8), (2, 4)]
    assert missing_before(packet, Vector({0: 9, 2: 3}), 1) == [(2, 4)]
    assert missing_before(packet, Vector({0: 8, 2: 4}), 1) == []


def test_beyond_keeps_what_is_later() -> None:
    barrier = Vector({1: 5, 2: 5, 3: 5})

    assert beyond(barrier, Vector({1: 4, 2: 5, 3: 6})) == Vector({1: 5})
    assert beyond(barrier, Vector({1: 4})) is barrier
    assert beyond(barrier, EMPTY) is barrier


def test_metadata_counts_header_barriers_and_two_for_each_message_in_them() -> None:
    packet = PrsPacket(Message(0, 9, b""), (1, 3), {1: Vector({2: 4, 0: 8}), 2: Vector({3: 1})})

    assert packet.metadata_integers == (1 + 2) + (1 + 4) + (1 + 2)


def test_a_packet_does_not_change_after_it_left() -> None:
    process = PrsProcess(0, EVERYONE)
    sent(process, (1,))
    packet = sent(process, (2,))
    before = repr(packet)
    sent(process, (1, 2, 3))
    process.arrive(1, sent(PrsProcess(1, EVERYONE), (0, 2)), 0)

    assert repr(packet) == before


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "forgets the barriers of the targets": (
        "kept = beyond(self._barriers.get(target, EMPTY), passed)",
        "kept = EMPTY",
    ),
    "forgets what it heard of others": (
        "self._put_barrier(process, maximum(known, barrier))",
        "self._put_barrier(process, known)",
    ),
    "does not hold up others for what it delivers": (
        "self._put_barrier(target, maximum(kept, latest))",
        "self._put_barrier(target, kept)",
    ),
    "does not hold up its targets": (
        "            self._barriers[target] = barrier\n",
        "            pass\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    create: Create = patched(
        "antecede_lab/protocols/prs.py", WRONG_ON_PURPOSE[name], as_module="wrong_prs"
    ).PrsProcess

    assert any(differs(create, random_schedule(seed, Traffic())) for seed in range(20))


# Packets that no correct process sends.

ONE = Vector({2: 1})
FORGERIES: dict[str, Callable[[Message], PrsPacket]] = {
    "a barrier of nobody": lambda m: PrsPacket(m, (1,), {4: ONE}),
    "an empty barrier": lambda m: PrsPacket(m, (1,), {3: EMPTY}),
    "a message of nobody": lambda m: PrsPacket(m, (1,), {3: Vector({4: 1})}),
    "a message of a negative id": lambda m: PrsPacket(m, (1,), {3: Vector({-1: 1})}),
    "a message number zero": lambda m: PrsPacket(m, (1,), {3: Vector({2: 0})}),
    "a negative number": lambda m: PrsPacket(m, (1,), {3: Vector({2: -1})}),
    "a message to its own sender": lambda m: PrsPacket(m, (1,), {2: ONE}),
    "a message that follows itself": lambda m: PrsPacket(m, (1,), {3: Vector({0: 1})}),
    "a message that the receiver never sent": lambda m: PrsPacket(m, (1,), {3: Vector({1: 2})}),
}


@pytest.mark.parametrize("processes", [EVERYONE, (0, 1, 2, 3, 50)])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str, processes: tuple[int, ...]) -> None:
    process = PrsProcess(1, processes)
    sent(process, (0,))
    before = process.fingerprint()

    with pytest.raises(RemoteError):
        process.arrive(0, FORGERIES[name](Message(0, 1, b"")), 0)

    assert process.fingerprint() == before
