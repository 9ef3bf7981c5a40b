"""Leaving is a handshake; falling silent is reported, and so is coming back."""

import pytest

from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import PeerBack, PeerLeft, PeerMet, PeerSilent, Undeliverable
from antecede.network_model.faults import Faults, Partition, SlowLink
from antecede.network_model.latency import Constant
from antecede.transport.peer_lifecycle import LEAVE_AFTER_BYE, LEAVE_WHEN_RELEASED
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    NAMES,
    SECOND,
    Group,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    met_pair,
    session_of,
    submit,
)

BOTH_MODES = pytest.mark.parametrize(
    "mode", [LEAVE_WHEN_RELEASED, LEAVE_AFTER_BYE], ids=["released", "after bye"]
)


def met_group(count: int, faults: Faults | None = None, seed: int = 1) -> Group:
    group = Group(NAMES[:count], faults, seed=seed)
    group.run_for(5 * SECOND)
    for name in group.nodes:
        assert len(group.reports(name)) == count - 1
    return group


def say_bye(group: Group, name: str, mode: int) -> None:
    group.nodes[name].say_bye(mode, group.now_ns)
    group.network.collect(address_of(name))


def has_left(group: Group, name: str) -> bool:
    return not group.nodes[name].awaited()


# Leaving when released.


def test_a_node_may_leave_when_its_peers_have_nothing_for_it() -> None:
    group = met_group(3)
    assert group.nodes[ANN].awaited() == [BOB, CAT]
    say_bye(group, ANN, LEAVE_WHEN_RELEASED)
    assert not has_left(group, ANN)
    group.run_until(lambda: has_left(group, ANN), within_ns=100 * MS)
    assert group.nodes[ANN].stranded() == []
    for name in (BOB, CAT):
        assert group.reports(name) == [PeerLeft(name=ANN)]
        assert session_of(group.nodes[name], ANN).left


def test_a_node_is_kept_until_it_has_what_is_for_it() -> None:
    """Bob has sent to Ann, and does not let her go before she has it."""
    post, ann, bob = met_pair()
    submit(bob, [ANN], b"before you go", post.now_ns)
    post.collect()
    post.waiting.clear()
    ann.say_bye(LEAVE_WHEN_RELEASED, post.now_ns)
    for letter in post.collect():
        post.deliver(letter)
    for letter in post.collect():
        post.deliver(letter)
    assert ann.awaited() == [BOB]
    assert ann.take_inbox() == []
    assert bob.reports == []

    post.waiting.clear()
    post.pass_time(5 * SECOND)
    assert [message.payload for message in ann.take_inbox()] == [b"before you go"]
    assert (ann.awaited(), bob.reports, bob.buffered()) == ([], [PeerLeft(name=ANN)], 0)


def cut(start: int, end: int, *names: str) -> Partition:
    """From one second to another some nodes are cut off; the clock starts at one."""
    island = frozenset(NAMES.index(name) for name in names)
    return Partition(start_ns=start * SECOND, end_ns=end * SECOND, island=island)


def test_a_node_that_nobody_has_met_waits_for_nobody() -> None:
    ann = make_endpoint(ANN)
    introduce(ann, BOB, SECOND)
    ann.say_bye(LEAVE_WHEN_RELEASED, SECOND)
    assert ann.awaited() == []
    submit(ann, [BOB], b"kept for Bob", SECOND)
    assert (ann.awaited(), ann.stranded()) == ([BOB], [BOB])


def test_a_peer_that_is_met_while_one_leaves_is_told_so_at_once() -> None:
    group = Group([ANN])
    introduce(group.nodes[ANN], BOB, group.now_ns)
    group.send(ANN, [BOB], b"for Bob, when he comes")
    say_bye(group, ANN, LEAVE_WHEN_RELEASED)
    group.run_for(3 * SECOND)
    assert group.nodes[ANN].stranded() == [BOB]

    group.add(BOB, make_endpoint(BOB, log=group.log))
    introduce(group.nodes[BOB], ANN, group.now_ns)
    group.run_until(lambda: has_left(group, ANN), within_ns=10 * SECOND)
    assert group.payloads(BOB) == [b"for Bob, when he comes"]
    assert PeerLeft(name=ANN) in group.reports(BOB)


# Leaving after everybody's bye.


