"""Requests where something goes wrong, or is unusual: nothing hangs, leaks, or is told falsely."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf, nan
from pathlib import Path
from random import Random

import pytest

from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import Undeliverable
from antecede.runtime.errors import BadPayload, PayloadTooLarge, RequestFailed
from antecede.runtime.node import Node
from antecede.runtime.typed_node import JsonCodec, MsgspecCodec, TypedNode
from antecede.testing import Faults, TestNetwork, Uniform
from tests.seeds import seeds

WAIT = 30.0
"""Seconds after which a test has failed; nothing here takes long."""


async def answer(message: InboundMessage) -> None:
    if message.is_request:
        await message.reply(message.payload.upper())


BAD = Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.1, duplication=0.1)


def play(story: Callable[[TestNetwork], Awaitable[None]], faults: Faults | None = None) -> None:
    """Run a story in a network in memory."""

    async def run() -> None:
        async with TestNetwork(faults) as network:
            await asyncio.wait_for(story(network), WAIT)

    asyncio.run(run())


def pair(
    work: Callable[[Node, Node], Awaitable[None]], faults: Faults | None = None, **options: object
) -> None:
    """Run `work` with two nodes; alice has the `options`."""

    async def story(network: TestNetwork) -> None:
        bob = await network.open_node("bob")
        alice = await network.open_node("alice", settings=options)
        await work(alice, bob)

    play(story, faults)


# Who reads, or does not.


def test_who_has_received_through_a_wrapper_gets_its_reply_at_once() -> None:
    async def work(alice: Node, bob: Node) -> None:
        bob.on_message(answer)
        await bob.send("alice", b"hello")
        await asyncio.wait_for(alice.receive(), WAIT)
        assert (await alice.request("bob", b"?", timeout=10)).payload == b"?"

    pair(work)


def test_a_task_that_has_read_and_ended_holds_up_no_reply() -> None:
    async def work(alice: Node, bob: Node) -> None:
        bob.on_message(answer)
        await bob.send("alice", b"hello")

        async def read_one() -> None:
            await alice.receive()

        await asyncio.create_task(read_one())
        assert (await alice.request("bob", b"?", timeout=10)).payload == b"?"

    pair(work)


def test_a_reply_waits_until_what_was_delivered_before_is_taken_and_no_longer() -> None:
    async def work(alice: Node, bob: Node) -> None:
        taken: list[bytes] = []

        async def ask() -> None:
            taken.append((await alice.request("bob", b"?", timeout=10)).payload)

        asking = asyncio.create_task(ask())
        request = await bob.receive()
        await bob.send("alice", b"before all")
        taken.append((await alice.receive()).payload)
        for payload in (b"first", b"second"):
            await bob.send("alice", payload)
        await request.reply(b"reply")
        await bob.send("alice", b"third")
        await bob.flush()
        for payload in (b"first", b"second"):
            assert not asking.done()
            taken.append((await alice.receive()).payload)
            assert taken[-1] == payload
        await asking  # Nobody has asked for another message.
        taken.append((await alice.receive()).payload)
        assert taken == [b"before all", b"first", b"second", b"reply", b"third"]

    pair(work)


def test_replies_go_on_although_nobody_reads_what_is_in_front_of_them() -> None:
    async def work(alice: Node, bob: Node) -> None:
        bob.on_message(answer)
        await bob.send("alice", b"nobody reads this")
        for number in range(1_000):
            reply = await alice.request("bob", b"%d" % number, timeout=10)
            assert reply.payload == b"%d" % number
        assert alice.stats().inbox == 1

    pair(work, receive_window="64KiB")


def test_a_reader_may_ask_as_often_as_it_likes_within_one_message() -> None:
    async def work(alice: Node, bob: Node) -> None:
        bob.on_message(answer)
        for _ in range(3):
            await bob.send("alice", bytes(100))
        await alice.receive()
        for number in range(1_000):
            reply = await alice.request("bob", b"%d" % number, timeout=10)
            assert reply.payload == b"%d" % number
        assert [len((await alice.receive()).payload) for _ in range(2)] == [100, 100]

    pair(work, receive_window="64KiB")


@pytest.mark.parametrize("is_async", [False, True])
def test_handlers_ask_and_are_asked_meanwhile(is_async: bool) -> None:
    """Each asks the other's node from within its handler, through a third."""

    async def story(network: TestNetwork) -> None:
        nodes = {name: await network.open_node(name) for name in ("ann", "bob", "cat")}
        nodes["cat"].on_message(answer)

        def serve(node: Node) -> None:
            async def pass_on(message: InboundMessage) -> None:
                reply = await node.request("cat", message.payload, timeout=10)
                await message.reply(reply.payload)

            def handler(message: InboundMessage) -> Awaitable[None]:
                return pass_on(message)

            node.on_message(pass_on if is_async else handler)

        serve(nodes["bob"])
        payloads = [b"n%d" % number for number in range(50)]
        replies = await asyncio.gather(*(nodes["ann"].request("bob", one) for one in payloads))
        assert [reply.payload for reply in replies] == [one.upper() for one in payloads]

    play(story)


