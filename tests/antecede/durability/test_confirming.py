"""What confirms a message: asking through any of Python's wrappers, returning, and `done()`."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from antecede import blocking
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.node import Node
from antecede.runtime.typed_node import JsonCodec, TypedNode
from antecede.testing import TestNetwork
from tests.antecede.durability.test_node_journal import crash, reopened, run

MANY = 20
PATIENCE = 60.0

Take = Callable[[Node], Awaitable[object]]
"""How an application gets its next message."""


async def plainly(node: Node) -> object:
    return await node.receive(PATIENCE)


async def by_iteration(node: Node) -> object:
    return await anext(node)


async def within_a_limit(node: Node) -> object:
    return await asyncio.wait_for(node.receive(), PATIENCE)


async def iterated_within_a_limit(node: Node) -> object:
    return await asyncio.wait_for(anext(node), PATIENCE)


async def in_a_timeout(node: Node) -> object:
    async with asyncio.timeout(PATIENCE):
        return await node.receive()


async def in_a_task(node: Node) -> object:
    return await asyncio.create_task(node.receive())


async def in_a_group(node: Node) -> object:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(node.receive(PATIENCE))
    return task.result()


async def gathered(node: Node) -> object:
    (message,) = await asyncio.gather(node.receive(), return_exceptions=False)
    return message


async def shielded(node: Node) -> object:
    return await asyncio.shield(node.receive())


async def beside_something_else(node: Node) -> object:
    asked = asyncio.ensure_future(node.receive())
    other = asyncio.create_task(asyncio.sleep(PATIENCE))
    await asyncio.wait({asked, other}, return_when=asyncio.FIRST_COMPLETED)
    other.cancel()
    return asked.result()


async def as_completed(node: Node) -> object:
    (first,) = asyncio.as_completed([node.receive()])
    return await first


async def typed_within_a_limit(node: Node) -> object:
    return await asyncio.wait_for(TypedNode(node, JsonCodec()).receive(), PATIENCE)


async def typed_and_iterated(node: Node) -> object:
    return await asyncio.wait_for(anext(TypedNode(node, JsonCodec())), PATIENCE)


async def what_is_ready(node: Node) -> object:
    while not (messages := node.receive_ready()):
        await asyncio.sleep(0)
    return messages


TAKES = [
    plainly,
    by_iteration,
    within_a_limit,
    iterated_within_a_limit,
    in_a_timeout,
    in_a_task,
    in_a_group,
    gathered,
    shielded,
    beside_something_else,
    as_completed,
    typed_within_a_limit,
    typed_and_iterated,
    what_is_ready,
]


async def left_over(network: TestNetwork, folder: Path) -> list[bytes]:
    """What comes again when bob is killed and opened again."""
    bob = await reopened(network, "bob", folder, confirm="done")
    return [message.payload for message in bob.receive_ready()]


@pytest.mark.parametrize("take", TAKES)
def test_asking_again_confirms_whoever_runs_what_was_asked(
    take: Take, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann")
            bob = await network.open_node("bob", journal=tmp_path)
            for number in range(MANY):
                await ann.send("bob", b"%d" % number)
                await take(bob)
            await bob.journal.sync()
            assert await left_over(network, tmp_path) == [b"%d" % (MANY - 1)]

    run(story())
    assert caplog.text == ""


@pytest.mark.parametrize("take", TAKES)
def test_what_is_asked_for_and_given_up_confirms_what_was_taken_before(
    take: Take, tmp_path: Path
) -> None:
    """The task that asked has said with that that it is done with the message before."""

    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path)
            await bob.send("bob", b"1")
            await take(bob)

            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await take(bob)
            await bob.send("bob", b"2")
            await bob.journal.sync()
            assert await left_over(network, tmp_path) == [b"2"]

    run(story())


def test_a_task_that_ends_with_its_message_confirms_nothing_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path)

            async def one() -> InboundMessage:
                return await bob.receive(PATIENCE)

            for number in range(3):
                await bob.send("bob", b"%d" % number)
                await asyncio.create_task(one())
            await asyncio.sleep(0)
            await bob.journal.sync()
            assert await left_over(network, tmp_path) == [b"0", b"1", b"2"]

    run(story())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "bob: a task has taken a message and ended, which confirms nothing" in caplog.text
    assert "Call message.done() when it is handled" in caplog.text


def test_a_task_that_receives_several_times_at_once_confirms_nothing_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody knows which of them it is done with when it asks again."""

    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path)
            for number in range(6):
                await bob.send("bob", b"%d" % number)
            for _ in range(3):
                await asyncio.gather(bob.receive(PATIENCE), bob.receive(PATIENCE))
            await bob.journal.sync()
            assert len(await left_over(network, tmp_path)) == 6

    run(story())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "bob: a task receives several times at once" in caplog.text


