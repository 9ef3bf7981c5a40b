"""Raynal, Schiper, Toueg: the matrix, its rows, and the two classic ways to get it wrong."""

from collections.abc import Callable, Sequence
from typing import Self

import pytest

from antecede.core import CausalProcess, Deliver, Effect, Message, Packet, RemoteError, Transmit
from antecede_lab.protocols.rst import RstPacket, RstProcess, missing_before
from antecede_lab.protocols.vectors import Vector
from tests.antecede.core.brute_force import (
    Arrival,
    Create,
    Schedule,
    Submission,
    Traffic,
    differs,
    overtakings,
    random_schedule,
    run_through,
    undelivered,
)
from tests.antecede.core.patched import patched

EVERYONE = (0, 1, 2)


def sent(sender: CausalProcess, targets: Sequence[int], payload: bytes = b"") -> RstPacket:
    effect = sender.submit(targets, payload, 0)[0]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.packet, RstPacket)
    return effect.packet


# The rule.


def test_a_packet_carries_the_matrix_from_before_it_was_counted() -> None:
    process = RstProcess(0, EVERYONE)

    first = sent(process, (2, 1), b"first")
    second = sent(process, (1,), b"second")

    assert first == RstPacket(Message(0, 1, b"first"), (1, 2), 3, {})
    counted = {0: Vector({1: 1, 2: 1})}
    assert second == RstPacket(Message(0, 2, b"second"), (1,), 3, counted)


def test_a_delivery_counts_the_message_for_all_its_targets() -> None:
    process = RstProcess(1, EVERYONE)
    process.arrive(0, RstPacket(Message(0, 1, b""), (1, 2), 3, {2: Vector({0: 4})}), 0)

    assert sent(process, (2,)).sent == {0: Vector({1: 1, 2: 1}), 2: Vector({0: 4})}


def test_what_is_missing_is_read_off_ones_own_column() -> None:
    matrix = {0: Vector({1: 2, 2: 9}), 2: Vector({1: 1}), 3: Vector({0: 5})}
    packet = RstPacket(Message(0, 1, b""), (1,), 4, matrix)

    assert missing_before(packet, {}, 1) == [(0, 2), (2, 1)]
    assert missing_before(packet, {0: 1, 2: 1}, 1) == [(0, 2)]
    assert missing_before(packet, {0: 2, 2: 1}, 1) == []


def test_metadata_counts_the_whole_matrix() -> None:
    assert sent(RstProcess(0, range(20)), (1,)).metadata_integers == 400


# Rows are shared.


def test_a_packet_does_not_change_after_it_left() -> None:
    one, other = RstProcess(0, EVERYONE), RstProcess(1, EVERYONE)
    packet = sent(one, (1,))
    before = repr(packet)
    sent(one, (1,))
    one.arrive(1, sent(other, (0,)), 0)

    assert repr(packet) == before


def test_a_send_makes_one_new_row_and_shares_the_others() -> None:
    one, other = RstProcess(0, EVERYONE), RstProcess(1, EVERYONE)
    one.arrive(1, sent(other, (0,)), 0)

    first, second, third = (sent(one, (2,)) for _ in range(3))

    assert first.sent[1] is second.sent[1] is third.sent[1]
    assert second.sent[0] is not third.sent[0]


def test_a_receiver_shares_the_row_that_its_sender_has_now() -> None:
    one, other = RstProcess(0, EVERYONE), RstProcess(1, EVERYONE)
    other.arrive(0, sent(one, (1, 2)), 0)

    assert sent(other, (2,)).sent[0] is sent(one, (2,)).sent[0]


# Traps.


class UnicastLoop(CausalProcess):
    """A multicast made of unicasts, each counted before the next: not causal."""

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        self._inner = RstProcess(me, processes)

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        return [
            effect
            for target in targets
            for effect in self._inner.submit((target,), payload, now_ns)
        ]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        return self._inner.arrive(source, packet, now_ns)

    def clone(self) -> Self:
        raise AssertionError("nobody clones it here")

    def fingerprint(self) -> bytes:
        return self._inner.fingerprint()