def test_a_handler_that_asks_its_own_node_times_out_and_the_next_message_comes() -> None:
    async def work(alice: Node, bob: Node) -> None:
        failures: list[str] = []

        async def handle(message: InboundMessage) -> None:
            if message.payload == b"begin":
                try:
                    await alice.request("alice", b"?", timeout=0.05)
                except RequestFailed as error:
                    failures.append(error.why)
            else:
                failures.append("handled")

        alice.on_message(handle)
        await bob.send("alice", b"begin")
        while len(failures) < 2:
            await asyncio.sleep(0.01)
        assert failures == ["timed out", "handled"]

    pair(work)


def test_a_node_asks_itself() -> None:
    async def work(alice: Node, _: Node) -> None:
        asking = asyncio.create_task(alice.request("alice", b"who am I?"))
        await asyncio.sleep(0)
        (request,) = alice.receive_ready()  # In the turn that has sent it.
        await request.reply(request.sender.encode())
        assert (await asking).payload == b"alice"
        alice.on_message(answer)
        replies = await asyncio.gather(*(alice.request("alice", b"x") for _ in range(500)))
        assert {reply.payload for reply in replies} == {b"X"}
        assert alice.stats().inbox == 0

    pair(work, receive_window="64KiB")


# Many, cancelled, late.


def test_cancelled_requests_leave_nothing_behind_and_their_replies_are_counted() -> None:
    async def work(alice: Node, bob: Node) -> None:
        count = 10_000
        requests: list[InboundMessage] = []
        bob.on_message(requests.append)
        for start in range(0, count, 1_000):
            tasks = [
                asyncio.create_task(alice.request("bob", b"?", timeout=3_600)) for _ in range(1_000)
            ]
            while len(requests) < start + 1_000:
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            assert alice.stats().requests == 0
        assert len(alice._requests._deadlines._heap) < 3_000
        for request in requests:
            await request.reply(b"late")
        await bob.flush()
        assert alice.stats().late_replies == count
        assert alice.stats().inbox == 0
        asking = asyncio.create_task(alice.request("bob", b"?", timeout=10))
        while len(requests) == count:
            await asyncio.sleep(0)
        await requests[-1].reply(b"in time")
        assert (await asking).payload == b"in time"

    pair(work)


def test_a_request_that_is_cancelled_before_it_is_sent_is_not_sent() -> None:
    async def story(network: TestNetwork) -> None:
        alice = await network.open_node("alice", peers=["bob"])
        asking = asyncio.create_task(alice.request("bob", b"?"))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        bob = await network.open_node("bob")
        await alice.send("bob", b"next")
        assert (await bob.receive()).payload == b"next"

    play(story)


