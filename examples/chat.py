"""A group chat on terminals, in which nobody reads an answer before the line that it answers.

    python examples/chat.py alice --bind 127.0.0.1:9001
    python examples/chat.py bob --bind 127.0.0.1:9002 --peer alice=127.0.0.1:9001

Every message says after which line it was written: the last on its writer's screen. A reader who
has not got that line sees the message marked; in causal order that never happens, with
`--order none` it does where the network is slow. chat_with_replies.py plays that in memory.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator

from antecede import LocalError, Message, Node, events, open_node

GOODBYE = "/quit or Ctrl-D to leave, /who is here, /why is something waiting"


class Chat:
    """A node, what stands on the screen of its owner, and what the owner types."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._seen: list[list[object]] = []  # sender, sequence, readers of each line
        node.on_message(self.hear)
        node.on_event(self.note)

    async def run(self) -> None:
        """Say what is typed, until the input ends."""
        print(f"{self._node.name} listens at {self._node.address}; {GOODBYE}", flush=True)
        async for line in keyboard():
            if line == "/quit":
                break
            if line == "/who":
                print(dict(self._node.peers), flush=True)
            elif line == "/why":
                print(self._node.explain(), flush=True)
            elif line:
                await self.say(line)

    async def say(self, text: str) -> None:
        """Say something to everybody who is here."""
        try:
            if not self._node.online:  # whoever was named may still come
                await self._node.meet()
            readers = list(self._node.online)
            after = self._seen[-1] if self._seen else None
            record = {"text": text, "to": readers, "after": after}
            sequence = await self._node.send(readers, json.dumps(record).encode())
        except LocalError as error:
            print(f"({error})", flush=True)
        else:
            self._seen.append([self._node.name, int(sequence), readers])

    def hear(self, message: Message) -> None:
        """Show what has been delivered, and whether it came too early."""
        record = json.loads(message.payload)
        after = record["after"]
        text = "".join(letter if letter.isprintable() else "?" for letter in record["text"])
        is_early = after is not None and self._node.name in after[2] and after not in self._seen
        mark = f"   <- too early: {after[0]}'s line is missing" if is_early else ""
        self._seen.append([message.sender, int(message.sequence), record["to"]])
        print(f"{message.sender}: {text}{mark}", flush=True)

    def note(self, event: events.Report) -> None:
        """Say who comes and goes."""
        if isinstance(event, events.PeerMet):
            print(f"({event.name} is here)", flush=True)
        elif isinstance(event, events.PeerLeft):
            print(f"({event.name} has left)", flush=True)


async def keyboard() -> AsyncIterator[str]:
    """The lines of standard input, read in a thread: not all that can be read can be polled."""
    typed, loop = asyncio.StreamReader(), asyncio.get_running_loop()

    def read() -> None:
        while data := os.read(sys.stdin.fileno(), 4096):
            loop.call_soon_threadsafe(typed.feed_data, data)
        loop.call_soon_threadsafe(typed.feed_eof)

    threading.Thread(target=read, daemon=True).start()
    async for line in typed:
        yield line.decode(errors="replace").strip()


async def main(words: argparse.Namespace) -> None:
    """Open the node and chat; leaving waits until everybody has everything."""
    peers = dict(peer.split("=", 1) for peer in words.peer)
    key = {"cluster_key": words.cluster_key} if words.cluster_key else {}
    settings = {"order": words.order, "accept_unknown": True, **key}
    async with open_node(words.name, bind=words.bind, peers=peers, settings=settings) as node:
        await Chat(node).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Chat in a group, in causal order.")
    parser.add_argument("name", help="what you are called")
    parser.add_argument("--bind", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=HOST:PORT")
    parser.add_argument("--order", default="causal", help="fifo and none promise less")
    parser.add_argument("--cluster-key", metavar="FILE", help="needed beyond this machine")
    asyncio.run(main(parser.parse_args()))
