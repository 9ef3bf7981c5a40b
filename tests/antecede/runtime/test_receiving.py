"""How messages get to the application: several tasks, handlers, and what happens at the end."""

import asyncio
import logging

import pytest

import antecede
from antecede.core.errors import BufferFull
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.deliveries import TURN_MESSAGES
from antecede.runtime.errors import TimedOut, WouldDeadlock
from antecede.runtime.node import Node
from antecede.testing import TestNetwork
from antecede.transport.flow_control import MESSAGE_COST
from tests.antecede.runtime.test_node import play

MANY = 2000
QUESTIONS = 300
SIZE = 10_000


def test_several_tasks_may_receive_and_none_of_the_messages_is_lost() -> None:
    """More than one turn's worth, so that a task finds what another one has left."""

    async def story() -> list[list[int]]:
        shares: list[list[int]] = [[] for _ in range(3)]
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")

            async def read(share: list[int]) -> None:
                async for message in bob:
                    share.append(int(message.payload))
                    await asyncio.sleep(0)

            readers = [asyncio.create_task(read(share)) for share in shares]
            for number in range(MANY):
                await alice.send("bob", b"%d" % number)
            await network.settle()
            assert not any(reader.done() for reader in readers), "the node is open"
        await asyncio.gather(*readers)
        return shares

    shares = asyncio.run(story())
    assert sorted(number for share in shares for number in share) == list(range(MANY))
    assert all(share == sorted(share) for share in shares), "each sees its own in order"
    assert min(len(share) for share in shares) > 0, "each gets a share"


def test_everybody_who_waits_gets_one_of_the_messages_that_come_together() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await alice.meet("bob")
        waiting = [asyncio.create_task(bob.receive(30)) for _ in range(4)]
        await asyncio.sleep(0)
        for number in range(4):
            alice.try_send("bob", b"%d" % number)
        received = [message.payload for message in await asyncio.gather(*waiting)]
        assert received == [b"0", b"1", b"2", b"3"]

    play(story)


def test_giving_up_to_receive_leaves_nothing_behind() -> None:
    async def story(alice: Node, bob: Node) -> None:
        for _ in range(20):
            with pytest.raises(TimedOut):
                await bob.receive(timeout=0.001)
        assert not bob._deliveries._changed.waiters
        await alice.send("bob", b"still here")
        assert (await bob.receive(30)).payload == b"still here"

    play(story)


@pytest.mark.parametrize("linger", ["released", "bye"])
def test_closing_waits_until_a_slow_handler_has_seen_everything(linger: str) -> None:
    async def story() -> int:
        seen = 0

        async def handler(_message: InboundMessage) -> None:
            nonlocal seen
            await asyncio.sleep(0)
            seen += 1

        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            bob.on_message(handler)
            for _ in range(MANY):
                await alice.send("bob", b"x")
            await alice.flush(60)
            both = alice.close(60), bob.close(60, "bye" if linger == "bye" else "released")
            await asyncio.gather(*both)
            return seen

    assert asyncio.run(story()) == MANY


def test_closing_waits_for_a_plain_handler_too() -> None:
    async def story() -> int:
        seen: list[InboundMessage] = []
        async with antecede.open_node("alice") as alice:
            for _ in range(MANY):
                await alice.send("alice", b"x")
            alice.on_message(seen.append)
        return len(seen)

    assert asyncio.run(story()) == MANY


def test_a_handler_that_takes_too_long_is_told_of_when_the_time_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        for_ever = asyncio.Event()

        async def handler(_message: InboundMessage) -> None:
            await for_ever.wait()

        alice = await antecede.open_node("alice")
        alice.on_message(handler)
        for _ in range(3):
            await alice.send("alice", b"x")
        await asyncio.sleep(0.01)
        await alice.close(timeout=0.05)

    asyncio.run(story())
    assert "alice: closed before its handler has seen 2 messages" in caplog.text


def test_a_handler_that_is_behind_gets_its_share_in_every_turn_of_the_loop_and_no_more() -> None:
    """However many inputs there are meanwhile."""

    async def story() -> None:
        seen: list[InboundMessage] = []
        shares: list[int] = []
        async with TestNetwork() as network:
            ann = await network.open_node("ann", receive_window="16MiB")
            ann.on_message(seen.append)
            await asyncio.sleep(0)
            for _ in range(20 * TURN_MESSAGES):
                ann.try_send("ann", b"x")
            for _ in range(10):
                before = len(seen)
                ann.try_send("ann", b"x")
                await asyncio.sleep(0)
                shares.append(len(seen) - before)
        assert shares == [TURN_MESSAGES] * 10
        assert len(seen) == 20 * TURN_MESSAGES + 10

    asyncio.run(story())


