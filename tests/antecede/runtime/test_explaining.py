"""What a node says about peers that it does not talk to, and about its own slow application."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path

import pytest

import antecede
from antecede.errors import NodeClosed, Stranded, TimedOut, Undelivered
from antecede.events import NodeFenced, Report, Undeliverable
from antecede.runtime.node import Node
from antecede.runtime.security.keys import SecretKey
from antecede.testing import TestNetwork
from tests.free_ports import free_port

SECONDS = 60.0
ALICE, BOB, MALLORY = (SecretKey(bytes([number] * 32)) for number in (1, 2, 3))


def run(story: Awaitable[None]) -> None:
    """Run a story, which must come to an end."""

    async def bounded() -> None:
        await asyncio.wait_for(story, SECONDS)

    asyncio.run(bounded())


async def until_said(node: Node, words: str) -> None:
    """Wait until the node says this of itself."""
    while words not in str(node.explain()):
        await asyncio.sleep(0.01)


def test_a_peer_with_another_key_is_named_with_the_reason_by_whoever_asks() -> None:
    async def story() -> None:
        ports = [free_port(), free_port()]
        alice = await antecede.open_node(
            "alice",
            bind=f"127.0.0.1:{ports[0]}",
            key=ALICE,
            peers={"bob": antecede.Peer(f"127.0.0.1:{ports[1]}", keys=[str(MALLORY.public)])},
        )
        bob = await antecede.open_node(
            "bob",
            bind=f"127.0.0.1:{ports[1]}",
            key=BOB,
            peers={"alice": antecede.Peer(f"127.0.0.1:{ports[0]}", keys=[str(ALICE.public)])},
        )
        for node, other in ((alice, "bob"), (bob, "alice")):
            sending = asyncio.create_task(node.send(other, b"x"))
            await until_said(node, f"no talk with {other}: it has another key")
            assert f"no talk with {other}: it has another key" in str(node.health())
            with pytest.raises(TimedOut, match=f"no talk with {other}: it has another key"):
                await node.send(other, b"y", timeout=0.01)
            with pytest.raises(TimedOut, match=f"no talk with {other}: it has another key"):
                await node.meet(timeout=0.01)
            with pytest.raises(TimedOut, match=f"no talk with {other}: it has another key"):
                await node.receive(0.01)
            await node.close(0.01)  # Nothing was submitted, so nobody is left without.
            with pytest.raises(NodeClosed):
                await sending

    run(story())


def test_what_was_wrong_is_forgotten_when_a_peer_is_met() -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann")
        bob = await network.open_node("bob", order="fifo")
        await network.pass_time(5)
        assert "'fifo'" in str(ann.explain())
        assert "no talk with bob" in str(ann.health())
        bob.abandon()
        bob = await network.open_node("bob")
        await network.settle()
        assert str(ann.explain()) == "nothing is waiting"
        assert ann.health().status == "ok"
        await network.close()

    run(story())


def test_an_application_that_does_not_read_is_named_where_it_is() -> None:
    """The sender hears that Bob's application is slow, and so does Bob."""

    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann", send_limit=200)
        bob = await network.open_node("bob", receive_window="64KiB")
        await network.settle()
        await ann.send("bob", b"one")
        await network.pass_time(1)
        assert str(bob.explain()) == "the application has not read 1 message"
        assert bob.health().status == "ok", "nobody waits for that"
        flooding = asyncio.create_task(flood(ann, "bob"))
        await network.pass_time(8)
        unread = bob.stats().inbox
        said = f"the application has not read {unread:,} messages: held up until it does: 'ann'"
        assert unread > 30
        assert str(bob.explain()) == said
        assert said in bob.health().warnings
        assert bob.health().status == "degraded"
        await network.pass_time(5)
        (blocked,) = bob.health().blocked
        assert blocked.startswith("the application has read nothing for 1")
        assert blocked.endswith("s: held up until it does: 'ann'")
        assert "bob takes no more: its application is slow to receive" in str(ann.explain())
        flooding.cancel()
        while ann.stats().buffered:
            bob.receive_ready()
            await network.pass_time(1)
        bob.receive_ready()
        assert str(bob.explain()) == "nothing is waiting"
        assert bob.health().status == "ok"
        await network.close()

    run(story())


async def flood(node: Node, target: str) -> None:
    """Send to somebody for ever."""
    while True:
        await node.send(target, bytes(1_000))


def test_a_payload_that_is_too_large_for_its_target_says_so_with_the_limit(tmp_path: Path) -> None:
    """One that took it when it was sent, crashed, and takes less since."""

    async def story() -> None:
        network = TestNetwork()
        told: list[Report] = []
        ann = await network.open_node("ann", on_event=told.append)
        await network.open_node("bob", journal=tmp_path)
        await network.settle()
        network.kill("bob")
        await ann.send("bob", bytes(200_000))
        await network.open_node("bob", journal=tmp_path, payload_limit=100_000)
        await network.settle()
        reason = "larger than 100,000 bytes, its payload_limit"
        assert Undeliverable(name="bob", sequences=(1,), reason=reason, why="too large") in told
        with pytest.raises(Undelivered) as caught:
            await ann.flush(SECONDS)
        assert f"1 to 'bob' ({reason})" in str(caught.value)
        assert "restarted" not in str(caught.value)
        await ann.flush(SECONDS)
        with suppress(Stranded):
            await network.close()

    run(story())


def test_a_node_that_is_fenced_has_its_own_name_and_that_of_who_expelled_it() -> None:
    async def story() -> None:
        network = TestNetwork()
        told: list[Report] = []
        ann = await network.open_node("ann")
        bob = await network.open_node("bob")
        bob.on_event(told.append)
        await network.settle()
        await ann.expel("bob", "too slow")
        await network.pass_time(10)
        fenced = NodeFenced(name="bob", by="ann", reason="too slow", told_by="ann")
        assert bob.fenced == fenced
        assert fenced in told
        await network.close()

    run(story())


def test_a_flush_ends_when_everything_is_in_the_inbox_whether_it_is_read_or_not() -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann")
        bob = await network.open_node("bob")
        await network.settle()
        for number in range(3):
            await ann.send("bob", str(number).encode())
        await ann.flush(SECONDS)
        assert bob.stats().inbox == 3
        assert [message.payload for message in bob.receive_ready()] == [b"0", b"1", b"2"]
        await network.close()

    run(story())
