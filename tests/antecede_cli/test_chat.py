"""`antecede chat`, as a person starts it."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pytest
from click.testing import CliRunner

from antecede_audit.eventlog import read_events
from antecede_audit.judging import check_log
from antecede_cli.main import main

PATIENCE = 60.0
CHAT = [sys.executable, "-m", "antecede", "chat"]


def chat(*arguments: str) -> tuple[int, str]:
    """Exit status and output of a chat with these arguments."""
    result = CliRunner().invoke(main, ["chat", *arguments], env={"COLUMNS": "120"})
    return result.exit_code, result.output


def test_the_demonstration_shows_causal_order() -> None:
    status, output = chat("--demo")

    assert status == 0
    assert "alice's screen" in output
    assert "carol: Oh! She is on my roof." in output
    assert "None of 22 lines came before what it answers." in output
    assert "too early" not in output


def test_the_demonstration_shows_what_happens_without() -> None:
    status, output = chat("--demo", "--order", "none")

    assert status == 0
    assert re.search(r"[1-9][0-9]* of 22 lines came before what they answer", output)
    assert "(too early: alice's line is missing)" in " ".join(output.split())


def test_a_network_without_faults_needs_no_order() -> None:
    _, output = chat("--demo", "--order", "none", "--network", "real")

    assert "None of 22 lines came before what it answers, by luck" in output


@pytest.mark.parametrize(
    "network", [["--network", "wan"], ["--latency", "constant:1ms"], ["--loss", "0"]]
)
def test_the_network_can_be_chosen(network: list[str]) -> None:
    assert chat("--demo", *network) != chat("--demo")
    assert "None of 22 lines" in chat("--demo", *network)[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "say who you are with --name, or watch with --demo"),
        (["--demo", "--name", "alice"], "--demo brings its own people"),
        (["--name", "a b"], "setting 'name': 'a b' has spaces"),
        (["--name", "alice", "--peer", "bob=nowhere"], "'nowhere' has no port"),
        (["--demo", "--latency", "soon"], "is not a latency"),
    ],
)
def test_a_mistake_is_explained(arguments: list[str], complaint: str) -> None:
    status, output = chat(*arguments)

    assert status == 2
    assert complaint in output


class Person:
    """Somebody at a chat of their own, at a real terminal or with pipes."""

    def __init__(self, *arguments: str, terminal: bool) -> None:
        environment = {**os.environ, "COLUMNS": "200"}
        if terminal:
            self._screen, theirs = pty.openpty()
            self._keys = self._screen
            pipes = (theirs, theirs)
        else:
            theirs_in, self._keys = os.pipe()
            self._screen, theirs_out = os.pipe()
            pipes = (theirs_in, theirs_out)
        self._chat = subprocess.Popen(
            [*CHAT, *arguments], stdin=pipes[0], stdout=pipes[1], stderr=pipes[1], env=environment
        )
        for descriptor in set(pipes):
            os.close(descriptor)
        self._seen = ""

    def types(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def sees(self, pattern: str) -> str:
        """Wait for this on the screen; what its first group was."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self._seen)):
            left = end - time.monotonic()
            ready, _, _ = select.select([self._screen], [], [], max(0.0, left))
            assert ready, f"waited in vain for {pattern!r}; there was {self._seen!r}"
            more = os.read(self._screen, 4096)
            assert more, f"the chat ended; there was {self._seen!r}"
            self._seen += more.decode(errors="replace")
        return found[1] if found.groups() else found[0]

    def leaves(self) -> int:
        """Wait for the end of the chat; its exit status."""
        return self._chat.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._chat.kill()
        self._chat.wait()
        for descriptor in {self._keys, self._screen}:
            os.close(descriptor)


def test_without_an_input_there_is_nobody_to_chat() -> None:
    command = f"{' '.join(CHAT)} --name alice <&-"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert "there is no input to read" in ended.stderr


@pytest.mark.parametrize("network", ["real", "lossy"])
def test_two_people_in_two_terminals(network: str, tmp_path: Path) -> None:
    common = ["--trace", str(tmp_path), "--network", network]
    with Person("--name", "alice", *common, terminal=False) as alice:
        where = alice.sees(r"listens at ([0-9.:]+);")
        with Person("--name", "bob", "--peer", f"alice={where}", *common, terminal=True) as bob:
            bob.types("hi theree\x7f\n")
            alice.sees("bob: hi there\n")
            alice.types("welcome\n")
            bob.sees("alice:.* welcome")
            bob.types("\x04")
            bob.sees("leaving")
            assert bob.leaves() == 0
        alice.types("/quit\n")
        assert alice.leaves() == 0

    assert check_log(read_events(tmp_path)).violations == []
