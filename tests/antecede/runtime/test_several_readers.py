"""Several tasks, and Python's own wrappers around what is awaited: who gets which message."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import chain

import pytest

from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.node import Node
from antecede.testing import TestNetwork

WAITING = [1, 255, 256, 257, 512, 513, 600, 2000]
SECONDS = 60.0

Reading = Callable[[Node, list[int]], Coroutine[None, None, None]]


async def iterate(node: Node, share: list[int]) -> None:
    """Take messages as an application does, without a pause."""
    async for message in node:
        share.append(int(message.payload))


async def iterate_slowly(node: Node, share: list[int]) -> None:
    async for message in node:
        share.append(int(message.payload))
        await asyncio.sleep(0)


async def ask_again(node: Node, share: list[int]) -> None:
    while True:
        share.append(int((await node.receive()).payload))


async def ask_with_a_limit(node: Node, share: list[int]) -> None:
    while True:
        share.append(int((await node.receive(SECONDS)).payload))


async def take_what_is_there(node: Node, share: list[int]) -> None:
    while True:
        share.append(int((await node.receive()).payload))
        share.extend(int(message.payload) for message in node.receive_ready()[:])


READINGS: list[Reading] = [
    iterate,
    iterate_slowly,
    ask_again,
    ask_with_a_limit,
    take_what_is_there,
]


@pytest.mark.parametrize("waiting", WAITING)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("readers", [2, 3])
def test_each_of_several_tasks_gets_its_share_in_order_and_goes_on(
    waiting: int, reading: Reading, readers: int
) -> None:
    """Also when more waits than is handed over in one turn, and another task takes the last."""

    async def story() -> list[list[int]]:
        shares: list[list[int]] = [[] for _ in range(readers)]
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            for number in range(waiting):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            tasks = [asyncio.create_task(reading(bob, share)) for share in shares]
            for _ in range(waiting + 10):
                await asyncio.sleep(0)
            assert sum(len(share) for share in shares) == waiting
            assert not any(task.done() for task in tasks), "the node is open: more may come"
            # They still read.
            for number in range(waiting, waiting + readers):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            assert not any(task.done() for task in tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return shares

    shares = asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert [share == sorted(share) for share in shares] == [True] * readers
    assert sorted(chain.from_iterable(shares)) == list(range(waiting + readers))
    if reading is iterate_slowly:  # Readers that let others run take turns.
        counts = [len(share) for share in shares]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("taken", [1, 255, 256, 257])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_gets_what_a_reader_has_left(taken: int, is_async: bool) -> None:
    """All of it and in order, before what comes later."""

    async def story() -> list[int]:
        seen: list[int] = []

        async def later(message: InboundMessage) -> None:
            seen.append(int(message.payload))

        def at_once(message: InboundMessage) -> None:
            seen.append(int(message.payload))

        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            for number in range(600):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            async for message in bob:
                seen.append(int(message.payload))
                if len(seen) == taken:
                    break
            bob.on_message(later if is_async else at_once)
            for number in range(600, 610):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            while bob.stats().inbox:
                await asyncio.sleep(0)
            assert len(seen) == 610
        return seen

    assert asyncio.run(asyncio.wait_for(story(), SECONDS)) == list(range(610))
