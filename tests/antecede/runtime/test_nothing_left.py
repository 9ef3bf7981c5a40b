"""What a node that was opened and closed leaves behind: nothing."""

import asyncio
import gc
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from pathlib import Path

import pytest

import antecede
from antecede import blocking
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.errors import NodeClosed
from antecede.testing import TestNetwork

TIMES = 30
PATIENCE = 60.0
STRETCHES = 5
"""A leak grows in every stretch of lives; a thread of the loop's own, or a connection that is just
being closed, is there in one of them."""

FEW_BLOCKS = 4
"""Per node: dictionaries of the interpreter's own grow in steps, and some are as large as ten."""

Life = Callable[[Path], Awaitable[None]]


async def alone(_folder: Path) -> None:
    async with antecede.open_node("alice"):
        pass


async def busy(_folder: Path) -> None:
    async with antecede.open_node("alice", on_event=lambda _report: None) as alice:
        for _ in range(3):
            await alice.send("alice", b"x")
            await alice.receive(PATIENCE)


async def with_a_handler(_folder: Path) -> None:
    async def handler(_message: InboundMessage) -> None:
        await asyncio.sleep(0)

    async with antecede.open_node("alice") as alice:
        alice.on_message(handler)
        await alice.send("alice", b"x")


async def with_a_journal(folder: Path) -> None:
    async with antecede.open_node("alice", journal=folder, durable="process") as alice:
        await alice.send("alice", b"x")
        await alice.receive(PATIENCE)


async def with_a_journal_and_messages_that_nobody_reads(folder: Path) -> None:
    async with antecede.open_node("alice", journal=folder, durable="process") as alice:
        for _ in range(3):
            await alice.send("alice", b"x")


async def with_a_journal_and_a_message_that_outlives_the_node(folder: Path) -> None:
    async with antecede.open_node("alice", journal=folder, durable="process") as alice:
        await alice.send("alice", b"x")
        message = await alice.receive(PATIENCE)
    with pytest.raises(NodeClosed):
        await message.done()


async def with_an_event_log(folder: Path) -> None:
    async with antecede.open_node("alice", trace=folder / "log.jsonl") as alice:
        await alice.send("alice", b"x")
        await alice.receive(PATIENCE)
    (folder / "log.jsonl").unlink()


async def with_a_peer(_folder: Path) -> None:
    alice = await antecede.open_node("alice")
    bob = await antecede.open_node("bob", peers={"alice": alice.address})
    alice.add_peer("bob", bob.address)
    await alice.send("bob", b"x")
    await bob.receive(PATIENCE)
    await asyncio.gather(alice.close(PATIENCE), bob.close(PATIENCE))


async def abandoned(_folder: Path) -> None:
    alice = await antecede.open_node("alice", peers={"bob": "127.0.0.1:9"})
    sending = asyncio.create_task(alice.send("bob", b"x"))
    await asyncio.sleep(0)
    alice.abandon()
    with pytest.raises(NodeClosed):
        await sending


async def leaving_somebody_out(_folder: Path) -> None:
    async with antecede.open_node("alice", peers={"bob": None}, meet_within=0) as alice:
        await alice.send(["alice", "bob"], b"x")
        await alice.receive(PATIENCE)


async def giving_up_to_meet_somebody(_folder: Path) -> None:
    async with antecede.open_node("alice", peers={"bob": None}) as alice:
        calls: list[Coroutine[None, None, object]] = [alice.meet(), alice.send("bob", b"x")]
        for waiting in calls:
            task = asyncio.create_task(waiting)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


async def over_tcp(_folder: Path) -> None:
    alice = await antecede.open_node("alice", bind="tcp://127.0.0.1:0", accept_unknown=True)
    bob = await antecede.open_node("bob", bind="tcp://127.0.0.1:0", peers={"alice": alice.address})
    await bob.send("alice", b"x")
    await alice.receive(PATIENCE)
    await asyncio.gather(alice.close(PATIENCE), bob.close(PATIENCE))


async def in_memory(_folder: Path) -> None:
    async with TestNetwork() as network:
        alice = await network.open_node("alice")
        bob = await network.open_node("bob")
        await alice.send("bob", b"x")
        await bob.receive(PATIENCE)


async def in_a_thread(_folder: Path) -> None:
    with blocking.open_node("alice") as alice:
        alice.send("alice", b"x")
        alice.receive(PATIENCE)


LIVES: list[Life] = [
    alone,
    busy,
    with_a_handler,
    with_a_journal,
    with_a_journal_and_messages_that_nobody_reads,
    with_a_journal_and_a_message_that_outlives_the_node,
    with_an_event_log,
    with_a_peer,
    abandoned,
    leaving_somebody_out,
    giving_up_to_meet_somebody,
    over_tcp,
    in_memory,
    in_a_thread,
]


async def counted() -> tuple[int, int]:
    """Objects and blocks that are in use, and could not be collected."""
    loop = asyncio.get_running_loop()
    # Timers that were cancelled stay in the loop until they are most of those that are there.
    for _ in range(1000):
        loop.call_later(3600, gc.collect).cancel()
    # A connection over TCP that was closed is gone some turns later.
    for _ in range(5):
        await asyncio.sleep(0.01)
        gc.collect()
    return len(gc.get_objects()), sys.getallocatedblocks()


@pytest.mark.parametrize("life", LIVES)
def test_a_node_that_was_closed_leaves_nothing_behind(
    life: Life, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)  # Warnings that are captured would count.

    async def story() -> None:
        folders = (tmp_path / str(number) for number in count())

        async def live(times: int) -> None:
            for _ in range(times):
                folder = next(folders)
                folder.mkdir()
                await life(folder)
                await asyncio.sleep(0)

        await live(TIMES)
        objects, blocks = await counted()
        grown: list[tuple[int, int]] = []
        for _ in range(STRETCHES):
            await live(TIMES)
            more_objects, more_blocks = await counted()
            grown.append((more_objects - objects, more_blocks - blocks))
            objects, blocks = more_objects, more_blocks
            if grown[-1][0] < TIMES // 2 and grown[-1][1] < TIMES * FEW_BLOCKS:
                return
        raise AssertionError(f"{TIMES} nodes leave objects and blocks behind each time: {grown}")

    asyncio.run(asyncio.wait_for(story(), 4 * PATIENCE))


def test_a_loop_with_many_timers_keeps_none_of_a_node_that_had_nothing_to_wait_for() -> None:
    """There, a timer that was cancelled stays until its time: it must not be for ever."""

    async def story() -> None:
        loop = asyncio.get_running_loop()
        others = [loop.call_later(3600, gc.collect) for _ in range(2000)]
        for _ in range(TIMES):
            async with antecede.open_node("alice"):
                pass
            await asyncio.sleep(0)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(TIMES):
            async with antecede.open_node("alice"):
                pass
            await asyncio.sleep(0)
        gc.collect()
        assert len(gc.get_objects()) - before < TIMES // 2
        for other in others:
            other.cancel()

    asyncio.run(asyncio.wait_for(story(), PATIENCE))
