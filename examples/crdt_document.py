"""A document that three people edit (a CRDT, by pycrdt), and comments on what they wrote.

A CRDT alone makes copies equal in the end, in whatever order updates come. It says nothing about
what travels beside it: a comment, "publish it now", a mention. Here Alice writes sentences, and Bob
comments on each as soon as he has it. Alice's way to Carol is slow. With one causal multicast for
updates and comments, Carol has every sentence by the time she reads what Bob says of it; and an
update never waits for one that it builds on, nor has anybody to compare states.

    python examples/crdt_document.py             in causal order
    python examples/crdt_document.py none        without: comments on what is not there
"""

import asyncio
import json
import sys

from pycrdt import Doc, Text

from antecede import Message, Node
from antecede.testing import Faults, SlowLink, TestNetwork, Uniform

MS = 1_000_000
PEOPLE = ("alice", "bob", "carol")
SLOW = SlowLink(source=0, target=2, extra_ns=300 * MS)
BAD = Faults(latency=Uniform(1 * MS, 20 * MS), loss=0.1, duplication=0.05, slow_links=(SLOW,))
SENTENCES = [f"Sentence number {number}. " for number in range(8)]


class Editor:
    """One person's copy of the document, and the comments that came with it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.text: Text = Text()
        self.document: Doc[Text] = Doc({"text": self.text})
        self.comments: list[str] = []
        self.on_nothing = 0  # Comments on a sentence that is not in this copy.
        node.on_message(self.take)

    async def write(self, sentence: str) -> None:
        """Change the document here, and send what has changed."""
        before = self.document.get_state()
        self.text += sentence
        await self.tell({"update": self.document.get_update(before).hex()})

    async def tell(self, news: dict[str, str]) -> None:
        """One causal multicast to everybody else."""
        others = [name for name in PEOPLE if name != self.node.name]
        await self.node.send(others, json.dumps(news).encode())

    async def take(self, message: Message) -> None:
        """Apply an update, or file a comment. Bob has an opinion on everything."""
        news = json.loads(message.payload)
        if "update" in news:
            before = str(self.text)
            self.document.apply_update(bytes.fromhex(news["update"]))
            written = str(self.text).removeprefix(before)
            if self.node.name == "bob" and written:
                await self.tell({"comment": "I like it", "on": written})
        else:
            self.comments.append(news["comment"])
            self.on_nothing += news["on"] not in str(self.text)


async def session(order: str) -> list[Editor]:
    """Alice writes, Bob comments, until everybody has everything."""
    async with TestNetwork(BAD, seed=1) as network:
        nodes = [await network.open_node(name, settings={"order": order}) for name in PEOPLE]
        editors = [Editor(node) for node in nodes]
        for sentence in SENTENCES:
            await editors[0].write(sentence)
        while len(editors[2].comments) < len(SENTENCES) or not agree(editors):
            await network.settle()
    return editors


def agree(editors: list[Editor]) -> bool:
    """Whether all copies are equal."""
    return len({str(editor.text) for editor in editors}) == 1


if __name__ == "__main__":
    finished = asyncio.run(session(sys.argv[1] if len(sys.argv) > 1 else "hybrid"))
    print(f"all copies are equal: {agree(finished)}")
    for editor in finished:
        print(f"{editor.node.name}: {editor.on_nothing} comments on what was not there yet")
