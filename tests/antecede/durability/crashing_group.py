"""A group of nodes with journals in a network in memory, whose disks lose power as told.

Each node keeps a log of what it has handled, in its journal, and passes some of it on. A handler
does all of that in one turn, so message, log and what is passed on are one commit: whatever
crashes, each log has every message once.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from zlib import crc32

from antecede import Message
from antecede.durability.errors import JournalFailed
from antecede.network_model.faults import Faults
from antecede.runtime.errors import NodeClosed
from antecede.runtime.node import Node
from antecede.runtime.test_network import has_undelivered
from antecede.testing import TestNetwork
from tests.antecede.durability.failing_disk import FailingDisk, PowerFailure

LOG = "log"
BEGUN = "begun"
Sends = list[tuple[list[str], bytes]]
Entry = tuple[str, int, str]


def run(story: Coroutine[None, None, None]) -> None:
    """Play a story; a power failure in a callback of the loop is no error of the test."""

    async def bounded() -> None:
        asyncio.get_running_loop().set_exception_handler(expect_power_failures)
        await asyncio.wait_for(story, 60)

    asyncio.run(bounded())


def expect_power_failures(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Report everything else."""
    if not isinstance(context.get("exception"), PowerFailure):
        loop.default_exception_handler(context)


def text_of(payload: bytes) -> str:
    """A payload as a log shows it: itself if it is short."""
    if len(payload) <= 40:
        return payload.decode()
    return f"large: {len(payload)} bytes, {crc32(payload)}"


async def begin(node: Node, sends: Sends) -> None:
    """Send the first messages in one turn, once; a power failure may come between."""
    with suppress(NodeClosed, PowerFailure, JournalFailed):
        await node.meet()
        for targets, payload in sends:
            node.try_send(targets, payload)
        await node.journal.put(BEGUN, b"")


class CrashingGroup:
    """Nodes that know each other, each with a journal on a disk of its own."""

    def __init__(
        self,
        names: list[str],
        *,
        seed: int = 1,
        faults: Faults | None = None,
        begins_with: Callable[[str], Sends] | None = None,
        passes_on: Callable[[str, Message], Sends] | None = None,
        **settings: object,
    ) -> None:
        self.network = TestNetwork(faults, seed=seed)
        self.names = names
        self.disks = {name: FailingDisk() for name in names}
        self.nodes: dict[str, Node] = {}
        self.crashes = 0
        # What nodes do first, when they have met.
        self._beginning: dict[str, asyncio.Task[None]] = {}
        self._settings = settings
        self._begins_with = begins_with
        self._passes_on = passes_on

    async def open_all(self) -> None:
        """Open every node."""
        for name in self.names:
            await self.open(name)

    async def open(self, name: str) -> None:
        """Open a node, for the first time or after a crash."""
        self.network.disks[name] = self.disks[name]
        others = [other for other in self.names if other != name]
        node = await self.network.open_node(
            name,
            peers=others,
            journal="in-memory",
            **self._settings,  # type: ignore[arg-type] # any settings
        )
        self.nodes[name] = node
        log = self.log(name)
        if self._begins_with is not None and node.journal.get(BEGUN) is None:
            sends = self._begins_with(name)
            self._beginning[name] = asyncio.create_task(begin(node, sends))

        async def handle(message: Message) -> None:
            await node.meet()
            if name in self._beginning:
                await self._beginning[name]
            if self._passes_on is not None:
                for targets, payload in self._passes_on(name, message):
                    node.try_send(targets, payload)
            log.append((message.sender, int(message.sequence), text_of(message.payload)))
            await node.journal.put(LOG, json.dumps(log).encode())

        node.on_message(handle)

    def log(self, name: str) -> list[Entry]:
        """What a node has handled, as its journal says."""
        written = self.nodes[name].journal.get(LOG, b"[]")
        assert written is not None
        return [(sender, sequence, text) for sender, sequence, text in json.loads(written)]

    async def crash(self, name: str, kept_of_the_rest: float = 0.0) -> None:
        """The power of one node fails now, and comes back."""
        self.crashes += 1
        self.network.kill(name)
        if name in self._beginning:
            self._beginning.pop(name).cancel()
        self.disks[name] = self.disks[name].after_power_failure(kept_of_the_rest)
        await self.open(name)

    async def revive(self, kept_of_the_rest: float = 0.0) -> bool:
        """Bring back whoever's disk has lost power; whether there was one."""
        for name, disk in self.disks.items():
            if disk.crash_at is not None and disk.steps >= disk.crash_at:
                await self.crash(name, kept_of_the_rest)
                return True
        return False

    async def settle(self, kept_of_the_rest: float = 0.0, most: int | None = None) -> None:
        """Until everything is delivered and handled, whoever crashes meanwhile.

        `TimeoutError` if that takes more turns of the loop: time here is the network's own.
        """
        quiet = turns = 0
        while quiet < 30:
            turns += 1
            if most is not None and turns > most:
                raise TimeoutError(f"not settled after {most} turns")
            await asyncio.sleep(0)
            self.network.go_on()
            busy = any(has_undelivered(node._endpoint) for node in self.nodes.values())
            revived = await self.revive(kept_of_the_rest)
            busy = busy or not all(task.done() for task in self._beginning.values())
            quiet = 0 if busy or revived else quiet + 1
