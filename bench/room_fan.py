"""One member of a large group speaks, all others read: rooms beside NATS and zenoh.

Each way runs in a process of its own, all members in that one process, in turn; where Linux allows
it, in a network namespace, so that what goes over loopback is counted for it alone: IP packets,
with headers and acknowledgements. NATS has its server besides, whose memory does not count; zenoh
has the speaker in the middle. Only rooms know everybody: there each member could speak.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from antecede import Room, open_node
from bench.live.peer import free_port, package
from bench.live.peers.nats_client import BYTES_MAX, Nats, subscribe
from bench.live.peers.zenoh_session import Zenoh, publisher, session

TIMEOUT_S: Final = 40.0
"""After which a way is given up."""

AT_ONCE: Final = 10
"""How many come at a time."""

OWN_LOOPBACK: Final = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
"""Runs a command in a network of its own."""

PLAIN, COUNTED = b"\0", b"\1"

Read: TypeAlias = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Load:
    """How much of it."""

    members: int = 100
    messages: int = 1_000
    size: int = 100


DEFAULTS: Final = Load()


class Way(ABC):
    """How one speaks and others read."""

    name: str

    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack: Final = stack

    def objection(self) -> str | None:
        """Why this cannot be had on this machine."""
        return None

    @abstractmethod
    async def speaker(self) -> None:
        """The first one comes."""

    @abstractmethod
    async def reader(self, number: int, read: Read) -> None:
        """Another one comes."""

    @abstractmethod
    async def say(self, payload: bytes, times: int) -> None:
        """To all who are there."""


class Rooms(Way):
    """A room of antecede."""

    name = "antecede"

    async def speaker(self) -> None:
        node = await open_node("hub", accept_unknown="anybody")
        self.stack.callback(node.abandon)  # A hundred farewells are not measured.
        self._via = str(node.address)
        self._room = await node.join("all")

    async def reader(self, number: int, read: Read) -> None:
        node = await open_node(f"m{number}", accept_unknown="anybody")
        self.stack.callback(node.abandon)
        room = await node.join("all", via=self._via)
        self.stack.callback(asyncio.create_task(take(room, read)).cancel)

    async def say(self, payload: bytes, times: int) -> None:
        for _ in range(times):
            await self._room.send(payload)


async def take(room: Room, read: Read) -> None:
    """Read until the room is left."""
    async for message in room:
        read(message.payload)


class NatsCore(Way):
    """A subject of a NATS server; a client each."""

    name = "nats"

    def objection(self) -> str | None:
        return Nats().objection()

    async def _client(self) -> Any:  # noqa: ANN401 of a package that may not be installed
        client = await package("nats").connect(self._server, pending_size=BYTES_MAX)
        self.stack.push_async_callback(client.close)
        return client

    async def speaker(self) -> None:
        self._server = self.stack.enter_context(Nats().broker())
        self._speaker = await self._client()

    async def reader(self, number: int, read: Read) -> None:  # noqa: ARG002 they need no names
        async def arrive(message: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            read(message.data)

        await subscribe(await self._client(), "all", arrive)

    async def say(self, payload: bytes, times: int) -> None:
        for _ in range(times):
            await self._speaker.publish("all", payload)
        await self._speaker.flush()


class ZenohStar(Way):
    """A zenoh session each, connected to that of the speaker by TCP."""

    name = "zenoh"

    def objection(self) -> str | None:
        return Zenoh().objection()

    async def speaker(self) -> None:
        self._endpoint = f"tcp/127.0.0.1:{free_port()}"
        own = self.stack.enter_context(session(listen=self._endpoint))
        self._out = self.stack.enter_context(publisher(own, "all", False))

    async def reader(self, number: int, read: Read) -> None:  # noqa: ARG002 they need no names
        def arrive(sample: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            read(sample.payload.to_bytes())

        own = await asyncio.to_thread(session, connect=self._endpoint)
        self.stack.enter_context(own)
        self.stack.enter_context(own.declare_subscriber("all", arrive))

    async def say(self, payload: bytes, times: int) -> None:
        def put() -> None:
            for _ in range(times):
                self._out.put(payload)

        await asyncio.to_thread(put)


WAYS: Final[dict[str, type[Way]]] = {way.name: way for way in (Rooms, NatsCore, ZenohStar)}


class Tally:
    """Who has read how much."""

    def __init__(self, readers: int, messages: int) -> None:
        self.met: Final[set[int]] = set()
        self._left: Final = [messages] * readers
        self._unfinished = readers
        self._lock: Final = threading.Lock()
        self.ended_ns = 0

    def read(self, number: int, payload: bytes) -> None:
        """A reader has this; some libraries call it in threads of theirs."""
        if payload[:1] != COUNTED:
            self.met.add(number)
            return
        self._left[number] -= 1
        if not self._left[number]:
            with self._lock:
                self._unfinished -= 1
                if not self._unfinished:
                    self.ended_ns = time.monotonic_ns()


async def fan(name: str, load: Load) -> dict[str, float]:
    """One round of one way."""
    readers = load.members - 1
    tally = Tally(readers, load.messages)
    async with AsyncExitStack() as stack, asyncio.timeout(TIMEOUT_S):
        way = WAYS[name](stack)
        await way.speaker()
        await way.reader(0, partial(tally.read, 0))
        memory, begun = resident_bytes(), time.monotonic()
        for first in range(1, readers, AT_ONCE):
            some = range(first, min(first + AT_ONCE, readers))
            await asyncio.gather(*(way.reader(one, partial(tally.read, one)) for one in some))
        joined_s = time.monotonic() - begun
        while len(tally.met) < readers:  # Some are told late who is there.
            await way.say(PLAIN, 1)
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        memory = resident_bytes() - memory
        sent, begun_ns = loopback_bytes(), time.monotonic_ns()
        await way.say(COUNTED + b"x" * (load.size - 1), load.messages)
        while not tally.ended_ns:
            await asyncio.sleep(0.005)
        sent = loopback_bytes() - sent
        deliveries = readers * load.messages
        return {
            "deliveries": deliveries,
            "deliveries_per_s": deliveries / (tally.ended_ns - begun_ns) * 1e9,
            "bytes_per_delivery": sent / deliveries,
            "kb_per_member": memory / max(1, readers - 1) / 1000,
            "seconds_to_form": joined_s,
        }


def resident_bytes() -> int:
    """The memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def loopback_bytes() -> int:
    """What has gone over loopback, in this network namespace."""
    lines = Path("/proc/self/net/dev").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.split()[0] == "lo:")


