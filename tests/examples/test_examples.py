"""The examples run as they stand, and show what they say."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from typing import Self

import pytest

from antecede import Message
from antecede.testing import TestNetwork
from antecede_audit.eventlog import read_events
from tests.antecede.runtime.carriers.brokers import Broker
from tests.free_ports import free_port

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
SAMPLE = EXAMPLES / "sample-log"


def output_of(example: str, *arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / example), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    files = [file.name for file in EXAMPLES.iterdir() if file.suffix in (".py", ".toml")]
    assert [name for name in files if f"]({name})" not in listed] == []


def test_deletion_overtakes_creation_only_without_order() -> None:
    hybrid = ["hybrid:", "  create lamp", "  delete lamp", "  the index holds: nothing"]
    none = ["none:", "  delete lamp: unknown", "  create lamp", "  the index holds: lamp"]
    assert output_of("delete_before_create.py").splitlines() == hybrid + none


@pytest.mark.parametrize(("order", "early"), [("hybrid", 0), ("fifo", 2), ("none", 2)])
def test_answers_overtake_questions_only_without_causal_order(order: str, early: int) -> None:
    shown = output_of("chat_with_replies.py", order)
    assert shown.count("<- what is this about?") == early
    assert shown.endswith(f"answers that came before their question: {early}\n")


def test_two_people_chat_and_leave() -> None:
    with Person("alice") as alice:
        where = alice.sees(r"alice listens at (\S+); ")
        with Person("bob", "--peer", f"alice={where}") as bob:
            bob.types("hi there")
            alice.sees(r"\(bob is here\)")
            alice.sees("bob: hi there$")
            alice.types("welcome")
            bob.sees("alice: welcome$")
            bob.types("/who")
            bob.sees(r"\{'alice': 'here'\}")
            assert bob.leaves() == 0
        alice.sees(r"\(bob has left\)")
        alice.types("/quit")
        assert alice.leaves() == 0


class Person:
    """Somebody at the chat of the examples, with pipes instead of a terminal."""

    def __init__(self, *arguments: str) -> None:
        self._chat = subprocess.Popen(
            [sys.executable, "-W", "error", str(EXAMPLES / "chat.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def types(self, line: str) -> None:
        assert self._chat.stdin is not None
        self._chat.stdin.write(f"{line}\n")
        self._chat.stdin.flush()

    def sees(self, pattern: str) -> str:
        """Wait for this in a line on the screen; what its first group was."""
        assert self._chat.stdout is not None
        seen = []
        for line in self._chat.stdout:
            seen.append(line)
            if found := re.search(pattern, line.rstrip()):
                return found[1] if found.groups() else found[0]
        raise AssertionError(f"the chat ended without {pattern!r}; there was {seen}")

    def leaves(self) -> int:
        """Close the input; the exit status."""
        assert self._chat.stdin is not None
        self._chat.stdin.close()
        return self._chat.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._chat.kill()
        self._chat.wait()
        assert self._chat.stdin is not None
        assert self._chat.stdout is not None
        self._chat.stdin.close()
        self._chat.stdout.close()


def test_a_line_that_comes_before_what_it_answers_is_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing but the bookkeeping of chat.py, with messages in the wrong order."""
    chat = run_path(str(EXAMPLES / "chat.py"))["Chat"]

    async def play() -> None:
        async with TestNetwork(seed=1) as network:
            carol = chat(await network.open_node("carol"))
            readers = ["bob", "carol"]
            question = {"text": "Where?", "to": readers, "after": None}
            answer = {"text": "Here.", "to": ["alice", "carol"], "after": ["alice", 1, readers]}
            carol.hear(Message("bob", 1, json.dumps(answer).encode()))
            carol.hear(Message("alice", 1, json.dumps(question).encode()))
            clearing = {**answer, "text": "\x1b[2JHere."}
            carol.hear(Message("bob", 2, json.dumps(clearing).encode()))

    asyncio.run(play())
    assert capsys.readouterr().out.splitlines() == [
        "bob: Here.   <- too early: alice's line is missing",
        "alice: Where?",
        "bob: ?[2JHere.",
    ]


def test_replicas_agree_in_causal_order() -> None:
    *replicas, verdict = output_of("shopping_list_crdt.py").splitlines()
    assert verdict == "all replicas agree"
    assert len(replicas) == 4
    assert len({replica.partition(": ")[2] for replica in replicas}) == 1


def test_replicas_differ_without_order() -> None:
    *replicas, verdict = output_of("shopping_list_crdt.py", "none").splitlines()
    assert verdict == "the replicas DISAGREE, and will for ever"
    assert len({replica.partition(": ")[2] for replica in replicas}) > 1


def test_comments_never_overtake_the_document_and_a_late_editor_has_all_of_it() -> None:
    pytest.importorskip("pycrdt", reason="the Python package pycrdt is not installed")
    assert output_of("crdt_document.py").splitlines() == [
        "all copies are equal: True",
        *(
            f"{name}: 0 comments on what was not there yet"
            for name in ("alice", "bob", "carol", "dave")
        ),
    ]


def test_agents_decide_although_one_crashes_and_one_comes_late() -> None:
    *said, early = output_of("agents_room.py").splitlines()
    assert said.count("ada: decided: we move") == 1
    assert said[-1].endswith("the first of them 'ada: shall we move?'")
    assert early == "words that came too early: 0"


def test_an_outbox_loses_nothing_and_repeats_nothing_over_crashes() -> None:
    services = ("billing", "stock", "mail")
    assert output_of("outbox.py").splitlines() == [
        f"{service} did 20 orders, in order: True" for service in services
    ]


def test_children_come_before_parents_across_two_topics_and_not_in_causal_order() -> None:
    with Broker() as broker:
        before, after = output_of("child_before_parent.py", broker.address).splitlines()
    assert int(before.split()[2]) > 0
    assert after == "in causal order: 0 orders before their customer"


def test_without_a_broker_one_sentence_says_so() -> None:
    pytest.importorskip("nats", reason="the Python package nats-py is not installed")
    address = f"nats://127.0.0.1:{free_port()}"
    program = [sys.executable, str(EXAMPLES / "child_before_parent.py"), address]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == f"no NATS broker answers at {address}: start one, with nats-server\n"


def test_examples_are_short() -> None:
    sizes = {file.name: written_lines(file) for file in EXAMPLES.glob("*.py")}
    assert {name: lines for name, lines in sizes.items() if lines >= 100} == {}


def written_lines(file: Path) -> int:
    return len([line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()])


def test_journal_hears_of_every_question_before_its_answer() -> None:
    assert output_of("rpc_dag.py").splitlines() == [
        "20 requests, 80 answers given by services",
        "the journal has 80 questions and 80 answers",
        "answers whose question it had not heard of: 0",
    ]


def test_sample_log_has_effects_before_causes() -> None:
    shown = output_of("audit_a_log.py")
    assert shown.startswith("600 messages, 600 deliveries at 6 processes\n")
    found = re.search(r"delivered before something that caused them: (\d+)", shown)
    assert found is not None
    assert int(found[1]) > 100
    assert shown.count("ms too early: P") == 3
    assert shown.endswith("lost: 0, delivered twice: 0\n")


def test_sample_log_is_what_its_command_makes(tmp_path: Path) -> None:
    text = (SAMPLE / "README.md").read_text(encoding="utf-8")
    command = next(line for line in text.splitlines() if line.startswith("antecede simulate"))
    subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        check=True,
    )
    made, shipped = read_events(tmp_path / "services.jsonl.gz"), SAMPLE / "services.jsonl.gz"
    assert list(made) == list(read_events(shipped))
