"""What a flood costs a quiet member: `python -m bench fairness [--flood member] [--seconds 5]`.

A hub answers a quiet member, which sends one message every two milliseconds. Measured are its round
trips alone; beside a flood of somebody else, which costs the machine as much and the hub nothing;
and beside the same flood of the hub. The floods, each as fast as one process can:

- `member`: another member sends the hub 64-byte messages, as many as it takes;
- `tokens`: a stranger sends 64-byte datagrams that look right, with tokens that are made up;
- `joined`: the same, 64 datagrams in a call;
- `hellos`: a stranger sends hellos that are made up.

What a flood costs the processor is not the question, but what it costs the hub. So the hub has a
core of its own, and the flood shares the other with the quiet one, which goes before it, if the
operating system allows that (`--plain`: everybody runs wherever, and nobody goes first).
"""

import argparse
import asyncio
import json
import os
import socket
import struct
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from random import Random
from statistics import median
from time import monotonic

from antecede import Message, open_node
from antecede.runtime.carriers.segments import SOL_UDP, UDP_SEGMENT
from antecede.runtime.config.addresses import parse_address
from antecede.runtime.security.keys import SecretKey
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import GREETING_SIZE, HELLO, KEYED_HELLO
from antecede_lab.child import Child

HUB, QUIET, FLOOD = "hub", "quiet", "flood"
PAUSE_S = 0.002
FLOOD_BYTES = 64
RATE_S = 2.0
DIFFERENT = 512
PLACES = ("alone", "elsewhere", "here")
FLOODS = ("member", "tokens", "joined", "hellos")
Round = dict[str, dict[str, float]]
"""What the quiet one saw, by whom the flood was for."""
SHARED_KEY = SecretKey(bytes(range(32)))


def settings(mtu: str, sealed: str) -> dict[str, object]:
    """What all members have in common."""
    size = mtu if mtu == "auto" else int(mtu)
    return {"mtu": size, **({"cluster_key": SHARED_KEY} if sealed == "yes" else {})}


def settle(how: str) -> None:
    """Choose a core and a priority: that of the hub, of the quiet one, or of a flood."""
    cores = sorted(os.sched_getaffinity(0))
    with suppress(OSError):
        if how in ("hub", "quiet"):
            os.sched_setaffinity(0, cores[:1] if how == "hub" else cores[1:] or cores)
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        elif how == "flood":
            os.sched_setaffinity(0, cores[1:] or cores)
            os.nice(19)


async def hub(how: str, mtu: str, sealed: str) -> None:
    """Answer the quiet one, count the other."""
    settle(how)
    peers = {QUIET: None, FLOOD: None}
    counted = 0
    async with open_node(HUB, peers=peers, linger=0.1, settings=settings(mtu, sealed)) as node:

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


