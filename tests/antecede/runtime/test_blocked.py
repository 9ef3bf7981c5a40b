"""What a node says while messages wait for somebody who is silent, and what then helps."""

import asyncio
import re

import pytest

from antecede.errors import TimedOut
from antecede.events import PeerExpelled, Report
from antecede.runtime.node import Node
from antecede.testing import TestNetwork

SECONDS = 60.0

SAID = re.compile(
    r"1 message is held back for \d+ s: ann waits for bob, silent for \d+ s; "
    r"if it is gone for good: await node\.expel\('bob'\)"
)


async def owing(network: TestNetwork, told: list[Report]) -> dict[str, Node]:
    """Bob dies owing Ann a permit: his message to Cat has not arrived, that to Ann has."""
    names = ("ann", "bob", "cat")
    nodes = {name: await network.open_node(name, expel="manual") for name in names}
    nodes["ann"].on_event(told.append)
    await network.settle()
    network.cut("bob", "cat")
    await nodes["bob"].send(["ann", "cat"], b"x")
    assert (await nodes["ann"].receive(SECONDS)).payload == b"x"
    network.kill("bob")
    return nodes


def test_health_is_blocked_with_the_reason_and_the_remedy_helps() -> None:
    async def story() -> None:
        network = TestNetwork()
        told: list[Report] = []
        nodes = await owing(network, told)
        ann, cat = nodes["ann"], nodes["cat"]
        await ann.send("cat", b"y")
        assert ann.health().status == "ok", "nobody is silent yet"
        await network.pass_time(60)
        health = ann.health()
        assert health.status == "blocked"
        assert bool(health), "a restart of this node would not help"
        (reason,) = health.blocked
        assert SAID.fullmatch(reason), reason
        assert "message 1 to cat waits for a permit of bob" in str(ann.explain())
        assert "if it is gone for good: await node.expel('bob')" in str(ann.explain())
        await ann.expel("bob", "so it was said")
        assert (await cat.receive(SECONDS)).payload == b"y"
        await network.settle()
        assert ann.health().status == cat.health().status == "ok", str(ann.health())
        assert [report.name for report in told if isinstance(report, PeerExpelled)] == ["bob"]
        await network.close()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_health_is_blocked_when_the_buffer_is_full_of_what_is_for_the_silent() -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann", send_limit=4, expel="manual")
        await network.open_node("bob")
        await network.settle()
        network.kill("bob")
        for _ in range(4):
            ann.try_send("bob", b"x")
        await network.pass_time(60)
        (reason,) = ann.health().blocked
        assert reason.startswith("the buffer is full, and 4 messages in it wait for bob, which is")
        await ann.expel("bob")
        assert not ann.health().blocked
        await network.close()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_what_is_said_of_thousands_that_wait_is_as_short_as_of_one() -> None:
    """One range for each peer that is waited for: neither the text nor the values grow."""
    many = 1_000

    async def story() -> None:
        network = TestNetwork()
        ann, bob, cat = [
            await network.open_node(name, expel="manual") for name in ("ann", "bob", "cat")
        ]
        await network.settle()
        network.cut("bob", "cat")
        for _ in range(many):
            await bob.send(["ann", "cat"], b"x")
        for _ in range(many):
            await ann.receive(SECONDS)
        network.kill("bob")
        for _ in range(many):
            await ann.send("cat", b"y")
        with pytest.raises(TimedOut) as caught:
            await ann.flush(0.01)
        await network.pass_time(60)
        explanation = ann.explain()
        assert len(explanation.held) == len(explanation.owed) == 1
        assert (
            "1,000 messages to cat, 1 to 1,000, wait for permits of bob for its messages 1 to"
            in (str(explanation))
        )
        (owed,) = explanation.owed
        assert (owed.name, owed.first, owed.last, owed.waiting) == ("bob", 1, many, many)
        assert ann.health().blocked[0].startswith("1,000 messages are held back for ")
        assert len(str(explanation)) < 500
        assert len(str(caught.value)) < 500
        assert cat.stats().inbox == 0
        await network.close()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_a_large_message_that_waits_is_told_as_one() -> None:
    async def story() -> None:
        network = TestNetwork()
        nodes = await owing(network, [])
        ann = nodes["ann"]
        await ann.send("cat", b"y" * 200_000)
        await network.pass_time(60)
        explanation, stats = ann.explain(), ann.stats()
        assert stats.buffered == 1
        assert stats.buffered_parts > 1
        assert [(peer.name, peer.undelivered) for peer in stats.peers] == [("bob", 0), ("cat", 1)]
        held = [(held.first, held.last, held.count, held.target) for held in explanation.held]
        assert held == [(1, 1, 1, "cat")]
        assert "1 message (2" in str(explanation)
        assert "cat has not acknowledged 1 message" in str(explanation).splitlines()
        assert ann.health().blocked[0].startswith("1 message is held back for ")
        await ann.expel("bob", "so it was said")
        await network.settle()
        await ann.send("cat", b"z")
        await network.close()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_a_buffer_that_one_large_message_fills_says_so() -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann", send_limit=4, expel="manual")
        await network.open_node("bob")
        await network.settle()
        network.kill("bob")
        sending = asyncio.create_task(ann.send_buffered("bob", b"x" * 200_000))
        await network.pass_time(60)
        health = ann.health()
        assert "1 message is not delivered yet: send() waits for room" in str(health)
        assert "the buffer is full, and 1 message in it waits for bob" in str(health)
        sending.cancel()
        await network.close()

    asyncio.run(asyncio.wait_for(story(), SECONDS))
