"""`python -m antecede.tools.bench.crowd_role ROLE NUMBER`: the processes of `crowd`."""

import asyncio
import faulthandler
import gc
import json
import os
import sys
import time
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path
from typing import Final

from antecede.link.inbound import InboundMessage
from antecede.live.node import Node
from antecede.live.opening import open_node
from antecede.tools.bench.load import payload_of
from antecede.tools.child import say

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
    "stay_awake": False,
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
    """Send to somebody who is not there; say what a message takes until it is acknowledged."""
    node = await open_node(
        HUB, peers={"nobody": "127.0.0.1:9"}, send_limit=messages, send_bytes="4GiB"
    )
    gc.collect()
    before = resident_bytes()
    for number in range(messages):
        node.try_send("nobody", payload_of(SIZE, number % 256))
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
