"""A node that answers requests loses power at every step of its disk: each is answered once."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Literal

import pytest

from antecede.durability.errors import JournalFailed
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.errors import NodeClosed
from antecede.runtime.node import Node
from antecede.testing import Faults, TestNetwork, Uniform
from tests.antecede.durability.crashing_group import LOG, run
from tests.antecede.durability.failing_disk import FailingDisk, PowerFailure
from tests.seeds import seeds

REQUESTS = 4
OPENING = 6
"""A disk that fails while the node is opened lets nobody in: that is no crash."""

STORM_CRASHES = 12
BAD = Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.1, duplication=0.1)

SMALL, LARGE = 1, 20_000
"""A reply in one datagram; and one in parts, for which there is no room at once."""


class Answering:
    """Alice asks bob, whose disk loses power as told; bob writes down whom he has answered."""

    def __init__(
        self,
        size: int,
        crash_at: int | None = None,
        *,
        storm: Random | None = None,
        confirm: Literal["next", "done"] = "next",
    ) -> None:
        self.size = size
        self.confirm = confirm
        self.storm = storm
        self.network = TestNetwork(None if storm is None else BAD, seed=1)
        self.disk = FailingDisk()
        self.disk.crash_at = crash_at
        self.crashes = 0
        self.seen: list[bytes] = []

    async def play(self) -> None:
        """All requests get their replies, and no reply comes twice."""
        alice = await self.network.open_node("alice", expel="manual")
        await self._open()
        payloads = [b"%d" % number for number in range(REQUESTS)]
        asking = [asyncio.create_task(alice.request("bob", payload)) for payload in payloads]
        while not all(task.done() for task in asking):
            await asyncio.sleep(0)
            self.network.go_on()
            await self._revive()
        replies = [task.result().payload for task in asking]
        assert replies == [payload * self.size for payload in payloads]
        for _ in range(200):  # Whatever else there is comes.
            await asyncio.sleep(0)
            self.network.go_on()
            await self._revive()
        assert alice.stats().late_replies == 0
        assert self._log() == [payload.decode() for payload in payloads]
        assert self.bob.stats().journal.unconfirmed == 0

    async def _open(self) -> None:
        self.network.disks["bob"] = self.disk
        self.bob = await self.network.open_node(
            "bob",
            peers=["alice"],
            journal="in-memory",
            send_limit=3,
            expel="manual",
            confirm=self.confirm,
        )
        if self.storm is not None and self.crashes < STORM_CRASHES:
            self.disk.crash_at = self.disk.steps + self.storm.randrange(1, 8)
        self.bob.on_message(self._answer(self.bob))

    def _answer(self, bob: Node) -> Callable[[InboundMessage], Awaitable[None]]:
        async def handle(request: InboundMessage) -> None:
            log = [*self._log(), request.payload.decode()]
            with suppress(NodeClosed, PowerFailure, JournalFailed):
                bob.journal.put(LOG, json.dumps(log).encode())
                await request.reply(request.payload * self.size)

        return handle

    def _log(self) -> list[str]:
        written = self.bob.journal.get(LOG, b"[]")
        assert written is not None
        texts: list[str] = json.loads(written)
        return texts

    async def _revive(self) -> None:
        if self.disk.crash_at is None or self.disk.steps < self.disk.crash_at:
            return
        self.crashes += 1
        self.network.kill("bob")
        kept = (self.disk.crash_at % 3) / 2
        self.disk = self.disk.after_power_failure(kept)
        await self._open()


@pytest.mark.parametrize("confirm", ["next", "done"])
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("seed", seeds(10))
def test_power_fails_again_and_again_on_a_bad_network(
    size: int, confirm: Literal["next", "done"], seed: int
) -> None:
    answering = Answering(size, storm=Random(seed), confirm=confirm)
    run(answering.play())
    assert answering.crashes > 0


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_power_fails_at_every_step_and_each_request_is_answered_once(size: int) -> None:
    whole = Answering(size)
    run(whole.play())
    steps = whole.disk.steps
    assert steps > OPENING + REQUESTS
    crashes = 0
    for crash_at in range(OPENING, steps + 1):
        answering = Answering(size, crash_at)
        run(answering.play())
        crashes += answering.crashes
    assert crashes >= (steps - OPENING) // 2
