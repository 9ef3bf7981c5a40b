"""Python's own wrappers around what a node awaits: nothing is lost, doubled or left waiting."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from antecede.runtime.errors import NodeClosed
from antecede.runtime.node import Node
from antecede.runtime.typed_node import JsonCodec, TypedNode
from antecede.testing import TestNetwork

MANY = 100
PATIENCE = 60.0

Take = Callable[[Node], Awaitable[bytes]]


async def within_a_limit(node: Node) -> bytes:
    return (await asyncio.wait_for(node.receive(), PATIENCE)).payload


async def iterated_within_a_limit(node: Node) -> bytes:
    return (await asyncio.wait_for(anext(node), PATIENCE)).payload


async def in_a_timeout(node: Node) -> bytes:
    async with asyncio.timeout(PATIENCE):
        return (await node.receive()).payload


async def in_a_task(node: Node) -> bytes:
    return (await asyncio.create_task(node.receive())).payload


async def in_a_group(node: Node) -> bytes:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(node.receive())
    return task.result().payload


async def gathered(node: Node) -> bytes:
    (message,) = await asyncio.gather(node.receive())
    return message.payload


async def shielded(node: Node) -> bytes:
    return (await asyncio.shield(node.receive())).payload


async def typed(node: Node) -> bytes:
    message = await asyncio.wait_for(TypedNode(node, JsonCodec()).receive(), PATIENCE)
    return b"%d" % message.value


TAKES: list[Take] = [
    within_a_limit,
    iterated_within_a_limit,
    in_a_timeout,
    in_a_task,
    in_a_group,
    gathered,
    shielded,
    typed,
]


@pytest.mark.parametrize("take", TAKES)
def test_every_message_comes_once_and_in_order_through_any_wrapper(take: Take) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            expected = [b"%d" % number for number in range(MANY)]
            for payload in expected[: MANY // 2]:
                await alice.send("bob", payload)
            received = [await take(bob) for _ in range(MANY // 2)]
            for payload in expected[MANY // 2 :]:
                taking = asyncio.create_task(take_one(take, bob, received))
                await asyncio.sleep(0)
                await alice.send("bob", payload)
                await taking
            assert received == expected
            assert bob.receive_ready() == []

    async def take_one(take: Take, node: Node, received: list[bytes]) -> None:
        received.append(await take(node))

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.parametrize("turns", range(6))
def test_giving_up_at_any_moment_loses_no_message(turns: int) -> None:
    """Whoever is cancelled has taken the message, or has left it for the next who asks."""

    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            received: list[bytes] = []
            await network.settle()
            for number in range(MANY):
                asking = asyncio.create_task(asyncio.wait_for(bob.receive(), PATIENCE))
                await asyncio.sleep(0)
                alice.try_send("bob", b"%d" % number)
                for _ in range(turns + number % 3):
                    await asyncio.sleep(0)
                asking.cancel()
                await asyncio.wait({asking})
                if not asking.cancelled():
                    received.append(asking.result().payload)
            await network.settle()
            received += [message.payload for message in bob.receive_ready()]
            assert received == [b"%d" % number for number in range(MANY)]

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_sending_through_wrappers_keeps_the_order_of_the_calls_that_were_awaited() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            await asyncio.wait_for(alice.send("bob", b"0"), PATIENCE)
            await asyncio.shield(alice.send("bob", b"1"))
            await asyncio.create_task(alice.send("bob", b"2"))
            async with asyncio.timeout(PATIENCE):
                await alice.send("bob", b"3")
            async with asyncio.TaskGroup() as group:
                group.create_task(alice.send("bob", b"4"))
            await asyncio.gather(alice.send("bob", b"5"), alice.send("bob", b"6"))
            await asyncio.wait_for(alice.flush(), PATIENCE)
            expected = [b"%d" % number for number in range(7)]
            assert [message.payload for message in bob.receive_ready()] == expected

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_closing_that_is_given_up_has_closed_the_node() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            await network.open_node("bob")
            await network.settle()
            network.cut("alice", "bob")
            await alice.send("bob", b"x")
            closing = asyncio.create_task(asyncio.wait_for(alice.close(PATIENCE), PATIENCE))
            asking = asyncio.create_task(asyncio.wait_for(alice.receive(), PATIENCE))
            for _ in range(5):
                await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait({closing, asking})
            assert closing.cancelled()
            assert isinstance(asking.exception(), NodeClosed)
            assert alice.closed
            await alice.close(PATIENCE)

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_several_may_close_a_node_at_once() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            await network.open_node("bob")
            await alice.send("bob", b"x")
            results = await asyncio.gather(*(alice.close(PATIENCE) for _ in range(3)))
            assert results == [None] * 3
            with pytest.raises(NodeClosed):
                await asyncio.shield(alice.send("bob", b"y"))

    asyncio.run(asyncio.wait_for(story(), PATIENCE))
