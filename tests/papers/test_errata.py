"""Errata of the paper's listings, E1 to E10: what each would break, and that it does not.

Lines are those of Algorithm 1 (A1, basic), 2 (A2, SPS-optimal) and 3 (A3, multicast). Every test
fails if the correction is taken back.
"""

import pytest

from antecede.core.packets import Ack, DataPacket, Message, Permit
from antecede_lab.protocols.paper_sps import PaperSpsProcess
from tests.papers.carrying import HandCarried, Letter
from tests.papers.counting import LineCounter, assert_constant, interpreted_only

PAPER = ["paper-basic", "paper-sps", "paper-multicast"]
HYBRID = ["hybrid", "hybrid-sps", "hybrid-csps"]
CONTROLS = ["fifo", "none"]
EVERY = PAPER + HYBRID + CONTROLS


def flagged_delivery(net: HandCarried, sender: int, far: int, receiver: int) -> Letter:
    """`sender` has an unacked message to `far` (returned) when `receiver` delivers the next one."""
    [unacked] = net.send(sender, [far], b"unacked")
    [flagged] = net.send(sender, [receiver], b"flagged")
    assert flagged.data.flagged
    net.carry(flagged)
    return unacked


def grant(net: HandCarried, unacked: Letter, receiver: int) -> list[Letter]:
    """What a permit waits for is delivered, and the permit comes; what that releases."""
    net.carry(unacked)
    net.carry(net.letters("ack", unacked.target, unacked.source)[-1])
    return net.carry(net.the("permit", unacked.source, receiver))


@pytest.mark.parametrize("protocol", EVERY)
def test_e1_the_first_message_is_not_taken_for_a_duplicate(protocol: str) -> None:
    """A1 lines 21, 45, 50: ids start at 0, but 0 is also "nothing delivered yet"."""
    net = HandCarried(protocol, 2)
    [first] = net.send(0, [1], b"first")
    assert first.data.carried.sequence == 1
    net.carry(first)
    assert net.payloads(1) == [b"first"]


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [(name, 1) for name in [*PAPER, "none"]] + [(name, 2) for name in [*HYBRID, "fifo"]],
)
def test_e2_a_duplicate_is_acked_with_an_id_that_exists(protocol: str, expected: int) -> None:
    """A1 line 46, A2 line 74: b.mid is unbound there; m.mid is meant (cumulative: ld[j])."""
    net = HandCarried(protocol, 2)
    [first] = net.send(0, [1], b"first")
    late = net.repeat(first)
    net.carry(first)
    net.carry(net.send(0, [1], b"second")[0])
    assert [letter.packet for letter in net.carry(late)] == [Ack(expected)]
    assert net.payloads(1) == [b"first", b"second"]


def test_e3_the_permit_index_survives_the_permit_flag() -> None:
    """A2 line 33 overwrites `per` with a boolean; lines 29, 31 and 46 go on comparing it.

    Where booleans are numbers nothing else would show, so this looks inside: the third message of
    process 2 depends on one permit (index 2 is free next), and needs one itself.
    """
    net = HandCarried("paper-sps", 4)
    flagged_delivery(net, sender=0, far=1, receiver=2)
    net.send(2, [3], b"held back")
    net.send(2, [0], b"to the one who owes the permit")
    process = net.processes[2]
    assert isinstance(process, PaperSpsProcess)
    sent = process._u.at(2)
    assert (sent.sent, sent.per, sent.flag) == (True, 2, True)


def test_e4_u2_follows_the_messages_that_are_appended() -> None:
    """A2 lines 12-18: else u2 falls out of the window and everything is flagged from then on."""
    net = HandCarried("paper-sps", 3)
    for number in range(5):
        [letter] = net.send(0, [1], b"%d" % number)
        assert not letter.data.flagged
        if number % 2:
            net.carry_all()


def test_e4_permits_leave_when_they_are_due_and_not_only_when_asked_for() -> None:
    """A2 lines 63-71: the ack at u2 sends the permits of what follows it."""
    net = HandCarried("paper-sps", 3)
    net.send(0, [1], b"one")
    [second] = net.send(0, [2], b"two")
    [third] = net.send(0, [1], b"three")
    assert third.data.flagged
    [ack] = net.carry(second)
    assert [letter.packet for letter in net.carry(ack)] == [Permit(3)]


def test_e5_m2_never_falls_out_of_the_window() -> None:
    """A2 lines 46 and 98-100: u[m2] with m2 < u.first, an access outside the window."""
    net = HandCarried("paper-sps", 6)
    me, target, j, k, far_j, far_k = range(6)
    for number in range(4):
        net.send(me, [target], b"%d" % number)
    net.carry_all()
    unacked_j = flagged_delivery(net, j, far_j, me)
    unacked_k = flagged_delivery(net, k, far_k, me)
    assert net.send(me, [target], b"held back") == []
    assert grant(net, unacked_k, me) == []
    released = grant(net, unacked_j, me)
    assert [letter.data.carried.payload for letter in released] == [b"held back"]


