"""What a carrier costs: two nodes in one process, the same messages over UDP, TCP and NATS.

    python -m bench carriers [MESSAGES] [ROUND_TRIPS]

Throughput of messages of 100 bytes, and the median round trip, both best of three. NATS needs the
program nats-server and the package nats-py; without them it is left out.
"""

import asyncio
import json
import shutil
import statistics
import sys
import time
from importlib.util import find_spec

from antecede import Node, open_node
from bench.live.peers.nats_client import Nats

PAYLOAD = b"x" * 100
ROUNDS = 3


async def pair(bind: str) -> tuple[Node, Node]:
    """Two nodes that know each other."""
    alice, bob = await open_node("alice", bind=bind), await open_node("bob", bind=bind)
    named = bind.startswith("nats")
    alice.add_peer("bob", None if named else bob.address)
    bob.add_peer("alice", None if named else alice.address)
    return alice, bob


async def send_many(node: Node, messages: int) -> None:
    """As fast as there is room."""
    for _ in range(messages):
        await node.send("bob", PAYLOAD)


async def throughput(bind: str, messages: int) -> float:
    """Messages per second."""
    alice, bob = await pair(bind)
    await alice.send("bob", PAYLOAD)
    await bob.receive()
    begun = time.perf_counter()
    sending = asyncio.create_task(send_many(alice, messages))
    for _ in range(messages):
        await bob.receive()
    seconds = time.perf_counter() - begun
    await sending
    await asyncio.gather(alice.close(), bob.close())
    return messages / seconds


async def round_trip(bind: str, trips: int) -> float:
    """Median, in microseconds."""
    alice, bob = await pair(bind)

    async def echo() -> None:
        async for message in bob:
            await bob.send("alice", message.payload)

    echoing = asyncio.create_task(echo())
    taken = []
    for _ in range(trips):
        begun = time.perf_counter()
        await alice.send("bob", PAYLOAD)
        await alice.receive()
        taken.append(time.perf_counter() - begun)
    await asyncio.gather(alice.close(), bob.close())
    await echoing
    return statistics.median(taken) * 1e6


def measure(name: str, bind: str, messages: int, trips: int) -> dict[str, float]:
    """One line of the table."""
    rates = [asyncio.run(throughput(bind, messages)) for _ in range(ROUNDS)]
    times = [asyncio.run(round_trip(bind, trips)) for _ in range(ROUNDS)]
    print(f"{name:5} {max(rates) / 1000:8.0f} k messages/s {min(times):8.0f} µs", flush=True)
    return {"messages_per_s": round(max(rates)), "round_trip_us": round(min(times))}


def main(messages: int = 50_000, trips: int = 1_000) -> None:
    """All carriers that can be had here."""
    found = {
        "udp": measure("udp", "127.0.0.1:0", messages, trips),
        "tcp": measure("tcp", "tcp://127.0.0.1:0", messages, trips),
    }
    if shutil.which("nats-server") and find_spec("nats"):
        with Nats().broker() as broker:
            found["nats"] = measure("nats", broker, messages, trips)
    for figures in found.values():
        for name in ("messages_per_s", "round_trip_us"):
            figures[f"{name}_of_udp"] = round(figures[name] / found["udp"][name], 2)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
