"""`antecede node --journal DIR`: what it says is on disk, and what comes again says so."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.free_ports import free_port

SECONDS = 30
Line = dict[str, object]


class Command:
    """A node as a child process; its lines are collected by a thread."""

    def __init__(self, name: str, folder: Path, port: int, other: str, other_port: int) -> None:
        self.lines: list[Line] = []
        self._news = threading.Condition()
        self._child = subprocess.Popen(
            [
                *(sys.executable, "-m", "antecede", "node", "--name", name),
                *("--bind", f"127.0.0.1:{port}", "--peer", f"{other}=127.0.0.1:{other_port}"),
                *("--journal", str(folder / name), "--set", "patience=200ms"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            with self._news:
                self.lines.append(json.loads(line))
                self._news.notify_all()

    def say(self, **request: object) -> None:
        """Write a line."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(request) + "\n")
        self._child.stdin.flush()

    def wait_for(self, key: str, count: int) -> list[Line]:
        """Wait until there are so many lines with this key."""

        def found() -> list[Line]:
            return [line for line in self.lines if key in line]

        with self._news:
            assert self._news.wait_for(lambda: len(found()) >= count, SECONDS), self.lines
            return found()

    def kill(self) -> None:
        """As suddenly as can be; what it had written is read to the end."""
        self._child.kill()
        self._child.wait(SECONDS)
        self._reading.join(SECONDS)
        with suppress(BrokenPipeError):
            self._close()

    def end_input(self) -> None:
        """It leaves when the other one does."""
        assert self._child.stdin is not None
        self._child.stdin.close()

    def exit_code(self) -> int:
        """How it ends, of itself."""
        code = self._child.wait(SECONDS)
        self._reading.join(SECONDS)
        self._close()
        return code

    def _close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.stdout.close()


def test_killed_nodes_lose_and_double_nothing(tmp_path: Path) -> None:
    ports = {"ann": free_port(), "bob": free_port()}
    started: list[Command] = []

    def start(name: str) -> Command:
        other = "bob" if name == "ann" else "ann"
        started.append(Command(name, tmp_path, ports[name], other, ports[other]))
        return started[-1]

    try:
        promised, handed = killed_and_restarted(start)
    finally:
        for command in started:
            command.kill()
    check(promised, handed)


def killed_and_restarted(start: Callable[[str], Command]) -> tuple[list[str], list[Line]]:
    """What was promised, and what was handed over, in some lives of two nodes."""
    ann, bob = start("ann"), start("bob")
    promised: list[str] = []
    handed: list[Line] = []
    for turn in range(2):
        for number in range(40):
            ann.say(to=["bob"], text=f"{turn}.{number}", id=f"{turn}.{number}")
        ann.wait_for("sent", 10)
        ann.kill()
        promised += [str(line["sent"]) for line in ann.lines if "sent" in line]
        ann = start("ann")
        bob.wait_for("from", 1)
        bob.kill()
        handed += [line for line in bob.lines if "from" in line]
        bob = start("bob")
    ann.say(to=["bob"], text="last", id="last")
    ann.wait_for("sent", 1)
    bob.wait_for("event", 2)
    while not any(line.get("text") == "last" for line in bob.lines):
        bob.wait_for("from", 1 + sum("from" in line for line in bob.lines))
    ann.end_input()
    bob.end_input()
    assert (ann.exit_code(), bob.exit_code()) == (0, 0)
    handed += [line for line in bob.lines if "from" in line]
    return promised, handed


def check(promised: list[str], handed: list[Line]) -> None:
    """Everything promised came, in order, and twice only where that is said."""
    seen: dict[object, object] = {}
    for line in handed:
        if line["sequence"] in seen:
            assert line.get("again") is True, f"{line} came twice, and does not say so"
            assert seen[line["sequence"]] == line["text"]
        seen[line["sequence"]] = line["text"]
    assert set(promised) <= set(seen.values())
    fresh = [line["sequence"] for line in handed if not line.get("again")]
    assert fresh == sorted(fresh, key=str) or fresh == sorted(fresh)  # type: ignore[type-var] # numbers
    assert sorted(seen) == list(range(1, len(seen) + 1))  # type: ignore[type-var] # numbers
