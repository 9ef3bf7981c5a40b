"""What becomes of requests under way when the node that was asked is killed, paused or restarted.

All nodes are `antecede node`, as processes.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antecede_lab.child import Child, Line
from tests.antecede.runtime.processes.groups import free_address


class Pair:
    """Alice, who asks, and how bob is started."""

    def __init__(self, alice: Child, bob_command: list[str]) -> None:
        self.alice = alice
        self.bob_command = bob_command

    def bob(self) -> Child:
        return Child.python("antecede", *self.bob_command, name="bob")

    def ask(self, text: str, **more: object) -> None:
        self.alice.tell({"request": "bob", "text": text, "id": text, **more})

    def ended(self) -> Line:
        """How alice's next request has ended."""
        while True:
            line = self.alice.hear()
            if "reply" in line or "error" in line:
                return line


@contextmanager
def asking(*options: str, bob_options: tuple[str, ...] = ()) -> Iterator[Pair]:
    where = {name: free_address() for name in ("alice", "bob")}
    alice = ["node", "--name", "alice", "--bind", where["alice"], *options]
    bob = ["node", "--name", "bob", "--bind", where["bob"], *options, *bob_options]
    with Child.python("antecede", *alice, f"--peer=bob={where['bob']}", name="alice") as child:
        yield Pair(child, [*bob, f"--peer=alice={where['alice']}"])


def request_at(bob: Child) -> Line:
    return bob.hear_until("request")


def test_lines_ask_and_answer_in_one_order_with_deliveries() -> None:
    with asking() as pair, pair.bob() as bob:
        pair.ask("one")
        pair.ask("two")
        first, second = request_at(bob), request_at(bob)
        assert [line["text"] for line in (first, second)] == ["one", "two"]
        assert first["from"] == "alice"
        bob.tell({"to": ["alice"], "text": "before"})
        bob.tell({"reply": second["request"], "text": "TWO"})
        bob.tell({"to": ["alice"], "text": "between"})
        bob.tell({"reply": first["request"], "text": "ONE"})
        got: list[tuple[object, object]] = []
        while len(got) < 4:
            line = pair.alice.hear()
            if "text" in line:
                got.append((line.get("reply"), line["text"]))
        assert got == [(None, "before"), ("two", "TWO"), (None, "between"), ("one", "ONE")]
        for child in (pair.alice, bob):
            child.end_input()
        assert [pair.alice.wait(), bob.wait()] == [0, 0]


def test_lines_about_requests_that_make_no_sense_are_answered_with_errors() -> None:
    with asking() as pair, pair.bob() as bob:
        bob.hear_until("event")
        for line, error in (
            ({"request": 7, "text": "x", "id": 1}, "the name of a peer"),
            ({"request": "bob", "id": 2}, 'needs "text"'),
            ({"request": "bob", "text": "x", "timeout": "soon", "id": 3}, "number of seconds"),
            ({"request": "nobody", "text": "x", "id": 4}, "no peer is called"),
            ({"reply": 99, "text": "x", "id": 5}, "no request 99"),
            ({"reply": [], "text": "x", "id": 6}, "no request"),
            ({"reply": True, "text": "x", "id": 7}, "no request True"),
            ({"request": "bob", "text": "x", "timeout": -1, "id": 8}, "number of seconds"),
            ({"request": "bob", "text": "x", "timeout": True, "id": 9}, "number of seconds"),
            ({"request": "bob", "to": ["bob"], "id": 10}, 'needs "text"'),
        ):
            pair.alice.tell(line)
            told = pair.ended()
            assert error in told["error"]
            assert told["id"] == line["id"]


def test_a_reply_that_is_too_large_may_be_followed_by_another() -> None:
    with asking(bob_options=("--set", "payload_limit=1KiB")) as pair, pair.bob() as bob:
        pair.ask("?")
        number = request_at(bob)["request"]
        bob.tell({"reply": number, "text": "x" * 2_000, "id": "long"})
        assert "bytes" in bob.hear_until("error")["error"]
        bob.tell({"reply": number, "text": "short"})
        assert pair.ended()["text"] == "short"


