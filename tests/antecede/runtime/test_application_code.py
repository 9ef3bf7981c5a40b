"""Application code that raises: whatever it is and whatever it raises, the node goes on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import antecede
from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import PeerExpelled, Report
from antecede.runtime.config.expulsion_policy import ExpulsionPolicy, SilentPeer
from antecede.runtime.deliveries import Handler
from antecede.runtime.discovery import Discovery, Found
from antecede.runtime.node import Node
from antecede.runtime.observe.prometheus import exposition
from antecede.runtime.typed_node import TypedNode
from antecede.testing import TestNetwork

SECONDS = 60.0


class Whatever(BaseException):
    """No `Exception`: what somebody may define for reasons of their own."""


RAISED: list[type[BaseException]] = [
    KeyError,
    ValueError,
    OSError,
    RecursionError,
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    asyncio.CancelledError,
    TimeoutError,
    Whatever,
]


class Failing:
    """Raises as often as it is called, and counts that."""

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind
        self.calls = 0

    def fail(self, *_: object) -> None:
        self.calls += 1
        raise self._kind("so it goes")

    async def fail_later(self, *_: object) -> None:
        await asyncio.sleep(0)
        self.fail()


def in_the_call(failing: Failing) -> Handler:
    return failing.fail


def awaited(failing: Failing) -> Handler:
    return failing.fail_later


def between(failing: Failing) -> Handler:
    """Fails in the call, after it has been awaited once."""

    def handler(message: InboundMessage) -> Awaitable[None] | None:
        if message.payload == b"0":
            return asyncio.sleep(0)
        failing.fail()
        return None

    return handler


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("where", [in_the_call, awaited, between])
def test_a_handler_that_raises_gets_the_next_message_all_the_same(
    kind: type[BaseException], where: Callable[[Failing], Handler], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        failing = Failing(kind)
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            bob.on_message(where(failing))
            for number in range(5):
                await alice.send("bob", b"%d" % number)
                await network.settle()
            expected = 4 if where is between else 5
            assert (failing.calls, bob.stats().handler_failures) == (expected, expected)
            await bob.send("alice", b"still here")
            assert (await alice.receive(SECONDS)).payload == b"still here"

    asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert "bob: the message handler failed for Message(sender='alice'" in caplog.text


@pytest.mark.parametrize("kind", RAISED)
def test_a_codec_that_raises_is_a_failure_of_the_handler(kind: type[BaseException]) -> None:
    class Strange:
        def encode(self, value: bytes) -> bytes:
            return value

        def decode(self, payload: bytes) -> bytes:
            raise kind(payload)

    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            TypedNode(bob, Strange()).on_message(lambda _message: None)
            for number in range(3):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            assert bob.stats().handler_failures == 3

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("kind", RAISED)
def test_an_event_listener_that_raises_does_not_stop_the_others_or_the_node(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        told: list[Report] = []
        failing = Failing(kind)
        async with TestNetwork() as network:
            alice = await network.open_node("alice", on_event=failing.fail)
            alice.on_event(told.append)
            bob = await network.open_node("bob")
            await network.settle()
            network.cut("alice", "bob")
            await alice.send("bob", b"again and again")
            await network.pass_time(5)
            network.heal("alice", "bob")
            assert (await bob.receive(SECONDS)).payload == b"again and again"
            assert len(told) == failing.calls > 0
            assert alice.stats().callback_failures == failing.calls
            text = (await exposition(alice, per_peer=False)).decode()
            assert [
                float(line.rpartition(" ")[2])
                for line in text.splitlines()
                if line.startswith("antecede_callback_failures_total{")
            ] == [failing.calls]

    asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert "alice: an event listener, called with PeerMet(name='bob'), failed" in caplog.text


class Raising(ExpulsionPolicy):
    """A policy of somebody's own, which fails when it is asked for the first times."""

    silence = 12.0

    def __init__(self, kind: type[BaseException], times: int) -> None:
        self._kind = kind
        self._times = times
        self.asked = 0

    def verdict(self, peer: SilentPeer) -> str:
        self.asked += 1
        if self.asked <= self._times:
            raise self._kind(peer.name)
        return "silent, and this time it is said"


