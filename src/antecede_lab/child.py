"""Other processes that are spoken to in JSON lines: started, asked with a time limit, always ended.

Proxy, benchmark and tests drive real processes. What they have in common is here: one object a line
in each direction, no wait without a limit, and an error that shows what the process wrote to
standard error before it died.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, Self, TypeAlias, final

from antecede.core.errors import AntecedeError

Json: TypeAlias = Any
"""What JSON can carry: Python's types have no better word for it."""

Line: TypeAlias = dict[str, Json]

WAIT_S: Final = 30.0
"""How long an answer is awaited unless the caller says otherwise."""

GRACE_S: Final = 5.0
"""How long a process may take to end after it was asked to, before it is killed."""


BESIDE_S: Final = 0.1
"""How often, while one process is waited for, to look whether the other one is still there."""


class ChildFailed(AntecedeError):  # noqa: N818 named like the other errors of the runtime: for what has happened
    """A process that we started ended, or fell silent, when an answer was expected."""


def say(line: Line) -> None:
    """One line to whoever started this process, at once."""
    print(json.dumps(line), flush=True)


@final
class Child:
    """A process of ours; as a context manager it is gone when the block ends."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        name: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name: Final = name or arguments[0]
        self._said: Final = tempfile.TemporaryFile()  # noqa: SIM115 closed by `stop`, with the process
        self._process: Final = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, **(environment or {})},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin: Final = self._process.stdin
        self._stdout: Final = self._process.stdout
        self._rest = b""
        self._lines: list[bytes] = []
        self._ended = False

    @classmethod
    def python(
        cls,
        module: str,
        *arguments: str,
        name: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """A Python process like this one that runs a module."""
        return cls(
            [sys.executable, "-m", module, *arguments],
            name=name or module,
            environment=environment,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def tell(self, line: Line) -> None:
        """Write one line to the process; `ChildFailed` if it no longer listens."""
        try:
            self._stdin.write(json.dumps(line).encode() + b"\n")
            self._stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise self._failure("no longer listens") from error

    def hear(self, timeout_s: float = WAIT_S, *, beside: Self | None = None) -> Line:
        """The next line of the process; `ChildFailed` if none comes in time.

        Nor is it awaited any longer when the process `beside` it, which it needs, has failed.
        """
        if beside is not None:
            until = time.monotonic() + timeout_s
            while not self._lines and not self._ended and time.monotonic() < until:
                self._read(BESIDE_S)
                if beside._process.poll():
                    raise beside._failure("has failed")
            timeout_s = max(0.0, until - time.monotonic())
        line = self.hear_or_end(timeout_s)
        if line is None:
            raise self._failure("ended without an answer")
        return line

    def hear_or_end(self, timeout_s: float = WAIT_S) -> Line | None:
        """The next line of the process, or None at the end of what it says."""
        until = time.monotonic() + timeout_s
        while not self._lines:
            if self._ended:
                return None
            if not self._read(until - time.monotonic()):
                raise self._failure(f"said nothing for {timeout_s:g} s")
        text = self._lines.pop(0)
        try:
            line = json.loads(text)
        except ValueError as error:
            raise self._failure(f"said {text[:200]!r}, which is not JSON") from error
        if not isinstance(line, dict):
            raise self._failure(f"said {text[:200]!r}, which is not an object")
        return line

    def ask(self, line: Line, timeout_s: float = WAIT_S) -> Line:
        """Tell one line, hear one line."""
        self.tell(line)
        return self.hear(timeout_s)

    def hear_until(self, key: str, timeout_s: float = WAIT_S) -> Line:
        """The next line that has `key`; lines before it are passed over."""
        until = time.monotonic() + timeout_s
        while True:
            line = self.hear(max(0.0, until - time.monotonic()))
            if key in line:
                return line

    def lines(self) -> list[Line]:
        """What the process has written since it was last listened to; nothing is waited for."""
        while not self._ended and self._read(0.0):
            pass
        written = self._lines
        self._lines = []
        return [json.loads(text) for text in written]

    def status(self) -> int | None:
        """Its exit status, or None while it runs."""
        return self._process.poll()

    def end_input(self) -> None:
        """Close its standard input: nothing more will be written."""
        self._stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a crash would, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def wait(self, timeout_s: float = WAIT_S) -> int:
        """Its exit status; `ChildFailed` if it is still there after the timeout."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise self._failure(f"is still running after {timeout_s:g} s") from error

    def said(self) -> str:
        """What it has written to standard error so far."""
        # The offset is shared with the process, so it must not be moved.
        size = os.fstat(self._said.fileno()).st_size
        return os.pread(self._said.fileno(), size, 0).decode(errors="replace").strip()

    def stop(self) -> None:
        """End its input, give it a moment, kill it if need be. May be called again."""
        if self._said.closed:
            return
        with suppress(BrokenPipeError):  # It may be gone, with a line of ours still in the pipe.
            self._stdin.close()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._stdout.close()
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None and self._process.poll() is None:
            self.kill()
        self.stop()

    def _read(self, timeout_s: float) -> bool:
        """Take in what the process has written; False if that was nothing in all this time."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if not poll.poll(max(0.0, timeout_s) * 1000):
            return False
        data = os.read(self._stdout.fileno(), 1 << 16)
        self._ended = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines += [line for line in lines if line.strip()]
        return True

    def _failure(self, what: str) -> ChildFailed:
        status = self._process.poll()
        ending = "" if status is None else f" (exit status {status})"
        said = self.said()
        return ChildFailed(f"{self.name} {what}{ending}" + (f":\n{said}" if said else ""))


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C that comes within the block take effect at its end.

    Between the start of a process and the moment when somebody is charged with ending it, an
    exception would leave the process without an owner. Not done by blocking the signal: the new
    process would inherit that, and ignore Ctrl-C for good.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # Interrupts are raised in the main thread only; or they are ignored anyway.
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        handler(signal.SIGINT, came[0])
