"""Expulsion with real processes: `antecede node` is killed, expelled, fenced and comes back."""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from antecede_lab.child import Child
from tests.antecede.runtime.processes.groups import free_address

NAMES = ("alice", "bob", "carol")


@contextmanager
def three(*options: str) -> Iterator[tuple[dict[str, Child], dict[str, list[str]]]]:
    """Three nodes that know each other, and how each was started."""
    where = {name: free_address() for name in NAMES}
    commands = {
        name: ["node", "--name", name, "--bind", where[name], *options]
        + [f"--peer={other}={where[other]}" for other in NAMES if other != name]
        for name in NAMES
    }
    with ExitStack() as stack:
        children = {
            name: stack.enter_context(Child.python("antecede", *commands[name], name=name))
            for name in NAMES
        }
        for name in NAMES:
            others = [other for other in NAMES if other != name]
            children[name].tell({"to": others, "text": "here"})
        for name in NAMES:
            children[name].hear_until("from")
            children[name].hear_until("from")
        yield children, commands


def event(child: Child, name: str) -> dict[str, object]:
    """The next event of this name."""
    while (line := child.hear_until("event"))["event"] != name:
        pass
    return dict(line)


def test_survivors_go_on_without_a_killed_node_and_end_well() -> None:
    with three() as (children, _):
        bob = children["bob"]
        bob.signal(signal.SIGKILL)
        bob.wait()
        children["alice"].tell({"expel": "bob", "reason": "killed"})
        for name in ("alice", "carol"):
            told = event(children[name], "expelled")
            assert (told["peer"], told["by"], told["reason"]) == ("bob", "alice", "killed")
        children["alice"].tell({"to": ["bob", "carol"], "text": "after", "id": "a"})
        assert children["alice"].hear_until("sent")["sent"] == "a"
        assert children["carol"].hear_until("from")["text"] == "after"
        for name in ("alice", "carol"):
            children[name].end_input()
        assert [children[name].wait() for name in ("alice", "carol")] == [0, 0]


def test_a_living_node_that_is_expelled_says_fenced_and_fails() -> None:
    with three() as (children, _):
        children["alice"].tell({"expel": "bob", "reason": "by mistake"})
        told = event(children["bob"], "fenced")
        assert (told["node"], told["by"], told["reason"]) == ("bob", "alice", "by mistake")
        assert told["peer"] in ("alice", "carol"), "whoever was the first to say so"
        assert children["bob"].wait() != 0
        for name in ("alice", "carol"):
            children[name].end_input()
        assert [children[name].wait() for name in ("alice", "carol")] == [0, 0]


def test_an_expelled_name_comes_back_as_a_new_node() -> None:
    with three() as (children, commands):
        children["bob"].signal(signal.SIGKILL)
        children["bob"].wait()
        children["alice"].tell({"expel": "bob"})
        event(children["alice"], "expelled")
        with Child.python("antecede", *commands["bob"], name="bob") as bob:
            bob.tell({"to": ["alice", "carol"], "text": "back"})
            for name in ("alice", "carol"):
                assert children[name].hear_until("from")["text"] == "back"
            for child in (children["alice"], children["carol"], bob):
                child.end_input()
            assert [c.wait() for c in (children["alice"], children["carol"], bob)] == [0, 0, 0]


def test_a_shell_loop_starts_an_expelled_node_again() -> None:
    """As `antecede node --help` has it; it ends when the node ends well."""
    where = {name: free_address() for name in ("alice", "bob")}
    node = f"{sys.executable} -m antecede node --name bob --bind {where['bob']}"
    loop = f"while {node} --peer alice={where['alice']}; [ $? -eq 1 ]; do sleep 0.1; done"
    options = ["--name", "alice", "--bind", where["alice"], "--peer", f"bob={where['bob']}"]
    with (
        Child.python("antecede", "node", *options, name="alice") as alice,
        Child(["bash", "-c", loop], name="bob") as bob,
    ):
        alice.tell({"to": ["bob"], "text": "hello"})
        assert bob.hear_until("from")["text"] == "hello"
        alice.tell({"expel": "bob"})
        event(bob, "fenced")
        event(bob, "ready")
        event(alice, "restarted")
        alice.tell({"to": ["bob"], "text": "there you are"})
        assert bob.hear_until("from")["text"] == "there you are"
        for child in (alice, bob):
            child.end_input()
        assert [alice.wait(), bob.wait()] == [0, 0]


def test_a_line_that_expels_nobody_is_an_error() -> None:
    with three() as (children, _):
        alice = children["alice"]
        alice.tell({"expel": "dave", "id": 1})
        assert "no peer is called 'dave'" in str(alice.hear_until("error")["error"])
        alice.tell({"expel": ["bob"]})
        assert "name of a peer" in str(alice.hear_until("error")["error"])
        for child in children.values():
            child.end_input()


@pytest.mark.parametrize("policy", ["after:1s", "majority:1s"])
def test_the_polite_are_left_out_and_a_policy_expels_the_killed(policy: str) -> None:
    settings = ("--set=heartbeat=0.2s", "--set=silent_after=0.5s")
    with three(f"--expel={policy}", *settings) as (children, commands):
        alice, carol = children["alice"], children["carol"]
        children["bob"].signal(signal.SIGTERM)
        assert children["bob"].wait() == 0
        event(alice, "left")
        until_left_out(alice, "bob")
        with Child.python("antecede", *commands["bob"], name="bob") as bob:
            event(carol, "restarted")
            event(alice, "restarted")
            alice.tell({"to": ["bob", "carol"], "text": "later"})
            assert bob.hear_until("from")["text"] == "later", "who is away misses what was said"
            bob.signal(signal.SIGKILL)
            bob.wait()
        alice.tell({"to": ["bob", "carol"], "text": "to the dead"})
        for child in (alice, carol):
            told = event(child, "expelled")
            assert told["peer"] == "bob"
            assert str(told["reason"]).startswith("silent for")
            child.end_input()
        assert [alice.wait(), carol.wait()] == [0, 0]


def until_left_out(child: Child, away: str) -> None:
    """Return when what is sent to everybody is not sent to this one any more."""
    others = [name for name in NAMES if name != child.name]
    while True:
        child.tell({"to": others, "text": "meanwhile"})
        if child.hear_until("sent").get("left_out") == [away]:
            return
