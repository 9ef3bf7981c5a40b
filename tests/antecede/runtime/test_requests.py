"""Requests and replies between real nodes on loopback."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from pathlib import Path

import pytest

from antecede import open_node
from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.errors import RequestFailed
from antecede.runtime.node import Node

WAIT = 20.0
"""Seconds after which a test has failed; nothing here takes long."""


async def answer(message: InboundMessage) -> None:
    await message.reply(message.payload.upper())


def pair(work: Callable[[Node, Node], Awaitable[None]]) -> None:
    """Run `work` with two nodes that know each other."""

    async def run() -> None:
        async with (
            open_node("bob", accept_unknown="anybody") as bob,
            open_node("alice", peers={"bob": bob.address}) as alice,
        ):
            await asyncio.wait_for(work(alice, bob), WAIT)

    asyncio.run(run())


@pytest.mark.parametrize("timeout", [None, 5, 1e306, inf])
def test_a_request_gets_its_reply(timeout: float | None) -> None:
    async def work(alice: Node, bob: Node) -> None:
        bob.on_message(answer)
        reply = await alice.request("bob", b"hello", timeout)
        assert (reply.sender, reply.payload) == ("bob", b"HELLO")

    pair(work)


def test_thousands_of_requests_are_under_way_and_each_gets_its_own_reply() -> None:
    async def work(alice: Node, bob: Node) -> None:
        bob.on_message(answer)
        asked = [b"n%d" % number for number in range(3_000)]
        replies = await asyncio.gather(*(alice.request("bob", each) for each in asked))
        assert [reply.payload for reply in replies] == [each.upper() for each in asked]
        assert alice._requests.count() == 0

    pair(work)


def test_messages_that_are_no_requests_cannot_be_replied_to() -> None:
    async def work(alice: Node, bob: Node) -> None:
        await alice.send("bob", b"no question")
        message = await bob.receive()
        with pytest.raises(LocalError, match="no request"):
            await message.reply(b"an answer")

    pair(work)


def test_a_second_reply_is_an_error_and_is_not_sent() -> None:
    async def work(alice: Node, bob: Node) -> None:
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        await request.reply(b"one")
        with pytest.raises(LocalError, match="already"):
            await request.reply(b"two")
        assert (await asking).payload == b"one"

    pair(work)


def test_a_refusal_says_why() -> None:
    async def work(alice: Node, bob: Node) -> None:
        asking = asyncio.create_task(alice.request("bob", b"?"))
        await (await bob.receive()).refuse("not today")
        with pytest.raises(RequestFailed, match="refuses: not today") as caught:
            await asking
        assert caught.value.why == "refused"

    pair(work)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_that_raises_refuses(is_async: bool) -> None:
    async def work(alice: Node, bob: Node) -> None:
        def fail(message: InboundMessage) -> None:
            raise ValueError(message.payload)

        async def fail_later(message: InboundMessage) -> None:
            await asyncio.sleep(0)
            fail(message)

        bob.on_message(fail_later if is_async else fail)
        with pytest.raises(RequestFailed, match="handler has failed"):
            await alice.request("bob", b"?", timeout=10)

    pair(work)


def test_a_request_that_nobody_answers_times_out_and_its_late_reply_is_dropped() -> None:
    async def work(alice: Node, bob: Node) -> None:
        await alice.meet()
        with pytest.raises(RequestFailed, match=r"within 50.* still be handled") as caught:
            await alice.request("bob", b"?", timeout=0.05)
        assert caught.value.why == "timed out"
        await (await bob.receive()).reply(b"late")
        await bob.flush()
        await alice.send("bob", b"next")
        await bob.receive()
        assert alice._requests.late == 1
        assert alice._requests.count() == 0
        assert alice._deliveries.unread() == 0

    pair(work)


def test_a_request_that_could_not_be_sent_in_time_says_so() -> None:
    async def run() -> None:
        async with open_node("alice", peers={"bob": "127.0.0.1:9"}) as alice:
            with pytest.raises(RequestFailed, match="it could not be sent") as caught:
                await alice.request("bob", b"?", timeout=0.05)
            assert caught.value.why == "timed out"

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_cancelled_request_is_forgotten() -> None:
    async def work(alice: Node, bob: Node) -> None:
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert alice._requests.count() == 0
        await request.reply(b"too late")

    pair(work)


def test_a_peer_that_leaves_fails_what_was_asked_of_it() -> None:
    async def run() -> None:
        async with open_node("alice", accept_unknown="anybody") as alice:
            bob = await open_node("bob", peers={"alice": alice.address})
            await bob.send("alice", b"hello")
            await alice.receive()
            asking = asyncio.create_task(alice.request("bob", b"?"))
            await bob.receive()
            await bob.close()
            with pytest.raises(RequestFailed) as caught:
                await asking
            assert caught.value.why == "left"
            with pytest.raises(RequestFailed) as caught:
                await alice.request("bob", b"?")
            assert caught.value.why == "away"

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_reply_that_leaves_just_before_its_sender_does_is_not_lost() -> None:
    async def run() -> None:
        async with open_node("alice", accept_unknown="anybody") as alice:
            bob = await open_node("bob", peers={"alice": alice.address})
            await bob.send("alice", b"hello")
            await alice.receive()
            asking = asyncio.create_task(alice.request("bob", b"?"))
            await (await bob.receive()).reply(b"goodbye")
            await bob.close()
            assert (await asking).payload == b"goodbye"

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_node_that_closes_fails_its_own_requests() -> None:
    async def run() -> None:
        async with open_node("bob", accept_unknown="anybody") as bob:
            alice = await open_node("alice", peers={"bob": bob.address})
            asking = asyncio.create_task(alice.request("bob", b"?"))
            await bob.receive()
            await alice.close()
            with pytest.raises(RequestFailed, match="this node was closed"):
                await asking

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_reply_waits_for_its_turn_behind_what_a_reader_has_not_taken() -> None:
    seen: list[bytes] = []

    async def work(alice: Node, bob: Node) -> None:
        goes_on = asyncio.Event()

        async def read() -> None:
            async for message in alice:
                seen.append(message.payload)
                await goes_on.wait()

        async def ask() -> None:
            seen.append((await alice.request("bob", b"?", timeout=10)).payload)

        reading = asyncio.create_task(read())
        await alice.send("bob", b"hello")
        await bob.receive()
        asking = asyncio.create_task(ask())
        request = await bob.receive()
        for payload in (b"first", b"second"):
            await bob.send("alice", payload)
        await request.reply(b"reply")
        await bob.send("alice", b"third")
        await bob.flush()
        await asyncio.sleep(0.05)
        assert seen == [b"first"]
        goes_on.set()
        await asking
        while len(seen) < 4:
            await asyncio.sleep(0.01)
        reading.cancel()

    pair(work)
    assert seen == [b"first", b"second", b"reply", b"third"]


@pytest.mark.parametrize("gathered", [False, True])
def test_a_reader_that_asks_gets_its_reply_at_once(gathered: bool) -> None:
    async def work(alice: Node, bob: Node) -> None:
        async def serve() -> None:
            async for message in bob:
                if message.is_request:
                    await bob.send("alice", b"meanwhile")
                    await message.reply(b"reply")

        serving = asyncio.create_task(serve())
        await alice.request("bob", b"?")
        async for message in alice:
            assert message.payload == b"meanwhile"
            if gathered:
                (reply,) = await asyncio.gather(alice.request("bob", b"?", timeout=5))
            else:
                reply = await alice.request("bob", b"?", timeout=5)
            assert reply.payload == b"reply"
            break
        serving.cancel()

    pair(work)


def test_a_reader_that_asks_gets_its_reply_although_its_window_is_full() -> None:
    async def run() -> None:
        async with (
            open_node("bob", accept_unknown="anybody") as bob,
            open_node("alice", peers={"bob": bob.address}, receive_window="64KiB") as alice,
        ):
            await alice.send("bob", b"hello")
            await bob.receive()
            flood = asyncio.create_task(flooding(bob))
            asked = False
            async for _ in alice:
                if not asked:
                    asked = True
                    await asyncio.sleep(0.2)
                    reply = await alice.request("bob", b"?", timeout=10)
                    assert reply.payload == b"reply"
                    break
            flood.cancel()
            alice.receive_ready()

    async def flooding(bob: Node) -> None:
        async def reply() -> None:
            await (await bob.receive()).reply(b"reply")

        replying = asyncio.create_task(reply())
        for _ in range(100):
            await bob.send("alice", bytes(1_000))
        await replying

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_handler_gets_messages_and_replies_in_one_order() -> None:
    seen: list[bytes] = []

    async def work(alice: Node, bob: Node) -> None:
        alice.on_message(lambda message: seen.append(message.payload))
        await alice.send("bob", b"hello")
        await bob.receive()

        async def ask() -> None:
            seen.append((await alice.request("bob", b"?", timeout=10)).payload)

        asking = asyncio.create_task(ask())
        request = await bob.receive()
        await bob.send("alice", b"first")
        await request.reply(b"reply")
        await bob.send("alice", b"second")
        await asking
        while len(seen) < 3:
            await asyncio.sleep(0.01)

    pair(work)
    assert seen == [b"first", b"reply", b"second"]


def test_headers_targets_and_reply_to_travel_with_a_message() -> None:
    async def run() -> None:
        async with (
            open_node("carol", accept_unknown="anybody") as carol,
            open_node("bob", accept_unknown="anybody", peers={"carol": carol.address}) as bob,
            open_node("alice", peers={"bob": bob.address, "carol": carol.address}) as alice,
        ):
            await alice.send(["bob", "carol"], b"x", headers={"kind": b"note"}, reply_to="carol")
            for node in (bob, carol):
                message = await node.receive()
                assert message.payload == b"x"
                assert message.targets == ("bob", "carol")
                assert dict(message.headers) == {"kind": b"note"}
                assert message.reply_to == "carol"
            await alice.send("bob", b"\xffA\xce\x01 begins like an envelope")
            message = await bob.receive()
            assert message.payload == b"\xffA\xce\x01 begins like an envelope"
            assert message.targets == ()
            assert message.reply_to == "alice"
            with pytest.raises(LocalError, match="headers map names to bytes"):
                await alice.send("bob", b"x", headers={"kind": "text"})  # type: ignore[dict-item]

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_request_tells_until_when_its_reply_is_waited_for() -> None:
    async def work(alice: Node, bob: Node) -> None:
        asking = asyncio.create_task(alice.request("bob", b"?", timeout=7))
        request = await bob.receive()
        assert request.deadline is not None
        assert 5 < request.deadline - asyncio.get_running_loop().time() <= 7
        await request.reply(b"")
        await asking
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        assert request.deadline is None
        await request.reply(b"")
        await asking

    pair(work)


def test_with_a_journal_a_reply_confirms_its_request(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_node("alice", accept_unknown="anybody") as alice:
            bob = await open_node(
                "bob", peers={"alice": alice.address}, journal=tmp_path / "bob", confirm="done"
            )
            await bob.send("alice", b"hello")
            await alice.receive()
            first = asyncio.create_task(alice.request("bob", b"one", timeout=15))
            second = asyncio.create_task(alice.request("bob", b"two", timeout=15))
            one = await bob.receive()
            await bob.receive()
            await one.reply(b"ONE")
            assert (await first).payload == b"ONE"
            address = bob.address
            bob.abandon()
            bob = await open_node(
                "bob",
                bind=address,
                peers={"alice": alice.address},
                journal=tmp_path / "bob",
                confirm="done",
            )
            again = await bob.receive(timeout=10)
            assert (again.payload, again.again) == (b"two", True)
            await again.reply(b"TWO")
            assert (await second).payload == b"TWO"
            await bob.close()

    asyncio.run(asyncio.wait_for(run(), WAIT))
