"""What the five algorithms that buffer at the receiver have in common."""

from collections.abc import Sequence
from typing import Self, cast

import pytest

from antecede.core import (
    CausalProcess,
    Deliver,
    Effect,
    LocalError,
    Message,
    Packet,
    RemoteError,
    Transmit,
)
from antecede.core.packets import Ack
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.bss import BssPacket
from antecede_lab.protocols.ks import KsPacket
from antecede_lab.protocols.prs import PrsPacket
from antecede_lab.protocols.rst import RstPacket
from antecede_lab.protocols.ses import SesPacket
from antecede_lab.wire import decode, encode
from tests.antecede.core.brute_force import (
    Run,
    Submission,
    Traffic,
    first_difference,
    overtakings,
    random_schedule,
    run_through,
    undelivered,
)

NAMES = ("rst", "ks", "prs", "ses", "bss")
POINT_TO_POINT = ("rst", "ks", "prs", "ses")
ALICE, BOB, CAROL = 0, 1, 2
EVERYONE = (ALICE, BOB, CAROL)

each_protocol = pytest.mark.parametrize("name", NAMES)
each_point_to_point = pytest.mark.parametrize("name", POINT_TO_POINT)


def process(name: str, me: int, **options: object) -> CausalProcess:
    return PROTOCOLS[name].create(me, EVERYONE, **options)


def sent(sender: CausalProcess, targets: tuple[int, ...], payload: bytes) -> dict[int, Packet]:
    effects = sender.submit(targets, payload, 0)
    return {effect.target: effect.packet for effect in effects if isinstance(effect, Transmit)}