def test_done_confirms_each_of_several_and_nothing_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path)

            async def one() -> None:
                message = await bob.receive(PATIENCE)
                message.done()

            for number in range(4):
                await bob.send("bob", b"%d" % number)
                await asyncio.create_task(one())
            await bob.journal.sync()
            assert await left_over(network, tmp_path) == []

    run(story())
    assert caplog.text == ""


@pytest.mark.parametrize("durable", ["sync", "process"])
def test_done_may_be_awaited_and_ends_when_it_is_on_disk(tmp_path: Path, durable: str) -> None:
    """A node that is killed right after that does not see the message again."""

    async def story() -> None:
        async with TestNetwork() as network:
            settings = {"journal": tmp_path, "confirm": "done", "durable": durable}
            bob = await network.open_node("bob", settings=settings)
            for number in range(3):
                await bob.send("bob", b"%d" % number)
            for _ in range(3):
                message = await bob.receive(PATIENCE)
                await message.done()
                await message.done()  # Once is enough, and twice is no harm.
            assert await left_over(network, tmp_path) == []

    run(story())


def test_without_a_journal_done_has_nothing_to_wait_for() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob")
            await bob.send("bob", b"x")
            await (await bob.receive(PATIENCE)).done()

    run(story())


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_a_handler_that_starts_a_task_confirms_when_the_task_is_done(
    kind: str, tmp_path: Path
) -> None:
    """With confirm="done" a job that was begun and not finished is not gone after a crash."""

    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path, confirm="done")
            jobs: list[asyncio.Task[None]] = []
            finished: list[bytes] = []

            async def work(message: InboundMessage) -> None:
                if message.payload != b"1":
                    await asyncio.sleep(0)
                    finished.append(message.payload)
                    await message.done()
                else:
                    await asyncio.sleep(PATIENCE)

            def begin(message: InboundMessage) -> None:
                jobs.append(asyncio.create_task(work(message)))

            async def begin_later(message: InboundMessage) -> None:
                begin(message)

            bob.on_message(begin if kind == "plain" else begin_later)
            for number in range(3):
                await bob.send("bob", b"%d" % number)
            while len(finished) < 2:
                await asyncio.sleep(0)
            await asyncio.wait({jobs[0], jobs[2]})
            bob_again = await left_over(network, tmp_path)
            assert bob_again == [b"1"]
            for job in jobs:
                job.cancel()

    run(story())


def test_a_thread_that_does_the_work_may_say_done(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path, confirm="done")
            for number in range(5):
                await bob.send("bob", b"%d" % number)
                message = await bob.receive(PATIENCE)
                if number != 3:
                    await asyncio.to_thread(message.done)
            await asyncio.sleep(0)
            await bob.journal.sync()
            assert await left_over(network, tmp_path) == [b"3"]

    run(story())


@pytest.mark.parametrize("confirm", ["next", "done"])
@pytest.mark.parametrize("kind", ["plain", "coroutine", "answers"])
def test_returning_from_a_handler_confirms_unless_done_is_to(
    confirm: str, kind: str, tmp_path: Path
) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", settings={"journal": tmp_path, "confirm": confirm})
            seen: list[bytes] = []

            def plain(message: InboundMessage) -> None:
                seen.append(message.payload)

            async def coroutine(message: InboundMessage) -> None:
                await asyncio.sleep(0)
                seen.append(message.payload)

            def answers(message: InboundMessage) -> None:
                seen.append(message.payload)
                return 7  # type: ignore[return-value] # somebody's lambda may

            bob.on_message({"plain": plain, "coroutine": coroutine, "answers": answers}[kind])
            for number in range(3):
                await bob.send("bob", b"%d" % number)
            while len(seen) < 3:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            await bob.journal.sync()
            expected = [] if confirm == "next" else [b"0", b"1", b"2"]
            assert await left_over(network, tmp_path) == expected

    run(story())


@pytest.mark.parametrize("confirm", ["next", "done"])
def test_a_handler_in_a_thread_confirms_by_returning_unless_done_is_to(
    confirm: str, tmp_path: Path
) -> None:
    seen = threading.Semaphore(0)
    settings = {"journal": tmp_path, "confirm": confirm, "durable": "process"}
    node = blocking.open_node("bob", settings=settings)
    node.on_message(lambda _message: seen.release())
    for number in range(3):
        node.send("bob", b"%d" % number)
    for _ in range(3):
        assert seen.acquire(timeout=PATIENCE)
    node.send("bob", b"last")
    assert seen.acquire(timeout=PATIENCE)
    node.journal.sync()
    crash(node)
    with blocking.open_node("bob", journal=tmp_path, confirm="done") as node:
        again = [message.payload for message in node.receive_ready()]
    # The last may have been on its way to being confirmed.
    assert set(again) - {b"last"} == (set() if confirm == "next" else {b"0", b"1", b"2"})