def test_a_request_that_nobody_answers_times_out() -> None:
    with asking() as pair, pair.bob() as bob:
        pair.ask("?", timeout=1)
        number = request_at(bob)["request"]
        told = pair.ended()
        assert "no reply from 'bob' within 1" in told["error"]
        assert told["id"] == "?"
        bob.tell({"reply": number, "text": "too late"})
        pair.ask("again")
        bob.tell({"reply": request_at(bob)["request"], "text": "in time"})
        assert pair.ended()["text"] == "in time"


def test_a_killed_node_without_a_journal_fails_its_requests_when_it_is_back() -> None:
    with asking("--set", "expel=manual") as pair:
        with pair.bob() as bob:
            pair.ask("lost")
            request_at(bob)
            bob.signal(signal.SIGKILL)
            bob.wait()
        with pair.bob() as bob:
            bob.tell({"to": ["alice"], "text": "I am new"})
            told = pair.ended()
            assert "was restarted" in told["error"]
            assert told["id"] == "lost"
            pair.ask("again")
            bob.tell({"reply": request_at(bob)["request"], "text": "yes"})
            assert pair.ended()["text"] == "yes"


def test_a_killed_node_that_is_expelled_fails_its_requests() -> None:
    with asking("--set", "expel=manual") as pair:
        with pair.bob() as bob:
            pair.ask("lost")
            request_at(bob)
            bob.signal(signal.SIGKILL)
            bob.wait()
        pair.alice.tell({"expel": "bob", "reason": "dead"})
        assert "was expelled" in pair.ended()["error"]
        pair.ask("more")
        assert "away" in pair.ended()["error"]


def test_a_node_that_leaves_fails_what_it_has_not_answered() -> None:
    with asking() as pair, pair.bob() as bob:
        pair.ask("answered")
        pair.ask("not answered")
        answered = request_at(bob)
        request_at(bob)
        bob.tell({"reply": answered["request"], "text": "goodbye"})
        assert pair.ended()["text"] == "goodbye"
        bob.signal(signal.SIGTERM)
        told = pair.ended()
        assert "has left" in told["error"]
        assert told["id"] == "not answered"


def test_a_paused_node_answers_when_it_goes_on() -> None:
    with asking("--set", "expel=manual") as pair, pair.bob() as bob:
        pair.ask("first")
        first = request_at(bob)
        bob.signal(signal.SIGSTOP)
        pair.ask("second")
        bob.signal(signal.SIGCONT)
        bob.tell({"reply": first["request"], "text": "1"})
        bob.tell({"reply": request_at(bob)["request"], "text": "2"})
        assert [pair.ended()["text"], pair.ended()["text"]] == ["1", "2"]


@pytest.mark.parametrize("times", [1, 3])
def test_with_a_journal_requests_survive_the_crash_and_are_answered_once(
    tmp_path: Path, times: int
) -> None:
    options = ("--journal", str(tmp_path / "bob"))
    with asking("--set", "expel=manual", bob_options=options) as pair:
        pair.ask("answered before")
        pair.ask("answered after")
        with pair.bob() as bob:
            before = request_at(bob)
            assert "again" not in request_at(bob)
            bob.tell({"reply": before["request"], "text": "before"})
            assert pair.ended()["text"] == "before"
            bob.signal(signal.SIGKILL)
            bob.wait()
        for _ in range(times - 1):
            with pair.bob() as bob:
                again = request_at(bob)
                assert (again["text"], again["again"]) == ("answered after", True)
                bob.signal(signal.SIGKILL)
                bob.wait()
        with pair.bob() as bob:
            again = request_at(bob)
            assert (again["text"], again["again"]) == ("answered after", True)
            bob.tell({"reply": again["request"], "text": "after"})
            told = pair.ended()
            assert (told["reply"], told["text"]) == ("answered after", "after")
            pair.ask("next")
            assert request_at(bob)["text"] == "next"
