"""Claims of the paper about its algorithms, one test each, with the section they are from."""

import pytest

from antecede.core.packets import Permit
from antecede_lab.wire import metadata_size
from tests.papers.carrying import HandCarried
from tests.papers.counting import LineCounter, assert_constant, interpreted_only

CSPS = ["paper-basic", "paper-multicast", "hybrid-csps"]
SPS = ["paper-sps", "hybrid-sps"]
HYBRID_FAMILY = [*CSPS, *SPS, "hybrid"]
MULTICAST = ["paper-multicast", "hybrid", "hybrid-sps", "hybrid-csps"]
NON_CUMULATIVE = ["paper-basic", "paper-sps", "paper-multicast"]
PAPER_FILES = (
    "paper_basic.py", "paper_sps.py", "paper_multicast.py",
    "hybrid/rule.py", "hybrid/state.py", "permits.py", "sliding.py", "sliding_maps.py",
)  # fmt: skip


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
def test_fifo_and_permission_to_send_imply_causal_delivery(protocol: str) -> None:
    """Proposition "An algorithm which enforces FIFO and SPS ensures causal delivery"."""
    alice, bob, carol = range(3)
    net = HandCarried(protocol, 3)
    [slow] = net.send(alice, [carol], b"first")
    [relay] = net.send(alice, [bob], b"relay")
    net.carry(relay)
    assert net.send(bob, [carol], b"answer") == [], "Bob has no permission yet"
    net.carry(slow)
    net.settle()
    assert net.payloads(carol) == [b"first", b"answer"]
    assert net.ledger.violations == []


def test_fifo_alone_does_not_imply_causal_delivery() -> None:
    """The same story without permits: the answer overtakes."""
    alice, bob, carol = range(3)
    net = HandCarried("fifo", 3)
    [slow] = net.send(alice, [carol], b"first")
    net.carry(net.send(alice, [bob], b"relay")[0])
    net.carry(net.send(bob, [carol], b"answer")[0])
    net.carry(slow)
    assert net.payloads(carol) == [b"answer", b"first"]
    assert net.ledger.violations == ["(1, 1) overtakes (0, 1) at 2"]


# Section "An SPS-optimal algorithm": the basic algorithm is conservative in three ways.


@pytest.mark.parametrize(
    ("protocol", "flagged"), [(name, True) for name in CSPS] + [(name, False) for name in SPS]
)
def test_what_only_its_own_receiver_has_not_acked_needs_no_permit(
    protocol: str, flagged: bool
) -> None:
    """Improvement 1: unacked messages to the same receiver are no reason for a flag."""
    net = HandCarried(protocol, 3)
    net.send(0, [1], b"one")
    [second] = net.send(0, [1], b"two")
    assert second.data.flagged == flagged
    [elsewhere] = net.send(0, [2], b"three")
    assert elsewhere.data.flagged


@pytest.mark.parametrize(
    ("protocol", "permits"), [(name, []) for name in CSPS] + [(name, [Permit(3)]) for name in SPS]
)
def test_a_permit_need_not_wait_for_acks_of_its_own_receiver(
    protocol: str, permits: list[Permit]
) -> None:
    """Improvement 2: the permit leaves when only acks of its own receiver are missing."""
    net = HandCarried(protocol, 3)
    net.send(0, [1], b"one")
    net.send(0, [2], b"two")
    [third] = net.send(0, [1], b"three")
    assert third.data.flagged
    [ack] = net.carry(net.the("message", 0, 2))
    assert [letter.packet for letter in net.carry(ack)] == permits


@pytest.mark.parametrize(
    ("protocol", "leaves"), [(name, False) for name in CSPS] + [(name, True) for name in SPS]
)
def test_a_missing_permit_does_not_hold_back_messages_to_whoever_owes_it(
    protocol: str, leaves: bool
) -> None:
    """Improvement 3: what depends on permits of its own receiver alone may leave."""
    net = HandCarried(protocol, 4)
    j, far, i, other = range(4)
    net.send(j, [far], b"unacked")
    net.carry(net.send(j, [i], b"flagged")[0])
    assert net.send(i, [other], b"to another") == []
    assert [x.target for x in net.send(i, [j], b"to j")] == ([j] if leaves else [])
    net.settle()
    assert net.payloads(j) == [b"to j"]
    assert net.payloads(other) == [b"to another"]


@pytest.mark.parametrize("protocol", SPS)
def test_messages_may_leave_in_another_order_than_they_were_submitted(protocol: str) -> None:
    """Same section: m2 leaves before m1; both keep their ids, and m2 counts m1 as unacked."""
    net = HandCarried(protocol, 4)
    j, far, i, other = range(4)
    net.send(j, [far], b"unacked")
    net.carry(net.send(j, [i], b"flagged")[0])
    assert net.send(i, [other], b"m1") == []
    [m2] = net.send(i, [j], b"m2")
    assert (m2.data.carried.sequence, m2.data.flagged) == (2, True)


