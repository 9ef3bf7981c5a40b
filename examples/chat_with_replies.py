"""A chat in which nobody reads an answer before its question, on a network that is bad at order.

Everybody reads everybody, and whoever reads a question answers it to all others. Every line says
which line it answers, so that each reader can tell whether something is missing.

    python examples/chat_with_replies.py               in causal order
    python examples/chat_with_replies.py none          the same people and network, without
"""

import asyncio
import json
import sys

from antecede import Node
from antecede.testing import Faults, TestNetwork, Uniform

MS = 1_000_000
BAD = Faults(latency=Uniform(5 * MS, 400 * MS), loss=0.1, duplication=0.05)

QUESTIONS = {"ada": "Who has the key?", "ben": "Tea or coffee?", "cleo": "When is the meeting?"}
LINES = len(QUESTIONS) * len(QUESTIONS)
"""Every question is answered by everybody else."""


class Person:
    """Reads what comes, answers questions, and notices when an answer comes too early."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.screen: list[str] = []
        self.seen: set[str] = set()
        self.puzzled = 0

    async def say(self, text: str, answers: str = "") -> None:
        """Say something to all others; it stands on one's own screen at once."""
        line = {"who": self.node.name, "text": text, "answers": answers}
        self.show(line)
        others = [name for name in QUESTIONS if name != self.node.name]
        await self.node.send(others, json.dumps(line).encode())

    def show(self, line: dict[str, str]) -> None:
        """Put a line onto the screen."""
        missing = bool(line["answers"]) and line["answers"] not in self.seen
        self.puzzled += missing
        self.seen.add(line["text"])
        note = "   <- what is this about?" if missing else ""
        self.screen.append(f"{line['who']}: {line['text']}{note}")

    async def listen(self) -> None:
        """Read until everything that will be said has been said, and answer questions."""
        while len(self.screen) < LINES:
            line = json.loads((await self.node.receive()).payload)
            self.show(line)
            if line["text"].endswith("?"):
                await self.say(f"{line['text'][:-1]}: I do not know.", answers=line["text"])


async def chat(order: str) -> list[Person]:
    """Three people, each asking one question."""
    async with TestNetwork(BAD, seed=7) as network:
        people = [
            Person(await network.open_node(name, settings={"order": order})) for name in QUESTIONS
        ]
        for person in people:
            await person.say(QUESTIONS[person.node.name])
        await asyncio.gather(*(person.listen() for person in people))
    return people


if __name__ == "__main__":
    everybody = asyncio.run(chat(sys.argv[1] if len(sys.argv) > 1 else "hybrid"))
    for person in everybody:
        print(f"{person.node.name}'s screen:", *person.screen, sep="\n  ")
    print(f"answers that came before their question: {sum(p.puzzled for p in everybody)}")
