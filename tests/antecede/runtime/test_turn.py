"""What a node does after every input: it hands over, writes, sends or commits, sets its timer."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from antecede.core.process import NEVER_NS
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import PeerExpelled, Report
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.committer import Committer
from antecede.runtime.config.expulsion_policy import (
    MANUAL,
    ExpulsionEnforcer,
    ExpulsionPolicy,
    SilentPeer,
)
from antecede.runtime.deliveries import Deliveries
from antecede.runtime.node import Node
from antecede.runtime.notifier import Notifier
from antecede.runtime.observe.stalls import Stalls
from antecede.runtime.test_network import MemoryCarrier
from antecede.runtime.turn import AFTER_FAILURE_NS, Turn
from antecede.testing import TestNetwork
from tests.antecede.durability.failing_disk import FailingDisk
from tests.antecede.endpoint.endpoints import CAT
from tests.antecede.endpoint.test_receive_queue import trio

SECONDS = 60.0
NOW_NS = 5_000_000_000

STOPS = [KeyboardInterrupt, SystemExit]


class Odd(BaseException):
    """No `Exception`: what somebody may define for reasons of their own."""


class Once:
    """Raises when it is called the first time, and counts."""

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind
        self.calls = 0

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.calls == 1:
            raise self._kind("so it goes")


class Verdicts(ExpulsionPolicy):
    """Expels the peer of a name; raises when it is asked about that the first time."""

    silence = 12.0

    def __init__(self, name: str, kind: type[BaseException]) -> None:
        self._name = name
        self._once = Once(kind)

    def verdict(self, peer: SilentPeer) -> str:
        if peer.name != self._name:
            return ""
        self._once(peer)
        return "silent"


def go_on(loop: asyncio.AbstractEventLoop, network: TestNetwork, story: Awaitable[None]) -> None:
    """Run the loop again after something in it has ended the program."""

    async def rest() -> None:
        network.go_on()
        await story

    loop.run_until_complete(asyncio.wait_for(rest(), SECONDS))


@pytest.mark.parametrize("with_journal", [False, True])
@pytest.mark.parametrize("stop", STOPS)
def test_acknowledgements_leave_although_the_handler_ends_the_program(
    stop: type[BaseException], with_journal: bool, tmp_path: Path
) -> None:
    """And it gets the messages that come after."""
    loop = asyncio.new_event_loop()
    network = TestNetwork()
    handler = Once(stop)

    async def begin() -> tuple[Node, Node]:
        alice = await network.open_node("alice")
        options = {"journal": tmp_path} if with_journal else {}
        bob = await network.open_node("bob", settings=options)
        await network.settle()
        bob.on_message(handler)
        return alice, bob

    async def send_all(alice: Node) -> None:
        for _ in range(3):
            await alice.send("bob", b"x")
        await network.settle()

    async def end(alice: Node, bob: Node) -> None:
        await network.settle()
        await alice.flush(SECONDS)
        while handler.calls < 3:
            await network.pass_time(0.1)
        alice.abandon()
        bob.abandon()

    alice, bob = loop.run_until_complete(begin())
    with pytest.raises(stop):
        loop.run_until_complete(asyncio.wait_for(send_all(alice), SECONDS))
    go_on(loop, network, end(alice, bob))
    loop.close()


@pytest.mark.parametrize("stop", STOPS)
def test_who_waits_for_the_disk_is_answered_although_a_listener_ends_the_program(
    stop: type[BaseException], tmp_path: Path
) -> None:
    """What comes after it in the same commit is shown, and the next one is written."""
    loop = asyncio.new_event_loop()
    network = TestNetwork()

    async def begin() -> Node:
        ann = await network.open_node("ann", journal=tmp_path)
        await network.open_node("bob")
        await network.settle()
        ann.on_event(Once(stop))
        return ann

    async def expel(ann: Node) -> None:
        waiting = asyncio.gather(ann.receive(SECONDS), ann.send("ann", b"mine"))
        waits.append(waiting)
        await asyncio.sleep(0)
        await ann.expel("bob")
        await network.pass_time(1)

    async def end(ann: Node) -> None:
        await network.pass_time(1)
        received, _ = await waits[0]
        assert received.payload == b"mine"
        await ann.send("ann", b"the next one")
        assert (await ann.receive(SECONDS)).payload == b"the next one"
        ann.abandon()

    waits: list[asyncio.Future[tuple[InboundMessage, int]]] = []
    ann = loop.run_until_complete(begin())
    with pytest.raises(stop):
        loop.run_until_complete(asyncio.wait_for(expel(ann), SECONDS))
    go_on(loop, network, end(ann))
    loop.close()


@pytest.mark.parametrize("stop", STOPS)
def test_a_listener_that_ends_the_program_is_told_the_rest_if_that_goes_on(
    stop: type[BaseException], tmp_path: Path
) -> None:
    """Both expulsions are in one commit; after a crash nothing of it is told again."""
    loop = asyncio.new_event_loop()
    network = TestNetwork()
    told: list[str] = []

    def listen(report: Report) -> None:
        if isinstance(report, PeerExpelled):
            told.append(report.name)
            if len(told) == 1:
                raise stop("so it goes")

    async def open_ann() -> Node:
        return await network.open_node("ann", journal=tmp_path, on_event=listen)

    async def begin() -> Node:
        ann = await open_ann()
        for name in ("bob", "cat"):
            await network.open_node(name)
        await network.settle()
        return ann

    async def expel(ann: Node) -> None:
        for name in ("bob", "cat"):
            network.kill(name)
            await ann.send_buffered(name, b"owed")
        await ann.expel("bob")
        await ann.expel("cat")
        await network.pass_time(1)

    async def end(ann: Node) -> None:
        await network.pass_time(1)
        assert told == ["bob", "cat"]
        await ann.journal.sync()
        ann.abandon()
        again = await open_ann()
        await network.pass_time(1)
        assert told == ["bob", "cat"]
        again.abandon()

    ann = loop.run_until_complete(begin())
    with pytest.raises(stop):
        loop.run_until_complete(asyncio.wait_for(expel(ann), SECONDS))
    go_on(loop, network, end(ann))
    loop.close()


@pytest.mark.parametrize("kind", [KeyError, asyncio.CancelledError, GeneratorExit, Odd])
@pytest.mark.parametrize("what", ["listener", "policy", "handler"])
def test_what_raises_while_a_commit_is_pending_does_not_keep_it_back(
    what: str, kind: type[BaseException], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """There is no room on the disk at first, so all that happens meanwhile waits for that."""

    async def story() -> None:
        told: list[Report] = []
        listener, handler = Once(kind), Once(kind)
        async with TestNetwork() as network:
            disk = network.disks["ann"] = FailingDisk()
            settings: dict[str, object] = {"journal": tmp_path, "expel": "manual"}
            if what == "policy":
                settings["expel"] = Verdicts("cat", kind)
            ann = await network.open_node("ann", settings=settings)
            bob = await network.open_node("bob", settings={"expel": "manual"})
            await network.open_node("cat")
            await network.settle()
            if what == "listener":
                ann.on_event(listener)
            ann.on_event(told.append)
            if what == "handler":
                ann.on_message(handler)
            network.kill("cat")
            await ann.send_buffered("cat", b"owed")
            await bob.send("ann", b"1")
            disk.room = 0
            if what != "policy":
                await ann.expel("cat")
            await network.pass_time(30)
            await bob.send("ann", b"2")
            assert ann.stats().journal.waiting > 0
            assert not any(isinstance(report, PeerExpelled) for report in told)
            disk.room = None
            while not any(isinstance(report, PeerExpelled) for report in told):
                await network.pass_time(0.1)
                await asyncio.sleep(0.01)
            await bob.flush(SECONDS)
            if what == "handler":
                assert handler.calls == 2
                assert ann.stats().handler_failures == 1
            else:
                assert [(await ann.receive(SECONDS)).payload for _ in range(2)] == [b"1", b"2"]
                assert ann.stats().callback_failures == 1
            assert [r.name for r in told if isinstance(r, PeerExpelled)] == ["cat"]
            ann.abandon()

    asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert "failed" in caplog.text


class Clocked(MemoryCarrier):
    """Counts how often it is asked for the time, which goes on by 1 ms each time."""

    def __init__(self) -> None:
        super().__init__(TestNetwork(), "cat", 1400)
        self.asked = 0

    def now_ns(self) -> int:
        self.asked += 1
        return NOW_NS + self.asked * 1_000_000


class FailingOnce(Committer):
    """Fails at the end of the first turn, and counts them."""

    fails = True
    turns = 0

    def end_turn(self) -> None:
        self.turns += 1
        if self.fails:
            self.fails = False
            raise OSError("no such luck")
        super().end_turn()


def turn_of(carrier: Clocked, fails: bool) -> tuple[Turn, FailingOnce, Deliveries]:
    """A turn of a node that knows two others."""
    _, nodes, _ = trio()
    cat = nodes[CAT]
    committer = FailingOnce(cat, carrier, lambda _: None)
    committer.fails = fails
    turn = Turn(cat, carrier, Notifier(asyncio.get_running_loop()))
    deliveries = Deliveries("cat", cat, turn.soon)
    enforcer = ExpulsionEnforcer(MANUAL, cat, Callbacks("cat"), 0)
    turn.begin(deliveries, committer, enforcer, Stalls(cat, deliveries.unread))
    return turn, committer, deliveries


def test_the_time_is_read_once_in_a_turn() -> None:
    async def story() -> None:
        carrier = Clocked()
        turn, committer, _ = turn_of(carrier, fails=False)
        turn.on_input_end(NOW_NS)
        turn.on_time(NOW_NS)
        turn.soon()
        turn.soon()
        await asyncio.sleep(0)
        assert (committer.turns, carrier.asked) == (3, 3)

    asyncio.run(story())


def test_a_turn_that_fails_sets_the_timer_and_the_next_one_is_as_ever() -> None:
    async def story() -> None:
        carrier = Clocked()
        turn, committer, _ = turn_of(carrier, fails=True)
        with pytest.raises(OSError, match="no such luck"):
            turn.on_input_end(NOW_NS)
        assert carrier.wake_ns == NOW_NS + 1_000_000 + AFTER_FAILURE_NS
        turn.soon()
        await asyncio.sleep(0)
        assert committer.turns == 2
        assert carrier.wake_ns != NOW_NS + 2_000_000 + AFTER_FAILURE_NS

    asyncio.run(story())


@pytest.mark.parametrize("stop", STOPS)
def test_an_input_whose_handler_ends_the_program_sets_the_timer(stop: type[BaseException]) -> None:
    async def story() -> None:
        carrier = Clocked()
        turn, committer, deliveries = turn_of(carrier, fails=False)
        deliveries.set_handler(Once(stop))
        turn._inbox.put_to_self("cat", 1, b"x", False)
        with pytest.raises(stop):
            turn.on_input_end(NOW_NS)
        assert carrier.wake_ns == NOW_NS + 1_000_000 + AFTER_FAILURE_NS
        turn.on_time(carrier.wake_ns)
        assert committer.turns == 1

    asyncio.run(story())


def test_a_turn_of_a_closed_node_sets_no_timer() -> None:
    async def story() -> None:
        carrier = Clocked()
        turn, committer, _ = turn_of(carrier, fails=True)
        carrier.close()
        turn.close()
        turn.soon()
        turn.on_input_end(NOW_NS)
        turn.on_time(NOW_NS)
        turn.end()
        assert (committer.turns, carrier.wake_ns) == (0, NEVER_NS)

    asyncio.run(story())


def test_what_is_sent_to_oneself_is_handed_over_in_the_same_turn() -> None:
    """A call is an input as any other: no datagram has to come first, and no timer."""

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann")
            asked = asyncio.ensure_future(ann.receive(SECONDS))
            await asyncio.sleep(0)
            before_ns = network.now_ns
            ann.try_send("ann", b"note")
            await asyncio.sleep(0)
            assert (await asked).payload == b"note"
            assert network.now_ns == before_ns

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("stop", STOPS)
def test_a_reader_that_ends_the_program_does_not_keep_the_next_one_asleep(
    stop: type[BaseException],
) -> None:
    loop = asyncio.new_event_loop()
    network = TestNetwork()
    shares: list[list[bytes]] = [[], []]

    async def read(bob: Node, share: list[bytes], raised: type[BaseException] | None) -> None:
        async for message in bob:
            share.append(message.payload)
            if raised is not None:
                raise raised

    async def begin() -> tuple[Node, Node]:
        alice = await network.open_node("alice")
        bob = await network.open_node("bob")
        await network.settle()
        for share, raised in zip(shares, (stop, None), strict=True):
            tasks.append(asyncio.ensure_future(read(bob, share, raised)))
            await asyncio.sleep(0)
        return alice, bob

    async def send(alice: Node) -> None:
        await alice.send("bob", b"1")
        await network.settle()

    async def end(alice: Node, bob: Node) -> None:
        await alice.send("bob", b"2")
        while not shares[1]:
            await network.pass_time(0.1)
        alice.abandon()
        bob.abandon()
        await tasks[1]

    tasks: list[asyncio.Future[None]] = []
    alice, bob = loop.run_until_complete(begin())
    with pytest.raises(stop):
        loop.run_until_complete(asyncio.wait_for(send(alice), SECONDS))
    go_on(loop, network, end(alice, bob))
    with pytest.raises(stop):
        tasks[0].result()
    assert shares == [[b"1"], [b"2"]]
    loop.close()