def payloads(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


def traffic(name: str, seed: int) -> Traffic:
    """Ids that follow one another, and ids that do not; quiet runs and crowded ones."""
    return Traffic(
        processes=((0, 1, 2, 3), (90, 3, 17, 4, 1000), (5, 6, 7))[seed % 3],
        messages=25 if name == "bss" else 40,
        multicast=(0.0, 0.3, 0.7)[seed // 3 % 3],
        broadcast=name == "bss",
        submit_share=(0.15, 0.4, 0.8)[seed // 9 % 3],
    )


# Causal, complete, and as early as can be.


@each_protocol
@pytest.mark.parametrize("seed", range(27))
def test_delivery_is_causal_and_complete(name: str, seed: int) -> None:
    run = run_through(PROTOCOLS[name].create, random_schedule(seed, traffic(name, seed)))

    assert overtakings(run) == []
    assert undelivered(run) == []


@each_protocol
@pytest.mark.parametrize("seed", range(27))
def test_a_message_is_delivered_when_its_last_missing_predecessor_is(name: str, seed: int) -> None:
    schedule = random_schedule(100 + seed, traffic(name, seed))

    assert first_difference(PROTOCOLS[name].create, schedule) is None


@pytest.mark.parametrize("seed", range(12))
def test_all_point_to_point_algorithms_deliver_in_the_same_steps(seed: int) -> None:
    schedule = random_schedule(200 + seed, traffic("rst", seed))
    runs = [Run(PROTOCOLS[name].create, schedule.processes) for name in POINT_TO_POINT]
    for step in schedule.steps:
        for run in runs:
            run.step(step)
        assert all(run.delivered == runs[0].delivered for run in runs)


@each_point_to_point
def test_broadcasts_are_delivered_as_bss_does(name: str) -> None:
    schedule = random_schedule(300, traffic("bss", 0))
    bss = run_through(PROTOCOLS["bss"].create, schedule)

    assert run_through(PROTOCOLS[name].create, schedule).delivered == bss.delivered


@each_protocol
def test_the_wire_changes_nothing(name: str) -> None:
    """Packets that were encoded and decoded on the way give the same run."""
    for seed in range(6):
        schedule = random_schedule(400 + seed, traffic(name, seed))
        run = Run(PROTOCOLS[name].create, schedule.processes)
        for step in schedule.steps:
            run.step(step)
            if isinstance(step, Submission):
                for (key, target), packet in run.packets.items():
                    carried = decode(encode(packet), key[0])
                    assert carried == packet
                    run.packets[key, target] = carried
        assert run.delivered == run_through(PROTOCOLS[name].create, schedule).delivered


class DeliversAtOnce(CausalProcess):
    """No order at all: what the judges here must notice."""

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        self._me = me
        self._processes = processes
        self._sequence = 0

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        self._sequence += 1
        message = Message(self._me, self._sequence, payload)
        packet = KsPacket(message, tuple(targets), {})
        return [
            Deliver(message) if target == self._me else Transmit(target, packet)
            for target in targets
        ]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - it cares for neither
        assert packet.message is not None
        return [Deliver(packet.message)]

    def clone(self) -> Self:
        return type(self)(self._me, self._processes)

    def fingerprint(self) -> bytes:
        return b""


def test_the_judges_notice_a_protocol_that_orders_nothing() -> None:
    schedules = [random_schedule(seed, Traffic()) for seed in range(5)]

    assert all(overtakings(run_through(DeliversAtOnce, schedule)) for schedule in schedules)
    assert all(first_difference(DeliversAtOnce, schedule) for schedule in schedules)


# Oneself.


@each_protocol
def test_a_message_to_oneself_is_delivered_inside_submit_after_the_copies_leave(name: str) -> None:
    alice = process(name, ALICE)

    first, second, third = alice.submit(EVERYONE, b"to all", 0)

    assert isinstance(first, Transmit)
    assert isinstance(second, Transmit)
    assert (first.target, second.target) == (BOB, CAROL)
    assert third == Deliver(Message(ALICE, 1, b"to all"))


@each_protocol
def test_after_a_message_to_oneself_others_are_still_delivered(name: str) -> None:
    """The text of 1991 counts it as sent but never as delivered, and then waits for ever."""
    alice, bob = process(name, ALICE), process(name, BOB)
    note = sent(bob, EVERYONE, b"to myself, too")
    assert payloads(alice.arrive(BOB, note[ALICE], 0)) == [b"to myself, too"]
    answer = sent(alice, (BOB, CAROL), b"answer")

    assert payloads(bob.arrive(ALICE, answer[BOB], 0)) == [b"answer"]


@each_point_to_point
def test_every_submit_has_a_number_also_one_to_oneself_alone(name: str) -> None:
    alice, bob = process(name, ALICE), process(name, BOB)

    assert alice.submit((ALICE,), b"one", 0) == [Deliver(Message(ALICE, 1, b"one"))]
    packet = sent(alice, (BOB,), b"two")[BOB]
    assert bob.arrive(ALICE, packet, 0) == [Deliver(Message(ALICE, 2, b"two"))]
    assert alice.submit((ALICE,), b"three", 0) == [Deliver(Message(ALICE, 3, b"three"))]


@each_point_to_point
def test_the_triangle(name: str) -> None:
    """Alice writes to Carol, then to Bob; Bob's answer overtakes at Carol."""
    alice, bob, carol = (process(name, me) for me in EVERYONE)

    slow = sent(alice, (CAROL,), b"first")[CAROL]
    relay = sent(alice, (BOB,), b"relay")[BOB]
    assert payloads(bob.arrive(ALICE, relay, 0)) == [b"relay"]
    answer = sent(bob, (CAROL,), b"answer")[CAROL]
    assert payloads(carol.arrive(BOB, answer, 0)) == []
    assert payloads(carol.arrive(ALICE, slow, 0)) == [b"first", b"answer"]


# The caller's mistakes.

MISTAKES: dict[str, tuple[object, object]] = {
    "no targets": ((), b""),
    "a target twice": ((BOB, CAROL, BOB), b""),
    "an unknown target": ((BOB, CAROL, 7), b""),
    "a huge target": ((BOB, CAROL, 1 << 80), b""),
    "a negative target": ((BOB, CAROL, -1), b""),
    "targets that are no ids": ("12", b""),
    "a payload that is no bytes": ((BOB, CAROL), "text"),
    "a payload that is too large": ((BOB, CAROL), b"12345"),
}


@each_protocol
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_submit_is_a_local_error_and_changes_nothing(name: str, mistake: str) -> None:
    alice = process(name, ALICE, payload_limit=4)
    before = alice.fingerprint()
    targets, payload = MISTAKES[mistake]

    with pytest.raises(LocalError):
        alice.submit(cast(Sequence[int], targets), cast(bytes, payload), 0)

    assert alice.fingerprint() == before


@each_protocol
def test_a_process_must_be_one_of_the_processes(name: str) -> None:
    with pytest.raises(LocalError):
        PROTOCOLS[name].create(7, EVERYONE)


# A peer's mistakes.


def renamed(packet: Packet, message: Message, targets: tuple[int, ...] = (BOB, CAROL)) -> Packet:
    """The same tag around another message."""
    if isinstance(packet, RstPacket):
        return RstPacket(message, targets, packet.size, packet.sent)
    if isinstance(packet, KsPacket):
        return KsPacket(message, targets, packet.log)
    if isinstance(packet, PrsPacket):
        return PrsPacket(message, targets, packet.barriers)
    if isinstance(packet, SesPacket):
        return SesPacket(message, targets, packet.size, packet.time, packet.latest)
    assert isinstance(packet, BssPacket)
    return BssPacket(message, packet.size, packet.time)


def assert_refused(receiver: CausalProcess, source: int, packet: Packet) -> None:
    before = receiver.fingerprint()
    with pytest.raises(RemoteError):
        receiver.arrive(source, packet, 0)
    assert receiver.fingerprint() == before


@each_protocol
def test_packets_of_another_protocol_or_from_nobody_are_refused(name: str) -> None:
    alice, bob = process(name, ALICE), process(name, BOB)
    packet = sent(alice, (BOB, CAROL), b"x")[BOB]

    assert_refused(bob, ALICE, Ack(1))
    assert_refused(bob, BOB, packet)
    assert_refused(bob, CAROL, packet)
    assert_refused(bob, 7, packet)
    assert_refused(bob, ALICE, renamed(packet, Message(CAROL, 1, b"x")))
    assert_refused(bob, ALICE, renamed(packet, Message(ALICE, 0, b"x")))
    assert payloads(bob.arrive(ALICE, packet, 0)) == [b"x"]


@each_point_to_point
@pytest.mark.parametrize(
    "targets", [(), (CAROL,), (CAROL, BOB), (BOB, BOB), (ALICE, BOB), (BOB, 7), (-1, BOB)]
)
def test_a_packet_whose_targets_make_no_sense_is_refused(
    name: str, targets: tuple[int, ...]
) -> None:
    alice, bob = process(name, ALICE), process(name, BOB)
    packet = sent(alice, (BOB,), b"x")[BOB]

    assert_refused(bob, ALICE, renamed(packet, Message(ALICE, 1, b"x"), targets))


@each_protocol
def test_what_is_delivered_is_not_delivered_again(name: str) -> None:
    alice, bob = process(name, ALICE), process(name, BOB)
    first = sent(alice, (BOB, CAROL), b"first")[BOB]
    second = sent(alice, (BOB, CAROL), b"second")[BOB]
    assert payloads(bob.arrive(ALICE, first, 0)) == [b"first"]
    assert_refused(bob, ALICE, first)
    assert payloads(bob.arrive(ALICE, second, 0)) == [b"second"]
    assert_refused(bob, ALICE, first)
    assert_refused(bob, ALICE, second)


@each_protocol
def test_what_waits_is_not_taken_in_again(name: str) -> None:
    alice, bob = process(name, ALICE), process(name, BOB)
    first = sent(alice, (BOB, CAROL), b"first")[BOB]
    second = sent(alice, (BOB, CAROL), b"second")[BOB]
    assert bob.arrive(ALICE, second, 0) == []

    assert_refused(bob, ALICE, second)
    assert payloads(bob.arrive(ALICE, first, 0)) == [b"first", b"second"]


@each_protocol
def test_a_full_buffer_refuses_what_would_wait_but_takes_what_need_not(name: str) -> None:
    alice, bob = process(name, ALICE), process(name, BOB, receive_limit=2)
    packets = [sent(alice, (BOB, CAROL), b"%d" % number)[BOB] for number in range(4)]
    assert bob.arrive(ALICE, packets[1], 0) == []
    assert bob.arrive(ALICE, packets[2], 0) == []

    assert_refused(bob, ALICE, packets[3])
    assert payloads(bob.arrive(ALICE, packets[0], 0)) == [b"0", b"1", b"2"]
    assert payloads(bob.arrive(ALICE, packets[3], 0)) == [b"3"]


@each_protocol
def test_a_full_buffer_of_one_source_leaves_room_for_others(name: str) -> None:
    alice, bob = process(name, ALICE), process(name, BOB, receive_limit=1)
    carol = process(name, CAROL)
    early = [sent(alice, (BOB, CAROL), b"a%d" % number)[BOB] for number in range(3)]
    late = [sent(carol, (ALICE, BOB), b"c%d" % number)[BOB] for number in range(2)]
    assert bob.arrive(ALICE, early[1], 0) == []

    assert bob.arrive(CAROL, late[1], 0) == []
    assert payloads(bob.arrive(CAROL, late[0], 0)) == [b"c0", b"c1"]


# What the model checker needs.


@each_protocol
@pytest.mark.parametrize("seed", range(3))
def test_clones_are_equal_and_independent_at_every_step(name: str, seed: int) -> None:
    """Run on with clones only; the originals stay what they were."""
    schedule = random_schedule(500 + seed, traffic(name, seed))
    run = Run(PROTOCOLS[name].create, schedule.processes)
    for step in schedule.steps:
        originals = dict(run.actual)
        before = {me: original.fingerprint() for me, original in originals.items()}
        run.actual = {me: original.clone() for me, original in originals.items()}
        assert {me: twin.fingerprint() for me, twin in run.actual.items()} == before
        run.step(step)
        assert {me: original.fingerprint() for me, original in originals.items()} == before
        changed = [me for me, twin in run.actual.items() if twin.fingerprint() != before[me]]
        assert changed == [step.sender if isinstance(step, Submission) else step.target]
    assert run.delivered == run.expected


@each_protocol
def test_the_order_in_which_concurrent_messages_came_is_forgotten_once_delivered(
    name: str,
) -> None:
    alice, carol = process(name, ALICE), process(name, CAROL)
    one = sent(alice, (BOB, CAROL), b"one")[BOB]
    two = sent(carol, (ALICE, BOB), b"two")[BOB]
    bob, other_bob = process(name, BOB), process(name, BOB)

    for receiver, order in ((bob, (ALICE, CAROL)), (other_bob, (CAROL, ALICE))):
        for source in order:
            receiver.arrive(source, one if source == ALICE else two, 0)

    assert bob.fingerprint() == other_bob.fingerprint()


@each_point_to_point
def test_fingerprints_tell_apart_to_whom_something_was_sent(name: str) -> None:
    one, other, third = (process(name, ALICE) for _ in range(3))
    one.submit((BOB,), b"", 0)
    other.submit((CAROL,), b"", 0)
    third.submit((ALICE,), b"", 0)

    assert len({alice.fingerprint() for alice in (one, other, third)}) == 3


@each_protocol
def test_fingerprints_tell_apart_what_waits(name: str) -> None:
    alice, bob, other_bob = process(name, ALICE), process(name, BOB), process(name, BOB)
    packets = [sent(alice, (BOB, CAROL), b"%d" % number)[BOB] for number in range(3)]
    bob.arrive(ALICE, packets[1], 0)
    other_bob.arrive(ALICE, packets[2], 0)

    assert bob.fingerprint() != other_bob.fingerprint() != process(name, BOB).fingerprint()


@each_protocol
def test_packets_are_values(name: str) -> None:
    packets = [
        sent(process(name, ALICE), (BOB, CAROL), payload)[BOB] for payload in (b"x", b"x", b"y")
    ]

    assert packets[0] == packets[1]
    assert hash(packets[0]) == hash(packets[1])
    assert repr(packets[0]) == repr(packets[1])
    assert packets[0] != packets[2]
    assert packets[0].kind == "message"
    assert packets[0].message == Message(ALICE, 1, b"x")
