"""Throughput of a pipeline against distance: real nodes, two other algorithms, and TCP.

A source sends messages at a steady rate to a worker, which passes each on to a sink. Source and
sink are on one host, the worker on another, and the wire between them (`bench.lossy_wire`, below
IP, so that TCP meets it too) takes its time in each direction. What reaches the sink per second,
against that delay, is the paper's *spatially scalable throughput*: it should not depend on it.

- `hybrid`: three nodes (`antecede.open_node`), as an application would use them.
- `mf`, `cykas`: the processes of the laboratory on UDP sockets, with timers; `cykas` over its
  reliable link. `hybrid-core` is the core of the nodes on the same sockets, for comparison.
- `tcp`: two connections.

Without root there is no such wire: `--proxy` has a relay for datagrams in its place, and no TCP.
`python -m bench pipeline` prints a table as JSON.
"""

import argparse
import asyncio
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from typing import Final, cast

from antecede.core import BufferFull, Deliver, Effect, RemoteError, Transmit
from antecede.core.catalogue import ProtocolInfo
from antecede.runtime.opening import open_node
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.child import Child, say
from antecede_lab.simulator.reliable_link import over_lossy
from antecede_lab.wire.codec import codec_of
from bench.lossy_wire import ADDRESSES, LossyWire, run_ahead

WAYS: Final = ("hybrid", "hybrid-core", "mf", "cykas", "tcp")
DELAYS_MS: Final = (0.0, 10.0, 100.0)
ROLES: Final = ("source", "worker", "sink")
HOSTS: Final = {"source": "left", "worker": "right", "sink": "left"}
PORT: Final = 9100
SIZE: Final = 100

Take = Callable[[bytes], None]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run; passed on to all three."""

    way: str
    delay_ms: float
    per_s: int = 500
    warm_s: float = 2.0
    seconds: float = 5.0
    there: dict[str, dict[str, str]] = field(default_factory=dict)
    """By process, where it has to believe each of the others to be; itself: where it listens."""

    @property
    def messages(self) -> int:
        """All messages of the source."""
        return round((self.warm_s + self.seconds) * self.per_s)

    @property
    def lasts_s(self) -> float:
        """Until everything has been looked at: two hops later than it was sent."""
        return self.warm_s + self.seconds + 3 * self.delay_ms / 1000


class Tally:
    """What reaches the sink, and when."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def take(self, _payload: bytes) -> None:
        """One more."""
        self.times.append(time.monotonic())

    def per_s(self, plan: Plan, started: float) -> float:
        """After the warm-up, and as many seconds as were measured."""
        begin = started + plan.warm_s + 2 * plan.delay_ms / 1000
        counted = sum(begin <= at < begin + plan.seconds for at in self.times)
        return counted / plan.seconds


# A process of the laboratory on a socket.


class Datagrams(asyncio.DatagramProtocol):
    """A protocol's process, its codec, a socket and a timer."""

    def __init__(self, info: ProtocolInfo, role: str, there: dict[str, str], take: Take) -> None:
        self._process = info.create(ROLES.index(role), range(len(ROLES)))
        self._codec = codec_of(info)
        self._addresses = [address_of(there[name]) for name in ROLES]
        self._sources = {address: place for place, address in enumerate(self._addresses)}
        self._take = take
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """A packet of one of the others."""
        source = self._sources[addr]
        with suppress(RemoteError):
            packet = self._codec.decode(data, source)
            self._perform(self._process.arrive(source, packet, time.monotonic_ns()))

    def send(self, target: str, payload: bytes) -> None:
        """Submit it, now or when there is room."""
        self._waiting.append((target, payload))
        self._perform([])

    def _perform(self, effects: list[Effect]) -> None:
        assert self._transport is not None
        for effect in effects:
            if isinstance(effect, Transmit):
                data = self._codec.encode(effect.packet)
                self._transport.sendto(data, self._addresses[effect.target])
            elif isinstance(effect, Deliver):
                self._take(effect.message.payload)
        with suppress(BufferFull):
            while self._waiting:
                target, payload = self._waiting[0]
                place = ROLES.index(target)
                submitted = self._process.submit([place], payload, time.monotonic_ns())
                self._waiting.popleft()
                self._perform(submitted)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due_ns = self._process.deadline_ns()
        if due_ns is not None:
            wait_s = max(0, due_ns - time.monotonic_ns()) / 1e9
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._ring)

    def _ring(self) -> None:
        self._perform(self._process.expire(time.monotonic_ns()))