def test_a_node_that_waits_for_everybodys_bye_goes_on_receiving() -> None:
    group = met_group(3)
    say_bye(group, ANN, LEAVE_AFTER_BYE)
    group.run_for(20 * SECOND)
    assert group.nodes[ANN].awaited() == [BOB, CAT]
    group.send(BOB, [ANN], b"still there?")
    group.run_for(SECOND)
    assert group.payloads(ANN) == [b"still there?"]

    say_bye(group, BOB, LEAVE_AFTER_BYE)
    group.run_for(SECOND)
    assert group.nodes[ANN].awaited() == [CAT]
    say_bye(group, CAT, LEAVE_AFTER_BYE)
    group.run_until(lambda: all(has_left(group, name) for name in group.nodes), 100 * MS)


def test_a_bye_carries_the_permit_of_everything_before_it() -> None:
    """The permits themselves are lost, and nobody can be asked who has left."""
    post = Post()
    nodes = {name: post.add(name) for name in (ANN, BOB, CAT)}
    for name, node in nodes.items():
        for other in nodes:
            if other != name:
                introduce(node, other, post.now_ns)
    post.pass_time(SECOND)
    ann, cat = nodes[ANN], nodes[CAT]
    submit(ann, [BOB, CAT], b"to both", post.now_ns)
    for _ in range(2):
        letters = post.collect()
        post.waiting.clear()
        for letter in letters:
            post.deliver(letter)
    post.collect()
    post.waiting.clear()
    submit(cat, [BOB], b"depends on it", post.now_ns)
    assert [held.target for held in cat.held_back()] == [2]

    ann.say_bye(LEAVE_WHEN_RELEASED, post.now_ns)
    (bye,) = [letter for letter in post.collect() if letter.target == address_of(CAT)]
    post.deliver(bye)
    assert cat.held_back() == []


@pytest.mark.parametrize("seed", range(6))
def test_whoever_has_left_leaves_nobody_waiting(seed: int) -> None:
    group = met_group(3, Faults(loss=0.4), seed=seed)
    for _ in range(3):
        group.send(ANN, [BOB, CAT], b"to both")
    group.run_until(group.drained)
    say_bye(group, ANN, LEAVE_WHEN_RELEASED)
    group.run_until(lambda: has_left(group, ANN))
    group.kill(ANN)
    group.send(CAT, [BOB], b"depends on it")
    group.run_for(10 * SECOND)
    assert group.payloads(BOB) == [b"to both"] * 3 + [b"depends on it"]
    assert group.nodes[CAT].held_back() == []


# Lost byes.


@BOTH_MODES
@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_lost_good_byes_are_repeated(lost: int, mode: int) -> None:
    post, ann, bob = met_pair()
    for node in (ann, bob):
        node.say_bye(mode, post.now_ns)
    seen: list[Letter] = []

    def lose(letter: Letter) -> bool:
        seen.append(letter)
        return len(seen) <= lost

    post.pass_time(5 * SECOND, lose=lose)
    assert (ann.awaited(), bob.awaited()) == ([], [])


@BOTH_MODES
@pytest.mark.parametrize("seed", range(3))
def test_all_can_leave_a_bad_network_together(mode: int, seed: int) -> None:
    faults = Faults(loss=0.3, duplication=0.2)
    group = Group(NAMES[:4], faults, seed=seed)
    for name in group.nodes:
        for _ in range(5):
            group.send(name, [other for other in group.nodes if other != name], b"x")
    group.run_until(group.drained)
    for name in group.nodes:
        say_bye(group, name, mode)
    group.run_until(lambda: all(has_left(group, name) for name in group.nodes), 60 * SECOND)
    group.assert_all_is_well()


# Gone.


@BOTH_MODES
def test_a_peer_that_said_bye_and_vanished_is_not_waited_for(mode: int) -> None:
    group = met_group(2)
    say_bye(group, BOB, mode)
    group.run_for(500 * MS)
    group.kill(BOB)
    group.reports(ANN)
    say_bye(group, ANN, mode)
    group.run_until(lambda: has_left(group, ANN), within_ns=30 * SECOND)
    assert group.nodes[ANN].stranded() == []