def test_requests_time_out_each_at_its_time_and_the_others_go_on() -> None:
    async def work(alice: Node, bob: Node) -> None:
        ended: list[int] = []

        async def ask(number: int) -> None:
            with pytest.raises(RequestFailed, match="within"):
                await alice.request("bob", b"%d" % number, timeout=number / 100)
            ended.append(number)

        never = asyncio.create_task(alice.request("bob", b"never", timeout=1e300))
        for_ever = asyncio.create_task(alice.request("bob", b"for ever", timeout=inf))
        await asyncio.gather(*(ask(number) for number in (9, 3, 12, 6, 0)))
        assert ended == [0, 3, 6, 9, 12]
        for message in bob.receive_ready():
            if message.payload in (b"never", b"for ever"):
                assert message.deadline is None
                await message.reply(b"now")
            else:
                assert message.deadline is not None
        assert (await never).payload == (await for_ever).payload == b"now"
        assert alice.stats().requests == 0

    pair(work)


def test_too_many_requests_under_way_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antecede.runtime.requests.UNDER_WAY_MAX", 3)

    async def work(alice: Node, bob: Node) -> None:
        asking = [asyncio.create_task(alice.request("bob", b"?")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(LocalError, match="3 requests are waiting"):
            await alice.request("bob", b"one too many")
        bob.on_message(answer)
        await asyncio.gather(*asking)
        await alice.request("bob", b"?")

    pair(work)


@pytest.mark.parametrize(
    ("name", "payload", "timeout", "says"),
    [
        (["bob"], b"", None, "one peer"),
        ("bob", "text", None, "must be bytes"),
        ("bob", b"", nan, "number of seconds"),
        ("bob", b"", "5", "number of seconds"),
        ("bobby", b"", 5, "no peer is called"),
    ],
)
def test_wrong_calls_change_nothing(
    name: object, payload: object, timeout: object, says: str
) -> None:
    async def work(alice: Node, bob: Node) -> None:
        with pytest.raises(LocalError, match=says):
            await alice.request(name, payload, timeout)  # type: ignore[arg-type] # wrong
        assert alice.stats().requests == 0
        assert alice.stats().messages_sent == 0
        assert bob.receive_ready() == []

    pair(work)


@pytest.mark.parametrize(
    "headers",
    [
        {"": b""},
        {"\ud800": b""},
        {"x" * 201: b""},
        {f"h{number}": b"" for number in range(257)},
        {"large": bytes(5_000)},
        {"text": "text"},
    ],
)
def test_wrong_headers_change_nothing(headers: dict[str, bytes]) -> None:
    async def work(alice: Node, bob: Node) -> None:
        asking = asyncio.create_task(alice.request("bob", b"?", timeout=10))
        request = await bob.receive()
        for call in (
            alice.request("bob", b"", headers=headers),
            alice.send("bob", b"", headers=headers),
            request.reply(b"", headers),
        ):
            with pytest.raises(LocalError):
                await call
        await request.reply(b"fine", {"h" * 200: bytes(700)})
        assert (await asking).headers == {"h" * 200: bytes(700)}
        assert alice.stats().requests == 0
        assert bob.receive_ready() == []

    pair(work, payload_limit="1KiB")


# Answering.


def test_a_reply_that_cannot_be_sent_may_be_tried_again() -> None:
    async def story(network: TestNetwork) -> None:
        bob = await network.open_node("bob", payload_limit="1KiB")
        alice = await network.open_node("alice")
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        with pytest.raises(PayloadTooLarge):
            await request.reply(bytes(1 << 20))
        with pytest.raises(LocalError, match="must be bytes"):
            await request.reply("text")  # type: ignore[arg-type] # wrong
        with pytest.raises(LocalError, match="headers map"):
            await request.reply(b"", {"key": 1})  # type: ignore[dict-item] # wrong
        await request.reply(bytearray(b"short"), {"key": b"value"})
        reply = await asking
        assert (reply.payload, dict(reply.headers)) == (b"short", {"key": b"value"})

    play(story)


def test_a_reply_that_was_cancelled_before_it_was_sent_may_be_given_again() -> None:
    async def story(network: TestNetwork) -> None:
        bob = await network.open_node("bob", send_limit=4)
        alice = await network.open_node("alice")
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        network.cut("alice", "bob")
        for _ in range(4):
            bob.try_send("alice", b"fills the buffer")
        replying = asyncio.ensure_future(request.reply(b"first"))
        await asyncio.sleep(0)
        with pytest.raises(LocalError, match="already"):
            await request.reply(b"meanwhile")
        replying.cancel()
        await asyncio.wait([replying])
        network.heal("alice", "bob")
        await request.reply(b"second")
        assert (await asking).payload == b"second"

    play(story)


@pytest.mark.parametrize("away", ["skip", "wait", "refuse"])
def test_whoever_asked_may_be_gone(away: str, tmp_path: Path) -> None:
    async def story(network: TestNetwork) -> None:
        options = {"away": away, "journal": str(tmp_path), "confirm": "done"}
        bob = await network.open_node("bob", settings=options)
        alice = await network.open_node("alice", expel="manual")
        asking = [asyncio.create_task(alice.request("bob", b"?")) for _ in range(3)]
        requests = [await bob.receive() for _ in asking]
        await alice.close()
        await asyncio.wait(asking)
        await requests[0].reply(b"too late")
        await requests[1].refuse("too late")
        bob.remove_peer("alice")
        await requests[2].reply(bytes(5_000))
        assert bob.stats().journal.unconfirmed == 0

    play(story)


@pytest.mark.parametrize("away", ["skip", "wait", "refuse"])
def test_a_request_to_who_is_away_fails_or_waits_as_send_does(away: str) -> None:
    async def story(network: TestNetwork) -> None:
        bob = await network.open_node("bob")
        alice = await network.open_node("alice", settings={"away": away})
        await alice.send("bob", b"hello")
        await bob.receive()
        await bob.close()
        with pytest.raises(RequestFailed) as caught:
            await alice.request("bob", b"?", timeout=0.05)
        assert caught.value.why == ("timed out" if away == "wait" else "away")
        if away == "wait":
            assert "could not be sent" in str(caught.value)
            asking = asyncio.create_task(alice.request("bob", b"?", timeout=10))
            await asyncio.sleep(0)
            bob = await network.open_node("bob")
            bob.on_message(answer)
            await asking

    play(story)


def test_an_answer_in_parts_is_one_reply() -> None:
    async def story(network: TestNetwork) -> None:
        bob = await network.open_node("bob", send_limit=3)
        alice = await network.open_node("alice", send_limit=3)
        bob.on_message(answer)
        large = b"x" * 20_000
        replies = await asyncio.gather(*(alice.request("bob", large, timeout=20) for _ in range(3)))
        assert [reply.payload for reply in replies] == [large.upper()] * 3

    play(story)


def test_the_time_that_a_request_has_waited_to_be_sent_is_subtracted() -> None:
    async def story(network: TestNetwork) -> None:
        bob = await network.open_node("bob")
        alice = await network.open_node("alice", send_limit=4)
        await alice.meet()
        network.cut("alice", "bob")
        for _ in range(4):
            alice.try_send("bob", b"fills the buffer")
        asking = asyncio.create_task(alice.request("bob", b"?", timeout=10))
        await asyncio.sleep(0.2)
        network.heal("alice", "bob")
        while not (request := await bob.receive()).is_request:
            pass
        assert request.deadline is not None
        assert request.deadline - asyncio.get_running_loop().time() <= 9.85
        await request.reply(b"")
        await asking

    play(story)


# What happens to peers.


def test_the_end_of_a_former_life_fails_no_request_to_the_next_one() -> None:
    async def story(network: TestNetwork) -> None:
        alice = await network.open_node("alice", expel="manual")
        bob = await network.open_node("bob", expel="manual")
        to_former = asyncio.create_task(alice.request("bob", b"?"))
        await bob.receive()
        to_next: list[asyncio.Task[InboundMessage]] = []

        def ask_again(event: object) -> None:
            if not to_next and type(event).__name__ == "PeerRestarted":
                to_next.append(asyncio.create_task(alice.request("bob", b"again")))

        alice.on_event(ask_again)
        network.kill("bob")
        bob = await network.open_node("bob", expel="manual")
        request = await bob.receive()
        with pytest.raises(RequestFailed) as caught:
            await to_former
        assert caught.value.why == "restarted"
        await request.reply(b"new")
        assert (await to_next[0]).payload == b"new"

    play(story)


def test_losses_of_a_former_life_fail_no_request_of_this_one() -> None:
    async def work(alice: Node, bob: Node) -> None:
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        sequence = int(request.sequence)
        alice._requests.on_report(Undeliverable(name="bob", sequences=(sequence,), life=7))
        alice._requests.on_report(
            Undeliverable(name="bob", sequences=(sequence,), life=7, why="too large")
        )
        await request.reply(b"fine")
        assert (await asking).payload == b"fine"

    pair(work)


@pytest.mark.parametrize("has_journal", [False, True])
def test_a_reply_that_came_before_its_sender_left_counts(tmp_path: Path, has_journal: bool) -> None:
    async def story(network: TestNetwork) -> None:
        options = {"journal": str(tmp_path)} if has_journal else {}
        alice = await network.open_node("alice", settings=options)
        bob = await network.open_node("bob")
        asking = asyncio.create_task(alice.request("bob", b"?"))
        await (await bob.receive()).reply(b"goodbye")
        await bob.close()
        assert (await asking).payload == b"goodbye"

    play(story)


def test_what_is_too_large_for_a_peer_that_says_so_later_fails() -> None:
    async def story(network: TestNetwork) -> None:
        alice = await network.open_node("alice", peers=["bob"])
        asking = asyncio.create_task(alice.request("bob", bytes(100_000)))
        await asyncio.sleep(0)
        await network.open_node("bob", payload_limit="64KiB")
        with pytest.raises((RequestFailed, PayloadTooLarge)):
            await asking
        assert alice.stats().requests == 0

    play(story)


def test_closing_fails_a_request_whose_reply_nobody_has_read() -> None:
    async def work(alice: Node, bob: Node) -> None:
        async def read_one() -> None:
            await alice.receive()
            await asyncio.sleep(WAIT)

        reading = asyncio.create_task(read_one())
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        for payload in (b"read", b"unread"):
            await bob.send("alice", payload)
        await request.reply(b"reply")
        await bob.flush()
        await alice.close()
        with pytest.raises(RequestFailed, match=r"closed.*behind messages"):
            await asking
        reading.cancel()

    pair(work)


def test_a_handler_sees_what_came_and_its_replies_while_the_node_closes() -> None:
    async def work(alice: Node, bob: Node) -> None:
        seen: list[bytes] = []

        async def handle(message: InboundMessage) -> None:
            seen.append(message.payload)
            await asyncio.sleep(0.01)

        alice.on_message(handle)

        async def ask() -> None:
            seen.append((await alice.request("bob", b"?")).payload)

        asking = asyncio.create_task(ask())
        request = await bob.receive()
        for payload in (b"first", b"second"):
            await bob.send("alice", payload)
        await request.reply(b"reply")
        await bob.flush()
        await alice.close()
        await asking
        assert seen == [b"first", b"second", b"reply"]

    pair(work)


@pytest.mark.parametrize("has_journal", [False, True])
def test_a_reply_to_a_former_life_is_late(tmp_path: Path, has_journal: bool) -> None:
    async def story(network: TestNetwork) -> None:
        options: dict[str, object] = {"expel": "manual"}
        if has_journal:
            options["journal"] = str(tmp_path)
        bob = await network.open_node("bob", expel="manual")
        alice = await network.open_node("alice", settings=options)
        asking = asyncio.create_task(alice.request("bob", b"?"))
        request = await bob.receive()
        network.kill("alice")
        await asyncio.wait([asking])
        alice = await network.open_node("alice", settings=options)
        await alice.send("bob", b"I am back")
        await bob.receive()
        other = asyncio.create_task(alice.request("bob", b"!"))
        second = await bob.receive()
        await request.reply(b"for the former")
        await second.reply(b"for this one")
        assert (await other).payload == b"for this one"
        assert alice.stats().late_replies == 1

    play(story)


# Values.


def test_a_request_that_cannot_be_decoded_is_refused() -> None:
    async def work(alice: Node, bob: Node) -> None:
        typed = TypedNode(bob, JsonCodec())
        asking = asyncio.create_task(alice.request("bob", b"{"))
        with pytest.raises(BadPayload):
            await typed.receive()
        with pytest.raises(RequestFailed, match="cannot be decoded") as caught:
            await asking
        assert caught.value.why == "refused"

    pair(work)


def test_typed_requests_and_replies_have_headers() -> None:
    pytest.importorskip("msgspec", reason="this codec needs msgspec")

    async def work(alice: Node, bob: Node) -> None:
        asker, server = (TypedNode(node, MsgspecCodec(dict[str, int])) for node in (alice, bob))
        asking = asyncio.create_task(asker.request("bob", {"a": 1}, 10, headers={"v": b"1"}))
        request = await server.receive()
        assert request.message is not None
        assert dict(request.message.headers) == {"v": b"1"}
        with pytest.raises(LocalError, match="cannot be encoded"):
            await request.reply({"b": object()})  # type: ignore[dict-item] # wrong
        await request.reply({"b": 2}, {"w": b"2"})
        reply = await asking
        assert reply.value == {"b": 2}
        assert reply.message is not None
        assert dict(reply.message.headers) == {"w": b"2"}
        await asker.send("bob", {"c": 3}, headers={"v": b"2"}, reply_to="bob")
        message = (await server.receive()).message
        assert message is not None
        assert (dict(message.headers), message.reply_to) == ({"v": b"2"}, "bob")

    pair(work)


# All at once.


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("style", ["iterate", "receive", "plain", "async"])
def test_replies_and_messages_come_in_the_order_of_delivery(
    seed: int, style: str, tmp_path: Path
) -> None:
    """Bob numbers everything that he sends to alice, messages and replies: she sees it in order."""
    options = {"journal": str(tmp_path)} if seed % 4 == 3 else {}
    faults = BAD if seed % 2 else None
    random = Random(seed)
    seen: list[int] = []

    async def work(alice: Node, bob: Node) -> None:
        count = 0

        def serve(message: InboundMessage) -> Awaitable[None]:
            return answer_in_order(message)

        async def answer_in_order(message: InboundMessage) -> None:
            nonlocal count
            for _ in range(random.choice((0, 0, 1, 3))):
                count += 1
                await bob.send("alice", b"%d" % count)
            count += 1
            await message.reply(b"%d" % count)

        bob.on_message(serve)
        reading = begin_reading(alice, style, seen)
        await asyncio.sleep(0)

        async def ask() -> None:
            for _ in range(10):
                seen.append(int((await alice.request("bob", b"?", timeout=20)).payload))
                if random.random() < 0.3:
                    await asyncio.sleep(0)

        await asyncio.gather(*(ask() for _ in range(8)))
        while len(seen) < count:
            await asyncio.sleep(0)
        if reading is not None:
            reading.cancel()
        assert seen == list(range(1, count + 1))

    pair(work, faults, **options)


def begin_reading(node: Node, style: str, seen: list[int]) -> asyncio.Task[None] | None:
    async def iterate() -> None:
        async for message in node:
            seen.append(int(message.payload))

    async def receive() -> None:
        while True:
            seen.append(int((await node.receive(WAIT)).payload))

    async def handle(message: InboundMessage) -> None:
        seen.append(int(message.payload))

    if style == "iterate":
        return asyncio.create_task(iterate())
    if style == "receive":
        return asyncio.create_task(receive())
    if style == "plain":
        node.on_message(lambda message: seen.append(int(message.payload)))
    else:
        node.on_message(handle)
    return None


# Peers of earlier versions.


def test_a_peer_of_an_earlier_version_gets_plain_messages_and_no_requests() -> None:
    async def work(alice: Node, bob: Node) -> None:
        await alice.meet()
        contacts = alice._endpoint.directory.by_name
        contacts["bob"].session.version = 3
        for call in (
            alice.request("bob", b"?", timeout=5),
            alice.send("bob", b"x", headers={"key": b"value"}),
            alice.send("bob", b"x", reply_to="alice"),
        ):
            with pytest.raises(LocalError, match="'bob' runs an earlier version of antecede"):
                await call
        assert alice.stats().requests == 0
        await alice.send(["bob", "alice"], b"plain")
        assert (await bob.receive()).payload == b"plain"

    pair(work)
