"""Whom a node suspects, and for how long it waits: endpoints in memory, looked at by hand."""

from antecede.membership.contact import Contact
from antecede.membership.failure_detector import Suspect
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, DAN, SECOND, Group

SILENCE_NS = 10 * SECOND


def watching(names: list[str]) -> Group:
    """Nodes that know each other, all of which watch for silence."""
    group = Group(names)
    for node in group.nodes.values():
        node.detector.watch(SILENCE_NS, group.now_ns)
    look_for(group, 6)
    return group


def look_for(group: Group, seconds: int) -> list[Suspect]:
    """Let time pass while every node looks when it wants to; whom Ann suspected at last."""
    suspected: list[Suspect] = []
    end_ns = group.now_ns + seconds * SECOND
    while group.now_ns < end_ns:
        due_ns = min(end_ns, *(int(node.detector.wake_ns()) for node in group.nodes.values()))
        if due_ns - 1 > group.now_ns:
            group.run_for(due_ns - 1 - group.now_ns)
        for name, node in group.nodes.items():
            found = node.detector.suspects(due_ns)
            if name == ANN and found:
                suspected = found
        group.run_for(1)
    return suspected


def contact(group: Group, name: str) -> Contact:
    return group.nodes[ANN].directory.by_name[name]


def test_a_peer_says_with_its_pings_how_many_are_here_for_it() -> None:
    group = watching([ANN, BOB, CAT])
    assert contact(group, BOB).session.lifecycle.its_members == 3


def test_who_was_heard_after_a_ping_counts_as_an_answer_and_the_dead_one_does_not() -> None:
    group = watching([ANN, BOB, CAT])
    group.kill(CAT)
    group.send(ANN, [CAT], b"owed")
    (suspect,) = look_for(group, 15)
    assert (suspect.name, suspect.answered, suspect.members) == (CAT, 2, 3)
    assert suspect.owes
    assert suspect.is_outvoted()


def test_two_of_four_are_no_majority() -> None:
    group = watching([ANN, BOB, CAT, DAN])
    group.kill(CAT)
    group.kill(DAN)
    group.send(ANN, [CAT, DAN], b"owed")
    suspects = look_for(group, 15)
    assert [(one.answered, one.members) for one in suspects] == [(2, 4), (2, 4)]
    assert not any(suspect.is_outvoted() for suspect in suspects)


def test_who_dies_after_another_has_gone_is_not_given_twice_the_time() -> None:
    """Cat had counted Dan, who is out since: Ann does not reach fewer than Cat would."""
    group = watching([ANN, BOB, CAT, DAN])
    group.kill(CAT)
    group.kill(DAN)
    group.send(ANN, [CAT, DAN], b"owed")
    look_for(group, 11)
    group.nodes[ANN].expel(DAN, "by hand", group.now_ns)
    (suspect,) = look_for(group, 4)
    assert (suspect.members, suspect.its_members) == (3, 3)
    assert suspect.may_be_dead(SILENCE_NS)


def test_who_reaches_fewer_than_the_silent_one_did_waits_twice_as_long() -> None:
    assert not Suspect(CAT, SILENCE_NS + 1, True, 3, 3, 4).may_be_dead(SILENCE_NS)
    assert Suspect(CAT, 2 * SILENCE_NS, True, 3, 3, 4).may_be_dead(SILENCE_NS)


def test_who_owes_nothing_is_given_thirty_seconds() -> None:
    assert not Suspect(CAT, 29 * SECOND, False, 2, 3, 3).may_be_dead(SILENCE_NS)
    assert Suspect(CAT, 30 * SECOND, False, 2, 3, 3).may_be_dead(SILENCE_NS)
    assert Suspect(CAT, 3 * SECOND, False, 2, 3, 3).may_be_dead(SECOND), "or three silences"
