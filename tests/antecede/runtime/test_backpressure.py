"""Room for what is sent: a share for every target, and the order of calls."""

import asyncio
from collections.abc import Awaitable

import pytest

from antecede.endpoint.limits import Limits
from antecede.errors import BufferFull
from antecede.runtime.config.settings import Order
from antecede.runtime.node import Node
from antecede.testing import TestNetwork
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, SECOND, Group

SECONDS = 60.0


def run(story: Awaitable[None]) -> None:
    """Run a story, which must come to an end."""

    async def bounded() -> None:
        await asyncio.wait_for(story, SECONDS)

    asyncio.run(bounded())


async def flood(node: Node, target: str, size: int) -> None:
    """Send to one target for ever."""
    while True:
        await node.send(target, bytes(size))


async def until_blocked(network: TestNetwork, node: Node) -> None:
    """Let time pass until nothing more can be sent to somebody."""
    sent = -1
    while sent != node.stats().messages_sent:
        sent = node.stats().messages_sent
        await network.pass_time(1)


# A share for every target.


@pytest.mark.parametrize("size", [10, 5_000, 100_000], ids=["small", "middling", "large"])
@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps", "fifo"])
def test_who_never_reads_does_not_keep_others_from_being_sent_to(order: Order, size: int) -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node(
            "ann", send_limit=1_000, send_bytes="2MiB", payload_limit="1MiB", order=order
        )
        await network.open_node("bob", receive_window="64KiB", order=order)
        cat = await network.open_node("cat", order=order)
        await network.settle()
        hog = asyncio.create_task(flood(ann, "bob", size))
        await until_blocked(network, ann)
        assert not hog.done()
        assert "send() waits for room to 'bob'" in str(ann.health())
        for number in range(300):
            await ann.send("cat", str(number).encode())
            assert (await cat.receive(SECONDS)).payload == str(number).encode()
        with pytest.raises(BufferFull, match=r"bob has its share|wait for room already"):
            ann.try_send("bob", bytes(size))
        hog.cancel()
        await network.close()

    run(story())


def test_shares_leave_room_for_the_next_however_many_are_full() -> None:
    """Each target that never answers leaves a quarter of what the one before has left."""
    group = Group([ANN, BOB, CAT, "dan", "eve"], limits=Limits(send_limit=1_000), log=False)
    group.run_for(SECOND)
    for name in (BOB, CAT, "dan", "eve"):
        group.kill(name)
    ann = group.nodes[ANN]
    counts: list[int] = []
    for name in (BOB, CAT, "dan", "eve"):
        before = ann.buffered()
        while ann.sending.send_fast(name, b"x", group.now_ns):
            if ann.sending.wants_flush():
                ann.write(group.now_ns)
        counts.append(ann.buffered() - before)
    assert counts == [750, 188, 47, 12]
    assert ann.buffered() < 1_000


def test_a_single_peer_may_have_the_whole_buffer() -> None:
    group = Group([ANN, BOB], limits=Limits(send_limit=100), log=False)
    group.run_for(SECOND)
    group.kill(BOB)
    sent = 0
    while group.nodes[ANN].sending.send_fast(BOB, b"x", group.now_ns):
        sent += 1
    assert sent == 100


# The order of calls.


@pytest.mark.parametrize("send_limit", [8_192, 50])
@pytest.mark.parametrize("size", [8, 2_000], ids=["small", "large"])
def test_messages_sent_by_many_tasks_come_in_the_order_of_their_calls(
    send_limit: int, size: int
) -> None:
    count = 10_000 if size == 8 else 500

    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann", send_limit=send_limit)
        bob = await network.open_node("bob")
        await network.open_node("cat")
        await network.settle()
        payloads = [str(number).encode().rjust(size) for number in range(count)]
        sends = asyncio.gather(*(ann.send("bob", payload) for payload in payloads))
        got = [(await bob.receive(SECONDS)).payload for _ in payloads]
        assert got == payloads
        assert await sends == list(range(1, count + 1))
        await network.close()

    run(story())


def test_who_comes_later_stands_behind_those_who_wait_for_the_same_target() -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann", send_limit=4)
        bob = await network.open_node("bob")
        cat = await network.open_node("cat")
        await network.settle()
        network.cut("ann", "bob")
        for number in range(3):
            ann.try_send("bob", str(number).encode())
        both = asyncio.create_task(ann.send(["bob", "cat"], b"both"))
        await asyncio.sleep(0)
        later = asyncio.create_task(ann.send("bob", b"later"))
        after = asyncio.create_task(ann.send("cat", b"after"))
        await network.pass_time(1)
        assert not both.done()
        assert not after.done(), "it is for a target of one before it"
        with pytest.raises(BufferFull, match=r"2 calls of send\(\) wait for room already"):
            ann.try_send("bob", b"now")
        network.heal("ann", "bob")
        assert [(await bob.receive(SECONDS)).payload for _ in range(5)] == [
            b"0",
            b"1",
            b"2",
            b"both",
            b"later",
        ]
        assert [(await cat.receive(SECONDS)).payload for _ in range(2)] == [b"both", b"after"]
        await asyncio.gather(both, later, after)
        await network.close()

    run(story())


def test_who_gives_up_waiting_does_not_hold_up_those_behind() -> None:
    async def story() -> None:
        network = TestNetwork()
        ann = await network.open_node("ann", send_limit=4)
        bob = await network.open_node("bob")
        await network.settle()
        network.cut("ann", "bob")
        for number in range(4):
            ann.try_send("bob", str(number).encode())
        waiting = [asyncio.create_task(ann.send("bob", str(n).encode())) for n in range(4, 10)]
        await asyncio.sleep(0)
        for task in (waiting[0], waiting[3]):
            task.cancel()
        await asyncio.sleep(0)
        network.heal("ann", "bob")
        got = [(await bob.receive(SECONDS)).payload for _ in range(8)]
        assert got == [b"0", b"1", b"2", b"3", b"5", b"6", b"8", b"9"]
        await network.close()

    run(story())
