"""What else there is to measure of antecede alone: distance, records, and many peers.

Distance: throughput through the same proxy with and without a delay, given enough window. A
protocol that waits for an answer before it sends on (MF, Cykas) sends one message a round trip;
ours should not notice the distance once the windows are as large as what is under way.

Records: the same volley with and without an event log, or a journal.

Many peers: what a message costs and what a peer takes, from a few to hundreds per node. One process
is the hub, another one holds all the others, every one a node of its own with a socket. Time is
processor time of the hub, so that it does not matter how busy the others' process is.
`python -m bench.live.studies ROLE NUMBER` is one of these processes.
"""

import asyncio
import faulthandler
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.node import Node
from antecede.runtime.opening import open_node
from antecede_lab.chaos.proxy import Conditions
from antecede_lab.child import Child, Json, Line, say
from bench.live.contest import Show, Throughput, machine, measure_throughput, rounded
from bench.live.peer import payload_of
from bench.live.peers.antecede_node import JOURNALS

WINDOWS: Final = {
    "ANTECEDE_RECEIVE_WINDOW": "64MiB",
    "ANTECEDE_SEND_LIMIT": "200000",
    "ANTECEDE_SEND_BYTES": "256MiB",
}
"""Several times what is under way at 50 ms: these are what is not measured here."""

MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DistancePlan:
    """How far, how large, how often."""

    round_trips_ms: Sequence[int] = (0, 50)
    sizes: Sequence[int] = (64, 1024)
    keys: Sequence[str] = ("antecede-handler", "antecede-handler-1400")
    rounds: int = 3
    seconds: float = 3.0
    warm_s: float = 2.0
    """Until the congestion window has opened."""


