"""Errata of the paper's listings, E11 to E16: what each would break, and that it does not.

Lines are those of Algorithm 3 (A3, multicast) unless said otherwise. Every test fails if the
correction is taken back.
"""

import pytest

from antecede.core import Deliver, Transmit
from antecede.core.packets import Ack, Ask, Permit
from tests.papers.carrying import HandCarried
from tests.papers.counting import LineCounter, assert_constant, interpreted_only
from tests.papers.test_errata import CONTROLS, EVERY, HYBRID, PAPER

MULTICAST = ["paper-multicast", *HYBRID]


@pytest.mark.parametrize("protocol", MULTICAST)
def test_e11_a_repeated_ack_of_one_receiver_does_not_count_for_another(protocol: str) -> None:
    """Line 28 removes from the set what is no longer in it."""
    net = HandCarried(protocol, 4)
    letters = net.send(0, [1, 2, 3], b"m")
    [ack] = net.carry(letters[0])
    late = [net.repeat(ack), net.repeat(ack)]
    net.carry(ack)
    before = net.processes[0].fingerprint()
    for twin in late:
        assert net.carry(twin) == []
        assert net.processes[0].fingerprint() == before
    for letter in letters[1:]:
        net.drop(letter)
    net.settle()
    assert net.ledger.undelivered() == []


@pytest.mark.parametrize("protocol", EVERY)
def test_e12_a_message_without_destinations_does_not_block_its_sender(protocol: str) -> None:
    """An entry that nobody can ack stayed the oldest unacked for ever."""
    net = HandCarried(protocol, 3)
    for _ in range(3):
        assert net.send(0, [0], b"to myself") == []
        [letter] = net.send(0, [1], b"to one")
        assert not letter.data.flagged
        assert net.send(0, [0], b"to myself") == []
        net.carry(letter)
        net.carry_all()
    assert net.processes[0].expire(1 << 60) == []


@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e12_a_message_to_oneself_among_unacked_ones_holds_no_permit_back(protocol: str) -> None:
    """It has an id between theirs, and counts as acked."""
    net = HandCarried(protocol, 3)
    [first] = net.send(0, [1], b"one")
    net.send(0, [0], b"to myself")
    [third] = net.send(0, [2], b"three")
    assert third.data.carried.sequence == 3
    [ack] = net.carry(first)
    assert [letter.packet for letter in net.carry(ack)] == [Permit(3)]


@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e13_a_message_to_oneself_is_delivered_before_anything_can_answer_it(
    protocol: str,
) -> None:
    """A2: s goes to its sender through the network, x to B; B's answer to x overtakes s."""
    net = HandCarried(protocol, 2)
    net.send(0, [0], b"s")
    assert net.payloads(0) == [b"s"]
    net.carry(net.send(0, [1], b"x")[0])
    net.carry(net.send(1, [0], b"answer")[0])
    net.settle()
    assert net.payloads(0) == [b"s", b"answer"]
    assert net.ledger.violations == []


@pytest.mark.parametrize("protocol", EVERY)
def test_e13_a_message_held_back_does_not_hold_back_a_message_to_oneself(protocol: str) -> None:
    net = HandCarried(protocol, 4)
    j, far, i, target = range(4)
    net.send(j, [far], b"unacked")
    net.carry(net.send(j, [i], b"flagged")[0])
    net.send(i, [target], b"perhaps held back")
    assert net.send(i, [i], b"to myself") == []
    assert net.payloads(i) == [b"flagged", b"to myself"]
    net.settle()
    assert net.payloads(target) == [b"perhaps held back"]


@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e14_a_flagged_unicast_does_not_wait_for_its_own_ack(protocol: str) -> None:
    """Lines 33-38: one round trip more than in Algorithm 1."""
    net = HandCarried(protocol, 3)
    [first] = net.send(0, [1], b"one")
    [second] = net.send(0, [2], b"two")
    [ack] = net.carry(first)
    [permit] = net.carry(ack)
    assert (permit.target, permit.packet) == (2, Permit(2))
    [ack] = net.carry(second)
    assert net.carry(ack) == [], "and it is sent once"


@pytest.mark.parametrize("protocol", MULTICAST)
def test_e14_the_last_one_to_ack_a_multicast_gets_its_permit_before(protocol: str) -> None:
    """Lines 33-38, and the optimisation that the text mentions."""
    net = HandCarried(protocol, 4)
    letters = net.send(0, [1, 2, 3], b"m")
    acks = [net.carry(letter)[0] for letter in letters]
    permits = [[(x.target, x.packet) for x in net.carry(ack)] for ack in acks]
    assert permits == [[], [(3, Permit(1))], [(1, Permit(1)), (2, Permit(1))]]


