"""Head-of-line blocking: what one lost packet costs messages that have nothing to do with it.

Two hosts with a wire between them that loses packets (`bench.lossy_wire`), and several pairs of
processes, one of each pair on either host, that talk at a steady rate, each pair for itself. Ways
to carry that:

- `tcp-shared`: one TCP connection between the hosts for all pairs, as systems with many processes
  per host do. What is lost holds up everything behind it, whoever it belongs to.
- `tcp-shared-bbr`: the same with BBR for its congestion control.
- `tcp-per-pair`: one TCP connection for each pair. What is lost holds up its own pair only.
- `antecede`: a node for each process, over UDP. What is lost holds up what depends on it.

Latency is from the moment a message was due at its sender to the moment its receiver has it,
whatever waited in between. All clocks are one clock: the hosts are namespaces of one machine.
Connections are made, and a second of traffic passes, before losses begin. A message is *held up* if
it takes a quarter of a round trip longer than the wire.

`python -m bench head-of-line` prints the quantiles as JSON, `--csv FILE` writes their medians over
the rounds; it needs root.
"""

import argparse
import asyncio
import json
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.opening import open_node
from antecede_lab.child import Child
from bench.lossy_wire import ADDRESSES, LossyWire, run_ahead
from bench.results import write_table

WAYS: Final = ("tcp-shared", "tcp-shared-bbr", "tcp-per-pair", "antecede")
BBR: Final = "-bbr"
PORT: Final = 9000
HEAD: Final = struct.Struct("<Iq")
"""The number of a message in the whole run, and when it was due."""

LINGER_S: Final = 20.0
"""How long the last messages may take."""

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass(frozen=True, kw_only=True)
class Talk:
    """Who says how much how often; passed on to both hosts."""

    way: str
    pairs: int = 8
    per_s: int = 50
    """Messages of each pair in a second."""
    size: int = 200
    seconds: float = 20.0
    warm_s: float = 1.0
    """Before losses begin."""
    congestion: str = "cubic"
    """The kernel's congestion control for TCP; antecede has its own."""

    @property
    def connections(self) -> int:
        """How many TCP connections carry all pairs."""
        return self.pairs if self.way == "tcp-per-pair" else 1

    @property
    def warm(self) -> int:
        """Messages that are not measured."""
        return round(self.warm_s * self.per_s) * self.pairs

    @property
    def messages(self) -> int:
        """All messages."""
        return self.warm + round(self.seconds * self.per_s) * self.pairs

    def due_ns(self, number: int) -> int:
        """When a message is due, from the start: the pairs take turns."""
        return number * 1_000_000_000 // (self.per_s * self.pairs)

    def payload(self, number: int, due_ns: int) -> bytes:
        """A message of the size asked for."""
        return HEAD.pack(number, due_ns).ljust(self.size, b".")


class Latencies:
    """What the right host has received."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.taken_ns: dict[int, int] = {}

    def take(self, payload: bytes) -> None:
        """Note a message; a second copy would be a mistake of ours."""
        number, due_ns = HEAD.unpack_from(payload)
        assert number not in self.taken_ns, f"message {number} came twice"
        self.taken_ns[number] = time.monotonic_ns() - due_ns

    @property
    def complete(self) -> bool:
        """Whether all have come."""
        return len(self.taken_ns) == self._talk.messages

    def measured(self) -> list[int]:
        """The latencies of those that were sent while packets were lost."""
        return [ns for number, ns in self.taken_ns.items() if number >= self._talk.warm]


# The left host: sends.


def say(line: dict[str, Any]) -> None:
    """One line to whoever started this process."""
    print(json.dumps(line), flush=True)


def send_by_tcp(talk: Talk) -> None:
    """Each message goes to the connection of its pair, or to the only one."""
    with ExitStack() as stack:
        connections = []
        for _ in range(talk.connections):
            connection = socket.create_connection((ADDRESSES["right"], PORT))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            name = talk.congestion.encode()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
            connections.append(stack.enter_context(connection))
        say({"ready": True})
        start_ns = time.monotonic_ns()
        for number in range(talk.messages):
            due_ns = start_ns + talk.due_ns(number)
            time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            pair = number % talk.pairs
            connections[pair % len(connections)].sendall(talk.payload(number, due_ns))
        sys.stdin.readline()


async def send_by_nodes(talk: Talk) -> None:
    """A node for each pair."""
    async with AsyncExitStack() as stack:
        nodes = []
        for pair in range(talk.pairs):
            there = {f"right{pair}": f"{ADDRESSES['right']}:{PORT + pair}"}
            bind = f"{ADDRESSES['left']}:{PORT + pair}"
            opening = open_node(f"left{pair}", bind=bind, peers=there, insecure=True)
            nodes.append(await stack.enter_async_context(opening))
        say({"ready": True})
        start_ns = time.monotonic_ns()
        for number in range(talk.messages):
            due_ns = start_ns + talk.due_ns(number)
            await asyncio.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            pair = number % talk.pairs
            await nodes[pair].send(f"right{pair}", talk.payload(number, due_ns))
        await asyncio.to_thread(sys.stdin.readline)


# The right host: receives.


def receive_by_tcp(talk: Talk, latencies: Latencies) -> None:
    """Take messages from all connections, in whatever order they come."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server((ADDRESSES["right"], PORT)))
        say({"ready": True})
        rests: dict[int, tuple[socket.socket, bytearray]] = {}
        poll = select.poll()
        while len(rests) < talk.connections:
            connection, _ = server.accept()
            stack.enter_context(connection)
            poll.register(connection, select.POLLIN)
            rests[connection.fileno()] = (connection, bytearray())
        until = time.monotonic() + talk.warm_s + talk.seconds + LINGER_S
        while not latencies.complete and time.monotonic() < until:
            for ready, _ in poll.poll(1000):
                connection, rest = rests[ready]
                rest += connection.recv(1 << 16)
                while len(rest) >= talk.size:
                    latencies.take(bytes(rest[: talk.size]))
                    del rest[: talk.size]
        tell_result(latencies)