# Section "Causal multicast".


@pytest.mark.parametrize("protocol", MULTICAST)
def test_a_multicast_is_not_a_sequence_of_unicasts(protocol: str) -> None:
    """m3, sent after delivering m, must follow m everywhere; it need not follow a unicast twin."""
    sender, j, k = range(3)
    unicasts = HandCarried(protocol, 3)
    [m1] = unicasts.send(sender, [j], b"m")
    [m2] = unicasts.send(sender, [k], b"m")
    unicasts.carry(m1)
    unicasts.carry(unicasts.send(j, [k], b"m3")[0])
    unicasts.carry(m2)
    assert unicasts.payloads(k) == [b"m3", b"m"]

    multicast = HandCarried(protocol, 3)
    [to_j, to_k] = multicast.send(sender, [j, k], b"m")
    multicast.carry(to_j)
    assert multicast.send(j, [k], b"m3") == []
    multicast.carry(to_k)
    multicast.settle()
    assert multicast.payloads(k) == [b"m", b"m3"]


@pytest.mark.parametrize("protocol", MULTICAST)
def test_a_message_to_more_than_one_needs_a_permit_even_if_nothing_is_unacked(
    protocol: str,
) -> None:
    """Algorithm 3, line 13: the message itself has to be known as delivered."""
    net = HandCarried(protocol, 3)
    assert [letter.data.flagged for letter in net.send(0, [1, 2], b"m")] == [True, True]


@pytest.mark.parametrize("protocol", ["paper-basic", "paper-sps"])
def test_permits_of_a_unicast_do_not_wait_for_its_own_ack(protocol: str) -> None:
    """Algorithm 1, lines 62-67: the permit goes to the message that becomes the oldest unacked."""
    net = HandCarried(protocol, 3)
    [first] = net.send(0, [1], b"one")
    net.send(0, [2], b"two")
    [ack] = net.carry(first)
    assert [letter.packet for letter in net.carry(ack)] == [Permit(2)]


# Section "The basic unicast algorithm": faults.


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
def test_every_receive_is_harmless_when_repeated(protocol: str) -> None:
    """Its effect is "idempotent", or it is ignored "but possibly replying as usual"."""
    net = HandCarried(protocol, 4)
    net.send(0, [1], b"one")
    net.send(0, [2], b"two")
    net.send(2, [3], b"three")
    while net.table:
        letter = net.table[0]
        twin = net.repeat(letter)
        net.carry(letter)
        once = net.processes[letter.target].fingerprint()
        net.carry(twin)
        assert net.processes[letter.target].fingerprint() == once
    assert net.ledger.violations == []
    assert net.ledger.undelivered() == []


@pytest.mark.parametrize("protocol", NON_CUMULATIVE)
def test_an_ack_of_a_message_long_forgotten_is_answered_with_a_permit(protocol: str) -> None:
    """Algorithm 1, lines 58-59: the permit may have been lost, and there is no telling."""
    net = HandCarried(protocol, 2)
    [ack] = net.carry(net.send(0, [1], b"one")[0])
    twin = net.repeat(ack)
    assert net.carry(ack) == []
    assert [letter.packet for letter in net.carry(twin)] == [Permit(1)]


# Sections "Space overhead" and "Computation time".


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
def test_metadata_does_not_depend_on_the_number_of_processes(protocol: str) -> None:
    few, many = HandCarried(protocol, 3), HandCarried(protocol, 1_000)
    for net in (few, many):
        net.send(0, [1], b"one")
        net.send(0, [2], b"two")
        net.send(2, [1], b"three")
    assert [letter.packet for letter in few.table] == [letter.packet for letter in many.table]
    assert all(metadata_size(letter.packet) <= 12 for letter in many.table)


@interpreted_only
@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
@pytest.mark.parametrize("newest_first", [False, True], ids=["in order", "newest first"])
def test_the_steps_of_an_ack_do_not_depend_on_how_much_is_unacked(
    protocol: str, newest_first: bool
) -> None:
    """Acks come in order, or the oldest last, so that one of them removes everything."""
    steps = {}
    for unacked in (100, 1_000):
        net = HandCarried(protocol, unacked + 1)
        for target in range(1, unacked + 1):
            net.send(0, [target], b"x")
        acks = [net.carry(letter)[0] for letter in net.letters("message")]
        if newest_first:
            acks.reverse()
        counter = LineCounter(*PAPER_FILES)
        for ack in acks:
            net.table.remove(ack)
            counter.run(net.processes[0].arrive, ack.source, ack.packet, 0)
        steps[unacked] = counter.steps / unacked
    assert_constant(steps, 1.2)
