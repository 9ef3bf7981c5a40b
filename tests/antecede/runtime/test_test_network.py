"""The network in memory that applications may use for their own tests."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest

from antecede import Message
from antecede.events import PeerBack, PeerRestarted, PeerSilent, Report, Undeliverable
from antecede.runtime.errors import CannotBind, TimedOut, Undelivered
from antecede.runtime.node import Node
from antecede.testing import Constant, Faults, SlowLink, TestNetwork, Uniform
from antecede_audit.eventlog import read_events
from antecede_audit.judging import check_log

BAD = Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.2, duplication=0.1)

Seen = list[tuple[int, str, str, bytes]]


def run(story: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(story, 60)

    asyncio.run(bounded())


async def chatter(network: TestNetwork, seen: Seen, **settings: object) -> None:
    """Questions to everybody, which everybody answers to everybody."""
    names = ["alice", "bob", "carol", "dave"]
    nodes = [await network.open_node(name, **settings) for name in names]  # type: ignore[arg-type] # any settings

    def answering(node: Node) -> None:
        others = [name for name in names if name != node.name]

        async def handler(message: Message) -> None:
            seen.append((network.now_ns, node.name, message.sender, message.payload))
            if message.payload.startswith(b"?"):
                await node.send(others, b"!" + message.payload)

        node.on_message(handler)

    for node in nodes:
        answering(node)
    for number in range(10):
        await nodes[0].send(["bob", "carol"], b"?%d" % number)
        await nodes[1].send("dave", b"?%d" % number)
    await network.settle()
    assert all(node.stats().buffered == 0 for node in nodes)


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    def play(seed: int) -> Seen:
        seen: Seen = []

        async def story() -> None:
            async with TestNetwork(BAD, seed=seed) as network:
                await chatter(network, seen)

        run(story())
        return seen

    first = play(1)
    # 30 questions are delivered, and each is answered to three others.
    assert len(first) == 30 + 3 * 30
    assert play(1) == first
    assert play(2) != first


@pytest.mark.parametrize("seed", range(3))
def test_a_bad_network_does_not_break_causal_order(tmp_path: Path, seed: int) -> None:
    async def story() -> None:
        async with TestNetwork(BAD, seed=seed) as network:
            await chatter(network, [], trace=tmp_path, trace_format="jsonl")

    run(story())
    verdict = check_log(read_events(tmp_path))
    assert verdict.messages == 50
    assert verdict.ok, verdict


def test_the_same_network_without_order_shows_effects_before_causes(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork(BAD, seed=1) as network:
            await chatter(network, [], order="none", trace=tmp_path, trace_format="jsonl")

    run(story())
    verdict = check_log(read_events(tmp_path))
    assert verdict.violations
    assert not verdict.duplicates
    assert not verdict.losses


def test_a_cut_delays_and_a_heal_delivers() -> None:
    async def story() -> None:
        reports: list[Report] = []
        async with TestNetwork() as network:
            alice = await network.open_node("alice", on_event=reports.append)
            bob = await network.open_node("bob")
            await network.settle()
            network.cut("alice", "bob")
            await alice.send("bob", b"patience")
            with pytest.raises(TimedOut, match="bob has been silent"):
                await network.settle(0.3)
            assert any(isinstance(report, PeerSilent) for report in reports)
            network.heal("alice", "bob")
            assert (await bob.receive(30)).payload == b"patience"
            await network.settle()
            assert PeerBack(name="bob") in reports

    run(story())


def test_a_restarted_peer_is_another_and_what_the_dead_one_missed_is_reported() -> None:
    async def story() -> None:
        reports: list[Report] = []
        async with TestNetwork() as network:
            alice = await network.open_node("alice", on_event=reports.append)
            carol = await network.open_node("carol")
            bob = await network.open_node("bob")
            await alice.send("bob", b"delivered")
            await bob.receive(30)
            await network.settle()
            network.kill("bob")
            await alice.send(["bob", "carol"], b"lost on bob")
            assert (await carol.receive(30)).payload == b"lost on bob"
            again = await network.open_node("bob")
            with pytest.raises(Undelivered, match="1 to 'bob'"):
                await alice.flush(60)
            assert PeerRestarted(name="bob") in reports
            assert Undeliverable(name="bob", sequences=(2,)) in reports
            await alice.send("bob", b"to the new one")
            assert (await again.receive(30)).payload == b"to the new one"
            await again.send("alice", b"from the new one")
            answer = await alice.receive(30)
            assert (answer.sender, answer.sequence) == ("bob", 1)

    run(story())


def test_permits_that_the_dead_owed_are_waived_when_it_comes_back() -> None:
    # Bob's question to carol is slow; alice has heard of it, so her own to carol must wait.
    slow = Faults(
        latency=Constant(1_000_000), slow_links=(SlowLink(source=1, target=2, extra_ns=10**10),)
    )

    async def story() -> None:
        async with TestNetwork(slow) as network:
            alice = await network.open_node("alice", linger=0.1)
            bob = await network.open_node("bob", linger=0.1)
            carol = await network.open_node("carol", linger=0.1)
            for node in (alice, bob):
                while not all(peer.met for peer in node.stats().peers):
                    await asyncio.sleep(0)
            await bob.send("carol", b"asked")
            await bob.send("alice", b"I asked carol")
            await alice.receive(30)
            network.kill("bob")
            await alice.send("carol", b"did bob ask you?")
            assert [held.target for held in alice.explain().held] == ["carol"]
            await network.open_node("bob", linger=0.1)
            message = await carol.receive(60)
            assert (message.sender, message.payload) == ("alice", b"did bob ask you?")
            assert alice.explain().held == ()

    run(story())


def test_heartbeats_that_get_lost_keep_nobody_from_settling() -> None:
    """Among so many nodes one of them is always on its way, or being repeated."""

    async def story() -> None:
        faults = Faults(latency=Uniform(50_000_000, 150_000_000), loss=0.2)
        async with TestNetwork(faults, seed=3) as network:
            nodes = [await network.open_node(f"node{number}", linger=0) for number in range(12)]
            for node in nodes:
                await node.send([other.name for other in nodes if other is not node], b"x")
            await network.settle(timeout=60)
            assert [len(node.receive_ready()) for node in nodes] == [11] * 12
            assert network.now_ns < 300_000_000_000

    run(story())


def test_closing_lingers_by_the_time_of_the_network() -> None:
    async def story() -> None:
        network = TestNetwork()
        alice = await network.open_node("alice", linger="1h")
        await network.open_node("bob", linger="1h")
        await network.settle()
        network.cut("alice", "bob")
        await alice.send("bob", b"x")
        async with asyncio.timeout(60):
            await network.close()
        assert network.now_ns >= 3600_000_000_000

    run(story())


def test_nodes_are_opened_and_closed_as_real_ones_are() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            async with network.open_node("alice", peers={"bob": "10.0.0.2:9000"}) as alice:
                early = asyncio.create_task(alice.send("bob", b"before bob is there"))
                await asyncio.sleep(0)
                async with network.open_node("bob", peers={"alice": "10.0.0.1:9000"}) as bob:
                    assert (await bob.receive(30)).payload == b"before bob is there"
                assert await early == 1
                assert bob.closed
            assert alice.closed

    run(story())


def test_a_name_is_taken_once() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            await network.open_node("alice")
            with pytest.raises(CannotBind, match="a node of that name is open"):
                await network.open_node("alice")

    run(story())
