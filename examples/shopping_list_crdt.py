"""A replicated set (an op-based CRDT) over causal multicast: add wins, no tombstones.

Adding an item tags it with a fresh name; removing it removes exactly the tags that the remover has
seen. Replicas that deliver in causal order never see a removal before the additions it is about, so
a removal can be forgotten once it is done. That is what op-based CRDTs ask of the network, and all
they ask: without causal order a removal that comes first does nothing, the item stays, and replicas
differ for ever.

    python examples/shopping_list_crdt.py              in causal order: all replicas agree
    python examples/shopping_list_crdt.py none         without: they do not
"""

import asyncio
import json
import sys
from random import Random

from antecede import Message, Node
from antecede.testing import Faults, TestNetwork, Uniform

MS = 1_000_000
BAD = Faults(latency=Uniform(1 * MS, 80 * MS), loss=0.1, duplication=0.05)
REPLICAS = ("kitchen", "office", "phone", "car")
ITEMS = ("milk", "bread", "apples", "soap")
EDITS = 25
"""Of each replica."""


class Replica:
    """One copy of the list: a set of (item, tag)."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.pairs: set[tuple[str, str]] = set()
        self.heard = 0
        node.on_message(self.take)

    async def add(self, item: str, tag: str) -> None:
        """Put an item on the list, here and everywhere."""
        await self.spread({"add": [[item, tag]], "remove": []})

    async def remove(self, item: str) -> None:
        """Take off the list what is on it here and now; what others add meanwhile stays."""
        await self.spread({"add": [], "remove": [list(p) for p in self.pairs if p[0] == item]})

    async def spread(self, operation: dict[str, list[list[str]]]) -> None:
        """Apply an operation at once, and let all others apply it."""
        self.apply(operation)
        others = [name for name in REPLICAS if name != self.node.name]
        await self.node.send(others, json.dumps(operation).encode())

    def take(self, message: Message) -> None:
        """Apply what another replica did."""
        self.heard += 1
        self.apply(json.loads(message.payload))

    def apply(self, operation: dict[str, list[list[str]]]) -> None:
        """The whole CRDT."""
        self.pairs |= {(item, tag) for item, tag in operation["add"]}
        self.pairs -= {(item, tag) for item, tag in operation["remove"]}


async def edit(replica: Replica, random: Random) -> None:
    """Somebody who cannot decide."""
    for number in range(EDITS):
        if random.random() < 0.5:
            await replica.add(random.choice(ITEMS), f"{replica.node.name}-{number}")
        else:
            await replica.remove(random.choice(ITEMS))
        for _ in range(random.randrange(60)):
            await asyncio.sleep(0)


async def session(order: str) -> list[Replica]:
    """All replicas are edited at the same time; then everything is delivered everywhere."""
    async with TestNetwork(BAD, seed=2) as network:
        replicas = [
            Replica(await network.open_node(name, settings={"order": order})) for name in REPLICAS
        ]
        await asyncio.gather(*(edit(r, Random(n)) for n, r in enumerate(replicas)))
        while any(replica.heard < EDITS * (len(REPLICAS) - 1) for replica in replicas):
            await network.settle()
    return replicas


if __name__ == "__main__":
    finished = asyncio.run(session(sys.argv[1] if len(sys.argv) > 1 else "hybrid"))
    for replica in finished:
        items = sorted({item for item, _ in replica.pairs})
        print(f"{replica.node.name:>8}: {', '.join(items)} ({len(replica.pairs)} additions)")
    agree = all(replica.pairs == finished[0].pairs for replica in finished)
    print("all replicas agree" if agree else "the replicas DISAGREE, and will for ever")
