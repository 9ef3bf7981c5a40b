"""`antecede node` as scripts use it: JSON lines in and out, real processes, a clean end."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from antecede.audit import check_log
from antecede.live.child import Child, Line
from antecede.live.proxy import Conditions, Proxy
from antecede.trace import read_events
from tests.live.processes.groups import free_address

MS = 1_000_000


@contextmanager
def node(name: str, bind: str, peers: Sequence[str], *options: str) -> Iterator[Child]:
    """An `antecede node` process; `peers` as the command line takes them."""
    listed = [part for peer in peers for part in ("--peer", peer)]
    arguments = ["node", "--name", name, "--bind", bind, *listed, *options]
    with Child.python("antecede", *arguments, name=name) as child:
        yield child


@contextmanager
def two_nodes(*options: str) -> Iterator[tuple[Child, Child]]:
    here, there = free_address(), free_address()
    with (
        node("alice", here, [f"bob={there}"], *options) as alice,
        node("bob", there, [f"alice={here}"], *options) as bob,
    ):
        yield alice, bob
        # Each would wait for the other's bye.
        alice.end_input()
        bob.end_input()


def all_lines(child: Child) -> list[Line]:
    """Everything it says until it ends."""
    lines = []
    while (line := child.hear_or_end()) is not None:
        lines.append(line)
    return lines


def test_lines_are_answered_delivered_and_at_the_end_everybody_leaves() -> None:
    with two_nodes() as (alice, bob):
        alice.tell({"to": ["bob"], "text": "hello", "id": "a1"})
        assert alice.hear_until("sent") == {"sent": "a1", "sequence": 1}
        assert bob.hear_until("from") == {"from": "alice", "sequence": 1, "text": "hello"}

        bob.tell({"to": ["alice", "bob"], "text": "grüß dich"})
        assert bob.hear_until("sent") == {"sent": None, "sequence": 1}
        assert bob.hear_until("from") == {"from": "bob", "sequence": 1, "text": "grüß dich"}
        assert alice.hear_until("from") == {"from": "bob", "sequence": 1, "text": "grüß dich"}

        alice.end_input()
        bob.end_input()
        assert (alice.wait(), bob.wait()) == (0, 0)


def test_a_bad_line_is_answered_and_the_node_goes_on() -> None:
    with two_nodes() as (alice, bob):
        for line in (
            {"to": ["carol"], "text": "x", "id": 7},
            {"to": [], "text": "x"},
            {"to": ["bob"]},
            {"to": ["bob"], "text": 5},
            {"text": "to nobody"},
        ):
            alice.tell(line)
            answer = alice.hear_until("error")
            assert answer.get("id") == line.get("id")
        alice.tell({"to": "bob", "base64": "/w=="})
        assert bob.hear_until("from") == {"from": "alice", "sequence": 1, "base64": "/w=="}


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM", "SIGINT"])
def test_what_was_accepted_is_delivered_before_the_node_ends(ending: str) -> None:
    with two_nodes() as (alice, bob):
        for number in range(500):
            alice.tell({"to": ["bob"], "text": str(number), "id": number})
        if ending == "end of input":
            alice.end_input()
        else:
            while alice.hear_until("sent")["sent"] != 499:
                pass
            alice.signal(signal.Signals[ending])
        bob.end_input()
        texts = [line["text"] for line in all_lines(bob) if "from" in line]

        assert texts == [str(number) for number in range(500)]
        assert (alice.wait(), bob.wait()) == (0, 0)


def test_it_waits_for_a_peer_that_still_has_something_to_say() -> None:
    with two_nodes() as (alice, bob):
        bob.tell({"to": ["alice"], "text": "first"})
        alice.hear_until("from")
        alice.end_input()
        bob.tell({"to": ["alice"], "text": "one more thing"})
        assert alice.hear_until("from")["text"] == "one more thing"
        bob.end_input()
        assert (alice.wait(), bob.wait()) == (0, 0)


def test_who_is_left_stranded_is_named_and_the_exit_status_says_so() -> None:
    with node("alice", free_address(), [f"bob={free_address()}"], "--linger", "300ms") as alice:
        alice.tell({"to": ["bob"], "text": "is anybody there?"})
        alice.end_input()
        assert alice.wait() == 1
        assert "bob" in alice.said()
        assert "Traceback" not in alice.said()


def test_a_taken_address_is_one_clear_sentence() -> None:
    here = free_address()
    with node("alice", here, ["bob"]) as alice:
        alice.tell({"to": ["alice"], "text": "I am up"})
        alice.hear_until("from")
        with node("carol", here, ["bob"]) as carol:
            assert carol.wait() == 2
            assert f"cannot listen at {here}" in carol.said()
            assert "Traceback" not in carol.said()
        alice.kill()


def test_a_configuration_file_says_what_the_options_would(tmp_path: Path) -> None:
    here, there = free_address(), free_address()
    file = tmp_path / "bob.toml"
    file.write_text(f'[node]\nname = "bob"\nbind = "{there}"\npeers = {{ alice = "{here}" }}\n')
    with (
        Child.python("antecede", "node", "--config", str(file), name="bob") as bob,
        node("alice", here, [f"bob={there}"]) as alice,
    ):
        alice.tell({"to": ["bob"], "text": "found you"})
        assert bob.hear_until("from")["text"] == "found you"
        bob.end_input()


def test_three_scripts_on_a_bad_network_leave_a_log_in_causal_order(tmp_path: Path) -> None:
    """A chain of answers: each is told to everybody, by whoever hears the last one next."""
    bad = Conditions(loss=0.1, duplication=0.1, latency_ns_max=5 * MS)
    names = ("alice", "bob", "carol")
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy(dict.fromkeys(names), bad))
        nodes = {}
        for name in names:
            peers = [f"{peer}={address}" for peer, address in proxy.peers_of(name).items()]
            options = ("--trace", str(tmp_path), "--set", "trace_format=jsonl")
            opened = node(name, "127.0.0.1:0", peers, *options, "--set", "patience=200ms")
            nodes[name] = stack.enter_context(opened)
        for number in range(12):
            speaker, listener = names[number % 3], names[(number + 1) % 3]
            others = [name for name in names if name != speaker]
            nodes[speaker].tell({"to": others, "text": f"answer {number}"})
            while nodes[listener].hear_until("from")["text"] != f"answer {number}":
                pass
        for child in nodes.values():
            child.end_input()
        assert [child.wait() for child in nodes.values()] == [0, 0, 0]

    verdict = check_log(read_events(tmp_path))
    assert verdict.ok
    assert (verdict.messages, verdict.deliveries) == (12, 24)