def test_a_coroutine_handler_is_never_called_twice_at_a_time() -> None:
    """Not even for messages to oneself, each of which asks for the handler to be called."""

    async def story() -> list[bytes]:
        steps: list[bytes] = []

        async def handler(message: InboundMessage) -> None:
            steps.append(b"begin " + message.payload)
            await asyncio.sleep(0)
            steps.append(b"end " + message.payload)

        async with antecede.open_node("alice") as alice:
            alice.on_message(handler)
            for number in range(3):
                await alice.send("alice", b"%d" % number)
        return steps

    expected = [word + b" %d" % number for number in range(3) for word in (b"begin", b"end")]
    assert asyncio.run(story()) == expected


def test_a_handler_may_close_its_node() -> None:
    async def story(alice: Node, bob: Node) -> None:
        has_left = asyncio.Event()

        async def handler(_message: InboundMessage) -> None:
            await bob.close(600)
            has_left.set()

        bob.on_message(handler)
        await alice.send("bob", b"leave")
        await has_left.wait()

    play(story)


def test_a_handler_goes_on_after_a_signal_until_the_node_is_closed() -> None:
    async def story(alice: Node, bob: Node) -> None:
        seen: list[bytes] = []

        async def handler(message: InboundMessage) -> None:
            seen.append(message.payload)

        bob.on_message(handler)
        await alice.send("bob", b"before")
        await alice.flush(60)
        await asyncio.sleep(0)
        bob._deliveries.stop_iterating()  # What a signal does.
        await alice.send("bob", b"after")
        await alice.flush(60)
        await bob.close(60)
        assert seen == [b"before", b"after"]

    play(story)


def test_a_handler_that_takes_the_rest_itself_is_not_called_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(alice: Node, bob: Node) -> None:
        seen: list[bytes] = []

        def handler(message: InboundMessage) -> None:
            seen.extend(m.payload for m in [message, *bob.receive_ready()])

        for number in range(5):
            await alice.send("bob", b"%d" % number)
        await alice.flush(60)
        bob.on_message(handler)
        await alice.send("bob", b"5")
        await alice.flush(60)
        await asyncio.sleep(0)
        assert seen == [b"0", b"1", b"2", b"3", b"4", b"5"]

    play(story)
    assert caplog.text == ""


def test_what_a_waiting_task_will_read_after_the_end_is_not_called_unread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> int:
        alice = await antecede.open_node("alice")
        reading = asyncio.create_task(alice.receive())
        await asyncio.sleep(0)
        alice.try_send("alice", b"x")
        await alice.close()
        return (await reading).sequence

    assert asyncio.run(story()) == 1
    assert "nobody has read" not in caplog.text


def test_what_nobody_reads_is_told_of_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with antecede.open_node("alice") as alice:
            await alice.send("alice", b"x")

    asyncio.run(story())
    assert "alice: closed with 1 message that nobody has read" in caplog.text
    assert logging.WARNING in [record.levelno for record in caplog.records]


def test_a_node_without_peers_may_talk_to_itself_for_ever() -> None:
    """Nothing arrives that would make room: the delivery itself has to."""

    async def story() -> None:
        async with antecede.open_node("alice", send_bytes="64KiB", payload_limit="64KiB") as alice:
            for size in [10_000] * 20 + [65_536]:
                async with asyncio.timeout(30):
                    await alice.send("alice", bytes(size))
                assert len((await alice.receive(30)).payload) == size
            assert alice.stats().buffered_bytes == 0

    asyncio.run(story())


