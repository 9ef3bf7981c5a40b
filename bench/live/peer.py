"""What a messaging library has to be able to do to be measured, and what is sent in a round.

There are four roles, in two processes. One process listens (`sink`, `echo`) and says where, the
other one connects (`source`, `ping`). A role is written as a user of that library would write it
for speed: a function, or a coroutine function where the library wants an event loop. What is sent,
and how it is counted, are the same few lines of work for every library: the first byte of a payload
says what it is: plain, the begin of what counts (what came before was for warming up), or the end.
A receiver's loop so has one thing to test per message.
"""

import asyncio
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import repeat
from typing import Any, Final, TypeAlias, final

PLAIN: Final = 0
BEGIN: Final = 1
END: Final = 2

WARM_UP: Final = 2_000
"""Messages before the clock starts: connections, caches, congestion windows."""

CHUNK: Final = 256
"""Messages between two looks at the clock."""

PINGS_WARM_UP: Final = 200
PINGS_MAX: Final = 20_000


def payload_of(size: int, kind: int = PLAIN) -> bytes:
    """A payload of this size and kind."""
    return bytes([kind]) + b"x" * (size - 1)


@final
class Volley:
    """The payloads of one round, for as long as it lasts; counts them for itself."""

    def __init__(self, size: int, seconds: float, *, warm_s: float = 0.0, per_s: int = 0) -> None:
        self._size: Final = size
        self._seconds: Final = seconds
        self._warm_s: Final = warm_s
        self.per_s: Final = per_s
        """How many to send per second; 0: as many as go. Kept by whoever sends."""
        self.sent = 0
        """How many that count, the end included."""
        self.cpu_ns = 0
        """Processor time of this process while those were sent."""
        self.begin_cpu_ns = 0
        """What it had used before."""

    def __iter__(self) -> Iterator[bytes]:
        plain = payload_of(self._size)
        until = time.monotonic() + self._warm_s
        yield from repeat(plain, WARM_UP)
        while time.monotonic() < until:
            yield from repeat(plain, CHUNK)
        yield payload_of(self._size, BEGIN)
        self.begin_cpu_ns = time.process_time_ns()
        until = time.monotonic() + self._seconds
        while time.monotonic() < until:
            yield from repeat(plain, CHUNK)
            self.sent += CHUNK
        self.sent += 1
        yield payload_of(self._size, END)
        self.cpu_ns = time.process_time_ns() - self.begin_cpu_ns


@final
class ReceiveTally:
    """What the receiver of a volley counts."""

    def __init__(self) -> None:
        self.received = 0
        """How many that count, the end included."""
        self.elapsed_ns = 0
        self.cpu_ns = 0
        """Processor time of this process while those were received."""
        self._before = 0
        self._begin_ns = 0
        self._begin_cpu_ns = 0

    def mark(self, kind: int, count: int) -> bool:
        """A payload that is not plain has come, the `count`-th; whether it was the last one."""
        if kind == BEGIN:
            self._before = count
            self._begin_ns = time.perf_counter_ns()
            self._begin_cpu_ns = time.process_time_ns()
            return False
        self.elapsed_ns = time.perf_counter_ns() - self._begin_ns
        self.cpu_ns = time.process_time_ns() - self._begin_cpu_ns
        self.received = count - self._before
        return True


@final
class Stopwatch:
    """Round trips of one message at a time."""

    def __init__(self, size: int, seconds: float) -> None:
        self.ping: Final = payload_of(size)
        self.end: Final = payload_of(size, END)
        self._seconds: Final = seconds
        self._times_ns: list[int] = []

    def turns(self) -> Iterator[None]:
        """One turn for each ping to be sent and awaited; the time of each is taken."""
        for _ in range(PINGS_WARM_UP):
            yield
        times_ns = self._times_ns
        until_ns = time.perf_counter_ns() + int(self._seconds * 1e9)
        for _ in range(PINGS_MAX):
            start_ns = time.perf_counter_ns()
            yield
            end_ns = time.perf_counter_ns()
            times_ns.append(end_ns - start_ns)
            if end_ns > until_ns:
                return

    def quantile_us(self, share: float) -> float:
        """The round trip that this share of all did not exceed, in microseconds."""
        ordered = sorted(self._times_ns)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000

    def __len__(self) -> int:
        return len(self._times_ns)


Played: TypeAlias = Coroutine[None, None, None] | None
"""What playing a role returns: nothing, or what is still to be run in an event loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRun:
    """What a role knows of the rest of the round."""

    announce: Callable[[str], None]
    """To be called by the one who listens, when it does, with its address."""
    address: str = ""
    """Where the other one listens."""
    broker: str = ""
    """Where the broker is, for libraries that have one."""

    def wait_for_release(self) -> None:
        """Return when the other side has got everything, so that closing loses nothing."""
        sys.stdin.readline()

    async def released(self) -> None:
        """The same for those who have an event loop to keep going."""
        await asyncio.to_thread(self.wait_for_release)


class Library(ABC):
    """A library, in one way of using it."""

    name: str
    """As the results call it."""
    package: str
    """What has to be importable."""

    def objection(self) -> str | None:
        """Why it cannot be measured here, or None."""
        if find_spec(self.package) is None:
            return f"the Python package {self.package} is not installed"
        return None

    @contextmanager
    def broker(self) -> Iterator[str]:
        """Whatever else has to run during a round; its address."""
        yield ""

    def run(self, played: Played) -> None:
        """Play a role to its end."""
        if played is not None:
            asyncio.run(played)


class Contestant(Library):
    """A library that sends messages."""

    @abstractmethod
    def sink(self, stage: ContestRun, tally: ReceiveTally) -> Played:
        """Listen, and count a volley."""

    @abstractmethod
    def source(self, stage: ContestRun, volley: Volley) -> Played:
        """Send the volley to the sink, and leave nothing behind."""

    @abstractmethod
    def echo(self, stage: ContestRun) -> Played:
        """Listen, and send every message back, up to the end."""

    @abstractmethod
    def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> Played:
        """Send one message at a time and wait until it has come back; the end last."""


class Multicaster(Library):
    """A library that sends one message to many receivers."""

    @abstractmethod
    def listen(self, stage: ContestRun, tally: ReceiveTally, name: str) -> Played:
        """Listen as the receiver of this name, and count a volley."""

    @abstractmethod
    def spread(self, stage: ContestRun, volley: Volley, receivers: Mapping[str, str]) -> Played:
        """Send the volley to all these receivers, by their addresses, and leave nothing behind."""


def package(name: str) -> Any:  # noqa: ANN401 it may not be installed, so its types are not known
    """A package that a plain install does not have."""
    return import_module(name)


def free_port() -> int:
    """A TCP port that nobody listens on, for those who cannot choose one themselves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
