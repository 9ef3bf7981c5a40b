"""A node is for the thread and the process that opened it: everybody else is refused."""

import asyncio
import os
import pickle
import select
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import antecede
from antecede import blocking
from antecede.runtime.errors import WrongProcess, WrongThread
from antecede.runtime.node import Node
from antecede.runtime.notifier import yield_to_loop

PATIENCE = 60.0

Call = Callable[[Node], Awaitable[object] | object]

CALLS: dict[str, Call] = {
    "send": lambda node: node.send("bob", b"x"),
    "send to several": lambda node: node.send(["bob"], b"x"),
    "send_buffered": lambda node: node.send_buffered("bob", b"x"),
    "try_send": lambda node: node.try_send("bob", b"x"),
    "meet": lambda node: node.meet("bob"),
    "meet a stranger": lambda node: node.meet("eve"),
    "receive": lambda node: node.receive(),
    "receive with a limit": lambda node: node.receive(1),
    "receive_ready": lambda node: node.receive_ready(),
    "iteration": lambda node: anext(aiter(node)),
    "anext": lambda node: anext(node),
    "flush": lambda node: node.flush(1),
    "close": lambda node: node.close(1),
    "abandon": lambda node: node.abandon(),
    "add_peer": lambda node: node.add_peer("eve"),
    "remove_peer": lambda node: node.remove_peer("bob"),
    "expel": lambda node: node.expel("bob"),
    "on_message": lambda node: node.on_message(lambda _message: None),
    "journal": lambda node: node.journal,
    "on_event": lambda node: node.on_event(lambda _report: None),
}


async def made(call: Call, node: Node) -> object:
    """What a call answers, awaited if it can be."""
    answer = call(node)
    return await answer if isinstance(answer, Awaitable) else answer


def complaint(call: Call, node: Node) -> str:
    """What is said to whoever makes this call here, outside of the node's loop."""
    try:
        answer = asyncio.run(made(call, node))
    except (WrongThread, WrongProcess) as error:
        return f"{type(error).__name__}: {error}"
    return f"accepted: {answer!r}"


