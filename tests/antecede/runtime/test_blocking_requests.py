"""Requests and replies without asyncio, from several threads."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime import blocking
from antecede.runtime.blocking import BlockingNode
from antecede.runtime.errors import NodeClosed, RequestFailed

PATIENCE = 30.0


@contextmanager
def two_nodes() -> Iterator[tuple[BlockingNode, BlockingNode]]:
    with (
        blocking.open_node("bob", accept_unknown=True) as bob,
        blocking.open_node("alice", peers={"bob": bob.address}) as alice,
    ):
        alice.send("bob", b"hello")
        assert bob.receive(PATIENCE).payload == b"hello"
        yield alice, bob


def serve(node: BlockingNode) -> None:
    """Reply to every request in a thread of its own."""

    def answer(message: InboundMessage) -> None:
        if message.payload == b"refuse":
            node.refuse(message, "as you wish")
        elif message.payload == b"fail":
            raise ValueError("as you wish")
        else:
            node.reply(message, message.payload.upper(), {"from": b"a handler"})

    node.on_message(answer)


def test_a_request_gets_its_reply_or_an_error_without_await() -> None:
    with two_nodes() as (alice, bob):
        serve(bob)
        reply = alice.request("bob", b"hello", PATIENCE)
        assert (reply.payload, dict(reply.headers)) == (b"HELLO", {"from": b"a handler"})
        for payload, says in ((b"refuse", "as you wish"), (b"fail", "its handler has failed")):
            with pytest.raises(RequestFailed, match=says):
                alice.request("bob", payload, PATIENCE)
        assert alice.stats().requests == 0


def test_many_threads_ask_and_each_gets_its_own_replies() -> None:
    with two_nodes() as (alice, bob):
        serve(bob)

        def ask(thread: int) -> list[bytes]:
            asked = [b"t%d-%d" % (thread, number) for number in range(50)]
            assert [alice.request("bob", each, PATIENCE).payload for each in asked] == [
                each.upper() for each in asked
            ]
            return asked

        with ThreadPoolExecutor(8) as pool:
            assert sum(len(asked) for asked in pool.map(ask, range(8))) == 400


def test_what_came_before_a_reply_is_received_before_it() -> None:
    """Messages that `receive` has brought along are no exception."""
    with two_nodes() as (alice, bob):
        for number in range(20):
            bob.send("alice", b"%d" % number)
        bob.flush(PATIENCE)
        received = [alice.receive(PATIENCE).payload]
        replied = threading.Event()

        def ask() -> None:
            assert alice.request("bob", b"?", PATIENCE).payload == b"reply"
            replied.set()

        asking = threading.Thread(target=ask)
        asking.start()
        bob.reply(bob.receive(PATIENCE), b"reply")
        bob.flush(PATIENCE)
        for _ in range(19):
            assert not replied.is_set()
            received.append(alice.receive(PATIENCE).payload)
        asking.join(PATIENCE)
        assert replied.is_set()
        assert received == [b"%d" % number for number in range(20)]


def test_a_thread_that_receives_gets_its_replies_at_once() -> None:
    with two_nodes() as (alice, bob):
        for payload in (b"one", b"two"):
            bob.send("alice", payload)
        bob.flush(PATIENCE)
        assert alice.receive(PATIENCE).payload == b"one"
        serve(bob)
        assert alice.request("bob", b"?", PATIENCE).payload == b"?"
        assert alice.receive(PATIENCE).payload == b"two"


def test_a_request_is_replied_to_once_and_messages_never() -> None:
    with two_nodes() as (alice, bob):
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(alice.request, "bob", b"?", PATIENCE)
            request = bob.receive(PATIENCE)
            bob.reply(request, bytearray(b"one"))
            with pytest.raises(LocalError, match="already"):
                bob.reply(request, b"two")
            with pytest.raises(LocalError, match="already"):
                bob.refuse(request, "no")
            assert asking.result(PATIENCE).payload == b"one"
        alice.send("bob", b"no request")
        message = bob.receive(PATIENCE)
        with pytest.raises(LocalError, match="no request"):
            bob.reply(message, b"?")


def test_closing_ends_the_requests_of_all_threads() -> None:
    with two_nodes() as (alice, bob), ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(alice.request, "bob", b"?") for _ in range(4)]
        for _ in asking:
            bob.receive(PATIENCE)
        alice.close()
        for one in asking:
            with pytest.raises((RequestFailed, NodeClosed)):
                one.result(PATIENCE)