def test_a_peer_that_was_released_is_not_waited_for_longer_because_it_was_far_away() -> None:
    """A queue on the way can make round trips of seconds; good-byes must not take a minute."""
    group = met_group(2, Faults(latency=Constant(SECOND)))
    say_bye(group, BOB, LEAVE_WHEN_RELEASED)
    group.run_until(lambda: has_left(group, BOB))
    group.kill(BOB)
    say_bye(group, ANN, LEAVE_WHEN_RELEASED)
    group.run_until(lambda: has_left(group, ANN), within_ns=5 * SECOND)
    assert group.nodes[ANN].stranded() == []


def stop(group: Group, name: str) -> None:
    """A node stops as it should: with a last word."""
    group.nodes[name].stop(group.now_ns)
    group.network.collect(address_of(name))
    group.kill(name)


@BOTH_MODES
def test_what_is_for_a_peer_that_has_stopped_is_undeliverable(mode: int) -> None:
    group = met_group(2, Faults(loss=0.2))
    group.asleep.add(BOB)
    sequence = group.send(ANN, [BOB], b"too late")
    say_bye(group, BOB, mode)
    stop(group, BOB)
    group.run_for(SECOND)
    assert group.reports(ANN) == [
        PeerLeft(name=BOB),
        Undeliverable(name=BOB, sequences=(sequence,)),
    ]
    assert group.drained()
    before = group.datagrams_sent()
    group.run_for(60 * SECOND)
    # Hellos, for whoever comes next under that name.
    assert group.datagrams_sent() - before <= 60


def test_what_is_for_a_peer_that_said_bye_and_vanished_is_kept() -> None:
    """Silence is no proof: it might still deliver what it was sent."""
    group = met_group(2)
    say_bye(group, BOB, LEAVE_AFTER_BYE)
    group.run_for(SECOND)
    group.kill(BOB)
    group.send(ANN, [BOB], b"too late")
    group.run_for(60 * SECOND)
    assert [type(report) for report in group.reports(ANN)] == [PeerSilent]
    assert group.nodes[ANN].buffered() == 1
    before = group.datagrams_sent()
    group.run_for(60 * SECOND)
    assert group.datagrams_sent() - before < 70
    say_bye(group, ANN, LEAVE_WHEN_RELEASED)
    group.run_for(60 * SECOND)
    assert group.nodes[ANN].stranded() == [BOB]


@BOTH_MODES
@pytest.mark.parametrize("delay_ns", [800 * MS, 3 * SECOND])
def test_a_peer_that_leaves_and_answers_late_sees_no_effect_before_its_cause(
    mode: int, delay_ns: int
) -> None:
    """Bob has said bye, and is far away from Ann all of a sudden; nothing is lost."""
    group = met_group(3)
    say_bye(group, BOB, mode)
    group.run_for(100 * MS)
    late = Faults(latency=Constant(MS), slow_links=both_ways(ANN, BOB, delay_ns))
    group.network.change(late)
    group.send(ANN, [BOB], b"cause")
    group.send(ANN, [CAT], b"relay")
    group.run_for(500 * MS)
    assert group.payloads(CAT) == [b"relay"]
    group.send(CAT, [BOB], b"effect")
    group.run_for(60 * SECOND)
    assert Undeliverable not in map(type, group.reports(ANN))
    assert group.payloads(BOB) in ([b"cause", b"effect"], [b"cause"]), "the cause comes first"