def address_of(text: str) -> tuple[str, int]:
    """A host and a port."""
    host, _, port = text.rpartition(":")
    return host, int(port)


# The three of them, whatever carries.


async def offer(plan: Plan, send: Callable[[bytes], Awaitable[object] | None]) -> None:
    """Send at a steady rate; where that waits, what is late is sent as soon as it can be."""
    start = time.monotonic()
    for number in range(plan.messages):
        wait_s = start + number / plan.per_s - time.monotonic()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        sent = send(b"%d" % number + b"." * SIZE)
        if sent is not None:
            await sent


async def until_told() -> float:
    """The moment at which everything begins, when everybody is ready."""
    say({"ready": True})
    line = await asyncio.to_thread(sys.stdin.readline)
    return float(json.loads(line)["begin"])


async def finish(role: str, plan: Plan, tally: Tally, started: float) -> None:
    """The sink says what it counted; the others wait for the end."""
    if role == "sink":
        await asyncio.sleep(max(0.0, started + plan.lasts_s - time.monotonic()))
        say({"per_s": tally.per_s(plan, started)})
    await asyncio.to_thread(sys.stdin.readline)


async def play_datagrams(role: str, plan: Plan) -> None:
    """`mf`, `cykas` or the core of the nodes."""
    tally = Tally()
    info = over_lossy(PROTOCOLS["hybrid" if plan.way == "hybrid-core" else plan.way])
    there = plan.there[role]

    def take(payload: bytes) -> None:
        if role == "worker":
            process.send("sink", payload)
        else:
            tally.take(payload)

    process = Datagrams(info, role, there, take)
    listens = address_of(there["listen"])
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: process, local_addr=listens)
    started = await until_told()
    if role == "source":
        await offer(plan, lambda payload: process.send("worker", payload))
    await finish(role, plan, tally, started)


async def play_nodes(role: str, plan: Plan) -> None:
    """Three nodes."""
    tally = Tally()
    there = plan.there[role]
    peers = {name: there[name] for name in ROLES if name != role}
    async with open_node(role, bind=there["listen"], peers=peers, insecure=True) as node:

        async def passing() -> None:
            async for message in node:
                if role == "worker":
                    await node.send("sink", message.payload)
                else:
                    tally.take(message.payload)

        reading = asyncio.create_task(passing())
        await node.meet()
        started = await until_told()
        if role == "source":
            await offer(plan, lambda payload: node.send("worker", payload))
        await finish(role, plan, tally, started)
        reading.cancel()


