"""Nodes for code without asyncio: real sockets, real threads, no `await`."""

import logging
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from antecede.core.errors import BufferFull, LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.eventlog import DELIVERED, SUBMITTED
from antecede.events import NodeFenced, PeerMet, Report
from antecede.runtime import blocking
from antecede.runtime.blocking import BlockingNode
from antecede.runtime.config.addresses import parse_address
from antecede.runtime.errors import (
    BadConfiguration,
    NodeClosed,
    Stranded,
    TimedOut,
    UnknownPeer,
    WouldDeadlock,
)
from antecede.runtime.loop_thread import LoopEnded, LoopThread
from antecede.runtime.node import Node
from antecede_audit.eventlog import read_events

PATIENCE = 60.0


@contextmanager
def two_nodes(
    settings: dict[str, Any] | None = None,
) -> Iterator[tuple[BlockingNode, BlockingNode]]:
    """Alice and bob, who knows her."""
    with (
        blocking.open_node("alice", accept_unknown=True, **(settings or {})) as alice,
        blocking.open_node("bob", peers={"alice": alice.address}, **(settings or {})) as bob,
    ):
        yield alice, bob


def where(node: BlockingNode) -> str:
    """The address of a node, as a command line takes it."""
    return str(parse_address(node.address))


def introduce(alice: BlockingNode, bob: BlockingNode) -> None:
    """Let the two know each other."""
    bob.send("alice", b"hello")
    assert alice.receive(PATIENCE).payload == b"hello"


def test_what_is_there_can_be_taken_without_waiting() -> None:
    with two_nodes() as (alice, bob):
        assert alice.receive_ready() == []
        for number in range(3):
            bob.send("alice", b"%d" % number)
        bob.flush(PATIENCE)
        # One is taken, and those behind it come with it: they must not be overtaken.
        assert alice.receive(PATIENCE).payload == b"0"
        assert [message.payload for message in alice.receive_ready()] == [b"1", b"2"]
        assert alice.receive_ready() == []
        bob.send("alice", b"last")
        bob.flush(PATIENCE)
    assert [message.payload for message in alice.receive_ready()] == [b"last"]


def test_messages_go_back_and_forth_without_await() -> None:
    with two_nodes() as (alice, bob):
        assert bob.send("alice", b"one") == 1
        assert bob.try_send(["alice"], b"two") == 2
        bob.flush(PATIENCE)
        got = [alice.receive(PATIENCE) for _ in range(2)]
        assert [(message.sender, message.sequence, message.payload) for message in got] == [
            ("bob", 1, b"one"),
            ("bob", 2, b"two"),
        ]
        alice.send("bob", b"three")
        assert bob.receive(PATIENCE).payload == b"three"


def test_a_loop_over_the_node_ends_when_it_is_closed() -> None:
    with two_nodes() as (alice, bob):
        for number in range(1000):
            bob.send("alice", b"%d" % number)
        got: list[bytes] = []
        for message in alice:
            got.append(message.payload)
            if len(got) == 1000:
                threading.Thread(target=alice.close).start()

    assert got == [b"%d" % number for number in range(1000)]


def test_the_node_looks_like_the_one_of_asyncio() -> None:
    with two_nodes() as (alice, bob):
        introduce(alice, bob)
        assert (alice.name, alice.settings.order) == ("alice", "causal")
        assert alice.peers == {"bob": "here"}
        bob.add_peer("carol")
        assert bob.peers == {"alice": "here", "carol": "new"}
        assert bob.online == ("alice",)
        bob.meet("alice")
        with pytest.raises(TimedOut, match=r"meet did not finish within 10\.0 ms: carol has never"):
            bob.meet(timeout=0.01)
        with pytest.raises(TimedOut, match="carol has never been met"):
            bob.send("carol", b"wait", timeout=0.01)
        assert (bob.stats().messages_sent, bool(bob.health())) == (1, True)
        bob.remove_peer("carol")
        with pytest.raises(UnknownPeer, match="no peer is called 'carol'"):
            bob.send("carol", b"?")


def test_it_has_every_call_of_the_node_of_asyncio() -> None:
    """But those for a loop: whoever drives the node from inside, or wants not to wait for it."""
    for_loops = {"abandon", "leave_on_signals", "send_buffered", "stats_in_turns"}
    ours, theirs = (
        {name for name in dir(kind) if not name.startswith("_")} for kind in (BlockingNode, Node)
    )
    assert theirs - ours == for_loops