@pytest.mark.parametrize("kind", RAISED)
def test_a_policy_that_raises_is_asked_again_and_the_timer_goes_on(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        policy = Raising(kind, 3)
        told: list[Report] = []
        async with TestNetwork() as network:
            ann = await network.open_node("ann", settings={"expel": policy}, on_event=told.append)
            await network.open_node("bob")
            cat = await network.open_node("cat")
            await network.settle()
            network.kill("bob")
            await ann.send("bob", b"x")
            while ann.stats().callback_failures < 3:
                await network.pass_time(0.1)
            assert policy.asked == 3
            assert "nobody is expelled, as the expulsion policy fails" in str(ann.health())
            await network.pass_time(30)
            assert [r.name for r in told if isinstance(r, PeerExpelled)] == ["bob"]
            assert "policy" not in str(ann.health())
            await ann.send("cat", b"the timer rings")
            assert (await cat.receive(SECONDS)).payload == b"the timer rings"

    asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert "ann: the expulsion policy, asked about 'bob', failed" in caplog.text


def test_a_verdict_that_is_no_text_expels_nobody() -> None:
    class Odd(ExpulsionPolicy):
        silence = 12.0

        def verdict(self, peer: SilentPeer) -> str:  # noqa: ARG002 - whoever it is
            return 7  # type: ignore[return-value] # what is tested

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann", settings={"expel": Odd()})
            await network.open_node("bob")
            await network.settle()
            network.kill("bob")
            await ann.send("bob", b"x")
            await network.pass_time(30)
            assert ann.stats().callback_failures > 0
            assert "a verdict is a text, not 7" in str(ann.health())
            assert not ann.stats().peers[0].left

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("kind", RAISED)
def test_a_journal_goes_on_when_what_it_was_to_call_raises(
    kind: type[BaseException], tmp_path: Path
) -> None:
    async def story() -> None:
        failing = Failing(kind)
        async with TestNetwork() as network:
            ann = await network.open_node("ann", journal=tmp_path)
            ann.journal.report_with(failing.fail)
            await network.open_node("bob")
            await network.settle()
            network.kill("bob")
            await ann.send("bob", b"in vain")
            await ann.expel("bob")
            while not failing.calls:
                await network.pass_time(0.1)
            assert ann.stats().callback_failures == failing.calls
            await ann.send("ann", b"on disk")
            await ann.journal.sync()
            assert (await ann.receive(SECONDS)).payload == b"on disk"

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_discovery_source_that_raises_is_asked_again(
    kind: type[BaseException], is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        failing = Failing(kind)

        def source() -> Found | Awaitable[Found]:
            if failing.calls >= 3:
                return {"bob": "127.0.0.1:9"}
            if is_async:
                return failing.fail_later()  # type: ignore[return-value] # it never returns
            failing.fail()
            return {}

        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            async with Discovery(alice, source, every=0.001):
                while "bob" not in alice.peers:
                    await asyncio.sleep(0.001)
            assert failing.calls == 3
            alice.abandon()

    asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert max(record.levelno for record in caplog.records) >= logging.WARNING


def test_a_source_that_returns_nonsense_is_asked_again() -> None:
    async def story() -> None:
        answers: list[object] = [None, 7, ["bob"], {"bob": object()}, {7: "127.0.0.1:9"}]

        def source() -> Found:
            answer = answers.pop(0) if answers else {"bob": "127.0.0.1:9"}
            return answer  # type: ignore[return-value] # what is tested

        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            async with Discovery(alice, source, every=0.001):
                while "bob" not in alice.peers:
                    await asyncio.sleep(0.001)
            assert alice.stats().callback_failures >= 3
            alice.abandon()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_passes_and_the_timer_is_armed_again(
    stop: type[BaseException],
) -> None:
    loop = asyncio.new_event_loop()
    network = TestNetwork()
    policy = Raising(stop, 1)

    async def begin() -> Node:
        ann = await network.open_node("ann", settings={"expel": policy})
        await network.open_node("bob")
        await network.settle()
        network.kill("bob")
        await ann.send("bob", b"x")
        return ann

    async def end(ann: Node) -> None:
        while not ann.stats().peers[0].left:
            await network.pass_time(1)
        ann.abandon()

    ann = loop.run_until_complete(begin())
    with pytest.raises(stop):
        loop.run_until_complete(asyncio.wait_for(network.pass_time(600), SECONDS))
    network.go_on()
    loop.run_until_complete(asyncio.wait_for(end(ann), SECONDS))
    loop.close()


@pytest.mark.parametrize("is_async", [False, True])
def test_to_receive_beside_a_handler_is_refused_with_a_sentence(is_async: bool) -> None:
    async def story() -> None:
        seen: list[bytes] = []

        async def later(message: InboundMessage) -> None:
            seen.append(message.payload)

        def at_once(message: InboundMessage) -> None:
            seen.append(message.payload)

        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            waiting = asyncio.create_task(bob.receive())
            waiting_long = asyncio.create_task(bob.receive(SECONDS))
            iterating = asyncio.create_task(anext(aiter(bob)))
            await asyncio.sleep(0)
            bob.on_message(later if is_async else at_once)
            for one in (waiting, waiting_long, iterating):
                with pytest.raises(LocalError, match="bob has a message handler, which gets every"):
                    await one
            for number in range(300):
                await alice.send("bob", b"%d" % number)
                if number % 100 == 0:
                    for asked in (bob.receive(), bob.receive(SECONDS), bob.receive(0)):
                        with pytest.raises(LocalError, match="receive there, or do not call"):
                            await asked
                    with pytest.raises(LocalError, match="has a message handler"):
                        aiter(bob)
                    with pytest.raises(LocalError, match="has a message handler"):
                        bob.receive_ready()
            await network.settle()
            assert seen == [b"%d" % number for number in range(300)]

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_a_coroutine_handler_may_receive_by_itself() -> None:
    async def story() -> None:
        seen: list[bytes] = []

        async def handler(message: InboundMessage) -> None:
            seen.append(message.payload + (await bob.receive(SECONDS)).payload)

        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            bob.on_message(handler)
            for number in range(6):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            assert seen == [b"01", b"23", b"45"]

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_a_round_trip_does_not_include_the_time_that_a_handler_took() -> None:
    """An answer is timed from when it left, by the network's own clock."""

    async def story() -> None:
        async with TestNetwork() as network:

            def handler(message: InboundMessage) -> None:
                network._post.now_ns += 300_000_000
                bob.try_send("alice", b"answer to " + message.payload)

            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            await network.settle()
            bob.on_message(handler)
            for _ in range(8):
                await alice.send("bob", b"question")
                await network.settle()
            (peer,) = bob.stats().peers
            assert peer.round_trip_ns == peer.round_trip_least_ns > 0
            assert len(alice.receive_ready()) == 8

    asyncio.run(asyncio.wait_for(story(), SECONDS))


WRONG_CALLS: list[tuple[Callable[[Node], object], str]] = [
    (lambda node: node.on_message(None), "a message handler is a function, not None"),  # type: ignore[arg-type] # a wrong call
    (lambda node: node.on_event(5), "an event listener is a function, not 5"),  # type: ignore[arg-type] # a wrong call
    (lambda node: node.try_send("ann", b"x", headers=["k"]), "headers map names to bytes"),  # type: ignore[arg-type] # a wrong call
    (lambda node: node.expel("bob", 5), "a reason is a text, not 5"),  # type: ignore[arg-type] # a wrong call
    (lambda node: node.meet(5), "no peer is called 5"),  # type: ignore[arg-type] # a wrong call
    (lambda node: node.close(linger="bey"), "linger is one of released, bye, not 'bey'"),  # type: ignore[arg-type] # a wrong call
]


@pytest.mark.parametrize(("call", "said"), WRONG_CALLS)
def test_a_wrong_call_is_refused_and_changes_nothing(
    call: Callable[[Node], object], said: str
) -> None:
    async def make(node: Node) -> None:
        called = call(node)
        if isinstance(called, Awaitable):
            await called

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann")
            await network.open_node("bob")
            await network.settle()
            with pytest.raises(LocalError, match=said):
                await make(ann)
            await ann.send("ann", b"x")
            assert (await ann.receive(SECONDS)).payload == b"x"
            assert ann.peers == {"bob": "here"}
            assert ann.stats().callback_failures == 0

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_a_listener_that_is_none_is_refused_before_a_node_is_opened() -> None:
    with pytest.raises(LocalError, match="an event listener is a function, not 5"):
        antecede.open_node("ann", on_event=5)  # type: ignore[arg-type] # a wrong call