def test_a_multicast_as_a_loop_of_unicasts_is_not_causal() -> None:
    """The first copy does not know of the second: Bob's answer overtakes it at Carol."""
    loops = [UnicastLoop(me, EVERYONE) for me in EVERYONE]
    to_bob, to_carol = loops[0].submit((1, 2), b"news", 0)
    assert isinstance(to_bob, Transmit)
    assert isinstance(to_carol, Transmit)
    loops[1].arrive(0, to_bob.packet, 0)
    answer = sent(loops[1], (2,), b"answer")

    (delivered,) = loops[2].arrive(1, answer, 0)

    assert isinstance(delivered, Deliver)
    assert delivered.message.payload == b"answer"


def test_many_random_runs_of_a_loop_of_unicasts_violate_causality() -> None:
    schedules = [random_schedule(seed, Traffic(to_self=0.0)) for seed in range(40)]

    violating = [bool(overtakings(run_through(UnicastLoop, one))) for one in schedules]

    assert sum(violating) >= 20
    assert not any(overtakings(run_through(RstProcess, one)) for one in schedules)


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "counts-before-it-copies": (
        "self._members.size, dict(self._sent), counted",
        "self._members.size, self._sent | {me: counted}, counted",
    ),
    "counts-one-target-only": (
        "counted = self._sent.get(me, EMPTY).plus(remote, self._line)",
        "counted = self._sent.get(me, EMPTY).plus(remote[:1], self._line)",
    ),
    "receiver-does-not-count": (
        "        sent[source] = maximum(sent.get(source, EMPTY), packet.counted)\n",
        "",
    ),
    "merges-nothing": (
        "            sent[process] = maximum(sent.get(process, EMPTY), row)\n",
        "            pass\n",
    ),
    "waits-for-its-source-only": (
        "        if delivered.get(process, 0) < count:\n",
        "        if process == packet.carried.sender and delivered.get(process, 0) < count:\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    wrong: Create = patched(
        "antecede_lab/protocols/rst.py", WRONG_ON_PURPOSE[name], as_module="wrong_rst"
    ).RstProcess

    assert any(differs(wrong, random_schedule(seed, Traffic())) for seed in range(20))


def test_counting_messages_to_oneself_blocks_as_in_the_text_of_1991() -> None:
    create: Create = patched(
        "antecede_lab/protocols/rst.py",
        (
            "        counted = self._sent.get(me, EMPTY).plus(remote, self._line)",
            "        counted = self._sent.get(me, EMPTY).plus([*remote, me], self._line)",
        ),
        ("            if process in row.counts:\n", "            if process < 0:\n"),
        as_module="rst_of_1991",
    ).RstProcess
    schedule = Schedule(
        processes=(0, 1),
        steps=(
            Submission(sender=0, targets=(0, 1)),
            Arrival(message=(0, 1), target=1),
            Submission(sender=1, targets=(0,)),
            Arrival(message=(1, 1), target=0),
        ),
    )

    assert undelivered(run_through(create, schedule)) == [((1, 1), 0)]
    assert undelivered(run_through(RstProcess, schedule)) == []


# Packets that no correct process sends.

ROW = Vector({1: 1})
FORGERIES: dict[str, Callable[[Message], RstPacket]] = {
    "too few processes": lambda m: RstPacket(m, (1,), 2, {}),
    "too many processes": lambda m: RstPacket(m, (1,), 1 << 40, {}),
    "a row of nobody": lambda m: RstPacket(m, (1,), 3, {3: ROW}),
    "a row of a negative id": lambda m: RstPacket(m, (1,), 3, {-1: ROW}),
    "an empty row": lambda m: RstPacket(m, (1,), 3, {2: Vector({})}),
    "messages to nobody": lambda m: RstPacket(m, (1,), 3, {2: Vector({3: 1})}),
    "a negative count": lambda m: RstPacket(m, (1,), 3, {2: Vector({0: 4, 1: -1})}),
    "a count of zero": lambda m: RstPacket(m, (1,), 3, {2: Vector({1: 0})}),
    "messages to oneself": lambda m: RstPacket(m, (1,), 3, {2: Vector({2: 1})}),
    "messages that the receiver never sent": lambda m: RstPacket(m, (1,), 3, {1: Vector({2: 3})}),
}


@pytest.mark.parametrize("processes", [(0, 1, 2), (0, 1, 200)])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str, processes: tuple[int, ...]) -> None:
    process = RstProcess(1, processes)
    sent(process, (0,))
    before = process.fingerprint()

    with pytest.raises(RemoteError):
        process.arrive(0, FORGERIES[name](Message(0, 1, b"")), 0)

    assert process.fingerprint() == before