def test_who_reads_what_is_ready_and_waits_for_room_gets_an_error_not_a_deadlock() -> None:
    async def story() -> None:
        async with antecede.open_node("alice", receive_window="64KiB") as alice:
            alice.receive_ready()
            for _ in range(1 + (64 << 10) // (1000 + MESSAGE_COST)):
                alice.try_send("alice", bytes(1000))
            with pytest.raises(BufferFull, match="62 messages wait here to be received"):
                alice.try_send("alice", bytes(1000))
            # As much again is taken in for one that waits instead of reading, and no more.
            sent = 62 + await sent_until_deadlock(alice, "alice", bytes(1000))
            assert 2 * 62 <= sent <= 3 * 62
            assert len(alice.receive_ready()) == sent
            await alice.send("alice", bytes(1000))

    asyncio.run(story())


async def sent_until_deadlock(node: Node, target: str | list[str], payload: bytes) -> int:
    """How many are accepted before it would wait for ever."""
    for count in range(1000):
        try:
            await node.send(target, payload)
        except WouldDeadlock:
            return count
    raise AssertionError("there is room without end")


@pytest.mark.parametrize("answers", [1, 2])
def test_who_answers_what_it_reads_is_no_deadlock_unless_answers_breed(answers: int) -> None:
    """Two loops that receive, then send, on buffers which others fill; questions are answered."""

    async def story(alice: Node, bob: Node) -> None:
        failures: list[WouldDeadlock] = []
        answered: list[str] = []

        async def answer(node: Node, peer: str) -> None:
            async for message in node:
                try:
                    for _ in range(answers if message.payload[:1] == b"?" else 0):
                        await node.send(peer, (b"!" if answers == 1 else b"?") + bytes(SIZE))
                except WouldDeadlock as error:
                    failures.append(error)
                    return
                answered.append(message.sender)

        async def ask(node: Node, peer: str) -> None:
            for _ in range(QUESTIONS):
                await node.send(peer, b"?" + bytes(SIZE))

        tasks = [
            asyncio.create_task(work(node, peer))
            for node, peer in ((alice, "bob"), (bob, "alice"))
            for work in (answer, ask)
        ]
        while not failures and len(answered) < 4 * QUESTIONS:
            await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        assert bool(failures) == (answers > 1)

    play(story, send_limit=8, receive_window=64 << 10, linger=0.1)


def test_who_waits_for_room_for_messages_to_itself_goes_on_when_they_are_taken() -> None:
    """No peer sends anything that would wake it: taking the messages has to."""

    async def story() -> None:
        async with antecede.open_node("alice", receive_window="64KiB") as alice:

            async def talk() -> None:
                for _ in range(200):
                    await alice.send("alice", bytes(1000))

            talking = asyncio.create_task(talk())
            while alice.stats().inbox < 62:
                await asyncio.sleep(0)
            taken = 0
            async with asyncio.timeout(30):
                while taken < 200:
                    await alice.receive()
                    taken += 1
                await talking

    asyncio.run(story())


def test_messages_to_oneself_that_wait_keep_nobody_from_answering_a_peer() -> None:
    async def story(alice: Node, bob: Node) -> None:
        await alice.meet("bob")
        alice.receive_ready()
        for _ in range(1 + alice.settings.receive_window // 60_000):
            alice.try_send("alice", bytes(60_000))
        with pytest.raises(BufferFull, match="wait here to be received"):
            alice.try_send("alice", b"x")
        alice.try_send("bob", b"tried")
        await alice.send("bob", b"sent")
        assert [(await bob.receive(30)).payload for _ in range(2)] == [b"tried", b"sent"]
        assert await sent_until_deadlock(alice, ["bob", "alice"], bytes(60_000)) < 1000

    play(story)


def test_a_large_payload_once_accepted_is_no_error_and_arrives_once() -> None:
    """Its sender, who should take messages, does not wait for its last part; it goes by itself.

    What has come is taken in meanwhile, so that the sender of that can go on.
    """

    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice", send_limit=2, receive_window="64KiB")
            bob = await network.open_node("bob")
            alice.receive_ready()
            for _ in range(40):
                await bob.send("alice", bytes(1000))
            await network.settle()
            await alice.send("bob", bytes(20_000))
            await alice.send("bob", b"behind it")
            assert len(alice.receive_ready()) == 40
            await alice.send("bob", b"after it")
            await network.settle()
            received = [message.payload for message in bob.receive_ready()]
            assert received == [bytes(20_000), b"behind it", b"after it"]

    asyncio.run(story())


@pytest.mark.parametrize("first", ["coroutine", "plain"])
def test_a_handler_that_waited_for_something_cancelled_gets_the_next_message(first: str) -> None:
    """A cancelled future is a failure of the handler, not the end of deliveries."""

    async def story(alice: Node, bob: Node) -> None:
        seen: list[bytes] = []
        done = asyncio.Event()

        def cancelled() -> asyncio.Future[None]:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            future.cancel()
            return future

        def note(payload: bytes) -> None:
            seen.append(payload)
            if len(seen) == 3:
                done.set()

        async def waiting(message: antecede.Message) -> None:
            note(message.payload)
            await cancelled()

        def asking(message: antecede.Message) -> None:
            note(message.payload)
            cancelled().result()

        bob.on_message(waiting if first == "coroutine" else asking)
        for number in range(3):
            await alice.send("bob", b"%d" % number)
        await asyncio.wait_for(done.wait(), 30)
        await asyncio.sleep(0.01)
        assert seen == [b"0", b"1", b"2"]
        assert bob.stats().handler_failures == 3

    play(story)