@interpreted_only
def test_e6_a_permit_costs_the_same_however_many_messages_are_unacked() -> None:
    """A2 lines 40-41: each time the last permit came, the whole buffer was walked (m2 stays 1)."""
    steps = {}
    for unacked in (100, 1_000, 3_000):
        net = HandCarried("paper-sps", 4)
        for _ in range(unacked):
            net.send(0, [1], b"x")
        process = net.processes[0]
        counter = LineCounter("paper_sps.py", "sliding.py", "sliding_maps.py")
        for sequence in range(1, 101):
            message = DataPacket(Message(2, sequence, b"y"), sequence - 1, True)
            process.arrive(2, message, 0)
            counter.run(process.arrive, 2, Permit(sequence), 0)
        steps[unacked] = counter.steps / 100
    assert_constant(steps, 1.1)


def test_e7_one_ack_sends_a_permit_once() -> None:
    """A2 lines 57 and 69: the new oldest message is also the one at u2."""
    net = HandCarried("paper-sps", 3)
    [first] = net.send(0, [1], b"one")
    net.send(0, [2], b"two")
    [ack] = net.carry(first)
    assert [letter.packet for letter in net.carry(ack)] == [Permit(2)]


@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e8_a_permit_that_overtakes_its_message_is_not_forgotten(protocol: str) -> None:
    """A1 line 72, A2 line 89: it was dropped, and what came next waited for a timer."""
    net = HandCarried(protocol, 4)
    j, far, i, target = range(4)
    net.send(j, [far], b"s")
    [slow] = net.send(j, [i], b"a")
    net.carry(net.the("message", j, far))
    net.carry(net.the("ack", far, j))
    net.carry(net.the("permit", j, i))
    net.carry(slow)
    [released] = net.send(i, [target], b"m")
    assert released.data.carried.payload == b"m"


@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e8_a_permit_covers_earlier_messages_that_arrive_after_it(protocol: str) -> None:
    """Permits hold for a prefix of the sender's ids, so the highest one is all to remember."""
    net = HandCarried(protocol, 4)
    j, far, i, target = range(4)
    [unacked] = net.send(j, [far], b"s")
    slow = [net.send(j, [i], b"a")[0], net.send(j, [i], b"b")[0]]
    assert all(letter.data.flagged for letter in slow)
    net.hand(j, i, Permit(3))
    for letter in slow:
        net.carry(letter)
    assert len(net.send(i, [target], b"m")) == 1
    net.carry(unacked)
    net.settle()
    assert net.ledger.violations == []


@pytest.mark.parametrize("protocol", ["paper-multicast", *HYBRID, *CONTROLS])
def test_e9_every_destination_has_its_own_predecessor(protocol: str) -> None:
    """A3 line 18: with one pid for all, a receiver waits for a message it was never sent."""
    net = HandCarried(protocol, 4)
    net.send(0, [1], b"one")
    [to_one, to_two] = net.send(0, [1, 2], b"two")
    [to_three, to_two_again] = net.send(0, [3, 2], b"three")
    letters = (to_one, to_two, to_three, to_two_again)
    assert [letter.data.previous for letter in letters] == [1, 0, 0, 2]
    net.settle()
    assert [net.payloads(process) for process in (1, 2, 3)] == [
        [b"one", b"two"],
        [b"two", b"three"],
        [b"three"],
    ]


@pytest.mark.parametrize("protocol", EVERY)
@pytest.mark.parametrize("number", [-1, 0, 2, 3, 1 << 40])
def test_e10_an_ack_of_an_id_never_assigned_changes_nothing(protocol: str, number: int) -> None:
    """A1 line 61 and its like: u[n] does not exist."""
    net = HandCarried(protocol, 3)
    net.send(0, [1], b"one")
    before = net.processes[0].fingerprint()
    assert net.hand(1, 0, Ack(number)) == []
    assert net.processes[0].fingerprint() == before
    net.drop(net.the("message"))
    net.settle()
    assert net.payloads(1) == [b"one"]


@pytest.mark.parametrize("protocol", EVERY)
def test_e10_an_ack_from_a_process_that_was_not_sent_it_changes_nothing(protocol: str) -> None:
    """A1 line 61: the message was forgotten without having been delivered."""
    net = HandCarried(protocol, 3)
    net.send(0, [1], b"one")
    net.send(0, [2], b"two")
    before = net.processes[0].fingerprint()
    assert net.hand(2, 0, Ack(1)) == []
    assert net.processes[0].fingerprint() == before
    for letter in net.letters("message"):
        net.drop(letter)
    net.settle()
    assert (net.payloads(1), net.payloads(2)) == ([b"one"], [b"two"])


@pytest.mark.parametrize("protocol", PAPER + HYBRID)
def test_e10_an_ack_of_a_copy_that_has_not_left_changes_nothing(protocol: str) -> None:
    """A2 line 52: an unsent message was marked as acked, and never left."""
    net = HandCarried(protocol, 4)
    j, far, i, target = range(4)
    unacked = flagged_delivery(net, j, far, i)
    assert net.send(i, [target], b"held back") == []
    before = net.processes[i].fingerprint()
    assert net.hand(target, i, Ack(1)) == []
    assert net.processes[i].fingerprint() == before
    [released] = grant(net, unacked, i)
    net.carry(released)
    assert net.payloads(target) == [b"held back"]