def both_ways(one: str, other: str, extra_ns: int) -> tuple[SlowLink, SlowLink]:
    """Everything between two nodes takes longer."""
    first, second = NAMES.index(one), NAMES.index(other)
    return (
        SlowLink(source=first, target=second, extra_ns=extra_ns),
        SlowLink(source=second, target=first, extra_ns=extra_ns),
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_living_peer_that_said_bye_is_not_given_up_because_half_of_everything_is_lost(
    seed: int,
) -> None:
    group = met_group(2, Faults(latency=Constant(5 * MS)), seed=seed)
    group.network.change(Faults(latency=Constant(5 * MS), loss=0.5))
    say_bye(group, BOB, LEAVE_AFTER_BYE)
    for number in range(30):
        if not session_of(group.nodes[ANN], BOB).is_gone():
            group.send(ANN, [BOB], b"%d" % number)
        group.run_for(100 * MS)
    group.run_for(30 * SECOND)
    assert Undeliverable not in map(type, group.reports(ANN))
    assert group.payloads(BOB) == [b"%d" % number for number in range(30)]


def test_a_peer_that_left_is_not_kept_warm() -> None:
    group = met_group(2)
    say_bye(group, BOB, LEAVE_WHEN_RELEASED)
    group.run_until(lambda: has_left(group, BOB))
    group.run_for(50 * MS)
    group.kill(BOB)
    group.run_for(5 * SECOND)
    before = group.datagrams_sent()
    group.run_for(60 * SECOND)
    assert group.datagrams_sent() == before


def test_a_node_that_vanishes_without_a_bye_strands_who_leaves() -> None:
    group = met_group(2)
    group.kill(BOB)
    say_bye(group, ANN, LEAVE_WHEN_RELEASED)
    group.run_for(60 * SECOND)
    assert group.nodes[ANN].stranded() == [BOB]


@pytest.mark.parametrize("mode", [LEAVE_WHEN_RELEASED, LEAVE_AFTER_BYE])
def test_a_peer_that_left_is_not_reported_silent_when_this_node_closes(mode: int) -> None:
    group = Group([ANN, BOB], limits=Limits(silent_ns=200 * MS, heartbeat_ns=50 * MS))
    group.run_for(SECOND)
    say_bye(group, BOB, mode)
    group.run_for(100 * MS)
    group.kill(BOB)
    say_bye(group, ANN, mode)
    group.run_for(20 * SECOND)
    assert not [report for report in group.reports(ANN) if isinstance(report, PeerSilent)]


def test_a_peer_that_left_may_come_back_as_somebody_new() -> None:
    group = met_group(2)
    say_bye(group, BOB, LEAVE_WHEN_RELEASED)
    group.run_until(lambda: has_left(group, BOB))
    group.run_for(50 * MS)
    group.kill(BOB)
    bob = make_endpoint(BOB, incarnation=2)
    introduce(bob, ANN, group.now_ns)
    group.add(BOB, bob)
    group.run_for(SECOND)
    group.send(ANN, [BOB], b"welcome back")
    group.run_for(SECOND)
    assert group.payloads(BOB) == [b"welcome back"]
    assert group.reports(BOB) == [PeerMet(name=ANN)]


# Silence.


def test_a_peer_that_owes_an_answer_is_reported_silent_once_and_back_once() -> None:
    limits = Limits(silent_ns=3 * SECOND, heartbeat_ns=SECOND)
    faults = Faults(latency=Constant(MS), partitions=(cut(5, 30, ANN),))
    group = Group([ANN, BOB], faults, limits=limits)
    group.run_for(3 * SECOND)
    group.reports(ANN)
    group.send(ANN, [BOB], b"before the cut")
    group.run_for(SECOND)
    group.run_for(4 * SECOND)
    group.send(ANN, [BOB], b"kept")
    group.run_for(20 * SECOND)
    (silent,) = group.reports(ANN)
    assert isinstance(silent, PeerSilent)
    assert silent.name == BOB
    assert 3 * SECOND <= silent.silent_ns <= 7 * SECOND
    assert group.nodes[ANN].buffered() == 1

    group.run_for(10 * SECOND)
    assert group.reports(ANN) == [PeerBack(name=BOB)]
    assert group.payloads(BOB) == [b"before the cut", b"kept"]
    group.assert_all_is_well()


def test_an_idle_peer_is_not_silent() -> None:
    limits = Limits(silent_ns=3 * SECOND, heartbeat_ns=SECOND)
    group = Group([ANN, BOB], limits=limits)
    group.run_for(60 * SECOND)
    assert group.reports(ANN) == [PeerMet(name=BOB)]


def test_a_silent_peer_is_probed_ever_less_often() -> None:
    group = met_group(2)
    group.kill(BOB)
    group.send(ANN, [BOB], b"x")
    group.run_for(30 * SECOND)
    before = group.datagrams_sent()
    group.run_for(60 * SECOND)
    assert 20 < group.datagrams_sent() - before < 70


def test_heartbeats_can_be_as_frequent_as_one_likes() -> None:
    counts = []
    for heartbeat_ns in (SECOND, 10 * SECOND):
        group = Group([ANN, BOB], limits=Limits(heartbeat_ns=heartbeat_ns))
        group.run_for(SECOND)
        before = heard(group.nodes[BOB])
        group.run_for(60 * SECOND)
        counts.append(heard(group.nodes[BOB]) - before)
    assert 55 <= counts[0] <= 125
    assert 5 <= counts[1] <= 13


def heard(bob: Endpoint) -> int:
    return int(session_of(bob, ANN).channel.acks.datagrams)
