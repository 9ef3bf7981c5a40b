"""The tree: order from topology alone, as long as links are FIFO."""

import pytest

from antecede.core import Deliver, LocalError, Message, Packet, RemoteError, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfAck
from antecede_lab.protocols.tree import SpanningTree, TreePacket, TreeProcess
from tests.random_network import play
from tests.timed_network import Delays, TimedNetwork, units

TREE = PROTOCOLS["tree"]
SEEDS = range(80)
LINE = {0: 1, 2: 1}
"""0 - 1 - 2, rooted in the middle."""


def packet(origin: int, sequence: int, *targets: int) -> TreePacket:
    return TreePacket(Message(origin, sequence, b"m"), targets)


@pytest.mark.parametrize("seed", SEEDS)
def test_over_fifo_links_everything_is_delivered_causally(seed: int) -> None:
    run = play(TREE, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0


def test_over_links_that_reorder_it_is_not_causal() -> None:
    runs = [play(TREE, seed, network="reliable") for seed in SEEDS]

    assert any("overtakes" in it for run in runs for it in run.ledger.violations)


def test_an_answer_overtakes_what_it_answers_if_a_link_reorders() -> None:
    """The tree is 0 - 1 - 2; 1 passes m on to 2 slowly, and then says something itself."""
    processes = {me: TreeProcess(me, range(3), parents=LINE) for me in range(3)}
    network = TimedNetwork(processes, Delays(of_copies={(b"m", 2): units(9)}))
    network.submit_at(0, 0, [1, 2], b"m")
    network.submit_at(units(2), 1, [2], b"answer")
    network.run(units(20))

    assert network.ledger.violations == ["(1, 1) overtakes (0, 1) at 2"]


def test_a_message_travels_from_neighbour_to_neighbour_with_the_targets_left() -> None:
    """The default tree over 0..6 has 1 and 2 below 0, 3 and 4 below 1, 5 and 6 below 2."""
    origin = TreeProcess(3, range(7))
    assert origin.submit([6, 4, 0, 1, 3, 5], b"m", 0) == [
        Transmit(1, packet(3, 1, 0, 1, 4, 5, 6)),
        Deliver(Message(3, 1, b"m")),
    ]
    middle = TreeProcess(1, range(7))
    assert middle.arrive(3, packet(3, 1, 0, 1, 4, 5, 6), 0) == [
        Transmit(0, packet(3, 1, 0, 5, 6)),
        Transmit(4, packet(3, 1, 4)),
        Deliver(Message(3, 1, b"m")),
    ]
    relay = TreeProcess(2, range(7))
    assert relay.arrive(0, packet(3, 1, 5, 6), 0) == [
        Transmit(5, packet(3, 1, 5)),
        Transmit(6, packet(3, 1, 6)),
    ]


def test_copies_leave_in_the_order_of_the_targets() -> None:
    root = TreeProcess(0, range(7))
    effects = root.submit([6, 3, 5, 4], b"m", 0)
    assert effects == [Transmit(2, packet(0, 1, 5, 6)), Transmit(1, packet(0, 1, 3, 4))]


@pytest.mark.parametrize("ids", [range(1, 20), [3, 5, 8, 13, 21, 34, 55], [7]])
def test_every_way_ends_at_its_target(ids: list[int]) -> None:
    tree = SpanningTree(ids, None)
    for source in ids:
        for target in ids:
            at, hops = source, 0
            while at != target:
                following = tree.next_hop(at, target)
                assert tree.next_hop(following, at) == at, "neighbours are neighbours both ways"
                at, hops = following, hops + 1
            assert hops <= 2 * len(ids).bit_length()


def test_a_table_of_parents_makes_another_tree() -> None:
    chain = TreeProcess(2, range(4), parents={1: 0, 2: 1, 3: 2})
    assert chain.submit([0, 3], b"m", 0) == [
        Transmit(1, packet(2, 1, 0)),
        Transmit(3, packet(2, 1, 3)),
    ]


@pytest.mark.parametrize(
    "parents",
    [{}, {1: 0}, {1: 0, 2: 9}, {9: 0, 1: 0, 2: 0}, {1: 2, 2: 1}, {0: 1, 1: 2, 2: 0}, {1: 1, 2: 0}],
)
def test_a_table_that_is_no_tree_is_refused(parents: dict[int, int]) -> None:
    with pytest.raises(LocalError):
        TreeProcess(0, range(3), parents=parents)


@pytest.mark.parametrize("targets", [[], [9], [1, 1]])
def test_targets_that_make_no_sense_are_refused(targets: list[int]) -> None:
    process = TreeProcess(0, range(3))
    before = process.fingerprint()
    with pytest.raises(LocalError):
        process.submit(targets, b"", 0)
    assert process.fingerprint() == before


def test_what_no_correct_neighbour_passes_on_is_refused() -> None:
    """At 1 of 0 - 1 - 2; what comes from 0 is of 0 and goes to 1 or 2."""
    middle = TreeProcess(1, range(3), parents=LINE)
    middle.arrive(0, packet(0, 5, 2), 0)
    before = middle.fingerprint()
    bad: list[tuple[int, Packet]] = [
        (0, packet(0, 5, 2)),
        (0, packet(2, 1, 1)),
        (0, packet(1, 1, 2)),
        (0, packet(9, 1, 2)),
        (0, packet(0, 6, 0)),
        (0, packet(0, 6, 2, 1)),
        (0, packet(0, 6, 1, 1)),
        (0, packet(0, 6, 1, 9)),
        (0, packet(0, 6)),
        (1, packet(0, 6, 1)),
        (9, packet(9, 6, 1)),
        (0, MfAck(1)),
    ]
    for source, wrong in bad:
        with pytest.raises(RemoteError):
            middle.arrive(source, wrong, 0)
    assert middle.fingerprint() == before
    with pytest.raises(RemoteError):
        TreeProcess(0, range(3), parents=LINE).arrive(2, packet(2, 1, 0), 0)


def test_a_clone_goes_its_own_way() -> None:
    middle = TreeProcess(1, range(3), parents=LINE)
    middle.arrive(0, packet(0, 5, 2), 0)
    twin = middle.clone()
    before = middle.fingerprint()
    assert twin.fingerprint() == before
    assert twin.arrive(2, packet(2, 1, 0), 0) == [Transmit(0, packet(2, 1, 0))]
    assert twin.fingerprint() != before
    assert middle.fingerprint() == before
