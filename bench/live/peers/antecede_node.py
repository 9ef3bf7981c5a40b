"""antecede itself: two nodes over UDP, exactly once and in causal order."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.node import Node
from antecede.runtime.opening import NodeOpening, open_node
from antecede.runtime.security.keys import SecretKey
from bench.live.peer import (
    END,
    Contestant,
    ContestRun,
    Multicaster,
    Played,
    ReceiveTally,
    Stopwatch,
    Volley,
    package,
)
from bench.live.service import TIMEOUT_S, RequestLoad, Service

LISTENER: Final = "listener"
CALLER: Final = "caller"

SHARED_KEY: Final = SecretKey(bytes(range(32)))
"""Known to everybody: it is the work that is measured."""

JOURNALS: Final = "BENCH_JOURNALS"
"""The variable that names the folder of both nodes' journals; empty: they have none, and send as
they would with one."""

Style: TypeAlias = Literal["iterate", "handler"]
Loop: TypeAlias = Literal["asyncio", "uvloop"]


class AntecedeNode(Contestant, Service, Multicaster):
    """Messages taken with `async for`, or by a handler that is a plain function; datagrams as
    large as `mtu` says, on asyncio's own event loop or on another one."""

    def __init__(
        self,
        style: Style,
        mtu: int | Literal["auto"],
        loop: Loop = "asyncio",
        *,
        sealed: bool = False,
    ) -> None:
        self._settings: dict[str, object] = {"cluster_key": SHARED_KEY} if sealed else {}
        self._style = style
        self._mtu = mtu
        self.package = loop
        how = "async for" if style == "iterate" else "handler"
        size = "large datagrams" if mtu == "auto" else f"{mtu} B datagrams"
        where = "" if loop == "asyncio" else f", {loop}"
        kept = ", sealed" if sealed else ""
        self.name = f"antecede, {how}, {size}{where}{kept}"

    def _opening(self, name: str, peers: dict[str, str | None]) -> NodeOpening:
        """One of the two nodes."""
        folder = os.environ.get(JOURNALS, "")
        kept = {"journal": Path(folder) / name} if folder else {}
        return open_node(name, peers=peers, mtu=self._mtu, settings={**self._settings, **kept})

    def run(self, played: Played) -> None:
        assert played is not None, "all roles are coroutines"
        factory = package("uvloop").new_event_loop if self.package == "uvloop" else None
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(played)

    async def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        await self.listen(stage, tally, LISTENER)

    async def listen(self, stage: ContestRun, tally: ReceiveTally, name: str) -> None:
        async with self._opening(name, {CALLER: None}) as node:
            stage.announce(str(node.address))
            if self._style == "iterate":
                await count(node, tally)
            else:
                await count_by_handler(node, tally)

    async def source(self, stage: ContestRun, volley: Volley) -> None:
        async with self._opening(CALLER, {LISTENER: stage.address}) as node:
            await node.meet()
            if volley.per_s:
                await send_at_a_pace(node, volley)
            else:
                send = node.send_buffered if JOURNALS in os.environ else node.send
                for payload in volley:
                    await send(LISTENER, payload)
            await node.flush()

    async def spread(self, stage: ContestRun, volley: Volley, receivers: Mapping[str, str]) -> None:
        async with self._opening(CALLER, {**receivers}) as node:
            await node.meet()
            await self.send_all(node, list(receivers), volley)
            await node.flush()
            await stage.released()

    async def send_all(self, node: Node, names: list[str], volley: Volley) -> None:
        """Send the volley to all of these."""
        for payload in volley:
            await node.send(names, payload)

    async def echo(self, stage: ContestRun) -> None:
        async with self._opening(LISTENER, {CALLER: None}) as node:
            stage.announce(str(node.address))
            if self._style == "iterate":
                async for message in node:
                    if message.payload[0] == END:
                        return
                    await node.send(message.sender, message.payload)
            else:
                await answer_by_handler(node)

    async def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        async with self._opening(CALLER, {LISTENER: stage.address}) as node:
            await node.meet()
            if self._style == "iterate":
                for _ in stopwatch.turns():
                    await node.send(LISTENER, stopwatch.ping)
                    await node.receive()
            else:
                await ping_by_handler(node, stopwatch)
            await node.send(LISTENER, stopwatch.end)
            await node.flush()

    async def serve(self, stage: ContestRun, tally: ReceiveTally) -> None:
        async with self._opening(LISTENER, {CALLER: None}) as node:
            stage.announce(str(node.address))
            if self._style == "iterate":
                await reply_to_each(node, tally)
            else:
                await reply_by_handler(node, tally)
            await stage.released()

    async def ask(self, stage: ContestRun, load: RequestLoad) -> None:
        async with self._opening(CALLER, {LISTENER: stage.address}) as node:
            await node.meet()
            await load.run(lambda payload: node.request(LISTENER, payload, TIMEOUT_S))