async def play_tcp(role: str, plan: Plan) -> None:
    """A connection from the source to the worker, and one from there to the sink."""
    tally = Tally()
    there = plan.there[role]
    size = len(b"%d" % plan.messages) + SIZE
    onward: asyncio.StreamWriter | None = None

    async def taking(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while True:
                payload = await reader.readexactly(size)
                if onward is not None:
                    onward.write(payload)
                else:
                    tally.take(payload)

    if role != "source":
        await asyncio.start_server(taking, *address_of(there["listen"]))
    if role != "sink":
        following = ROLES[ROLES.index(role) + 1]
        for _ in range(100):
            with suppress(OSError):
                _, onward = await asyncio.open_connection(*address_of(there[following]))
                break
            await asyncio.sleep(0.1)
    started = await until_told()
    if role == "source":
        assert onward is not None
        writer = onward

        def send(payload: bytes) -> Coroutine[None, None, None]:
            writer.write(payload.ljust(size, b"."))
            return writer.drain()

        await offer(plan, send)
    await finish(role, plan, tally, started)


def play(role: str, plan: Plan) -> None:
    """Be one of the three."""
    ways = {"hybrid": play_nodes, "tcp": play_tcp}
    asyncio.run(ways.get(plan.way, play_datagrams)(role, plan))


# The measurement.


def places(hosts: dict[str, str]) -> dict[str, dict[str, str]]:
    """Everybody where it is."""
    at = {role: f"{hosts[role]}:{PORT + number}" for number, role in enumerate(ROLES)}
    return {role: {**at, "listen": at[role]} for role in ROLES}


def through_proxy(stack: ExitStack, delay_ms: float) -> dict[str, dict[str, str]]:
    """A relay for datagrams between all three, on this host."""
    local = {role: f"127.0.0.1:{PORT + number}" for number, role in enumerate(ROLES)}
    settings = {"nodes": local, "set": {"latency_ns": round(delay_ms * 1e6)}}
    command = [sys.executable, "-m", "antecede_lab.chaos.proxy", "--config", json.dumps(settings)]
    ports = stack.enter_context(Child(command, name="proxy")).hear()["addresses"]
    return {role: {**ports[role], role: local[role], "listen": local[role]} for role in ROLES}


def measure(plan: Plan, proxy: bool) -> float:
    """Messages per second that reach the sink."""
    with ExitStack() as stack:
        wire = None if proxy else stack.enter_context(LossyWire(delay_ms=plan.delay_ms))
        hosts = {role: ADDRESSES[host] for role, host in HOSTS.items()}
        there = through_proxy(stack, plan.delay_ms) if wire is None else places(hosts)
        told = json.dumps({**asdict(plan), "there": there})
        children: dict[str, Child] = {}
        for role in reversed(ROLES):
            program = [sys.executable, "-m", "bench.pipeline", "--play", role, told]
            command = program if wire is None else [*wire.within(HOSTS[role]), *program]
            children[role] = stack.enter_context(Child(command, name=role))
        for child in children.values():
            child.hear()
        begin = time.monotonic()
        for role in reversed(ROLES):
            children[role].tell({"begin": begin})
        answer = children["sink"].hear(plan.lasts_s + 30.0, beside=children["worker"])
        for child in children.values():
            child.tell({"end": True})
        return float(answer["per_s"])


def main() -> None:
    """Measure, or be one of the three."""
    parser = argparse.ArgumentParser(prog="python -m bench pipeline", description=__doc__)
    parser.add_argument("--play", nargs=2, metavar=("ROLE", "PLAN"), help="be one of the three")
    parser.add_argument("--way", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--delay", type=float, nargs="+", default=DELAYS_MS, help="one way, in ms")
    parser.add_argument("--rate", type=int, default=500, help="messages offered per second")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--proxy", action="store_true", help="without root; no TCP then")
    chosen = parser.parse_args()
    if chosen.play:
        run_ahead()
        play(chosen.play[0], Plan(**json.loads(chosen.play[1])))
        return
    # Whoever ends this process must find none of its children afterwards.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found: dict[str, dict[str, float]] = {}
    for way in chosen.way:
        if way == "tcp" and chosen.proxy:
            continue
        for delay_ms in chosen.delay:
            plan = Plan(way=way, delay_ms=delay_ms, per_s=chosen.rate, seconds=chosen.seconds)
            found.setdefault(way, {})[f"{delay_ms:g} ms"] = measure(plan, chosen.proxy)
            print(f"{way}, {delay_ms:g} ms: {found[way]}", file=sys.stderr, flush=True)
    print(json.dumps({"offered_per_s": chosen.rate, **found}))


if __name__ == "__main__":
    main()