@pytest.mark.parametrize("protocol", HYBRID)
def test_e15_a_lost_permit_comes_again_at_the_first_request(protocol: str) -> None:
    """A2 lines 49-62: an ack of n >= u.first never made the sender repeat a permit that was due."""
    net = HandCarried(protocol, 3)
    [first] = net.send(0, [1], b"one")
    net.drop(net.carry(net.send(0, [2], b"two")[0])[0])
    [ack] = net.carry(first)
    [permit] = net.carry(ack)
    assert permit.packet == Permit(2)
    net.drop(permit)
    [request] = net.ring(2)
    assert request.packet == Ask(2, 2)
    assert [letter.packet for letter in net.carry(request)] == [Permit(2)]


def test_e15_a_request_is_answered_while_earlier_messages_to_the_same_process_are_unacked() -> None:
    """The permit is due under SPS, and the request of another id must bring it."""
    net = HandCarried("hybrid", 3)
    for number, target in enumerate((1, 2, 1, 1), start=1):
        net.send(0, [target], b"%d" % number)
    one, three, _ = net.letters("message", 0, 1)
    net.carry(one)
    net.carry(three)
    for ack in net.letters("ack"):
        net.drop(ack)
    [ack] = net.carry(net.the("message", 0, 2))
    [permit] = net.carry(ack)
    assert permit.packet == Permit(4)
    net.drop(permit)
    [request] = net.ring(1)
    assert request.packet == Ask(3, 3)
    assert [letter.packet for letter in net.carry(request) if letter.target == 1] == [Permit(4)]


def test_e15_algorithm_2_repeats_it_later() -> None:
    """Section "An SPS-optimal algorithm": optimal "only in reliable networks", but still live."""
    net = HandCarried("paper-sps", 4)
    net.send(0, [1], b"one")
    [second] = net.send(0, [2], b"two")
    [third] = net.send(0, [1], b"three")
    net.carry(net.letters("message", 0, 1)[0])
    net.carry(third)
    for ack in net.letters("ack"):
        net.drop(ack)
    [ack] = net.carry(second)
    net.drop(net.carry(ack)[0])
    assert net.send(1, [3], b"held back") == []
    [request] = net.ring(1)
    assert request.packet == Ack(3)
    assert net.carry(request) == [], "the first request only acks"
    net.settle()
    assert net.payloads(3) == [b"held back"]


@pytest.mark.parametrize("protocol", EVERY)
def test_e16_an_empty_payload_is_not_an_acked_message(protocol: str) -> None:
    """A1 lines 61 and 76: "pl = bottom" as the mark of an acked message; it was never repeated."""
    net = HandCarried(protocol, 3)
    net.send(0, [1], b"")
    net.send(0, [1], b"")
    for letter in net.letters():
        net.drop(letter)
    assert [letter.data.carried.sequence for letter in net.ring(0)] == [1, 2]
    net.settle()
    assert net.payloads(1) == [b"", b""]


@pytest.mark.parametrize("protocol", HYBRID + CONTROLS)
def test_e16_a_repeated_ack_provokes_no_permit(protocol: str) -> None:
    """A1 lines 58-59 cannot tell a repeated ack from a request; a distinct ask can."""
    net = HandCarried(protocol, 2)
    [ack] = net.carry(net.send(0, [1], b"one")[0])
    twin = net.repeat(ack)
    net.carry(ack)
    assert net.carry(twin) == []


@pytest.mark.parametrize("protocol", EVERY)
def test_e16_a_message_is_delivered_before_it_is_acked(protocol: str) -> None:
    """A1 lines 55 and 56: a process that crashed between the two would have lost the message."""
    net = HandCarried(protocol, 2)
    letters = [net.send(0, [1], b"one")[0], net.send(0, [1], b"two")[0]]
    seen = set()
    for letter in reversed(letters):
        for effect in net.processes[1].arrive(0, letter.packet, 0):
            if isinstance(effect, Deliver):
                seen.add(effect.message.sequence)
            else:
                assert isinstance(effect, Transmit)
                assert isinstance(effect.packet, Ack)
                assert effect.packet.sequence in seen
    assert seen == {1, 2}


@interpreted_only
@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e16_a_long_window_costs_no_more_steps_than_a_short_one(protocol: str) -> None:
    """Fixed-size chunks shift their pointers; the ring does not. See
    tests/antecede/core/test_sliding.py."""
    steps = {}
    for unacked in (64, 2_048):
        process = HandCarried(protocol, 3).processes[0]
        counter = LineCounter("sliding.py", "sliding_maps.py")
        for _ in range(unacked):
            counter.run(process.submit, [1], b"x", 0)
        for number in range(1, unacked + 1):
            counter.run(process.arrive, 1, Ack(number), 0)
        steps[unacked] = counter.steps / unacked
    assert_constant(steps, 1.2)
