"""`antecede node` as scripts use it: JSON lines in and out, real processes, a clean end."""

import asyncio
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import antecede
from antecede import blocking
from antecede.runtime.config.addresses import parse_address
from antecede.runtime.errors import Stranded
from antecede.runtime.input_lines import InputLines
from antecede_audit.eventlog import read_events
from antecede_audit.judging import check_log
from antecede_cli.json_lines import (
    Answers,
    BadLine,
    OutputLines,
    read_object,
    read_request,
    write_deliveries,
)
from antecede_lab.chaos.proxy import Conditions, Proxy
from antecede_lab.child import WAIT_S, Child, Line
from tests.antecede.runtime.processes.groups import free_address

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


@contextmanager
def who_has_met_bob(*options: str) -> Iterator[Child]:
    """Alice, who has met bob; then bob was stopped, and answers nothing more."""
    here, there = free_address(), free_address()
    with (
        node("alice", here, [f"bob={there}"], *options) as alice,
        node("bob", there, [f"alice={here}"]) as bob,
    ):
        bob.tell({"to": ["alice"], "text": "I am here"})
        alice.hear_until("from")
        bob.signal(signal.SIGSTOP)
        try:
            yield alice
        finally:
            bob.kill()


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


def test_the_first_line_says_where_the_node_is() -> None:
    with node("alice", "127.0.0.1:0", []) as alice:
        ready = alice.hear()
        assert (ready["event"], ready["name"]) == ("ready", "alice")
        where = parse_address(ready["address"])
        assert where.port != 0
        told = threading.Event()
        with blocking.open_node(
            "bob", peers={"alice": where}, linger=0, on_event=lambda _: told.set()
        ) as bob:
            refused = alice.hear_until("event")
            assert refused["reason"] == "it is not one of our peers; add it with add_peer"
            assert told.wait(WAIT_S)
            with pytest.raises(antecede.errors.TimedOut, match="alice refuses: bob is not one of"):
                bob.receive(0.01)
        alice.end_input()
        assert alice.wait() == 0
        assert alice.said().count("no talk with bob") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_a_signal_nobody_is_waited_for_who_misses_nothing(number: signal.Signals) -> None:
    nowhere = [f"bob={free_address()}"]
    with node("alice", free_address(), nowhere, "--linger", "1h") as alice:
        alice.hear()
        alice.signal(number)
        assert alice.wait() == 0


def test_who_waits_for_others_says_for_whom() -> None:
    with node("alice", free_address(), [f"bob={free_address()}"], "--linger", "3s") as alice:
        alice.end_input()
        assert alice.wait() == 0
        assert "alice leaves within 3.00 s: bob has never been met" in alice.said()


def test_a_missing_name_is_asked_for_as_the_command_line_has_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "antecede", "node"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=WAIT_S,
    )
    assert ran.returncode == 2
    assert b"setting 'name' is missing: give it with --name, as ANTECEDE_NAME" in ran.stderr


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


def test_a_line_that_is_too_long_is_answered_and_not_kept() -> None:
    with two_nodes("--set", "payload_limit=1000") as (alice, bob):
        alice.tell({"to": "bob", "text": "x" * 1_000_000, "id": 1})
        assert "at most 71536 bytes" in alice.hear_until("error")["error"]
        alice.tell({"to": "bob", "text": "x" * 1001, "id": 2})
        assert "1,001 bytes" in alice.hear_until("error")["error"]
        alice.tell({"to": "bob", "text": "x" * 1000, "id": 3})
        assert alice.hear_until("sent")["sent"] == 3
        assert bob.hear_until("from")["text"] == "x" * 1000


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
    with who_has_met_bob("--linger", "300ms") as alice:
        alice.tell({"to": ["bob"], "text": "is anybody there?"})
        alice.end_input()
        assert alice.wait() == 1
        assert "bob" in alice.said()
        assert "Traceback" not in alice.said()


def test_a_line_for_somebody_who_never_came_is_an_error_and_strands_nobody() -> None:
    nowhere = [f"bob={free_address()}"]
    with node("alice", free_address(), nowhere, "--set", "meet_within=300ms") as alice:
        alice.tell({"to": ["bob"], "text": "is anybody there?", "id": 1})
        answer = alice.hear_until("error")
        assert answer["id"] == 1
        assert "'bob' is away" in str(answer["error"])
        alice.tell({"to": ["bob", "alice"], "text": "to whom it may concern", "id": 2})
        assert alice.hear_until("sent") == {"sent": 2, "sequence": 1, "left_out": ["bob"]}
        alice.end_input()
        assert alice.wait() == 0


def test_a_signal_is_obeyed_although_a_line_waits_for_room() -> None:
    with who_has_met_bob("--set", "send_limit=2", "--linger", "300ms") as alice:
        for number in range(5):
            alice.tell({"to": ["bob"], "text": "x", "id": number})
        while alice.hear_until("sent")["sent"] != 1:
            pass
        alice.signal(signal.SIGTERM)
        refused = [line["id"] for line in all_lines(alice) if "error" in line]
        # Of lines that it has not read by then it says nothing.
        assert refused
        assert refused == [2, 3, 4][: len(refused)]
        assert alice.wait() == 1
        assert "left without a bye from 'bob' within 300 ms" in alice.said()


