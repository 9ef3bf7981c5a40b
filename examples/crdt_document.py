"""A document that three people edit (a CRDT, by pycrdt), and comments on what they wrote.

A CRDT alone makes copies equal in the end, in whatever order updates come. It says nothing about
what travels beside it: a comment, "publish it now", a mention. Here Alice writes sentences in a
room, and Bob comments on each as soon as he has it. Alice's way to Carol is slow. As updates and
comments are in one causal order, Carol has every sentence by the time she reads what Bob says of
it; and an update never waits for one that it builds on, nor has anybody to compare states.

Dave comes late. He is given a copy, and everything since, once.

    python examples/crdt_document.py
"""

import asyncio
import json

from pycrdt import Doc, Text

from antecede import Message, Node, Room
from antecede.testing import Faults, SlowLink, TestNetwork, Uniform

MS = 1_000_000
SLOW = SlowLink(source=0, target=2, extra_ns=300 * MS)
BAD = Faults(latency=Uniform(1 * MS, 20 * MS), loss=0.1, duplication=0.05, slow_links=(SLOW,))
SENTENCES = [f"Sentence number {number}. " for number in range(8)]


class Editor:
    """One person's copy of the document, and the comments that came with it."""

    room: Room

    def __init__(self, node: Node) -> None:
        self.node = node
        self.text: Text = Text()
        self.document: Doc[Text] = Doc({"text": self.text})
        self.comments: list[str] = []
        self.on_nothing = 0  # Comments on a sentence that is not in this copy.

    async def enter(self, via: str | None = None) -> None:
        """Join the room of the document, with a copy of what is in it."""
        self.room = await self.node.join(
            "document", via=via, snapshot=self.document.get_update, restore=self.restore
        )
        self.reading = asyncio.create_task(self.read())

    def restore(self, update: bytes) -> None:
        """Begin with somebody's copy."""
        self.document.apply_update(update)

    async def write(self, sentence: str) -> None:
        """Change the document here, and send what has changed."""
        before = self.document.get_state()
        self.text += sentence
        await self.tell({"update": self.document.get_update(before).hex()})

    async def tell(self, news: dict[str, str]) -> None:
        """To everybody else in the room."""
        await self.room.send(json.dumps(news).encode())

    async def read(self) -> None:
        """Take what is said, in its order."""
        async for message in self.room:
            await self.take(message)

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


async def session() -> list[Editor]:
    """Alice writes, Bob comments, until everybody has everything."""
    async with TestNetwork(BAD, seed=1) as network:
        editors: list[Editor] = []
        for name in ("alice", "bob", "carol"):
            editors.append(Editor(await network.open_node(name)))
            await editors[-1].enter("alice" if editors[1:] else None)
        for number, sentence in enumerate(SENTENCES):
            if number == len(SENTENCES) // 2:
                editors.append(Editor(await network.open_node("dave")))
                await editors[-1].enter("carol")
            await editors[0].write(sentence)
        while len(editors[2].comments) < len(SENTENCES) or not agree(editors):
            await network.settle()
        for editor in editors:
            await editor.room.leave()
    return editors


def agree(editors: list[Editor]) -> bool:
    """Whether all copies are equal."""
    return len({str(editor.text) for editor in editors}) == 1


if __name__ == "__main__":
    finished = asyncio.run(session())
    print(f"all copies are equal: {agree(finished)}")
    for editor in finished:
        print(f"{editor.node.name}: {editor.on_nothing} comments on what was not there yet")
