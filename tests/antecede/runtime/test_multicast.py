"""The same names again and again: what is remembered of them does not change who gets a message."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import permutations
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.events import PeerRestarted, Report, Undeliverable
from antecede.membership.target_sets import SETS_MAX
from antecede.runtime.errors import PayloadTooLarge, PeerAway, UnknownPeer
from antecede.runtime.node import Node
from antecede.testing import TestNetwork

SECONDS = 60.0
BOTH = ["bob", "carol"]

Story = Callable[[TestNetwork, Node, list[Report]], Awaitable[None]]


def play(story: Story, **settings: object) -> None:
    """Let alice, whose events are listed, meet bob and carol, and send a message to both."""

    async def stage() -> None:
        async with TestNetwork() as network:
            reports: list[Report] = []
            alice = await network.open_node("alice", on_event=reports.append, settings=settings)
            await network.open_node("bob")
            await network.open_node("carol")
            await network.settle()
            assert not is_remembered(alice, BOTH)
            assert await alice.send(BOTH, b"first") == 1
            assert is_remembered(alice, BOTH)
            await network.settle()
            assert ready(network, "bob") == ready(network, "carol") == [b"first"]
            await story(network, alice, reports)

    asyncio.run(asyncio.wait_for(stage(), SECONDS))


def is_remembered(node: Node, names: list[str]) -> bool:
    """Whether a message to these names is sent without looking each of them up."""
    found = node._endpoint.directory.target_sets.find(tuple(names))
    return found is not None and found.payload_max() > 0


def ready(network: TestNetwork, name: str) -> list[bytes]:
    """The payloads that a node has not received yet."""
    return [message.payload for message in network.nodes()[name].receive_ready()]


def left_out(reports: list[Report]) -> list[str]:
    """Who was left out, once for each message."""
    return [one.name for one in reports if isinstance(one, Undeliverable) and one.why == "left out"]


def test_everybody_gets_every_message_and_is_told_who_else_does() -> None:
    async def story(network: TestNetwork, alice: Node, _: list[Report]) -> None:
        for number in range(100):
            names = ["carol", "alice", "bob"] if number % 3 else tuple(BOTH)
            assert await alice.send(names, b"%d" % number) == number + 2
        await network.settle()
        for name in BOTH:
            messages = network.nodes()[name].receive_ready()
            assert [one.payload for one in messages] == [b"%d" % number for number in range(100)]
            assert {one.targets for one in messages} == {tuple(BOTH), ("carol", "alice", "bob")}
        assert len(ready(network, "alice")) == 66

    play(story)


def test_a_list_of_one_is_like_a_name() -> None:
    async def story(network: TestNetwork, alice: Node, _: list[Report]) -> None:
        for targets in ("bob", ["bob"], ("bob",)):
            assert alice._endpoint.sending.send_fast(targets, b"x", alice._now()) > 0
        await network.settle()
        assert [one.targets for one in network.nodes()["bob"].receive_ready()] == [()] * 3

    play(story)


def test_who_has_left_is_left_out_at_once_and_is_among_them_again_when_it_is_back() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        await network.nodes()["bob"].close()
        await network.settle()
        assert not is_remembered(alice, BOTH)
        await alice.send(BOTH, b"second")
        assert left_out(reports) == ["bob"]
        await network.open_node("bob")
        await network.settle()
        assert PeerRestarted(name="bob") in reports
        await alice.send(BOTH, b"third")
        assert is_remembered(alice, BOTH)
        await alice.send(BOTH, b"fourth")
        await network.settle()
        assert ready(network, "bob") == [b"third", b"fourth"]
        assert ready(network, "carol") == [b"second", b"third", b"fourth"]

    play(story)


def test_who_is_expelled_gets_nothing_more() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        await alice.expel("bob")
        await alice.send(BOTH, b"second")
        assert alice.try_send(BOTH, b"third") == 3
        await network.settle()
        assert left_out(reports) == ["bob", "bob"]
        assert ready(network, "bob") == []
        assert ready(network, "carol") == [b"second", b"third"]

    play(story)


def test_who_is_removed_is_no_peer_any_more() -> None:
    async def story(_: TestNetwork, alice: Node, __: list[Report]) -> None:
        alice.remove_peer("bob")
        with pytest.raises(UnknownPeer):
            await alice.send(BOTH, b"second")
        with pytest.raises(UnknownPeer):
            alice.try_send(tuple(BOTH), b"second")
        assert await alice.send(["carol"], b"third") == 2

    play(story)


@pytest.mark.parametrize("away", ["refuse", "wait"])
def test_a_message_is_refused_or_waits_because_of_one_who_has_left(away: str) -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        await network.nodes()["bob"].close()
        await network.settle()
        if away == "refuse":
            with pytest.raises(PeerAway, match="'bob' is away"):
                await alice.send(BOTH, b"second")
            return
        sending = asyncio.create_task(alice.send(BOTH, b"second"))
        await network.settle()
        assert not sending.done()
        await network.open_node("bob")
        await network.settle()
        assert await sending == 2
        assert ready(network, "bob") == ready(network, "carol") == [b"second"]
        assert left_out(reports) == []

    play(story, away=away)


def test_wrong_lists_are_refused_as_ever() -> None:
    async def story(_: TestNetwork, alice: Node, __: list[Report]) -> None:
        for names in (["bob", "bob"], ["carol", "bob", "carol"], ["alice", "bob", "alice"]):
            with pytest.raises(LocalError, match="stands twice"):
                await alice.send(names, b"x")
        for wrong in (["bob", 7], ["bob", ["carol"]], [["bob"]], [7], []):
            with pytest.raises(LocalError):
                await alice.send(wrong, b"x")  # type: ignore[arg-type] # on purpose
        with pytest.raises(PayloadTooLarge):
            await alice.send(BOTH, bytes(2_001))
        names = [*BOTH]
        names[0] = "carl"
        with pytest.raises(UnknownPeer):
            await alice.send(names, b"x")
        assert await alice.send(BOTH, b"second") == 2

    play(story, payload_limit=2_000)


def test_payloads_of_all_sizes_and_forms_arrive_whole() -> None:
    async def story(network: TestNetwork, alice: Node, _: list[Report]) -> None:
        seen = random.Random(1)
        payloads = [seen.randbytes(1 << seen.randrange(20)) for _ in range(40)]
        payloads += [b"", b"\xffA\xce\x01", b"\xffA\xce\x01 not an envelope"]
        for number, payload in enumerate(payloads):
            form = (bytes, bytearray, memoryview)[number % 3]
            await alice.send(BOTH, form(payload))
        await network.settle()
        for name in BOTH:
            received: list[bytes] = []
            while len(received) < len(payloads):
                received += ready(network, name)
                await network.settle()
            assert received == payloads

    play(story)


def test_so_many_sets_are_remembered_and_no_more() -> None:
    async def story(network: TestNetwork, alice: Node, _: list[Report]) -> None:
        names = [*BOTH, "dan", "eve", "fay"]
        for name in names[2:]:
            await network.open_node(name)
        await network.settle()
        lists = [list(some) for some in permutations(names)]
        assert len(lists) > SETS_MAX
        for some in [*lists, *lists]:
            await alice.send(some, b"x")
        assert sum(is_remembered(alice, some) for some in lists) == SETS_MAX
        await network.settle()
        assert len(ready(network, "bob")) == 2 * len(lists)

    play(story)


def test_a_node_with_a_journal_sends_to_lists_as_well(tmp_path: Path) -> None:
    async def story(network: TestNetwork, _: Node, __: list[Report]) -> None:
        dora = await network.open_node("dora", settings={"journal": tmp_path / "dora"})
        await network.settle()
        for number in range(20):
            await dora.send(BOTH, b"%d" % number)
        assert is_remembered(dora, BOTH)
        await network.settle()
        assert ready(network, "bob") == ready(network, "carol") == [b"%d" % n for n in range(20)]

    play(story)
