"""Random rooms of whole nodes on a bad network: they join, leave, speak and are killed.

The application's state is what it has read and said, and goes to those who join. Every word says
what its speaker knew. The judge wants no word twice, no gaps, no word before what its speaker knew,
the same members everywhere, and everything of those that live, or have left in order.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from antecede.core.errors import AntecedeError
from antecede.runtime.errors import NotInRoom
from antecede.runtime.node import Node
from antecede.runtime.room import Room
from antecede.testing import Faults, TestNetwork, Uniform
from tests.seeds import seeds

NAMES = ("alice", "bob", "carol", "dave", "erin", "frank")
STEPS = 60
DEATHS_MAX = 2
IN_NODE = 0.3
"""So many of the nodes read what is said in the room with their other messages."""

WAIT = 60.0
"""Seconds after which a world has failed."""

Word = tuple[str, int, dict[str, int]]
"""A speaker in one of its memberships, the number of its word there, and what it knew."""


class Person:
    """One node, its room, and what it knows of it."""

    def __init__(self, name: str, node: Node, *, in_node: bool) -> None:
        self.name = name
        self.node = node
        self.in_node = in_node
        self.reads_node = False
        self.room: Room | None = None
        self.joins = 0
        self.said = 0
        self.words: list[Word] = []
        self.busy = False
        self.dead = False
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def who(self) -> str:
        return f"{self.name} {self.joins}"

    @property
    def is_member(self) -> bool:
        return self.room is not None and not self.busy and not self.dead

    def knows(self) -> dict[str, int]:
        return {who: number for who, number, _ in self.words}

    def snapshot(self) -> bytes:
        return json.dumps(self.words).encode()

    def restore(self, state: bytes) -> None:
        self.words = [(who, number, knows) for who, number, knows in json.loads(state)]

    async def enter(self, via: str | None) -> None:
        self.busy = True
        self.joins += 1
        self.said = 0
        self.words = []
        try:
            room = await self.node.join(
                "room",
                via=via,
                snapshot=self.snapshot,
                restore=self.restore,
                in_node=self.in_node,
            )
        finally:
            self.busy = False
        self.room = room
        if not self.in_node or not self.reads_node:
            self.reads_node = self.in_node
            self.tasks.append(asyncio.create_task(self.read(self.node if self.in_node else room)))

    async def read(self, messages: Node | Room) -> None:
        async for message in messages:
            who, number, knows = json.loads(message.payload)
            self.words.append((who, number, knows))

    async def say(self) -> None:
        if self.room is None:
            return  # It has begun to leave meanwhile.
        knows = self.knows()
        word: Word = (self.who, self.said + 1, knows)
        self.said += 1
        with suppress(NotInRoom):
            await self.room.send(json.dumps(word).encode())
        self.words.append(word)

    async def go(self) -> None:
        if self.room is None:
            return
        room, self.room, self.busy = self.room, None, True
        await room.leave()
        self.busy = False

    def begin(self, work: Callable[[], Awaitable[None]]) -> None:
        self.tasks.append(asyncio.create_task(self.quietly(work)))

    async def quietly(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except AntecedeError:
            if not self.dead:
                raise


class World:
    """One random run."""

    def __init__(self, seed: int, network: TestNetwork, people: list[Person]) -> None:
        self.random = random.Random(seed)
        self.network = network
        self.people = people
        self.deaths = 0

    def members(self) -> list[Person]:
        return [one for one in self.people if one.is_member]

    async def step(self) -> None:
        chance = self.random.random()
        members = self.members()
        outside = [one for one in self.people if one.room is None and not one.busy and not one.dead]
        if chance < 0.15 and outside and members:
            self.enter(self.random.choice(outside), members)
        elif chance < 0.20 and len(members) > 2:
            one = self.random.choice(members)
            one.begin(one.go)
        elif chance < 0.23 and len(members) > 2 and self.deaths < DEATHS_MAX:
            self.kill(self.random.choice([one for one in self.people if not one.dead]))
        elif members:
            one = self.random.choice(members)
            await asyncio.wait_for(one.say(), WAIT)
        await self.network.pass_time(self.random.choice([0.0, 0.001, 0.02, 0.1]))

    def enter(self, one: Person, members: list[Person]) -> None:
        via = self.random.choice(members).name
        one.busy = True
        one.begin(lambda: one.enter(via))

    def kill(self, one: Person) -> None:
        if len([other for other in self.members() if other is not one]) < 2:
            return
        self.deaths += 1
        one.dead = True
        self.network.kill(one.name)
        for task in one.tasks:
            task.cancel()

    async def settle(self) -> None:
        """Until nobody is busy, all members have the same, and know each other."""
        end = asyncio.get_running_loop().time() + WAIT
        while not self.agrees():
            assert asyncio.get_running_loop().time() < end, self.report()
            await self.network.pass_time(0.5)
            await asyncio.sleep(0.01)

    def agrees(self) -> bool:
        members = self.members()
        if any(one.busy and not one.dead for one in self.people):
            return False
        names = {one.name for one in members}
        if any(one.room is None or set(one.room.members) != names for one in members):
            return False
        dead = {one.name for one in self.people if one.dead}
        return len({self.of_the_living(one, dead) for one in members}) == 1

    def of_the_living(self, one: Person, dead: set[str]) -> frozenset[tuple[str, int]]:
        return frozenset(
            (who, number) for who, number, _ in one.words if who.split()[0] not in dead
        )

    def judge(self) -> None:
        dead = {one.name for one in self.people if one.dead}
        for one in self.members():
            seen: Counter[str] = Counter()
            for who, number, knows in one.words:
                assert number == seen[who] + 1, f"{one.name}: {who} {number} after {seen[who]}"
                for other, count in knows.items():
                    assert seen[other] >= count or other.split()[0] in dead, (
                        f"{one.name}: {who} {number} knew {other} {count}, not {seen[other]}"
                    )
                seen[who] = number

    def report(self) -> str:
        return "\n".join(
            f"{one.name}: dead {one.dead}, busy {one.busy}, {one.room}, {len(one.words)} words, "
            f"{dict(Counter(who for who, _, _ in one.words))}, {one.node.explain()}"
            for one in self.people
        )


async def run(seed: int) -> None:
    choice = random.Random(seed)
    faults = Faults(
        latency=Uniform(1_000_000, choice.choice([2_000_000, 80_000_000])),
        loss=choice.choice([0.0, 0.1]),
    )
    async with TestNetwork(faults, seed=seed) as network:
        people = [
            Person(
                name,
                await network.open_node(name, expel="after:2s", heartbeat="500ms"),
                in_node=choice.random() < IN_NODE,
            )
            for name in NAMES
        ]
        for one in people:
            await one.node.meet()
        world = World(seed, network, people)
        await people[0].enter(None)
        for one in people[1:3]:
            await one.enter("alice")
        for _ in range(STEPS):
            await world.step()
        await world.settle()
        world.judge()
        for one in people:
            for task in one.tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*one.tasks, return_exceptions=True)
            if not one.dead:
                one.node.abandon()


@pytest.mark.parametrize("seed", seeds(12))
def test_random_rooms_keep_their_promises(seed: int) -> None:
    asyncio.run(asyncio.wait_for(run(seed), 2 * WAIT))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_rooms_keep_their_promises(seed: int) -> None:
    asyncio.run(asyncio.wait_for(run(seed), 2 * WAIT))