def test_a_peer_can_be_expelled_and_is_told() -> None:
    told: list[Report] = []
    fenced = threading.Event()

    def hear(report: Report) -> None:
        told.append(report)
        if isinstance(report, NodeFenced):
            fenced.set()

    with two_nodes() as (alice, bob):
        introduce(alice, bob)
        bob.on_event(hear)
        assert (bob.fenced, alice.closed, alice.incarnation > 0) == (None, False, True)
        alice.expel("bob", "so it was said")
        assert fenced.wait(PATIENCE)
        assert bob.fenced in told
    assert alice.closed


def test_errors_come_to_the_thread_that_called() -> None:
    with pytest.raises(BadConfiguration, match="'nobody' has no port"):
        blocking.open_node("alice", bind="nobody")
    with two_nodes() as (alice, _), pytest.raises(TimedOut, match="receive"):
        alice.receive(0.01)


def test_settings_are_given_as_to_the_node_of_asyncio() -> None:
    with blocking.open_node("alice", settings={"heartbeat": "2s"}, linger="1s") as alice:
        assert (alice.settings.heartbeat, alice.settings.linger) == (2.0, 1.0)


def test_a_bind_conflict_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    with blocking.open_node("alice") as alice:
        with pytest.raises(LocalError, match="cannot listen"):
            blocking.open_node("bob", bind=alice.address, on_event=print)
        during = threading.active_count()

    assert during == before + 1
    assert threading.active_count() == before


def test_a_handler_may_answer() -> None:
    done = threading.Event()
    with two_nodes() as (alice, bob):

        def answer(message: InboundMessage) -> None:
            alice.send("bob", b"answer to " + message.payload)

        def take(message: InboundMessage) -> None:
            if message.payload == b"answer to end":
                done.set()

        alice.on_message(answer)
        bob.on_message(take)
        for number in range(50):
            bob.send("alice", b"%d" % number)
        bob.send("alice", b"end")
        assert done.wait(PATIENCE)
        with pytest.raises(LocalError, match="there is a handler already"):
            alice.on_message(answer)


def test_a_handler_that_fails_gets_the_next_message(caplog: pytest.LogCaptureFixture) -> None:
    got: list[bytes] = []
    done = threading.Event()
    with two_nodes() as (alice, bob):

        def handle(message: InboundMessage) -> None:
            got.append(message.payload)
            if len(got) == 2:
                done.set()
            raise ValueError("bad day")

        alice.on_message(handle)
        bob.send("alice", b"one")
        bob.send("alice", b"two")
        assert done.wait(PATIENCE)

    assert got == [b"one", b"two"]
    assert caplog.text.count("ValueError: bad day") == 2


def test_a_listener_is_told_from_the_first_event_on_and_may_use_the_node() -> None:
    told: list[tuple[Report, int]] = []
    met = threading.Event()
    with blocking.open_node("alice", accept_unknown=True) as alice:

        def listen(report: Report) -> None:
            told.append((report, len(alice.peers)))
            if isinstance(report, PeerMet):
                met.set()
            raise ValueError("listeners may fail")

        alice.on_event(listen)
        with blocking.open_node("bob", peers={"alice": alice.address}) as bob:
            bob.send("alice", b"hello")
            assert met.wait(PATIENCE)

    assert (PeerMet(name="bob"), 1) in told


def fill_buffer(node: BlockingNode, target: str) -> None:
    """Send until there is no more room."""
    with suppress(BufferFull):
        while True:
            node.try_send(target, b"for later")


def sending(node: BlockingNode, target: str) -> "Future[int]":
    """A send that has to wait, in a thread of its own."""
    future: Future[int] = Future()

    def send() -> None:
        try:
            future.set_result(node.send(target, b"in the end"))
        except LocalError as error:
            future.set_exception(error)

    threading.Thread(target=send).start()
    return future


def drop_datagrams(node: BlockingNode, drop: bool) -> None:
    """From now on nothing that comes reaches a node; or everything does again."""

    def change(inside: Node) -> None:
        inside._endpoint.deaf = drop

    node._in_loop(change)


def test_a_full_buffer_makes_send_wait_until_there_is_room() -> None:
    with (
        blocking.open_node("bob", peers={"carol": None}, send_limit=4) as bob,
        blocking.open_node("carol", peers={"bob": bob.address}) as carol,
    ):
        bob.meet("carol", timeout=PATIENCE)
        drop_datagrams(carol, drop=True)
        fill_buffer(bob, "carol")
        with pytest.raises(BufferFull, match="4 messages"):
            bob.try_send("carol", b"too much")
        waiting = sending(bob, "carol")
        assert wait([waiting], timeout=0.05).done == set()
        drop_datagrams(carol, drop=False)
        got = [carol.receive(PATIENCE).payload for _ in range(5)]
        assert got == [b"for later"] * 4 + [b"in the end"]
        assert waiting.result(PATIENCE) == 5