class AntecedeOneByOne(AntecedeNode):
    """A message to each receiver, instead of one to all of them."""

    def __init__(self) -> None:
        super().__init__("iterate", "auto")
        self.name = "antecede, a message to each"

    async def send_all(self, node: Node, names: list[str], volley: Volley) -> None:
        for payload in volley:
            for name in names:
                await node.send(name, payload)


async def send_at_a_pace(node: Node, volley: Volley) -> None:
    """Send so many a second, a millisecond's worth at a time."""
    loop = asyncio.get_running_loop()
    at_once = max(1, volley.per_s // 1000)
    start = loop.time()
    for number, payload in enumerate(volley, start=1):
        await node.send(LISTENER, payload)
        if number % at_once == 0:
            await asyncio.sleep(start + number / volley.per_s - loop.time())


async def count(node: Node, tally: ReceiveTally) -> None:
    """Count a volley by iterating."""
    number = 0
    async for message in node:
        payload = message.payload
        number += 1
        if payload[0] and tally.mark(payload[0], number):
            return


async def count_by_handler(node: Node, tally: ReceiveTally) -> None:
    """Count a volley in a handler."""
    done = asyncio.Event()
    number = 0

    def take(message: InboundMessage) -> None:
        nonlocal number
        payload = message.payload
        number += 1
        if payload[0] and tally.mark(payload[0], number):
            done.set()

    node.on_message(take)
    await done.wait()


async def ping_by_handler(node: Node, stopwatch: Stopwatch) -> None:
    """Send the next ping whenever the answer to the last has come."""
    done = asyncio.Event()
    turns = stopwatch.turns()

    def ping_again(_: InboundMessage | None) -> None:
        if next(turns, done) is done:
            done.set()
        else:
            node.try_send(LISTENER, stopwatch.ping)

    node.on_message(ping_again)
    ping_again(None)
    await done.wait()


async def answer_by_handler(node: Node) -> None:
    """Answer every message in a handler, up to the end."""
    done = asyncio.Event()

    def answer(message: InboundMessage) -> None:
        if message.payload[0] == END:
            done.set()
        else:
            node.try_send(message.sender, message.payload)

    node.on_message(answer)
    await done.wait()


async def reply_to_each(node: Node, tally: ReceiveTally) -> None:
    """Reply to requests by iterating, up to the end."""
    number = 0
    async for message in node:
        payload = message.payload
        number += 1
        await message.reply(payload)
        if payload[0] and tally.mark(payload[0], number):
            return


async def reply_by_handler(node: Node, tally: ReceiveTally) -> None:
    """The same in a handler."""
    done = asyncio.Event()
    number = 0

    async def reply(message: InboundMessage) -> None:
        nonlocal number
        payload = message.payload
        number += 1
        await message.reply(payload)
        if payload[0] and tally.mark(payload[0], number):
            done.set()

    node.on_message(reply)
    await done.wait()
