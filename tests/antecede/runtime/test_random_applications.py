"""Random applications on small buffers: whatever they do, nothing hangs and nothing is lost.

Tasks that send, wait for room, give up waiting or try, to others and to themselves; tasks that
receive in every way there is, pause, and answer; links that are cut and healed.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random

import pytest

from antecede.core.errors import BufferFull
from antecede.runtime.errors import WouldDeadlock
from antecede.runtime.node import Node
from antecede.testing import Constant, Faults, TestNetwork, Uniform
from antecede_audit.eventlog import read_events
from antecede_audit.judging import check_log, explain_verdict

NETWORKS = (
    Faults(latency=Constant(1_000_000)),
    Faults(latency=Uniform(1_000, 100_000_000)),
    Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.2, duplication=0.1),
)
SIZES = (0, 10, 500, 500, 3_000, 30_000)
QUESTION, ANSWER = b"?", b"!"
HANGS_AFTER_S = 300


async def turns(count: int) -> None:
    """Let the others have so many turns of the loop."""
    for _ in range(count):
        await asyncio.sleep(0)


class Application:
    """What one node does, at random; `counted` is what anybody sends, by target, from the moment
    on when it is decided: nobody gives up."""

    def __init__(self, node: Node, names: list[str], random: Random, counted: Counter[str]) -> None:
        self.node = node
        self.names = names
        self.random = random
        self.counted = counted
        self.received = 0
        self.put_off: list[asyncio.Task[None]] = []

    def some_targets(self) -> list[str]:
        targets = self.random.sample(self.names, self.random.choice([1, 1, len(self.names)]))
        self.counted.update(targets)
        return targets

    async def send(self, targets: list[str], payload: bytes) -> None:
        await self.node.send(targets if len(targets) > 1 else targets[0], payload)

    async def try_to_send(self, targets: list[str], payload: bytes) -> None:
        while True:
            try:
                self.node.try_send(targets, payload)
            except BufferFull:
                await asyncio.sleep(0)
            else:
                return

    async def talk(self) -> None:
        for _ in range(self.random.choice([10, 60])):
            way = self.random.choice([self.send, self.send, self.try_to_send])
            payload = QUESTION + bytes(self.random.choice(SIZES))
            await way(self.some_targets(), payload)
            await turns(self.random.choice([0, 0, 1, 20]))

    async def answer(self, payload: bytes) -> None:
        if payload.startswith(QUESTION) and self.random.random() < 0.4:
            targets = self.some_targets()
            reply = ANSWER + bytes(self.random.choice(SIZES))
            try:
                await self.send(targets, reply)
            except WouldDeadlock:
                self.put_off.append(asyncio.create_task(self.send(targets, reply)))
        self.received += 1

    async def listen(self) -> None:
        """Receive in one of the ways, until the node is closed."""
        await turns(self.random.choice([0, 0, 300]))
        way = self.random.choice([self.iterate, self.poll, self.handle])
        await way()

    async def iterate(self) -> None:
        async for message in self.node:
            await self.answer(message.payload)
            await turns(self.random.choice([0, 0, 0, 30]))

    async def poll(self) -> None:
        while not self.node.closed:
            for message in self.node.receive_ready():
                await self.answer(message.payload)
            await asyncio.sleep(0)

    async def handle(self) -> None:
        self.node.on_message(lambda message: self.answer(message.payload))


async def disturb(network: TestNetwork, names: list[str], random: Random) -> None:
    """Cut links now and then, and heal them."""
    for _ in range(random.choice([0, 3])):
        one, other = random.sample(names, 2)
        await turns(random.randrange(300))
        network.cut(one, other)
        await turns(random.randrange(300))
        network.heal(one, other)


async def all_said(applications: list[Application]) -> None:
    """Wait until nothing is put off any more, and everything accepted has been received."""
    counted = applications[0].counted
    while any(one.put_off or one.received < counted[one.node.name] for one in applications):
        for one in applications:
            while one.put_off:
                await one.put_off.pop()
        await asyncio.sleep(0)


async def play(seed: int, folder: Path, order: str | None) -> None:
    random = Random(seed)
    names = [f"n{number}" for number in range(random.randint(2, 4))]
    settings: dict[str, object] = {
        "order": order or random.choice(["hybrid", "hybrid", "hybrid-csps"]),
        "send_limit": random.choice([1, 3, 20, 8192]),
        "receive_window": random.choice(["64KiB", "4MiB"]),
        "send_bytes": "256KiB",
        "payload_limit": "128KiB",
        # Nobody is left out, however long a link is cut.
        "expel": "manual",
        "meet_within": 3600,
        "trace": folder,
        "trace_format": "jsonl",
    }
    counted: Counter[str] = Counter()
    async with TestNetwork(random.choice(NETWORKS), seed=seed) as network:
        nodes = [await network.open_node(name, **settings) for name in names]  # type: ignore[arg-type]  # any settings
        applications = [Application(x, names, Random(random.random()), counted) for x in nodes]
        listening = started(applications, lambda one: one.listen())
        talking = started(applications * 2, lambda one: one.talk())
        async with asyncio.timeout(HANGS_AFTER_S):
            await disturb(network, names, random)
            await asyncio.gather(*talking)
            await all_said(applications)
        await network.close()
        await asyncio.gather(*listening)
    assert {one.node.name: one.received for one in applications} == dict(counted)


def started(
    applications: list[Application], what: Callable[[Application], Coroutine[None, None, None]]
) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(what(one)) for one in applications]


def check_random_application(seed: int, folder: Path, order: str | None = None) -> None:
    asyncio.run(play(seed, folder, order))
    verdict = check_log(read_events(folder), witnesses=False)
    assert verdict.ok, explain_verdict(verdict)


@pytest.mark.parametrize("seed", range(10))
def test_everything_that_was_accepted_is_received_once(seed: int, tmp_path: Path) -> None:
    check_random_application(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 150))
def test_more_random_applications(seed: int, tmp_path: Path) -> None:
    check_random_application(seed, tmp_path)