@pytest.mark.parametrize("met", [True, False])
def test_a_send_that_waits_for_somebody_who_is_removed_fails(met: bool) -> None:
    """It waits for room, or to meet its target."""
    with (
        blocking.open_node("bob", peers={"carol": None}, send_limit=4) as bob,
        blocking.open_node("carol", peers={"bob": bob.address} if met else {}) as carol,
    ):
        if met:
            bob.meet("carol", timeout=PATIENCE)
            carol._in_loop(Node.abandon)
        fill_buffer(bob, "carol")
        waiting = sending(bob, "carol")
        assert wait([waiting], timeout=0.05).done == set()
        bob.remove_peer("carol")
        with pytest.raises(UnknownPeer, match="no peer is called 'carol'"):
            waiting.result(PATIENCE)


def test_two_handlers_that_answer_each_other_get_an_error_instead_of_a_deadlock() -> None:
    """Every message brings two answers, so both buffers must fill up in the end."""
    failed = threading.Event()
    small = {"send_limit": 16, "receive_window": "64KiB", "linger": 0.1}
    with two_nodes(small) as (alice, bob):
        introduce(alice, bob)

        def flood(node: BlockingNode, other: str) -> None:
            try:
                for _ in node:
                    for _ in range(2):
                        node.send(other, b"x" * 10_000)
            except WouldDeadlock:
                failed.set()
            except NodeClosed:
                pass

        threads = [
            threading.Thread(target=flood, args=(alice, "bob")),
            threading.Thread(target=flood, args=(bob, "alice")),
        ]
        for thread in threads:
            thread.start()
        bob.send("alice", b"go")
        assert failed.wait(PATIENCE)
        for node in (alice, bob):
            with suppress(Stranded):
                node.close()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_many_threads_may_send() -> None:
    with two_nodes() as (alice, bob):

        def send_some() -> None:
            for _ in range(20):
                bob.send("alice", b"x")

        threads = [threading.Thread(target=send_some) for _ in range(8)]
        for thread in threads:
            thread.start()
        sequences = [alice.receive(PATIENCE).sequence for _ in range(160)]
        for thread in threads:
            thread.join()

    assert sequences == list(range(1, 161))


def test_after_closing_what_was_delivered_can_be_read_and_nothing_sent() -> None:
    with two_nodes() as (alice, bob):
        for number in range(300):
            bob.send("alice", b"%d" % number)
        bob.flush(PATIENCE)
        alice.receive(PATIENCE)
        alice.close()
        alice.close()
        assert [message.payload for message in alice] == [b"%d" % n for n in range(1, 300)]
        with pytest.raises(NodeClosed):
            alice.receive()
        with pytest.raises(NodeClosed, match="node 'alice' is closed"):
            alice.send("bob", b"?")
        with pytest.raises(NodeClosed):
            alice.stats()


def test_the_event_log_is_complete_after_closing(tmp_path: Path) -> None:
    with two_nodes({"trace": tmp_path}) as (alice, bob):
        introduce(alice, bob)

    log = read_events(tmp_path)
    assert (log.count(SUBMITTED), log.count(DELIVERED)) == (1, 1)


FORGETFUL = """
    import sys
    from antecede.runtime import blocking

    node = blocking.open_node("carol", peers={"alice": sys.argv[1]})
    node.send("alice", b"last words")
"""


def test_a_program_that_ends_without_closing_still_says_everything() -> None:
    with blocking.open_node("alice", accept_unknown=True) as alice:
        child = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(FORGETFUL), where(alice)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (child.returncode, child.stderr) == (0, "")
        assert alice.receive(PATIENCE).payload == b"last words"