async def quiet(how: str, address: str, seconds: str, mtu: str, sealed: str) -> None:
    """Send one message after the other, and take the time until each is back."""
    settle(how)
    loop = asyncio.get_running_loop()
    trips: list[float] = []
    async with open_node(QUIET, peers={HUB: address}, settings=settings(mtu, sealed)) as node:
        until = loop.time() + float(seconds)
        while loop.time() < until:
            began = loop.time()
            await node.send(HUB, b"ping")
            await node.receive(timeout=20)
            trips.append(1e6 * (loop.time() - began))
            await asyncio.sleep(PAUSE_S)
    trips.sort()
    p50, p90, p99 = (round(trips[len(trips) * share // 100]) for share in (50, 90, 99))
    say(p50=p50, p90=p90, p99=p99, count=len(trips))


async def member(how: str, address: str, mtu: str, sealed: str) -> None:
    """Send as much as the hub takes, until somebody ends this."""
    settle(how)
    payload = bytes(FLOOD_BYTES)
    node = await open_node(FLOOD, peers={HUB: address}, settings=settings(mtu, sealed))
    sent = 0
    began = monotonic()
    while monotonic() - began < RATE_S:
        for _ in range(256):
            await node.send(HUB, payload)
        sent += 256
    say(sent_per_s=round(sent / (monotonic() - began)))
    while True:
        await node.send(HUB, payload)


async def stranger(how: str, kind: str, address: str) -> None:
    """Send datagrams that nobody wants, until somebody ends this."""
    settle(how)
    datagrams = made_up(kind)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(tuple(parse_address(address)))
    control = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", FLOOD_BYTES))]
    sent = 0
    began = monotonic()
    told = False
    while True:
        with suppress(ConnectionRefusedError):
            if kind == "joined":
                for start in range(0, DIFFERENT, 64):
                    sock.sendmsg(datagrams[start : start + 64], control)
            else:
                for data in datagrams:
                    sock.send(data)
        sent += DIFFERENT
        if not told and monotonic() - began > RATE_S:
            told = True
            say(sent_per_s=round(sent / (monotonic() - began)))


def made_up(kind: str) -> list[bytes]:
    """Datagrams of a stranger."""
    random = Random(1)
    if kind == "hellos":
        starts = [bytes([HELLO, 1]), bytes([KEYED_HELLO, 1])]
        return [
            random.choice(starts) + random.randbytes(GREETING_SIZE - 2) for _ in range(DIFFERENT)
        ]
    return [bytes([DATAGRAM, 0]) + random.randbytes(FLOOD_BYTES - 2) for _ in range(DIFFERENT)]


def say(**words: object) -> None:
    """Tell whoever started this process."""
    print(json.dumps(words), flush=True)


def part(*words: str) -> Child:
    """A process that plays one part."""
    return Child.python("bench.fairness", *words, name=words[0])


def flooded(stack: ExitStack, kind: str, plain: bool, address: str, common: list[str]) -> Child:
    """A process that floods whoever is there."""
    how = "plain" if plain else "flood"
    member_words = ["member", how, address, *common]
    words = member_words if kind == "member" else ["stranger", how, kind, address]
    flood = stack.enter_context(part(*words))
    stack.callback(flood.kill)
    return flood


def elsewhere(stack: ExitStack, kind: str, plain: bool, common: list[str]) -> str:
    """Somebody else to flood: another hub, or a socket that nobody reads."""
    if kind == "member":
        other = part("hub", "plain" if plain else "flood", *common)
        return str(stack.enter_context(other).hear()["address"])
    sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sock.bind(("127.0.0.1", 0))
    host, port = sock.getsockname()
    return f"{host}:{port}"


def measure(
    kind: str, where: str, seconds: float, plain: bool, common: list[str]
) -> dict[str, float]:
    """One round: nobody floods, or somebody floods the hub, or somebody else."""
    with ExitStack() as stack:
        middle = stack.enter_context(part("hub", "plain" if plain else "hub", *common))
        address = str(middle.hear()["address"])
        rate = {}
        if where != "alone":
            target = address if where == "here" else elsewhere(stack, kind, plain, common)
            rate = dict(flooded(stack, kind, plain, target, common).hear(60))
        how = "plain" if plain else "quiet"
        member = stack.enter_context(part("quiet", how, address, str(seconds), *common))
        figures = dict(member.hear(60 + seconds)) | rate
        middle.tell({})
        return figures | dict(middle.hear())


def main() -> None:
    """Print the figures of all rounds; the last line has medians and ratios."""
    parser = argparse.ArgumentParser(prog="python -m bench fairness", description=__doc__)
    parser.add_argument("--flood", choices=FLOODS, action="append", help="default: member")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mtu", default="1400")
    parser.add_argument("--sealed", action="store_true", help="everybody has a key")
    parser.add_argument("--plain", action="store_true", help="no cores, no priorities")
    chosen = parser.parse_args()
    common = [chosen.mtu, "yes" if chosen.sealed else "no"]
    found: dict[str, list[Round]] = {}
    for kind in chosen.flood or ["member"]:
        for _ in range(chosen.rounds):
            one = {
                where: measure(kind, where, chosen.seconds, chosen.plain, common)
                for where in PLACES
            }
            found.setdefault(kind, []).append(one)
            say(flood=kind, **one)
    say(**{kind: summary(rounds) for kind, rounds in found.items()})


def summary(rounds: list[Round]) -> dict[str, object]:
    """Medians over rounds; ratios compare what was measured in the same round."""
    by_place = {
        where: {name: median(one[where][name] for one in rounds) for name in ("p50", "p99")}
        for where in PLACES
    }
    over = {
        f"{name}_over_{where}": round(
            median(one["here"][name] / one[where][name] for one in rounds), 2
        )
        for name in ("p50", "p99")
        for where in ("alone", "elsewhere")
    }
    return {**by_place, "per_s": median(one["here"]["sent_per_s"] for one in rounds), **over}


ROLES: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "hub": hub,
    "quiet": quiet,
    "member": member,
    "stranger": stranger,
}

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ROLES:
        with suppress(KeyboardInterrupt):
            asyncio.run(ROLES[sys.argv[1]](*sys.argv[2:]))
    else:
        main()
