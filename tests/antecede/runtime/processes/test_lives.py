"""Nodes that start late, die, come back, move, or want what is taken."""

import time
from pathlib import Path

import pytest

from antecede_lab.chaos.proxy import Conditions, Proxy
from tests.antecede.runtime.processes.groups import free_address, group_of, member, pair, settle

MS = 1_000_000


def test_a_send_waits_for_one_who_starts_late() -> None:
    late = free_address()
    with member("alice", {"bob": late}, meet_within=120) as alice:
        alice.do("listen")
        alice.do("talk", {"messages": 100})
        alice.wait_until(lambda state: bool(state["copies"]))
        assert alice.state()["stats"]["buffered"] == 0, "nothing is submitted to who is not here"

        with member("bob", {"alice": alice.address}, bind=late) as bob:
            bob.do("listen")
            settle([alice, bob])
            assert alice.events("PeerMet") == [{"event": "PeerMet", "name": "bob"}]
            assert alice.events("Undeliverable") == []


def test_one_who_does_not_come_in_time_is_left_out_until_it_comes() -> None:
    late = free_address()
    with member("alice", {"bob": late}, meet_within=0.2) as alice:
        assert alice.do("send", {"to": ["bob"]})["error"] == "PeerAway"
        alice.do("listen")
        alice.do("send", {"to": ["bob", "alice"]})
        alice.wait_for("taken", 1)
        left_out = {"event": "Undeliverable", "name": "bob", "sequences": [1], "why": "left out"}
        assert alice.events("Undeliverable") == [left_out]

        with member("bob", {"alice": alice.address}, bind=late) as bob:
            bob.do("listen")
            alice.wait_for_event("PeerMet")
            alice.do("send", {"to": ["bob", "alice"], "count": 9})
            bob.wait_for("taken", 9)


def test_a_peer_added_later_is_reached() -> None:
    with member("bob", {}) as bob, member("alice", {}) as alice:
        assert alice.do("send", {"to": ["bob"]})["error"] == "UnknownPeer"
        bob.do("add_peer", {"name": "alice"})
        alice.do("add_peer", {"name": "bob", "address": bob.address})
        bob.do("listen")
        alice.do("send", {"to": ["bob"], "count": 10})
        bob.wait_for("taken", 10)


def test_one_that_is_killed_and_comes_back_is_somebody_new(tmp_path: Path) -> None:
    """What was for the dead one is reported, is nobody else's burden, and never delivered twice."""
    with group_of(3, tmp_path) as group:
        alice, bob, carol = (group[name] for name in ("alice", "bob", "carol"))
        group.do("listen")
        alice.do("send", {"to": ["bob", "carol"], "count": 20})
        group.settle()

        bob.child.kill()
        # It is still here: nobody can know yet that it is not.
        alice.do("send", {"to": ["bob"], "count": 5})
        alice.do("send", {"to": ["bob", "carol"], "count": 5})
        carol.wait_for("taken", 25)

        with member("bob", group.proxy.peers_of("bob")) as reborn:
            reborn.do("listen")
            lost = alice.wait_for_event("Undeliverable")
            assert alice.events("PeerRestarted") == [{"event": "PeerRestarted", "name": "bob"}]
            assert lost == {
                "event": "Undeliverable",
                "name": "bob",
                "sequences": list(range(21, 31)),
                "why": "gone",
            }
            alice.do("flush", 25.0)
            alice.do("send", {"to": ["bob", "carol"], "count": 3})
            reborn.do("send", {"to": ["alice"], "count": 2})
            alice.do("flush", 25.0)
            alice.wait_for("taken", 2)
            carol.wait_for("taken", 28)
            reborn.wait_for("taken", 3)
            taken = [entry[2] for entry in reborn.do("history")["history"] if entry[0] == "taken"]
            assert taken == [31, 32, 33], "nothing of what was for the dead one"


def test_permits_that_the_dead_one_owed_are_waived_when_it_comes_back(tmp_path: Path) -> None:
    with group_of(3, tmp_path) as group:
        alice, bob, carol = (group[name] for name in ("alice", "bob", "carol"))
        group.do("listen")
        bob.do("send", {"to": ["alice", "carol"]})
        group.settle()

        group.proxy.cut("alice", "bob")
        bob.do("send", {"to": ["alice"]})
        bob.do("send", {"to": ["carol"]})
        carol.wait_for("taken", 2)
        bob.child.kill()
        # Bob's message to Alice came before the one that Carol has seen, and Alice has not.
        carol.do("send", {"to": ["alice"]})
        assert "waits for a permit of bob" in carol.explain()

        group.proxy.heal()
        with member("bob", group.proxy.peers_of("bob")) as reborn:
            assert reborn.address
            alice.wait_for("taken", 2)
            senders = [entry[1] for entry in alice.do("history")["history"] if entry[0] == "taken"]
            assert senders == ["bob", "carol"], "what the dead one had not got across never comes"


@pytest.mark.parametrize("learnt", [True, False], ids=["learnt", "configured"])
def test_a_peer_that_moves_under_way_loses_nothing(learnt: bool) -> None:
    """To Bob, Alice's datagrams come from one port after another, as through a home router."""
    home = free_address()
    with Proxy({"alice": None, "bob": home}, Conditions(loss=0.05, latency_ns_max=MS)) as proxy:
        told = {"alice": None if learnt else proxy.peers_of("bob")["alice"]}
        with (
            member("bob", told, bind=home) as bob,
            member("alice", proxy.peers_of("alice")) as alice,
        ):
            for one in (bob, alice):
                one.do("listen")
                one.do("talk", {"messages": 60, "pause_s": 0.005})
            for _ in range(3):
                time.sleep(0.1)
                proxy.rebind("alice", "bob")
            bob.do("send", {"to": ["alice"], "count": 10})
            settle([alice, bob])
            assert bool(bob.events("PeerMoved")) == learnt, "a configured address wins"
            assert alice.events("PeerMoved") == []


def test_two_cannot_have_the_same_address() -> None:
    with pair() as (_, bob), member("carol", {}, bind=bob.address) as carol:
        answer = carol.child.hear()
        assert answer["error"] == "CannotBind"
        assert "choose another address" in answer["text"]
        bob.do("listen")
        assert bob.state()["taken"] == 0
