"""A node as an application uses it, on real sockets in one process."""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable

import pytest

import antecede
from antecede.core.errors import BufferFull, LocalError
from antecede.events import PeerLeft, PeerMet, Report, Undeliverable
from antecede.runtime.errors import (
    CannotBind,
    NodeClosed,
    PayloadTooLarge,
    PeerGone,
    Stranded,
    TimedOut,
    Undelivered,
    UnknownPeer,
    WouldDeadlock,
)
from antecede.runtime.node import Node
from tests.antecede.runtime.killed_peers import meet_and_kill

SECONDS = 60.0

Story = Callable[[Node, Node], Awaitable[None]]


def play(story: Story, **settings: object) -> None:
    """Open two nodes that know each other, and let `story` use them."""

    async def stage() -> None:
        alice = await antecede.open_node("alice", bind="127.0.0.1:0", **settings)  # type: ignore[arg-type] # any settings
        bob = await antecede.open_node(
            "bob",
            bind="127.0.0.1:0",
            peers={"alice": alice.address},
            **settings,  # type: ignore[arg-type] # any settings
        )
        alice.add_peer("bob", bob.address)
        try:
            await asyncio.wait_for(story(alice, bob), SECONDS)
        finally:
            await asyncio.gather(alice.close(0.5), bob.close(0.5), return_exceptions=True)

    asyncio.run(stage())


def test_a_message_is_delivered_with_its_sender_and_number() -> None:
    async def story(alice: Node, bob: Node) -> None:
        sequence = await alice.send("bob", b"hello")
        message = await bob.receive(30)
        assert (message.sender, message.sequence, message.payload) == ("alice", sequence, b"hello")

    play(story)


def test_ids_count_from_one_and_are_the_same_on_both_sides() -> None:
    async def story(alice: Node, bob: Node) -> None:
        sent = [await alice.send("bob", b"%d" % number) for number in range(5)]
        received = [(await bob.receive(30)).sequence for _ in range(5)]
        assert sent == received == [1, 2, 3, 4, 5]

    play(story)


def test_one_message_may_go_to_several_including_oneself() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await alice.send(["bob", "alice"], b"to both")
        assert (await bob.receive(30)).payload == b"to both"
        assert (await alice.receive(30)).payload == b"to both"
        await alice.send("alice", b"to myself")
        assert (await alice.receive(30)).sender == "alice"

    play(story)


@pytest.mark.parametrize("datagram", [1400, 60_000])
def test_a_large_payload_arrives_whole_and_in_order(datagram: int) -> None:
    async def story(alice: Node, bob: Node) -> None:
        large = bytes(range(251)) * 4000
        await alice.send("bob", b"before")
        task = asyncio.create_task(alice.send(["bob", "alice"], large))
        after = asyncio.create_task(alice.send("bob", b"after"))
        received = [await bob.receive(30) for _ in range(3)]
        assert [message.payload for message in received] == [b"before", large, b"after"]
        assert received[1].sequence == await task
        assert (await alice.receive(30)).payload == large
        await after

    play(story, mtu=datagram, send_limit=64)


def test_messages_are_numbered_whatever_their_size() -> None:
    """The first message is number 1 although it travels in many parts."""

    async def story(alice: Node, bob: Node) -> None:
        sent = [await alice.send("bob", payload) for payload in (bytes(5 << 20), b"two", b"three")]
        received = [(await bob.receive(30)).sequence for _ in range(3)]
        assert sent == received == [1, 2, 3]

    play(story)


def test_without_order_a_payload_in_parts_is_refused() -> None:
    """Parts are joined as they are delivered, and here that may be in any order."""

    async def story(alice: Node, bob: Node) -> None:
        await alice.send("bob", bytes(1_000))
        await bob.receive(30)
        with pytest.raises(PayloadTooLarge, match="order='none' keeps no parts in order"):
            await alice.send("bob", bytes(5_000))
        assert await alice.send("alice", bytes(5_000)) == 2

    play(story, order="none", mtu=1400)


@pytest.mark.parametrize("order", ["hybrid", "hybrid-csps", "fifo", "none"])
def test_every_order_delivers_everything_once(order: str) -> None:
    async def story(alice: Node, bob: Node) -> None:
        for number in range(200):
            await alice.send("bob", b"%d" % number)
        received = [(await bob.receive(30)).payload for _ in range(200)]
        assert sorted(received, key=int) == [b"%d" % number for number in range(200)]
        await alice.flush(30)
        assert alice.stats().buffered == 0

    play(story, order=order)


