"""What callers and peers may do wrong to the paper's algorithms and the controls, and limits.

A call that raises has changed nothing, which the fingerprint shows; whatever a hostile peer sends,
messages between the others are not lost.
"""

from random import Random
from typing import cast

import pytest

from antecede.core import BufferFull, LocalError, Packet, RemoteError
from antecede.core.controls import NoneProcess
from antecede.core.outstanding import BATCH
from antecede.core.packets import Ack, Ask, DataPacket, Message, Permit
from antecede_lab.catalogue import PROTOCOLS
from tests.papers.carrying import HandCarried, group

PAPER = ["paper-basic", "paper-sps", "paper-multicast"]
CONTROLS = ["fifo", "none"]
OURS = PAPER + CONTROLS


@pytest.mark.parametrize("protocol", OURS)
@pytest.mark.parametrize(
    ("targets", "complaint"),
    [
        ([], "no targets"),
        ([7], "unknown target 7"),
        ([1, 1], "duplicate targets"),
        (["1"], "must be an int"),
        (1, "expected a sequence"),
    ],
)
def test_wrong_targets_are_refused(protocol: str, targets: object, complaint: str) -> None:
    process = group(protocol, 3)[0]
    before = process.fingerprint()
    with pytest.raises(LocalError, match=complaint):
        process.submit(cast(list[int], targets), b"x", 0)
    assert process.fingerprint() == before


@pytest.mark.parametrize("protocol", OURS)
@pytest.mark.parametrize(
    ("payload", "complaint"),
    [("text", "must be bytes, not str"), (None, "not NoneType"), (b"four", "the limit is 3")],
)
def test_wrong_payloads_are_refused(protocol: str, payload: object, complaint: str) -> None:
    process = group(protocol, 3, payload_limit=3)[0]
    before = process.fingerprint()
    with pytest.raises(LocalError, match=complaint):
        process.submit([1], cast(bytes, payload), 0)
    assert process.fingerprint() == before


@pytest.mark.parametrize("protocol", ["paper-basic", "paper-sps"])
def test_unicast_protocols_refuse_a_second_remote_target(protocol: str) -> None:
    process = group(protocol, 3)[0]
    assert not PROTOCOLS[protocol].multicast
    with pytest.raises(LocalError, match="unicast only"):
        process.submit([1, 2], b"x", 0)
    assert len(process.submit([0, 1], b"x", 0)) == 2, "oneself and one other is fine"


@pytest.mark.parametrize("protocol", OURS)
def test_too_much_unacked_is_refused_until_an_ack_comes(protocol: str) -> None:
    net = HandCarried(protocol, 2, send_limit=2)
    net.send(0, [1], b"one")
    net.send(0, [1], b"two")
    before = net.processes[0].fingerprint()
    with pytest.raises(BufferFull):
        net.processes[0].submit([1], b"three", 0)
    assert net.processes[0].fingerprint() == before
    net.carry_all()
    net.send(0, [1], b"three")
    net.settle()
    assert net.payloads(1) == [b"one", b"two", b"three"]


def malformed(source: int) -> list[Packet]:
    """Packets that no correct `source` sends to a process that has delivered its 3 and 5."""
    return [
        DataPacket(Message(source, 7, b"x"), 7, False),
        DataPacket(Message(source, 7, b"x"), 9, False),
        DataPacket(Message(source, 7, b"x"), -1, False),
        DataPacket(Message(source, 0, b"x"), 0, False),
        DataPacket(Message(source, 7, b"x"), 3, True),
        DataPacket(Message(source, 7, b"x"), 0, True),
        DataPacket(Message(source + 1, 7, b"x"), 5, True),
        Ask(1, 1),
        Packet(),
    ]


@pytest.mark.parametrize("protocol", OURS)
@pytest.mark.parametrize("index", range(len(malformed(0))))
def test_a_packet_that_no_correct_peer_sends_is_refused(protocol: str, index: int) -> None:
    process = group(protocol, 3)[2]
    process.arrive(0, DataPacket(Message(0, 3, b"x"), 0, False), 0)
    process.arrive(0, DataPacket(Message(0, 5, b"x"), 3, True), 0)
    before = process.fingerprint()
    with pytest.raises(RemoteError):
        process.arrive(0, malformed(0)[index], 0)
    assert process.fingerprint() == before


@pytest.mark.parametrize("protocol", OURS)
@pytest.mark.parametrize("source", [0, 3, -1])
def test_packets_from_oneself_or_from_strangers_are_refused(protocol: str, source: int) -> None:
    process = group(protocol, 3)[0]
    before = process.fingerprint()
    for packet in (DataPacket(Message(source, 1, b"x"), 0, False), Ack(1), Permit(1)):
        with pytest.raises(RemoteError):
            process.arrive(source, packet, 0)
    assert process.fingerprint() == before


def noise(random: Random, hostile: int) -> Packet:
    number = random.choice([-3, 0, 1, 2, 3, 5, 1 << 50])
    return random.choice(
        [
            Ack(number),
            Permit(number),
            DataPacket(
                Message(hostile, number, b"noise"), random.randint(0, 4), random.random() < 0.5
            ),
        ]
    )


