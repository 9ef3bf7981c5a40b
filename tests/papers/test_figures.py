"""The paper's figures, run.

The spacetime diagram has no numbers in the paper; the schedule below gives it some and keeps every
order of events that the figure and its text show.
"""

import pytest

from antecede.core.packets import Ack, DataPacket, Permit
from tests.papers.carrying import HandCarried, Sending, Timed

HYBRID_FAMILY = [
    "paper-basic",
    "paper-sps",
    "paper-multicast",
    "hybrid",
    "hybrid-sps",
    "hybrid-csps",
]

X, Y, J, K, I, R = range(6)  # noqa: E741 (the figure calls that process i)

FIGURE = [
    Sending(0.0, K, X, b"k0", 1.2),
    Sending(0.2, K, I, b"b"),
    Sending(0.5, J, Y, b"j0", 3.0),
    Sending(0.7, J, I, b"a"),
    Sending(2.2, I, R, b"m"),
    Sending(3.2, K, Y, b"k1", 3.5),
    Sending(3.4, K, I, b"c"),
]


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
def test_the_message_of_the_spacetime_diagram_leaves_when_both_permits_are_there(
    protocol: str,
) -> None:
    """Figure "Spacetime diagram": m is buffered until R^a, the green rectangle, and no longer.

    j0 is delivered at 3.5 (O^a), its ack comes at 4.5 (S^a), the permit of a at 5.5 (R^a). That c,
    delivered in between and not before m, still misses its permit then does not matter.
    """
    run = Timed(protocol, 6)
    run.run(FIGURE, until=20)
    assert run.when("delivered", b"b") == 1.2
    assert run.when("delivered", b"a") == 1.7
    assert run.when("delivered", b"c") == 4.4
    assert run.when("transmitted", b"m") == 5.5
    assert run.when("delivered", b"m") == 6.5


@pytest.mark.parametrize("protocol", ["fifo", "none"])
def test_without_permits_it_leaves_at_once(protocol: str) -> None:
    """What a control does with the same run: nothing is held back."""
    run = Timed(protocol, 6)
    run.run(FIGURE, until=20)
    assert run.when("transmitted", b"m") == 2.2


def test_happens_before_is_a_matter_of_deliveries_and_submissions_only() -> None:
    """Figure "Happens-before between application messages": a hb c, but not b hb c.

    b has arrived before c is submitted, but waits in the receive buffer for its predecessor; and b
    is delivered before c is network-sent, which does not matter either.
    """
    net = HandCarried("paper-basic", 5)
    sender, far, me, other, target = range(5)
    net.send(sender, [far], b"before a")
    [a] = net.send(sender, [me], b"a")
    net.carry(a)
    [gap] = net.send(other, [me], b"before b")
    [b] = net.send(other, [me], b"b")
    net.carry(b)
    assert net.payloads(me) == [b"a"]

    assert net.send(me, [target], b"c") == [], "c waits in the send buffer for the permit of a"
    net.carry(gap)
    assert net.payloads(me) == [b"a", b"before b", b"b"]

    net.carry(net.the("message", sender, far))
    net.carry(net.the("ack", far, sender))
    net.carry(net.the("permit", sender, me))
    assert net.the("message", me, target).data.carried.payload == b"c"

    assert net.ledger.happened_before((sender, 2), (me, 1))
    assert not net.ledger.happened_before((other, 2), (me, 1))


@pytest.mark.parametrize("protocol", ["paper-basic", "paper-multicast", "hybrid-csps"])
def test_nothing_delivered_later_can_starve_a_buffered_message(protocol: str) -> None:
    """Sections "Analysis of the Cykas algorithm" and "Liveness": no endless postponement.

    Two processes keep sending flagged messages to i such that a permit is always missing there. m
    depends on the first of them only, and leaves when that one's permit comes, after 0.85 periods.
    """
    k1, k2, p, q, i, r = range(6)
    schedule = [Sending(0.1, i, r, b"m")]
    for turn in range(50):
        for shift, sender, far in ((0.0, k1, p), (0.5, k2, q)):
            schedule.append(Sending(turn + shift, sender, far, b"s%d,%d" % (turn, sender)))
            schedule.append(Sending(turn + shift, sender, i, b"e%d,%d" % (turn, sender)))

    run = Timed(protocol, 6, delay=lambda one, other: 0.4 if {p, q} & {one, other} else 0.05)
    run.run(schedule, until=100)
    assert run.when("transmitted", b"m") == 0.85


def test_the_three_kinds_of_packets_are_all_that_the_listings_send() -> None:
    """Algorithm 1: msg with a predecessor id and a flag, ack with an id, permit with an id."""
    net = HandCarried("paper-basic", 4)
    sender, far, me, _ = range(4)
    [first] = net.send(sender, [far], b"x")
    [second] = net.send(sender, [me], b"y")
    [third] = net.send(sender, [me], b"z")
    assert [letter.data.previous for letter in (first, second, third)] == [0, 0, 2]
    assert [letter.data.flagged for letter in (first, second, third)] == [False, True, True]
    assert isinstance(first.packet, DataPacket)
    [ack] = net.carry(first)
    assert ack.packet == Ack(1)
    [permit] = net.carry(ack)
    assert (permit.target, permit.packet) == (me, Permit(2))