def test_wrong_calls_say_what_is_wrong_and_change_nothing() -> None:
    async def story(alice: Node, bob: Node) -> None:
        with pytest.raises(UnknownPeer, match="did you mean 'bob'"):
            await alice.send("bobb", b"x")
        with pytest.raises(LocalError, match="must be bytes, a bytearray or a memoryview, not str"):
            await alice.send("bob", "text")  # type: ignore[arg-type] # on purpose
        with pytest.raises(LocalError, match="at least one"):
            await alice.send([], b"x")
        with pytest.raises(LocalError, match="stands twice"):
            await alice.send(["bob", "bob"], b"x")
        with pytest.raises(LocalError, match="stands twice"):
            await alice.send(["alice", "alice"], b"x")
        with pytest.raises(LocalError, match="a name or several names"):
            alice.try_send(7, b"x")  # type: ignore[arg-type] # on purpose
        with pytest.raises(PayloadTooLarge):
            await alice.send("bob", bytes(2001))
        with pytest.raises(LocalError, match="a peer already"):
            alice.add_peer("bob", "127.0.0.1:1")
        with pytest.raises(UnknownPeer):
            alice.remove_peer("carol")
        assert await alice.send("bob", b"first after all") == 1
        assert (await bob.receive(30)).sequence == 1

    play(story, payload_limit=2000)


def test_a_peer_may_allow_less_than_this_node() -> None:
    async def stage() -> None:
        async with antecede.open_node("small", bind="127.0.0.1:0", payload_limit=10) as small:
            peers = {"small": small.address}
            async with antecede.open_node("large", bind="127.0.0.1:0", peers=peers) as large:
                small.add_peer("large", large.address)
                await large.send("small", b"hello")
                await small.receive(30)
                with pytest.raises(PayloadTooLarge):
                    await large.send("small", bytes(11))

    asyncio.run(stage())


