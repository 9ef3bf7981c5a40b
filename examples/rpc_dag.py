"""Calls through a small graph of services, on real sockets, with answers matched to questions.

    web -> basket -> prices
       \\-> account -> prices

`call` sends a question and waits for its answer; a service answers when all services that it asked
itself have answered. Every node is an asyncio task here, and might as well be a machine of its own.
The journal is told about everything that services do. Because its nodes deliver in causal order it
never hears of an answer before the question that led to it, although nobody waits for the journal.

A question is confirmed (`done`) when it is answered, not when the task that answers it has begun.
So a service that is opened with `journal=FOLDER, confirm="done"` gets a question again if it
crashes in between; without a journal `done` does nothing.

    python examples/rpc_dag.py
"""

import asyncio
import json
from collections.abc import Mapping
from itertools import count
from typing import Final

from antecede import Message, Node, open_node

CALLS: Final = {"web": ("basket", "account"), "basket": ("prices",), "account": ("prices",)}
SERVICES: Final = ("web", "basket", "account", "prices")
JOURNAL: Final = "journal"
REQUESTS: Final = 20


class Service:
    """Answers questions, and asks those services first that it depends on."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.open: dict[str, asyncio.Future[int]] = {}
        self.ids = count(1)
        self.tasks: set[asyncio.Task[None]] = set()
        node.on_message(self.take)

    def take(self, message: Message) -> None:
        """An answer wakes up whoever asked; a question is handled in a task of its own."""
        line = json.loads(message.payload)
        if "answer" in line:
            self.open.pop(line["id"]).set_result(line["answer"])
            message.done()
        else:
            task = asyncio.get_running_loop().create_task(self.handle(message, line["id"]))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def handle(self, message: Message, question: str) -> None:
        """Ask those below, at the same time; then answer."""
        total = 1 + await self.ask_all()
        answer = {"id": question, "answer": total, "by": self.node.name}
        await self.node.send([message.sender, JOURNAL], json.dumps(answer).encode())
        message.done()

    async def ask_all(self) -> int:
        """The sum of the answers of all services that this one depends on."""
        targets = CALLS.get(self.node.name, ())
        return sum(await asyncio.gather(*(self.call(target) for target in targets)))

    async def call(self, target: str) -> int:
        """Ask one service, and wait for its answer."""
        question = f"{self.node.name}-{next(self.ids)}"
        answered = asyncio.get_running_loop().create_future()
        self.open[question] = answered
        line = {"id": question, "to": target}
        await self.node.send([target, JOURNAL], json.dumps(line).encode())
        return int(await answered)


class Journal:
    """Writes down what it is told, and counts answers to questions that it has not heard of."""

    def __init__(self, node: Node) -> None:
        self.questions: set[str] = set()
        self.answers = 0
        self.riddles = 0
        node.on_message(self.take)

    def take(self, message: Message) -> None:
        """Called once per message, in causal order."""
        line: Mapping[str, object] = json.loads(message.payload)
        if "answer" in line:
            self.answers += 1
            self.riddles += line["id"] not in self.questions
        else:
            self.questions.add(str(line["id"]))


async def main() -> None:
    """Open all nodes, let the web ask, and say what came of it."""
    nodes = [await open_node(name) for name in (*SERVICES, JOURNAL)]
    for node in nodes:
        for peer in nodes:
            if peer is not node:
                node.add_peer(peer.name, peer.address)
    services = {node.name: Service(node) for node in nodes[:-1]}
    journal = Journal(nodes[-1])
    totals = await asyncio.gather(*(services["web"].ask_all() for _ in range(REQUESTS)))
    await asyncio.gather(*(node.close() for node in nodes))
    print(f"{REQUESTS} requests, {sum(totals)} answers given by services")
    print(f"the journal has {len(journal.questions)} questions and {journal.answers} answers")
    print(f"answers whose question it had not heard of: {journal.riddles}")


if __name__ == "__main__":
    asyncio.run(main())