def run_one(name: str, load: Load, *, alone: bool) -> dict[str, float] | str:
    """One round in a process of its own: figures, or why there are none."""
    numbers = map(str, (load.members, load.messages, load.size))
    command = [sys.executable, "-m", "bench.room_fan", name, *numbers]
    try:
        ran = subprocess.run(
            [*OWN_LOOPBACK, *command] if alone else command,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"not done within {TIMEOUT_S:g} s"
    lines = ran.stdout.splitlines()
    if not lines:
        return (ran.stderr.splitlines() or ["it said nothing"])[-1]
    figures: dict[str, float] = json.loads(lines[-1])
    return figures


def is_alone() -> bool:
    """Whether a process here can have a network of its own."""
    try:
        tried = subprocess.run([*OWN_LOOPBACK, "true"], capture_output=True, check=False)
    except OSError:
        return False
    return tried.returncode == 0


def compare(members: int, messages: int, size: int, rounds: int) -> None:
    """All ways, in turn; medians, and how each stands to NATS."""
    load, alone = Load(members, messages, size), is_alone()
    if not alone:
        print("bytes are those of all programs on this machine: `unshare -rn` is not allowed here")
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(rounds):
        for name, kind in WAYS.items():
            why = kind(AsyncExitStack()).objection()
            outcome = run_one(name, load, alone=alone) if why is None else why
            if isinstance(outcome, str):
                print(f"{name:10} nothing: {outcome}")
            else:
                found[name].append(outcome)
    for name, figures in found.items():
        print(f"{name:10} " + "  ".join(shown(figures, found["nats"], key) for key in figures[0]))


def shown(figures: list[dict[str, float]], beside: list[dict[str, float]], key: str) -> str:
    """A median, and its ratio to that of NATS."""
    median = statistics.median(one[key] for one in figures)
    if not beside or key == "deliveries":
        return f"{key} {median:,.5g}"
    return f"{key} {median:,.5g} ({median / statistics.median(one[key] for one in beside):.2f})"


if __name__ == "__main__":
    print(json.dumps(asyncio.run(fan(sys.argv[1], Load(*map(int, sys.argv[2:5]))))))