def test_a_second_signal_ends_the_wait() -> None:
    with who_has_met_bob("--linger", "1h") as alice:
        alice.tell({"to": ["bob"], "text": "x"})
        alice.hear_until("sent")
        # Not the same one twice: two of a kind may come as one.
        alice.signal(signal.SIGINT)
        alice.signal(signal.SIGTERM)
        assert alice.wait() == 1
        assert "left without a bye from 'bob'" in alice.said()


def test_an_output_that_nobody_reads_ends_the_node_with_one_clear_sentence() -> None:
    """Its input does not end, and its peer stays; it leaves all the same.

    It may leave on account of an earlier line, which says that it has met bob. Then bob's message
    has nobody to go to, which bob is told.
    """
    with suppress(Stranded), blocking.open_node("bob", peers={"alice": None}) as bob:
        options = ["--name", "alice", "--peer", f"bob={bob.address}", "--linger", "1h"]
        with subprocess.Popen(
            [sys.executable, "-m", "antecede", "node", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as alice:
            assert alice.stdin is not None
            assert alice.stdout is not None
            assert alice.stderr is not None
            assert b"ready" in alice.stdout.readline()
            alice.stdin.write(b'{"to": "bob", "text": "x"}\n')
            alice.stdin.flush()
            assert bob.receive(WAIT_S).payload == b"x"
            alice.stdout.close()
            bob.send("alice", b"a line that cannot be written")
            assert alice.wait(WAIT_S) == 1
            said = alice.stderr.read().decode()
    assert "Error: the output cannot be written: Broken pipe" in said
    assert "Traceback" not in said


def test_a_node_whose_output_is_stuck_can_be_ended_with_signals() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "antecede", "node", "--name", "alice", "--linger", "1h"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as alice:
        assert alice.stdin is not None
        assert alice.stdout is not None
        alice.stdin.write(b'{"to": "alice", "text": "%s"}\n' % (b"x" * 200_000))
        alice.stdin.flush()
        assert alice.stdout.read(1) == b"{"  # It has begun to write; nobody reads the rest.
        for _ in range(int(WAIT_S * 10)):
            if alice.poll() is not None:
                break
            alice.terminate()
            time.sleep(0.1)
        assert alice.poll() is not None
        alice.kill()


def test_what_cannot_be_written_is_not_read() -> None:
    async def story() -> None:
        with open(os.devnull, encoding="utf-8") as not_for_writing:
            output = OutputLines(not_for_writing, lambda: None)
            output.put({"sent": 1})
            await output.end()
        assert output.failure == "not writable"
        async with antecede.open_node("alice") as alice:
            for _ in range(3):
                await alice.send("alice", b"x")
            answers = Answers(alice, InputLines(io.BytesIO()), output)
            await write_deliveries(alice, answers, output)
            assert alice.stats().inbox == 2

    asyncio.run(asyncio.wait_for(story(), WAIT_S))


def test_an_input_that_is_not_there_is_an_empty_one() -> None:
    command = f"{sys.executable} -m antecede node --name alice <&-"
    assert subprocess.run(command, shell=True, timeout=WAIT_S, check=False).returncode == 0


def test_an_event_log_that_fails_is_one_clear_sentence_at_the_end(tmp_path: Path) -> None:
    """Where the log was, there is something else when its first file is to be finished."""
    trace = tmp_path / "events"
    with node("alice", free_address(), [], "--trace", str(trace)) as alice:
        alice.tell({"to": ["alice"], "text": "x"})
        alice.hear_until("from")
        shutil.rmtree(trace)
        trace.write_text("no folder")
        alice.end_input()
        assert alice.wait() == 1
        assert "Error: the event log stopped" in alice.said()
        assert "Traceback" not in alice.said()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"to": ["a"], "text": "\xff"}\n', "it is not UTF-8 from byte 24 on"),
        (b"\n", "Expecting value: line 1 column 1"),
        (b'{"to": "a", "text": "x", "id": NaN}\n', "NaN is not JSON"),
    ],
)
def test_a_line_that_is_not_json_is_explained(line: bytes, complaint: str) -> None:
    with pytest.raises(BadLine, match=complaint):
        read_request(read_object(line))


def test_what_the_configuration_says_of_lingering_is_done(tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text("[node]\nlinger = 0\n")
    with who_has_met_bob("--config", str(config)) as alice:
        alice.tell({"to": ["bob"], "text": "x"})
        alice.hear_until("sent")
        alice.end_input()
        assert alice.wait() == 1
        assert "left without a bye from 'bob' within 0" in alice.said()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--peer", "bob=127.0.0.1:1", "--peer", "bob=127.0.0.1:2"], "'bob' is there twice"),
        (["--peer", "bob="], "--peer 'bob=' is not of the form NAME=HOST:PORT"),
        (["--metrics", "9464"], "--metrics: '9464' has no port; write HOST:PORT"),
    ],
)
def test_options_that_make_no_sense_are_explained(options: list[str], complaint: str) -> None:
    with Child.python("antecede", "node", "--name", "alice", *options, name="alice") as alice:
        assert alice.wait() == 2
        assert complaint in alice.said()


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
