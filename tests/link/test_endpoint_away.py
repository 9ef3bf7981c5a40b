"""Peers that have left and come back: what was sent meanwhile is for the next of their name."""

import pytest

from antecede.core.errors import LocalError
from antecede.link.faults import Faults
from antecede.link.latency import Uniform
from antecede.link.reports import PeerExpelled, PeerLeft, PeerMet, PeerRestarted, Undeliverable
from antecede.link.standing import LEAVE_WHEN_RELEASED
from tests.link.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    Group,
    address_of,
    introduce,
    make_endpoint,
    session_of,
)

ORDERS = ("hybrid", "fifo", "none")


def group_of(names: list[str], order: str = "hybrid") -> Group:
    group = Group(names, Faults(latency=Uniform(MS, 5 * MS)), order=order)
    group.run_for(SECOND)
    return group


def leave(group: Group, name: str) -> None:
    """A node leaves as it should, and is gone."""
    node = group.nodes[name]
    node.say_bye(LEAVE_WHEN_RELEASED, group.now_ns)
    group.network.collect(address_of(name))
    group.run_until(lambda: not node.awaited())
    node.stop(group.now_ns)
    group.network.collect(address_of(name))
    group.kill(name)
    group.run_for(100 * MS)


def come_back(group: Group, name: str, incarnation: int, order: str = "hybrid") -> None:
    """Another node of that name, which knows where everybody is."""
    node = make_endpoint(name, incarnation=incarnation, log=group.log, order=order)
    for other in group.nodes:
        introduce(node, other, group.now_ns)
    group.add(name, node)
    group.network.collect(address_of(name))


def send(group: Group, source: str, targets: list[str], payload: bytes) -> int:
    """Send as a node does whose targets are waited for."""
    node = group.nodes[source]
    node.await_return([node.directory.by_name[name] for name in targets], group.now_ns)
    return group.send(source, targets, payload)


@pytest.mark.parametrize("order", ORDERS)
def test_a_peer_that_left_and_stopped_can_be_talked_to_when_it_is_back(order: str) -> None:
    group = group_of([ANN, BOB], order)
    leave(group, BOB)
    come_back(group, BOB, 2, order)
    group.run_for(SECOND)
    send(group, ANN, [BOB], b"welcome back")
    group.run_for(SECOND)
    assert group.payloads(BOB) == [b"welcome back"]
    assert group.reports(ANN) == [
        PeerMet(name=BOB),
        PeerLeft(name=BOB),
        PeerRestarted(name=BOB),
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_sent_to_a_peer_that_has_left_waits_for_its_return(order: str) -> None:
    group = group_of([ANN, BOB, CAT], order)
    leave(group, BOB)
    for number in range(50):
        send(group, ANN, [BOB, CAT], b"%d" % number)
        group.run_for(MS)
    group.run_for(SECOND)
    assert len(group.payloads(CAT)) == 50, "who is there waits for nobody"
    come_back(group, BOB, 2, order)
    group.run_until(group.drained)
    group.run_for(SECOND)
    assert sorted(map(int, group.payloads(BOB))) == list(range(50))
    assert group.reports(ANN)[-1] == PeerRestarted(name=BOB)
    if order == "hybrid":
        group.assert_all_is_well()


def test_order_is_kept_across_a_return() -> None:
    """Cat answers Ann's question to all before Bob is back: he gets the question first."""
    group = group_of([ANN, BOB, CAT])
    leave(group, BOB)
    send(group, ANN, [BOB, CAT], b"question")
    group.run_for(SECOND)
    assert group.payloads(CAT) == [b"question"]
    send(group, CAT, [ANN, BOB], b"answer")
    group.run_for(SECOND)
    come_back(group, BOB, 2)
    group.run_until(group.drained)
    group.run_for(SECOND)
    assert group.payloads(BOB) == [b"question", b"answer"]
    group.assert_all_is_well()


def test_a_peer_may_leave_and_come_back_many_times() -> None:
    group = group_of([ANN, BOB, CAT])
    sent = 0
    for incarnation in range(2, 12):
        send(group, ANN, [BOB, CAT], b"%d" % sent)
        leave(group, BOB)
        send(group, CAT, [BOB], b"%d" % (sent + 1))
        sent += 2
        come_back(group, BOB, incarnation)
        group.run_until(group.drained)
    group.run_for(SECOND)
    assert sorted(map(int, group.payloads(BOB))) == list(range(sent))
    group.assert_all_is_well()
    for name in (ANN, CAT):
        assert not [r for r in group.reports(name) if isinstance(r, Undeliverable | PeerExpelled)]


def test_whoever_is_not_waited_for_any_more_is_expelled_and_what_waits_is_reported() -> None:
    group = group_of([ANN, BOB, CAT])
    leave(group, BOB)
    sequence = send(group, ANN, [BOB], b"x")
    group.reports(ANN)
    group.nodes[ANN].expel(BOB, "it is not coming back", group.now_ns)
    group.run_for(SECOND)
    assert group.reports(ANN) == [Undeliverable(name=BOB, sequences=(sequence,))]
    assert group.nodes[ANN].buffered() == 0
    assert group.nodes[ANN].directory.by_name[BOB].expelled
    come_back(group, BOB, 2)
    group.run_for(SECOND)
    send(group, ANN, [BOB], b"y")
    group.run_until(group.drained)
    assert group.payloads(BOB) == [b"y"]


def test_one_that_has_left_can_be_expelled_though_nothing_waits_for_it() -> None:
    group = group_of([ANN, BOB])
    leave(group, BOB)
    group.reports(ANN)
    group.nodes[ANN].expel(BOB, "", group.now_ns)
    assert group.reports(ANN) == []
    assert group.nodes[ANN].directory.by_name[BOB].expelled


def test_a_peer_that_was_never_there_cannot_be_expelled() -> None:
    group = group_of([ANN])
    introduce(group.nodes[ANN], BOB, group.now_ns)
    with pytest.raises(LocalError, match="never been met"):
        group.nodes[ANN].expel(BOB, "", group.now_ns)


def test_what_waits_for_a_restarted_peer_elsewhere_is_not_given_up_by_the_news_of_its_restart() -> (
    None
):
    """Ann meets the next Bob first and tells Cat that the former one is over."""
    group = group_of([ANN, BOB, CAT])
    group.kill(BOB)
    bob = make_endpoint(BOB, incarnation=2, log=group.log)
    introduce(bob, ANN, group.now_ns)
    group.add(BOB, bob)
    group.network.collect(address_of(BOB))
    group.run_for(50 * MS)
    send(group, CAT, [ANN, BOB], b"for the next one")
    assert not session_of(group.nodes[CAT], BOB).met
    introduce(bob, CAT, group.now_ns)
    group.network.collect(address_of(BOB))
    group.run_until(group.drained)
    group.run_for(SECOND)
    assert group.payloads(BOB) == [b"for the next one"]
