"""Peers that have left, come back, or never came: new, here, silent or away."""

from random import Random

import pytest

from antecede.core.errors import LocalError
from antecede.endpoint.limits import Limits
from antecede.events import (
    PeerExpelled,
    PeerLeft,
    PeerMet,
    PeerRestarted,
    PeerSilent,
    Undeliverable,
)
from antecede.membership.contact import STATES, ContactState
from antecede.membership.expulsions import LEFT_OWING
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede.transport.peer_lifecycle import LEAVE_WHEN_RELEASED
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    Group,
    address_of,
    introduce,
    make_endpoint,
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


def state_of(group: Group, at: str, name: str) -> str:
    """How a peer stands for a node."""
    return STATES[group.nodes[at].directory.by_name[name].state]


@pytest.mark.parametrize("order", ORDERS)
def test_a_peer_that_left_and_stopped_can_be_talked_to_when_it_is_back(order: str) -> None:
    group = group_of([ANN, BOB], order)
    assert state_of(group, ANN, BOB) == STATES[ContactState.HERE]
    leave(group, BOB)
    assert state_of(group, ANN, BOB) == STATES[ContactState.AWAY]
    come_back(group, BOB, 2, order)
    group.run_for(SECOND)
    assert state_of(group, ANN, BOB) == STATES[ContactState.HERE]
    group.send(ANN, [BOB], b"welcome back")
    group.run_for(SECOND)
    assert group.payloads(BOB) == [b"welcome back"]
    assert group.reports(ANN) == [
        PeerMet(name=BOB),
        PeerLeft(name=BOB),
        PeerRestarted(name=BOB),
    ]


def test_one_that_comes_back_and_knows_nobody_is_greeted_by_those_that_it_had_left() -> None:
    group = group_of([ANN, BOB])
    leave(group, BOB)
    group.run_for(30 * SECOND)
    node = make_endpoint(BOB, incarnation=2, log=group.log, limits=Limits(open_to_strangers=True))
    group.add(BOB, node)
    group.run_for(2 * SECOND)
    node.add_peer(ANN, None, 1, 1_400, group.now_ns, stranger=True)
    group.run_for(3 * SECOND)
    assert state_of(group, ANN, BOB) == STATES[ContactState.HERE]
    assert PeerRestarted(name=BOB) in group.reports(ANN)


def test_a_peer_may_leave_and_come_back_many_times() -> None:
    group = group_of([ANN, BOB, CAT])
    sent = 0
    for incarnation in range(2, 12):
        group.send(ANN, [BOB, CAT], b"%d" % sent)
        sent += 1
        leave(group, BOB)
        come_back(group, BOB, incarnation)
        group.run_for(SECOND)
    group.run_for(SECOND)
    assert sorted(map(int, group.payloads(BOB))) == list(range(sent))
    group.assert_all_is_well()
    for name in (ANN, CAT):
        assert not [r for r in group.reports(name) if isinstance(r, Undeliverable | PeerExpelled)]


def test_who_stops_and_owes_a_permit_is_expelled_at_once_by_who_misses_it() -> None:
    """Bob has told Ann something whose permit waits for Cat, and stops before it comes."""
    group = group_of([ANN, BOB, CAT])
    group.asleep.add(CAT)
    group.kill(CAT)
    group.send(BOB, [CAT], b"cat does not get this")
    group.send(BOB, [ANN], b"caused by it")
    group.run_for(SECOND)
    group.send(ANN, [CAT], b"must not come first")
    group.run_for(SECOND)
    assert group.nodes[ANN].held_back(), "Ann waits for the permit of Bob"
    bob = group.nodes[BOB]
    bob.stop(group.now_ns)
    group.network.collect(address_of(BOB))
    group.kill(BOB)
    group.run_for(SECOND)
    expelled = [r for r in group.reports(ANN) if isinstance(r, PeerExpelled)]
    assert [(report.name, report.by, report.reason) for report in expelled] == [
        (BOB, ANN, LEFT_OWING)
    ]
    assert not group.nodes[ANN].held_back()
    assert state_of(group, ANN, BOB) == STATES[ContactState.AWAY]


