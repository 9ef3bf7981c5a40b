"""What a member that floods costs another: `python -m bench.fairness [--seconds 5] [--rounds 3]`.

A hub answers a quiet member, which sends one message every two milliseconds. Measured are its round
trips alone, and while another member sends the hub as much as it will take. What that one costs the
processor is not the question, but what it costs the hub: it runs at the lowest priority, and the
other two, if the operating system lets them, at a real-time priority.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from statistics import median

from antecede import Message, open_node
from antecede.tools.child import Child

HUB, QUIET, FLOOD = "hub", "quiet", "flood"
PAUSE_S = 0.002
FLOOD_BYTES = 64


def hurry() -> None:
    """Go before everything else on this machine."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


async def hub(mtu: str) -> None:
    """Answer the quiet one, count the other."""
    hurry()
    peers = {QUIET: None, FLOOD: None}
    counted = 0
    async with open_node(HUB, peers=peers, mtu=int(mtu), linger=0.1) as node:

        def take(message: Message) -> None:
            nonlocal counted
            if message.sender == QUIET:
                node.try_send(QUIET, message.payload)
            else:
                counted += 1

        node.on_message(take)
        say(address=str(node.address))
        await asyncio.to_thread(sys.stdin.readline)
        say(counted=counted, crowded_out=node.stats().crowded_out)
        os._exit(0)


async def quiet(address: str, seconds: str, mtu: str) -> None:
    """Send one message after the other, and take the time until each is back."""
    hurry()
    loop = asyncio.get_running_loop()
    trips: list[float] = []
    async with open_node(QUIET, peers={HUB: address}, mtu=int(mtu)) as node:
        until = loop.time() + float(seconds)
        while loop.time() < until:
            began = loop.time()
            await node.send(HUB, b"ping")
            await node.receive(timeout=20)
            trips.append(1e6 * (loop.time() - began))
            await asyncio.sleep(PAUSE_S)
    trips.sort()
    say(p50=trips[len(trips) // 2], p99=trips[len(trips) * 99 // 100], count=len(trips))


async def flood(address: str, mtu: str) -> None:
    """Send as much as the hub takes, until somebody ends this."""
    os.nice(19)
    payload = bytes(FLOOD_BYTES)
    node = await open_node(FLOOD, peers={HUB: address}, mtu=int(mtu))
    while True:
        await node.send(HUB, payload)


def say(**words: object) -> None:
    """Tell whoever started this process."""
    print(json.dumps(words), flush=True)


def part(*words: str) -> Child:
    """A process that plays one part."""
    return Child.python("bench.fairness", *words, name=words[0])


def measure(seconds: float, mtu: str, *, flooded: bool) -> dict[str, float]:
    """One round; the flood begins a second before."""
    with part("hub", mtu) as middle:
        address = str(middle.hear()["address"])
        if not flooded:
            with part("quiet", address, str(seconds), mtu) as member:
                return dict(member.hear(60 + seconds))
        with part("flood", address, mtu), part("quiet", address, str(seconds), mtu) as member:
            figures = dict(member.hear(60 + seconds))
            middle.tell({})
            return figures | dict(middle.hear())


def main() -> None:
    """Print the figures of all rounds, and the ratio."""
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mtu", default="1400")
    chosen = parser.parse_args()
    ratios = []
    for _ in range(chosen.rounds):
        alone = measure(chosen.seconds, chosen.mtu, flooded=False)
        beside = measure(chosen.seconds, chosen.mtu, flooded=True)
        ratios.append(beside["p99"] / alone["p99"])
        say(alone=alone, beside_a_flood=beside, p99_ratio=round(ratios[-1], 2))
    say(median_p99_ratio=round(median(ratios), 2))


ROLES: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "hub": hub,
    "quiet": quiet,
    "flood": flood,
}

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ROLES:
        with suppress(KeyboardInterrupt):
            asyncio.run(ROLES[sys.argv[1]](*sys.argv[2:]))
    else:
        main()
