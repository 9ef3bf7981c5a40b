"""One service of the demonstration, as a process: `python -m antecede.tools.demo.worker JSON`.

It says where it listens, waits to be introduced to the others, and then does what `services` says.
Lines in: {"peers": {...}}, {"orders": 100, "per_second": 50}, {"state": true}, {"close": 10}.
"""

import asyncio
import json
import sys
from typing import Any

from antecede.core.errors import AntecedeError
from antecede.link.inbound import InboundMessage
from antecede.live.lines import InputLines
from antecede.live.node import Node
from antecede.live.opening import open_node
from antecede.tools.child import say
from antecede.tools.demo.services import FIRST, GATEWAY, Step, reactions

PADDING = "." * 64
"""Makes a message as long as a short record."""


class Service:
    """One service and its node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.copies = 0
        self.taken = 0
        self._placing: asyncio.Task[None] | None = None

    async def do(self, line: dict[str, Any]) -> dict[str, Any]:
        """Do what one line asks for; what to answer."""
        for name, address in line.get("peers", {}).items():
            self.node.add_peer(name, address)
        if "orders" in line:
            task = self._place(line["orders"], 1 / line["per_second"])
            self._placing = asyncio.get_running_loop().create_task(task)
        if "close" in line:
            try:
                await self.node.close(timeout=line["close"], linger="bye")
            except AntecedeError as error:
                return {"error": str(error)}
        placing = self._placing is not None and not self._placing.done()
        stats = self.node.stats()
        return {
            "copies": self.copies,
            "taken": self.taken,
            "placing": placing,
            "buffered": stats.buffered,
            "messages": stats.messages_sent,
            "retransmitted": stats.retransmitted,
        }

    async def take(self, message: InboundMessage) -> None:
        """React to what another service says."""
        said = json.loads(message.payload)
        for step in reactions(self.node.name, said["says"]):
            await self._say(step, said["order"])
        self.taken += 1

    async def _place(self, orders: int, pause: float) -> None:
        for order in range(1, orders + 1):
            await self._say(FIRST, order)
            await asyncio.sleep(pause)

    async def _say(self, step: Step, order: int) -> None:
        self.copies += len(step.to)
        record = {"order": order, "says": step.says, "note": PADDING}
        await self.node.send(step.to, json.dumps(record).encode())


async def run(plan: dict[str, Any]) -> None:
    """Serve until the node is closed or the input ends."""
    node = await open_node(plan["name"], settings=plan["settings"])
    service = Service(node)
    node.on_message(service.take)
    lines = InputLines(sys.stdin.buffer)
    say({"address": str(node.address), "places_orders": node.name == GATEWAY})
    while not node.closed and (line := await lines.next_line()):
        say(await service.do(json.loads(line)))
    if not node.closed:
        node.abandon()


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
