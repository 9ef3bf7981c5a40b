"""Agents that discuss in a room, split off, vote and decide; one crashes, one comes late.

The agents are scripts, so this needs no model: what they do to each other is what agents do. Ada
proposes. The others comment, each once it has read the comment before its own. Two of them settle
the price in a room of their own, and report. Everybody votes, and Ada decides. Dee crashes in the
middle and comes back. Eve joins when nearly all is said, is given the minutes, and sums up.

Every word names the words that its author had read. `early` counts words that came before one of
these: none, although the network is bad and words travel on many ways. Nothing waits for ever
either, as nobody waits for words that were for others.

    python examples/agents_room.py
"""

import asyncio
import json

from antecede import Message, Node
from antecede.testing import Faults, TestNetwork, Uniform

MS = 1_000_000
BAD = Faults(latency=Uniform(1 * MS, 80 * MS), loss=0.1, duplication=0.05)
ORDER = {"bob": "ada", "cy": "bob", "dee": "cy"}  # whose word each of them waits for


class Agent:
    """One member of the room, and the minutes that it keeps."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.minutes: list[str] = []
        self.early = 0
        node.on_message(self.read)

    async def enter(self, room: str, via: str | None = None) -> None:
        """Join a room, and get the minutes of whoever lets us in."""
        entered = await self.node.join(
            room, via=via, snapshot=self.give, restore=self.take, in_node=True
        )
        self.rooms = {**getattr(self, "rooms", {}), room: entered}

    def give(self) -> bytes:
        return json.dumps(self.minutes).encode()

    def take(self, minutes: bytes) -> None:
        self.minutes += [word for word in json.loads(minutes) if word not in self.minutes]

    async def say(self, text: str, room: str = "plan") -> None:
        """To all members of a room, with all that was read before."""
        word = f"{self.node.name}: {text}"
        await self.rooms[room].send(json.dumps({"word": word, "after": self.minutes}).encode())
        self.minutes.append(word)

    async def read(self, message: Message) -> None:
        """Note a word, and react to it."""
        said = json.loads(message.payload)
        if message.room == "plan":
            in_plan = [word for word in said["after"] if not word.endswith("(aside)")]
            self.early += not set(in_plan) <= set(self.minutes)
        self.minutes.append(said["word"])
        await self.react(*said["word"].split(": ", 1))

    async def react(self, who: str, text: str) -> None:
        """What this agent says to that."""
        me = self.node.name
        if text in ("shall we move?", "I think so") and ORDER.get(me) == who:
            await self.say("I think so")
        elif me == "bob" and who == "dee" and text == "I think so":
            await self.say("what may it cost? (aside)", "money")
        elif me == "cy" and text.startswith("what may it cost"):
            await self.say("ten a month")
        elif text == "ten a month":
            await self.say("I vote yes")
        elif me == "ada" and text == "I vote yes" and self.votes() == 3:
            await self.say("decided: we move")

    def votes(self) -> int:
        """How many votes this agent has heard of."""
        return sum(word.endswith("I vote yes") for word in self.minutes)


async def discussion() -> dict[str, Agent]:
    """All of it, on a network that delays, loses and repeats."""
    async with TestNetwork(BAD, seed=1) as network:
        agents: dict[str, Agent] = {}

        async def come(name: str, via: str | None) -> Agent:
            agents[name] = Agent(await network.open_node(name))
            await agents[name].enter("plan", via)
            return agents[name]

        ada = await come("ada", None)
        for name in ORDER:
            await come(name, "ada")
        await agents["bob"].enter("money")
        await agents["cy"].enter("money", "bob")
        await ada.say("shall we move?")
        while not any(word == "cy: ten a month" for word in ada.minutes):
            await network.settle()
        network.kill("dee")
        await come("dee", "ada")
        await agents["dee"].say("I am back")
        while "ada: decided: we move" not in agents["dee"].minutes:
            await network.settle()
        eve = await come("eve", "cy")
        await eve.say(f"I have read {len(eve.minutes)} words, the first of them {eve.minutes[0]!r}")
        await network.settle()
    return agents


if __name__ == "__main__":
    finished = asyncio.run(discussion())
    for word in finished["ada"].minutes:
        print(word)
    print(f"words that came too early: {sum(agent.early for agent in finished.values())}")