def test_what_does_not_fit_waits_or_is_refused() -> None:
    async def story(alice: Node, bob: Node) -> None:
        # Nobody can deliver anything to carol or dave, so the buffer stays full.
        await meet_and_kill(alice, "carol")
        await meet_and_kill(alice, "dave")
        await alice.meet("bob")
        for _ in range(3):
            alice.try_send("carol", b"x")
        with pytest.raises(BufferFull, match="carol has its share of the buffer: 3 messages"):
            alice.try_send("carol", b"x")
        alice.try_send("dave", b"x")
        with pytest.raises(BufferFull, match="4 messages"):
            alice.try_send("dave", b"x")
        with pytest.raises(BufferFull):
            alice.try_send(["bob", "carol"], b"x")
        waiting = asyncio.create_task(alice.send("bob", b"later"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        alice.remove_peer("carol")
        assert await waiting == 5
        assert (await bob.receive(30)).payload == b"later"

    play(story, send_limit=4)


def test_flush_names_who_has_not_delivered() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await meet_and_kill(alice, "carol")
        await alice.send(["bob", "carol"], b"x")
        await bob.receive(30)
        with pytest.raises(TimedOut, match="carol has not acknowledged 1 message") as caught:
            await alice.flush(timeout=0.5)
        assert "bob has not" not in str(caught.value)

    play(story)


def test_receive_gives_up_in_time() -> None:
    async def story(alice: Node, bob: Node) -> None:
        with pytest.raises(TimedOut, match="receive did not finish"):
            await alice.receive(timeout=0.02)
        await bob.send("alice", b"x")
        assert (await alice.receive(30)).payload == b"x"

    play(story)


def test_a_plain_handler_sees_every_message_in_order_even_if_it_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(alice: Node, bob: Node) -> None:
        seen: list[int] = []
        done = asyncio.Event()

        def handler(message: antecede.Message) -> None:
            seen.append(message.sequence)
            if len(seen) == 1000:
                done.set()
            if message.sequence == 3:
                raise ValueError("a mistake of the application")

        bob.on_message(handler)
        with pytest.raises(LocalError, match="a handler already"):
            bob.on_message(handler)
        for _ in range(1000):
            await alice.send("bob", b"x")
        await done.wait()
        assert seen == list(range(1, 1001))

    with caplog.at_level(logging.ERROR):
        play(story)
    assert "the message handler failed" in caplog.text


def test_a_coroutine_handler_is_awaited_one_message_at_a_time() -> None:
    async def story(alice: Node, bob: Node) -> None:
        seen: list[int] = []
        running = 0
        done = asyncio.Event()

        async def handler(message: antecede.Message) -> None:
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            seen.append(message.sequence)
            running -= 1
            if len(seen) == 100:
                done.set()

        bob.on_message(handler)
        for _ in range(100):
            await alice.send("bob", b"x")
        await done.wait()
        assert seen == list(range(1, 101))

    play(story)


def test_handlers_that_answer_each_other_with_full_buffers_get_an_error_not_a_deadlock() -> None:
    async def story(alice: Node, bob: Node) -> None:
        errors: list[BaseException] = []
        failed = asyncio.Event()

        def answering(node: Node, peer: str) -> Callable[[antecede.Message], Awaitable[None]]:
            async def handler(message: antecede.Message) -> None:
                try:
                    for _ in range(3):
                        await node.send(peer, message.payload)
                except WouldDeadlock as error:
                    errors.append(error)
                    failed.set()
                    await asyncio.Event().wait()

            return handler

        alice.on_message(answering(alice, "bob"))
        bob.on_message(answering(bob, "alice"))
        await alice.send("bob", bytes(1000))
        await failed.wait()
        assert "a handler that waits for room" in str(errors[0])

    play(story, send_limit=100, receive_window=65_536)


def test_closing_delivers_everything_first_and_tells_the_peer() -> None:
    async def story(alice: Node, bob: Node) -> None:
        reports: list[Report] = []
        bob.on_event(reports.append)
        for number in range(500):
            await alice.send("bob", b"%d" % number)
        await alice.close()
        assert [(await bob.receive(30)).payload for _ in range(500)] == [
            b"%d" % number for number in range(500)
        ]
        assert PeerMet(name="alice") in reports
        assert PeerLeft(name="alice") in reports
        with pytest.raises(PeerGone):
            await bob.send("alice", b"too late")
        with pytest.raises(NodeClosed):
            await alice.send("bob", b"too late")
        with pytest.raises(NodeClosed):
            await alice.receive()
        assert [message async for message in alice] == []
        await alice.close()

    play(story, away="refuse")


def test_lingering_until_the_peers_bye_goes_on_receiving() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await alice.send("bob", b"x")
        await bob.receive(30)
        leaving = asyncio.create_task(alice.close(timeout=60, linger="bye"))
        await asyncio.sleep(0.05)
        assert not leaving.done()
        await bob.send("alice", b"one more")
        assert (await alice.receive(30)).payload == b"one more"
        await bob.close(linger="bye")
        await leaving

    play(story)


def test_leaving_a_peer_without_is_an_error_that_names_it() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await meet_and_kill(alice, "carol")
        await alice.send("carol", b"x")
        await alice.send("bob", b"x")
        await bob.receive(30)
        with pytest.raises(Stranded) as caught:
            await alice.close(timeout=0.1)
        assert "carol" in caught.value.names

    play(story)


def test_removing_a_peer_reports_what_it_has_not_got() -> None:
    async def story(alice: Node, bob: Node) -> None:
        reports: list[Report] = []
        alice.on_event(reports.append)
        await meet_and_kill(alice, "carol")
        await alice.send(["bob", "carol"], b"x")
        await alice.send("carol", b"y")
        await bob.receive(30)
        alice.remove_peer("carol")
        with pytest.raises(Undelivered):
            await alice.flush(30)
        assert Undeliverable(name="carol", sequences=(1, 2)) in reports
        assert alice.stats().undeliverable == 2
        assert alice.peers == {"bob": "here"}

    play(story)


def test_strangers_are_refused_unless_they_are_welcome() -> None:
    async def stage(welcome: bool) -> bool:
        async with antecede.open_node("host", bind="127.0.0.1:0", accept_unknown=welcome) as host:
            guest = await antecede.open_node("guest", peers={"host": host.address})
            knock = asyncio.create_task(guest.send("host", b"knock"))
            arrival = asyncio.create_task(host.receive())
            try:
                async with asyncio.timeout(SECONDS):
                    while not arrival.done():
                        if "not one of host's peers" in str(guest.explain()):
                            return False
                        await asyncio.sleep(0.01)
                return arrival.result().payload == b"knock"
            finally:
                arrival.cancel()
                await asyncio.gather(guest.close(0.2), knock, return_exceptions=True)

    assert asyncio.run(stage(welcome=True))
    assert not asyncio.run(stage(welcome=False))


def test_an_address_in_use_is_said_to_be() -> None:
    async def stage() -> None:
        async with antecede.open_node("one", bind="127.0.0.1:0") as node:
            with pytest.raises(CannotBind, match="in use"):
                await antecede.open_node("two", bind=node.address)

    asyncio.run(stage())


def test_an_exception_in_the_body_is_what_the_caller_sees() -> None:
    async def stage() -> None:
        async with antecede.open_node("one", linger=0.05) as node:
            await meet_and_kill(node, "two")
            await node.send("two", b"never arrives")
            raise KeyError("the application's own")

    with pytest.raises(KeyError):
        asyncio.run(stage())


def test_a_node_explains_itself_and_says_how_it_is() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await alice.send("bob", b"x")
        await bob.receive(30)
        await alice.flush(30)
        assert str(alice.explain()) == "nothing is waiting"
        assert alice.health().status == "ok"
        stats = alice.stats()
        assert (stats.messages_sent, stats.copies_sent, stats.buffered) == (1, 1, 0)
        assert bob.stats().messages_received == 1

    play(story)


def test_a_signal_ends_the_iteration_and_the_node_leaves_as_it_should() -> None:
    async def story(alice: Node, bob: Node) -> None:
        bob.leave_on_signals(signal.SIGTERM)
        await alice.send("bob", b"x")
        seen = []
        async for message in bob:
            seen.append(message.payload)
            await bob.send("alice", b"answer")
            os.kill(os.getpid(), signal.SIGTERM)
        await bob.close()
        assert seen == [b"x"]
        assert (await alice.receive(30)).payload == b"answer"

    play(story)


def test_nodes_that_call_the_causal_order_by_either_name_talk() -> None:
    async def story() -> bytes:
        bob = await antecede.open_node("bob", order="causal", peers=["alice"])
        alice = await antecede.open_node("alice", order="hybrid", peers={"bob": bob.address})
        await alice.send("bob", b"hello")
        heard = await bob.receive(60)
        await asyncio.gather(alice.close(60), bob.close(60))
        return heard.payload

    assert asyncio.run(story()) == b"hello"
