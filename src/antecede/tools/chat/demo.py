"""Three people, a scripted conversation, and a network in memory: the same on every machine.

Whoever reads a line and has an answer gives it at once. The run takes no time, since the network's
time is its own; what is told of it is when every line came onto every screen.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from antecede.link.faults import Faults, SlowLink
from antecede.link.latency import Uniform
from antecede.live.node import Node
from antecede.live.rehearsal import TestNetwork
from antecede.tools.chat.room import Line, Room

MS: Final = 1_000_000

BAD_FAULTS: Final = Faults(latency=Uniform(20 * MS, 900 * MS), loss=0.1, duplication=0.05)
"""Like a bad mobile connection: up to a second late, one datagram in ten lost."""

DEMO_FAULTS: Final = Faults(
    latency=Uniform(20 * MS, 300 * MS),
    loss=0.1,
    duplication=0.05,
    slow_links=(SlowLink(source=0, target=2, extra_ns=1200 * MS),),
)
"""One datagram in ten is lost, and what alice sends takes particularly long to carol."""

PEOPLE: Final = ("alice", "bob", "carol")


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something to be said to everybody else."""

    who: str
    text: str
    answers: int | None = None
    """Which utterance it answers: it is said when that one stands on the speaker's screen."""


SCRIPT: Final = (
    Utterance("alice", "Has anybody seen my cat?"),
    Utterance("bob", "No. What does she look like?", 0),
    Utterance("alice", "Black, with one white paw.", 1),
    Utterance("carol", "Oh! She is on my roof.", 2),
    Utterance("bob", "Then everything is fine.", 3),
    Utterance("carol", "Not quite. She cannot get down.", 4),
    Utterance("alice", "I am on my way!", 5),
    Utterance("bob", "Shall I bring the ladder?", 6),
    Utterance("carol", "Yes, please.", 7),
    Utterance("alice", "She came down by herself.", 8),
    Utterance("bob", "Cats.", 9),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A line has come onto somebody's screen."""

    time_ns: int
    """Since the conversation began."""
    screen: str
    line: Line


class Actor:
    """Somebody who says what the script says when its time has come."""

    def __init__(self, node: Node, network: TestNetwork, script: Sequence[Utterance]) -> None:
        self._node = node
        self._network = network
        self._script = script
        self._room = Room(node.name)
        self._others = [name for name in PEOPLE if name != node.name]
        self._begun_ns = network.now_ns
        self.shown: list[Shown] = []

    async def speak(self, answered: int | None) -> None:
        """Say whatever answers that utterance; None: whatever begins a conversation."""
        for index, utterance in enumerate(self._script):
            if utterance.who == self._node.name and utterance.answers == answered:
                payload = self._room.write(utterance.text, self._others)
                sequence = await self._node.send(self._others, payload)
                self._show(self._room.said(utterance.text, sequence, self._others))
                await self.speak(index)

    async def listen(self) -> None:
        """Read, and answer, until the node is closed."""
        async for message in self._node:
            line = self._room.heard(message.sender, int(message.sequence), message.payload)
            self._show(line)
            for index, utterance in enumerate(self._script):
                if (utterance.who, utterance.text) == (line.sender, line.text):
                    await self.speak(index)

    def _show(self, line: Line) -> None:
        time_ns = self._network.now_ns - self._begun_ns
        self.shown.append(Shown(time_ns=time_ns, screen=self._node.name, line=line))


async def perform(
    order: str, faults: Faults, seed: int, script: Sequence[Utterance] = SCRIPT
) -> list[Shown]:
    """The conversation over this network, in this order: what came onto which screen, when."""
    async with TestNetwork(faults, seed=seed) as network:
        nodes = [await network.open_node(name, settings={"order": order}) for name in PEOPLE]
        await network.settle()
        actors = [Actor(node, network, script) for node in nodes]
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(actor.listen()) for actor in actors]
        for actor in actors:
            await actor.speak(None)
        copies = len(script) * len(PEOPLE)
        while sum(len(actor.shown) for actor in actors) < copies:
            await network.settle()
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    shown = [event for actor in actors for event in actor.shown]
    return sorted(shown, key=lambda event: event.time_ns)


def run_demo(order: str, faults: Faults = DEMO_FAULTS, seed: int = 1) -> list[Shown]:
    """`perform`, for those without a loop."""
    return asyncio.run(perform(order, faults, seed))