def run_distance(plan: DistancePlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second per datagram size, message size and round trip, and their ratios."""
    figures: dict[tuple[str, int, int], list[float]] = {}
    for number in range(plan.rounds):
        for key in plan.keys:
            for size in plan.sizes:
                for trip_ms in plan.round_trips_ms:
                    show(f"distance {number + 1} of {plan.rounds}: {key}, {size} B, {trip_ms} ms")
                    speed = at_a_distance(key, size, trip_ms, plan)
                    figures.setdefault((key, size, trip_ms), []).append(speed)
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "throughput": {
            key: {
                str(size): speeds({trip: figures[key, size, trip] for trip in plan.round_trips_ms})
                for size in plan.sizes
            }
            for key in plan.keys
        },
    }


def at_a_distance(key: str, size: int, round_trip_ms: int, plan: DistancePlan) -> float:
    """Messages per second through a proxy that makes the round trip so long."""
    far = Conditions(latency_ns=round_trip_ms * MS // 2)
    measured = measure_throughput(
        key, size, plan.seconds, warm_s=plan.warm_s, between=far, settings=WINDOWS
    )
    return measured.messages_per_s


def speeds(by_trip: dict[int, list[float]]) -> dict[str, Json]:
    """Medians per round trip, and the last over the first, each pair from one round."""
    first, *_, last = by_trip.values()
    answer: dict[str, Json] = {f"{trip} ms": rounded(median(x)) for trip, x in by_trip.items()}
    answer["ratio"] = rounded(median(y / x for x, y in zip(first, last, strict=True)))
    return answer


PACES: Final = {"full speed": 0, "100 k/s": 100_000}
DURABLE: Final = ("sync", "process")

ROOM: Final = {"ANTECEDE_SEND_LIMIT": "65536"}
"""With and without a journal: so many messages may be under way while a disk syncs."""

Volley: TypeAlias = Callable[[bool], Throughput]
"""Sends without a record, or with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingPlan:
    """Which node, and how often."""

    key: str = "antecede-handler"
    size: int = 64
    rounds: int = 5
    seconds: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPlan(TracingPlan):
    """The same; the journals are in a folder on the disk that is measured."""

    folder: Path = Path()


def run_tracing(plan: TracingPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second without and with an event log on both sides, and the ratio."""

    def at(per_s: int) -> Volley:
        def volley(traced: bool) -> Throughput:
            with tempfile.TemporaryDirectory() as folder:
                kept = {"ANTECEDE_TRACE": folder} if traced else {}
                size, seconds = plan.size, plan.seconds
                return measure_throughput(plan.key, size, seconds, per_s=per_s, settings=kept)

        return volley

    ways = {pace: at(per_s) for pace, per_s in PACES.items()}
    return in_pairs("tracing", ways, plan.rounds, lambda text: show(f"event log {text}"))


def run_journal(plan: JournalPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second without and with a journal on both sides, and the ratio."""

    def to(durable: str) -> Volley:
        def volley(kept: bool) -> Throughput:
            with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
                journal = {JOURNALS: folder, "ANTECEDE_DURABLE": durable}
                settings = {**ROOM, **(journal if kept else {JOURNALS: ""})}
                return measure_throughput(plan.key, plan.size, plan.seconds, settings=settings)

        return volley

    ways = {durable: to(durable) for durable in DURABLE}
    return in_pairs("journal", ways, plan.rounds, lambda text: show(f"journal {text}"))


def in_pairs(what: str, ways: Mapping[str, Volley], rounds: int, show: Show) -> dict[str, Json]:
    """Every way in every round, without and with; what is recorded is thrown away."""
    pairs: dict[str, list[tuple[Throughput, Throughput]]] = {way: [] for way in ways}
    for number in range(rounds):
        for way, volley in ways.items():
            show(f"{number + 1} of {rounds}: {way}")
            pairs[way].append((volley(False), volley(True)))
    found = {way: compared(measured) for way, measured in pairs.items()}
    return {"machine": machine(), "rounds": rounds, what: found}


def compared(pairs: list[tuple[Throughput, Throughput]]) -> dict[str, Json]:
    """Medians without and with a log, and of the ratios of the pairs."""
    return {
        "without_messages_per_s": rounded(median(off.messages_per_s for off, _ in pairs)),
        "with_messages_per_s": rounded(median(on.messages_per_s for _, on in pairs)),
        "ratio": rounded(median(on.messages_per_s / off.messages_per_s for off, on in pairs)),
        "without_cpu_us": rounded(median(off.cpu_us for off, _ in pairs)),
        "with_cpu_us": rounded(median(on.cpu_us for _, on in pairs)),
    }


STYLES: Final = ("packed", "single")
"""Sixteen messages to a datagram, or one."""

WAIT_S: Final = 120.0
"""Hundreds of greetings take a while on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdPlan:
    """How many peers, how many messages, how often."""

    peers: Sequence[int] = (2, 8, 32, 128, 500)
    messages: int = 50_000
    rounds: int = 3
    in_flight: int = 200_000


def run_crowd(plan: CrowdPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Processor time per message against the number of peers, and memory per peer and message."""
    measured: dict[int, list[Line]] = {peers: [] for peers in plan.peers}
    for number in range(plan.rounds):
        for peers in plan.peers:
            show(f"many peers {number + 1} of {plan.rounds}: {peers}")
            measured[peers].append(with_so_many(peers, plan.messages))
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "hub": {style: by_peers(measured, style) for style in STYLES},
        "bytes_per_idle_peer": rounded(median(x["peer_bytes"] for x in measured[plan.peers[-1]])),
        "bytes_per_message_in_flight": rounded(bytes_in_flight(plan.in_flight)),
    }


def by_peers(measured: dict[int, list[Line]], style: str) -> dict[str, Json]:
    """Medians per number of peers, of processor time and of datagrams per message."""
    figures = {
        unit: {
            str(peers): median(reading[style][unit] for reading in readings)
            for peers, readings in measured.items()
        }
        for unit in ("us", "datagrams")
    }
    per_datagram = [figures["us"][x] / figures["datagrams"][x] for x in figures["us"]]
    return {
        "cpu_us_per_message": {x: rounded(y) for x, y in figures["us"].items()},
        "datagrams_per_message": {x: rounded(y) for x, y in figures["datagrams"].items()},
        "most_over_least": rounded(spread(list(figures["us"].values()))),
        "most_over_least_per_datagram": rounded(spread(per_datagram)),
    }


def with_so_many(peers: int, messages: int) -> Line:
    """What the hub found out with this many peers."""
    with Child.python("bench.live.studies", "others", str(peers)) as others:
        addresses = others.hear(WAIT_S)["addresses"]
        with Child.python("bench.live.studies", "hub", str(messages)) as hub:
            hub.tell({"addresses": addresses})
            return hub.hear(WAIT_S, beside=others)


def bytes_in_flight(messages: int) -> float:
    """Bytes of memory per message that is accepted and not acknowledged, 64 bytes of it its own."""
    with Child.python("bench.live.studies", "in-flight", str(messages)) as child:
        return float(child.hear(WAIT_S)["message_bytes"])


def spread(figures: list[float]) -> float:
    """The most over the least."""
    return max(figures) / min(figures)


LIFE_S: Final = 240.0
HUB: Final = "hub"
SIZE: Final = 64
PACKED: Final = 16
"""Messages that are sent together, so that they share a datagram."""

SMALL: Final = {
    "receive_window": "256KiB",
    "mtu": 1400,
    "heartbeat": "60s",
    "silent_after": "10min",
    "busy_poll": False,
}
"""Hundreds of nodes in one process: windows that fit, no heartbeats, no waiting among the work."""


def resident_bytes() -> int:
    """How much memory this process takes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def forget(_: InboundMessage) -> None:
    """Do nothing with a message."""


async def others(number: int) -> None:
    """So many nodes that know the hub and throw away what it sends; until input ends."""
    async with AsyncExitStack() as stack:
        nodes = []
        for index in range(number):
            opening = open_node(f"n{index}", peers={HUB: None}, linger=0, settings=SMALL)
            node = await opening
            stack.callback(node.abandon)
            node.on_message(forget)
            nodes.append(node)
        say({"addresses": {node.name: str(node.address) for node in nodes}})
        await asyncio.to_thread(sys.stdin.read)


async def hub(messages: int) -> None:
    """Meet everybody, then send to all in turn; say what a message cost and what a peer took."""
    addresses = json.loads(await asyncio.to_thread(sys.stdin.readline))["addresses"]
    node = await open_node(HUB, settings=SMALL)
    gc.collect()
    before = resident_bytes()
    for name, address in addresses.items():
        node.add_peer(name, address)
    while node.stats().peers_met < len(addresses):
        await asyncio.sleep(0.05)
    gc.collect()
    peer_bytes = (resident_bytes() - before) / len(addresses)
    names = list(addresses)
    await cost(node, names, messages // 5, PACKED)
    say(
        {
            "packed": await cost(node, names, messages, PACKED),
            "single": await cost(node, names, messages // PACKED, 1),
            "peer_bytes": peer_bytes,
        }
    )
    node.abandon()


async def cost(node: Node, names: list[str], messages: int, at_once: int) -> dict[str, float]:
    """Processor time and datagrams per message, so many messages at once to each peer in turn.

    Each datagram is acknowledged before the next one leaves, so that with few peers no more
    messages share a datagram than with many. Only what rides along differs: who is soon written to
    again needs no datagram of its own for an acknowledgement.
    """
    payload = payload_of(SIZE)
    before = datagrams(node)
    begin_ns = time.process_time_ns()
    turns = cycle(names)
    for _ in range(messages // at_once):
        name = next(turns)
        for _ in range(at_once):
            await node.send(name, payload)
        await node.flush()
    elapsed_us = (time.process_time_ns() - begin_ns) / 1000
    sent = messages // at_once * at_once
    return {"us": elapsed_us / sent, "datagrams": (datagrams(node) - before) / sent}


def datagrams(node: Node) -> int:
    """How many have gone and come."""
    stats = node.stats()
    return stats.datagrams_sent + stats.datagrams_received


async def in_flight(messages: int) -> None:
    """Send to somebody who answers nothing; say what a message takes until it is acknowledged."""
    other = await open_node("other", peers=[HUB])
    node = await open_node(
        HUB, peers={"other": other.address}, send_limit=messages, send_bytes="4GiB"
    )
    await node.meet()
    other.abandon()
    gc.collect()
    before = resident_bytes()
    for number in range(messages):
        node.try_send("other", payload_of(SIZE, number % 256))
    gc.collect()
    say({"message_bytes": (resident_bytes() - before) / messages})
    node.abandon()


ROLES: Final = {"others": others, "hub": hub, "in-flight": in_flight}


def main() -> None:
    """Play the role that the command line names."""
    role, number = sys.argv[1:]
    faulthandler.dump_traceback_later(LIFE_S, exit=True)
    asyncio.run(ROLES[role](int(number)))


if __name__ == "__main__":
    main()