@pytest.mark.parametrize("protocol", OURS)
def test_noise_from_one_peer_loses_no_message_between_the_others(protocol: str) -> None:
    hostile = 3
    for seed in range(40):
        random = Random(seed)
        net = HandCarried(protocol, 4)
        for step in range(60):
            sender, target = random.sample(range(3), 2)
            if random.random() < 0.3:
                net.send(sender, [target], b"%d" % step)
            if random.random() < 0.5:
                make_noise(net, noise(random, hostile), hostile, target)
            if net.table:
                letter = random.choice(net.table)
                if random.random() < 0.2 or letter.target == hostile:
                    net.drop(letter)
                else:
                    net.carry(letter)
        for _ in range(60):
            carry_all(net, hostile)
            for process in range(3):
                net.ring(process)
        assert net.ledger.undelivered() == [], seed


def carry_all(net: HandCarried, hostile: int) -> None:
    """The hostile peer at last sends the permits that it is asked for: nobody can do without."""
    while net.table:
        letter = net.table[0]
        if letter.target != hostile:
            net.carry(letter)
            continue
        net.drop(letter)
        if isinstance(letter.packet, Ack):
            net.hand(hostile, letter.source, Permit(letter.packet.sequence))


def make_noise(net: HandCarried, packet: Packet, hostile: int, target: int) -> None:
    """Hand it over; the answer gets lost."""
    process = net.processes[target]
    before = process.fingerprint()
    try:
        process.arrive(hostile, packet, net.now_ns)
    except RemoteError:
        assert process.fingerprint() == before


@pytest.mark.parametrize("protocol", OURS)
def test_a_full_receive_buffer_drops_what_is_early_but_never_the_next_in_turn(
    protocol: str,
) -> None:
    net = HandCarried(protocol, 2, receive_limit=2)
    letters = [net.send(0, [1], b"%d" % number)[0] for number in range(1, 7)]
    for letter in reversed(letters[1:]):
        net.carry(letter)
    kept = 2 if protocol == "none" else 0
    assert len(net.payloads(1)) == kept
    net.carry(letters[0])
    assert b"1" in net.payloads(1)
    net.settle()
    assert sorted(net.payloads(1)) == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert net.ledger.violations == [] or protocol == "none"


@pytest.mark.parametrize("protocol", OURS)
def test_unacked_messages_are_sent_again_with_growing_patience(protocol: str) -> None:
    net = HandCarried(protocol, 2, patience_ns=10)
    net.send(0, [1], b"one")
    net.send(0, [1], b"two")
    times = []
    while net.now_ns < 300:
        assert [letter.data.carried.payload for letter in net.ring(0)] == [b"one", b"two"]
        times.append(net.now_ns)
    assert times == [10, 30, 70, 150, 310]
    net.settle()
    assert net.payloads(1) == [b"one", b"two"]
    assert net.processes[0].deadline_ns() is None


@pytest.mark.parametrize("protocol", OURS)
def test_a_timer_sends_a_limited_number_again_and_only_to_whom_it_is_due(protocol: str) -> None:
    net = HandCarried(protocol, 3, patience_ns=10)
    for number in range(3 * BATCH):
        net.send(0, [1], b"%d" % number)
    net.now_ns = 5
    net.send(0, [2], b"later")
    again = [letter.data.carried.sequence for letter in net.ring(0)]
    assert again == list(range(1, BATCH + 1))
    assert net.now_ns == 10


@pytest.mark.parametrize("protocol", PAPER)
def test_a_lost_permit_is_asked_for_although_other_answers_keep_coming(protocol: str) -> None:
    """Acks and other permits from the same peer are no reason to wait longer for this one."""
    net = HandCarried(protocol, 4, patience_ns=100)
    j, far, i, target = range(4)
    net.send(j, [far], b"unacked")
    net.carry(net.send(j, [i], b"flagged")[0])
    net.carry(net.the("message", j, far))
    net.carry(net.the("ack", far, j))
    net.drop(net.the("permit", j, i))
    assert net.send(i, [target], b"held back") == []
    net.table.clear()
    for step in range(9):
        net.now_ns += 10
        flagged = DataPacket(Message(j, 3 + step, b"x"), 2 + step, True)
        net.processes[i].arrive(j, flagged, net.now_ns)
        net.processes[i].arrive(j, Permit(3 + step), net.now_ns)
    assert [letter.packet for letter in net.ring(i)] == [Ack(2)]
    assert net.now_ns == 100


def test_none_remembers_a_floor_and_only_what_is_above_a_gap() -> None:
    net = HandCarried("none", 3)
    letters = [net.send(0, [1 + number % 2], b"%d" % number)[0] for number in range(40)]
    mine = [letter for letter in letters if letter.target == 1]
    for letter in mine[1:]:
        net.carry(letter)
    receiver = net.processes[1]
    assert isinstance(receiver, NoneProcess)
    assert (receiver._received[0].floor, len(receiver._received[0].above)) == (0, 19)
    net.carry(mine[0])
    assert (receiver._received[0].floor, receiver._received[0].above) == (39, {})