INTERRUPTED = """
    import sys
    from antecede.runtime import blocking

    try:
        with blocking.open_node("carol", peers={"alice": sys.argv[1]}) as node:
            node.send("alice", b"ready")
            for message in node:
                pass
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_ends_the_wait_and_the_node_leaves_cleanly() -> None:
    with blocking.open_node("alice", accept_unknown=True) as alice:
        command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), where(alice)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            alice.receive(PATIENCE)
            child.send_signal(signal.SIGINT)
            output, _ = child.communicate(timeout=60)
        assert (child.returncode, output) == (0, "interrupted\n")


def test_a_call_from_inside_the_loop_is_refused() -> None:
    runner = LoopThread("test")

    async def inside() -> None:
        runner.call(inside)

    with pytest.raises(LocalError, match="this would wait for itself"):
        runner.call(inside)
    runner.stop()
    runner.stop()
    with pytest.raises(LoopEnded):
        runner.call(inside)


def test_a_thread_that_ends_gives_up_its_task(caplog: pytest.LogCaptureFixture) -> None:
    runner = LoopThread("test")

    async def nothing() -> int:
        return 7

    for _ in range(20):
        thread = threading.Thread(target=runner.call, args=(nothing,))
        thread.start()
        thread.join()

    assert runner.call(nothing) == 7
    assert len(runner._tasks) <= 3
    runner.stop()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# Several threads that receive.


def test_what_is_ready_is_taken_while_another_thread_waits_for_a_message() -> None:
    with two_nodes() as (alice, bob):
        waiting: Future[bytes] = Future()

        def wait_for_one() -> None:
            waiting.set_result(alice.receive(PATIENCE).payload)

        thread = threading.Thread(target=wait_for_one, daemon=True)
        thread.start()
        while not alice._node._deliveries._waiting:
            threading.Event().wait(0.001)
        assert alice.receive_ready() == []
        with pytest.raises(TimedOut):
            alice.receive(timeout=0.01)
        with pytest.raises(TimedOut):
            alice.receive(timeout=0)
        assert not waiting.done()
        bob.send("alice", b"one")
        assert waiting.result(PATIENCE) == b"one"
        thread.join()


@pytest.mark.parametrize("waiting", [0, 600])
def test_each_of_several_threads_gets_its_share_in_order(waiting: int) -> None:
    shares: list[list[int]] = [[] for _ in range(3)]

    def read(share: list[int]) -> None:
        while True:
            try:
                message = alice.receive(PATIENCE)
            except NodeClosed:
                return
            share.append(int(message.payload))
            share.extend(int(m.payload) for m in alice.receive_ready())

    with two_nodes() as (alice, bob):
        for number in range(waiting):
            bob.send("alice", b"%d" % number)
        bob.flush(PATIENCE)
        threads = [threading.Thread(target=read, args=(share,)) for share in shares]
        for thread in threads:
            thread.start()
        for number in range(waiting, 1000):
            bob.send("alice", b"%d" % number)
        bob.flush(PATIENCE)
    for thread in threads:
        thread.join()
    assert sorted(number for share in shares for number in share) == list(range(1000))
    assert all(share == sorted(share) for share in shares)


def test_closing_a_node_wakes_every_thread_that_receives() -> None:
    ended: list[str] = []

    def read() -> None:
        try:
            alice.receive()
        except NodeClosed as error:
            ended.append(str(error))

    with two_nodes() as (alice, _bob):
        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        while alice._node._deliveries._waiting < 3:
            threading.Event().wait(0.001)
    for thread in threads:
        thread.join()
    assert len(ended) == 3


class Whatever(BaseException):
    """No `Exception`."""


@pytest.mark.parametrize("kind", [KeyError, GeneratorExit, SystemExit, Whatever])
def test_a_handler_or_listener_in_a_thread_that_raises_is_called_again_and_counted(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    handled = threading.Semaphore(0)
    heard = threading.Semaphore(0)

    def handler(message: InboundMessage) -> None:
        handled.release()
        raise kind(message.payload)

    def listener(_report: Report) -> None:
        heard.release()
        raise kind("heard")

    with two_nodes() as (alice, bob):
        alice.on_message(handler)
        alice.on_event(listener)
        alice.on_event(listener)
        with pytest.raises(LocalError, match="alice has a message handler, which gets every"):
            alice.receive(PATIENCE)
        with pytest.raises(LocalError, match="receive there, or do not call on_message"):
            alice.receive_ready()
        for _ in range(3):
            bob.send("alice", b"x")
        for semaphore, count in ((handled, 3), (heard, 2)):
            for _ in range(count):
                assert semaphore.acquire(timeout=PATIENCE)
        while alice.stats().handler_failures < 3 or alice.stats().callback_failures < 2:
            threading.Event().wait(0.001)
    assert "alice: the message handler failed for" in caplog.text
    assert "alice: an event listener, called with PeerMet(name='bob')" in caplog.text