async def two_nodes() -> tuple[Node, Node]:
    alice = await antecede.open_node("alice")
    bob = await antecede.open_node("bob", peers={"alice": alice.address})
    alice.add_peer("bob", bob.address)
    await alice.send("bob", b"first")
    await bob.send("alice", b"first")
    await alice.flush(PATIENCE)
    await bob.flush(PATIENCE)
    return alice, bob


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_another_thread_is_refused_and_has_changed_nothing(call: Call) -> None:
    async def story() -> None:
        alice, bob = await two_nodes()
        await alice.send("bob", b"before")  # In this turn: what it wants to send is not sent yet.
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(complaint, call, alice).result(PATIENCE)
        assert said.startswith("WrongThread: node 'alice' belongs to the thread that opened it")
        assert "antecede.blocking" in said
        await alice.send("bob", b"after")
        await alice.flush(PATIENCE)
        assert [m.payload for m in bob.receive_ready()] == [b"first", b"before", b"after"]
        assert [m.payload for m in alice.receive_ready()] == [b"first"]
        assert alice.peers == {"bob": "here"}
        for node in (alice, bob):
            node.abandon()

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_another_thread_may_have_the_loop_do_it() -> None:
    async def story() -> None:
        alice, bob = await two_nodes()
        loop = asyncio.get_running_loop()

        def elsewhere() -> int:
            sending = asyncio.run_coroutine_threadsafe(alice.send("bob", b"x"), loop)
            return sending.result(PATIENCE)

        assert await asyncio.to_thread(elsewhere) == 2
        await alice.flush(PATIENCE)
        assert [m.payload for m in bob.receive_ready()] == [b"first", b"x"]
        for node in (alice, bob):
            node.abandon()

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def in_a_child(work: Callable[[], object]) -> object:
    """What `work` returns in a forked process, which ends right after."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer: object = work()
        except BaseException as error:
            answer = f"raised {error!r}"
        os.write(writing, pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pickle.loads(pipe.read())
    assert os.waitpid(child, 0)[1] == 0
    return answer


def complaints(node: Node) -> list[str]:
    """What is said in a forked process to every call; in a thread of it that has a loop."""
    with ThreadPoolExecutor(1) as pool:
        return [pool.submit(complaint, call, node).result() for call in CALLS.values()]


def complaint_of_the_same_thread(node: Node) -> str:
    try:
        node.try_send("bob", b"x")
    except WrongProcess as error:
        return str(error)
    return "accepted"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("journal", [False, True])
def test_a_forked_process_is_refused_and_the_parent_goes_on(journal: bool, tmp_path: Path) -> None:
    async def story() -> None:
        settings = {"journal": tmp_path} if journal else {}
        alice = await antecede.open_node("alice", settings=settings)
        bob = await antecede.open_node("bob", peers={"alice": alice.address})
        alice.add_peer("bob", bob.address)
        await alice.send("bob", b"before")
        await alice.flush(PATIENCE)
        alice.try_send("bob", b"on its way")
        said = in_a_child(lambda: [complaint_of_the_same_thread(alice), *complaints(alice)])
        assert isinstance(said, list)
        assert len(said) == 1 + len(CALLS)
        sentence = "belongs to the process that opened it, and this one was forked from that"
        assert [text for text in said if sentence not in text] == []
        for number in range(10):
            await bob.send("alice", b"%d" % number)
            assert (await alice.receive(PATIENCE)).payload == b"%d" % number
            await alice.send("bob", b"answer")
        await alice.flush(PATIENCE)
        received = [m.payload for m in bob.receive_ready()]
        assert received == [b"before", b"on its way", *[b"answer"] * 10]
        for node in (alice, bob):
            node.abandon()

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_that_goes_on_in_the_loop_takes_nothing_from_its_parent() -> None:
    """It has the socket and the selector of its parent, and its loop turns."""

    async def story() -> None:
        alice, bob = await two_nodes()
        alice.receive_ready()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            before = alice.stats().datagrams_received
            try:
                os.close(writing)
                until = time.monotonic() + PATIENCE
                # Until the parent closes its end.
                while not select.select([reading], [], [], 0)[0] and time.monotonic() < until:
                    await yield_to_loop()
            finally:
                os._exit(alice.stats().datagrams_received - before)
        os.close(reading)
        for number in range(50):
            await bob.send("alice", b"%d" % number)
            assert (await alice.receive(PATIENCE)).payload == b"%d" % number
        os.close(writing)
        assert os.waitpid(child, 0)[1] == 0, "it has read nothing"
        for node in (alice, bob):
            node.abandon()

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_leaves_http_to_its_parent() -> None:
    async def story() -> None:
        alice = await antecede.open_node("alice", http="127.0.0.1:0")
        assert alice._http is not None
        host, port = alice._http.address
        assert in_a_child(lambda: complaint_of_the_same_thread(alice)) != "accepted"
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        writer.close()
        alice.abandon()
        async with antecede.open_node("alice", http=f"{host}:{port}"):
            pass

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_blocking_node_refuses_a_forked_process_instead_of_waiting_for_ever() -> None:
    def call_everything(node: blocking.BlockingNode) -> list[str]:
        said = []
        for call in (
            lambda: node.send("bob", b"x"),
            lambda: node.receive(PATIENCE),
            node.receive_ready,
            node.stats,
            node.close,
        ):
            try:
                said.append(f"accepted: {call()!r}")
            except WrongProcess as error:
                said.append(str(error))
        return said

    with blocking.open_node("alice") as alice:
        alice.send("alice", b"mine")
        said = in_a_child(lambda: call_everything(alice))
        assert isinstance(said, list)
        assert [text for text in said if "this one was forked from that" not in text] == []
        assert alice.receive(PATIENCE).payload == b"mine"


def test_any_thread_may_call_a_blocking_node() -> None:
    with blocking.open_node("alice") as alice:
        numbers: list[int] = []
        threads = [
            threading.Thread(target=lambda: numbers.append(alice.send("alice", b"x")))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(numbers) == [1, 2, 3, 4]
        assert len([alice.receive(PATIENCE) for _ in range(4)]) == 4
