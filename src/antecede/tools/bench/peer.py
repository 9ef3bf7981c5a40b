"""What a messaging library has to be able to do to be measured: four roles, in two processes.

One process listens (`sink`, `echo`) and says where, the other one connects (`source`, `ping`). A
role is written as a user of that library would write it for speed: a function, or a coroutine
function where the library wants an event loop.
"""

import asyncio
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from antecede.tools.bench.load import Stopwatch, Tally, Volley

Played: TypeAlias = Coroutine[None, None, None] | None
"""What playing a role returns: nothing, or what is still to be run in an event loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
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


class Peer(ABC):
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

    @abstractmethod
    def sink(self, stage: Stage, tally: Tally) -> Played:
        """Listen, and count a volley."""

    @abstractmethod
    def source(self, stage: Stage, volley: Volley) -> Played:
        """Send the volley to the sink, and leave nothing behind."""

    @abstractmethod
    def echo(self, stage: Stage) -> Played:
        """Listen, and send every message back, up to the end."""

    @abstractmethod
    def ping(self, stage: Stage, stopwatch: Stopwatch) -> Played:
        """Send one message at a time and wait until it has come back; the end last."""


def package(name: str) -> Any:  # noqa: ANN401 it may not be installed, so its types are not known
    """A package that a plain install does not have."""
    return import_module(name)


def free_port() -> int:
    """A TCP port that nobody listens on, for those who cannot choose one themselves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