def test_who_stops_and_owes_nothing_is_not_expelled() -> None:
    group = group_of([ANN, BOB])
    group.send(BOB, [ANN], b"last words")
    leave(group, BOB)
    assert group.reports(ANN) == [PeerMet(name=BOB), PeerLeft(name=BOB)]


def test_one_that_has_left_can_be_expelled_all_the_same() -> None:
    group = group_of([ANN, BOB])
    leave(group, BOB)
    group.nodes[ANN].expel(BOB, "it is not coming back", group.now_ns)
    assert state_of(group, ANN, BOB) == STATES[ContactState.AWAY]
    come_back(group, BOB, 2)
    group.run_for(3 * SECOND)
    group.send(ANN, [BOB], b"y")
    group.run_until(group.drained)
    assert group.payloads(BOB) == [b"y"]


def test_a_peer_that_was_never_there_is_new_then_away_and_cannot_be_expelled() -> None:
    group = group_of([ANN])
    introduce(group.nodes[ANN], BOB, group.now_ns)
    with pytest.raises(LocalError, match="never been met"):
        group.nodes[ANN].expel(BOB, "", group.now_ns)
    group.run_for(9 * SECOND)
    assert state_of(group, ANN, BOB) == STATES[ContactState.NEW]
    group.run_for(2 * SECOND)
    assert state_of(group, ANN, BOB) == STATES[ContactState.AWAY]
    come_back(group, BOB, 1)
    group.run_for(3 * SECOND)
    assert state_of(group, ANN, BOB) == STATES[ContactState.HERE]
    assert group.reports(ANN) == [PeerMet(name=BOB)]


def test_a_peer_that_does_not_answer_is_silent_and_messages_are_submitted_to_it() -> None:
    group = group_of([ANN, BOB])
    group.kill(BOB)
    group.run_for(10 * SECOND)
    assert state_of(group, ANN, BOB) == STATES[ContactState.SILENT]
    assert [type(report) for report in group.reports(ANN)] == [PeerMet, PeerSilent]
    contact = group.nodes[ANN].directory.by_name[BOB]
    assert contact.session.is_here()
    assert group.nodes[ANN].sending.send_fast(BOB, b"it may come back", group.now_ns) > 0


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(6))
def test_however_peers_come_and_go_who_may_be_sent_to_is_who_has_a_session(
    seed: int, order: str
) -> None:
    """A contact's state is told of what happens to its session: the two never part."""
    random = Random(f"{seed} {order}")
    group = group_of([ANN, BOB, CAT], order)
    ann, here = group.nodes[ANN], {BOB, CAT}
    seen: set[ContactState] = set()
    for incarnation in range(2, 40):
        name = random.choice([BOB, CAT])
        event = random.choice(["leave", "kill", "expel", "restart", "message", "quiet"])
        if event == "leave" and here == {BOB, CAT}:
            leave(group, name)
        elif event == "kill" and name in here:
            group.kill(name)
        elif event == "expel" and ann.directory.by_name[name].session.met:
            ann.expel(name, "by hand", group.now_ns)
            group.network.collect(address_of(ANN))
            if name in here:
                group.kill(name)
        elif event == "restart":
            if name in here:
                group.kill(name)
            come_back(group, name, incarnation, order)
        elif event == "message" and ann.directory.by_name[name].is_here:
            ann.sending.send_fast(name, b"x", group.now_ns)
        here = {BOB, CAT} & set(group.nodes)
        for _ in range(random.choice([1, 12])):
            group.run_for(SECOND)
            for contact in ann.directory.by_name.values():
                assert contact.is_here == contact.session.is_here()
                seen.add(contact.state)
    assert {ContactState.HERE, ContactState.AWAY} <= seen