async def receive_by_nodes(talk: Talk, latencies: Latencies) -> None:
    """A node for each pair, and a handler for all."""
    done = asyncio.Event()

    def take(message: InboundMessage) -> None:
        latencies.take(message.payload)
        if latencies.complete:
            done.set()

    async with AsyncExitStack() as stack:
        for pair in range(talk.pairs):
            bind = f"{ADDRESSES['right']}:{PORT + pair}"
            opening = open_node(
                f"right{pair}", bind=bind, peers={f"left{pair}": None}, insecure=True
            )
            node = await stack.enter_async_context(opening)
            node.on_message(take)
        say({"ready": True})
        async with asyncio.timeout(talk.warm_s + talk.seconds + LINGER_S):
            await done.wait()
        await asyncio.to_thread(tell_result, latencies)


def tell_result(latencies: Latencies) -> None:
    """The latencies, and then wait for the end: whoever leaves first must not disturb."""
    say({"latencies_ns": latencies.measured(), "complete": latencies.complete})
    sys.stdin.readline()


def play(role: str, talk: Talk) -> None:
    """Be one of the hosts."""
    run_ahead()
    if talk.way == "antecede":
        part = send_by_nodes(talk) if role == "left" else receive_by_nodes(talk, Latencies(talk))
        asyncio.run(part)
    elif role == "left":
        send_by_tcp(talk)
    else:
        receive_by_tcp(talk, Latencies(talk))


# The measurement.


def measure(talk: Talk, loss: float, delay_ms: float, seed: int) -> dict[str, Any]:
    """The quantiles of one run in milliseconds, and what happened on the wire."""
    with ExitStack() as stack:
        wire = stack.enter_context(LossyWire(delay_ms=delay_ms, seed=seed))
        hosts: dict[str, Child] = {}
        for role in ("right", "left"):
            program = [sys.executable, "-m", "bench.head_of_line", "--play", role]
            command = [*wire.within(role), *program, json.dumps(asdict(talk))]
            hosts[role] = stack.enter_context(Child(command, name=role))
            hosts[role].hear()
        time.sleep(talk.warm_s)
        wire.lose(loss)
        answer = hosts["right"].hear(talk.seconds + LINGER_S + 10.0, beside=hosts["left"])
        wire.lose(0.0)
        counts = wire.counts()
        for role in ("left", "right"):
            hosts[role].tell({"end": True})
        latencies = answer["latencies_ns"]
        assert answer["complete"], f"only {len(latencies)} messages came"
        late_ns = 1.5 * delay_ms * 1e6
        held_up = sum(ns > late_ns for ns in latencies) / len(latencies)
        figures = {**quantiles(latencies), "held up": round(held_up, 4)}
        return {**figures, "messages": len(latencies), **counts}


def quantiles(latencies_ns: Sequence[int]) -> dict[str, float]:
    """By name, in milliseconds."""
    in_order = sorted(latencies_ns)
    last = len(in_order) - 1
    return {
        name: round(in_order[min(last, int(share * len(in_order)))] / 1e6, 2)
        for name, share in QUANTILES.items()
    }


def run(
    talks: Sequence[Talk], losses: Sequence[float], delay_ms: float, rounds: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Every way at every loss, rounds interleaved: machines are noisy."""
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number in range(rounds):
        for loss in losses:
            for talk in talks:
                way = talk.way
                found = measure(talk, loss, delay_ms, number + 1)
                results.setdefault(f"{loss:.0%}", {}).setdefault(way, []).append(found)
                print(f"{loss:.0%} {way}: {found}", file=sys.stderr, flush=True)
    return results


def medians(
    results: dict[str, dict[str, list[dict[str, Any]]]],
) -> Iterator[dict[str, Any]]:
    """A row for every loss and way: of each figure the median over the rounds."""
    for loss, ways in results.items():
        for way, found in ways.items():
            figures = {
                name.replace(" ", "_"): round(median(one[name] for one in found), 4)
                for name in (*QUANTILES, "held up")
            }
            yield {"loss": loss, "way": way, **figures}


def main() -> None:
    """Measure, or be one of the hosts."""
    parser = argparse.ArgumentParser(prog="python -m bench head-of-line", description=__doc__)
    parser.add_argument("--play", nargs=2, metavar=("ROLE", "TALK"), help="be one of the hosts")
    parser.add_argument("--loss", type=float, nargs="+", default=[0.0, 0.01, 0.03])
    parser.add_argument("--delay", type=float, default=50.0, help="one way, in milliseconds")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--congestion", default="cubic", help="of TCP: cubic, reno")
    parser.add_argument("--csv", type=Path, help="write the medians to this file, too")
    chosen = parser.parse_args()
    if chosen.play:
        play(chosen.play[0], Talk(**json.loads(chosen.play[1])))
        return
    # Whoever ends this process must find neither hosts nor children of it afterwards.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    talks = [
        Talk(
            way=way,
            seconds=chosen.seconds,
            congestion="bbr" if way.endswith(BBR) else chosen.congestion,
        )
        for way in chosen.way
    ]
    results = run(talks, chosen.loss, chosen.delay, chosen.rounds)
    if chosen.csv is not None:
        write_table(chosen.csv, [*medians(results)])
    print(json.dumps(results))


if __name__ == "__main__":
    main()
