"""Leaving a node while something is under way: nobody waits for what cannot come."""

import asyncio

import pytest

import antecede
from antecede.events import PeerLeft, Report, Undeliverable
from antecede.runtime.carriers.tcp import TcpCarrier
from antecede.runtime.errors import NodeClosed, Stranded, Undelivered
from antecede.runtime.node import Node
from antecede.testing import TestNetwork
from tests.antecede.runtime.killed_peers import meet_and_kill
from tests.antecede.runtime.test_node import play

SECONDS = 60.0


async def lonely(**settings: object) -> Node:
    """A node whose only peer was killed after they had met."""
    alice = await antecede.open_node("alice", peers={"bob": None}, linger=600, settings=settings)
    await meet_and_kill(alice, "bob")
    return alice


def test_a_second_close_without_patience_ends_the_first() -> None:
    async def story() -> None:
        alice = await lonely()
        await alice.send("bob", b"x")
        first = asyncio.create_task(alice.close())
        await asyncio.sleep(0)
        with pytest.raises(Stranded):
            await alice.close(timeout=0)
        async with asyncio.timeout(SECONDS):
            with pytest.raises(Stranded):
                await first
        await alice.close()

    asyncio.run(story())


def test_whoever_waits_for_room_or_for_a_peer_is_told_at_once_that_the_node_leaves() -> None:
    async def story() -> None:
        alice = await lonely(send_limit=1, patience=60, meet_within=600)
        await alice.send("bob", b"fills the buffer")
        alice.add_peer("carol")
        waiting = [
            asyncio.create_task(alice.send("bob", b"waits")),
            asyncio.create_task(alice.send(["carol", "bob"], b"waits to meet carol")),
            asyncio.create_task(alice.meet("carol")),
        ]
        await asyncio.sleep(0)
        leaving = asyncio.create_task(alice.close())
        async with asyncio.timeout(SECONDS):
            for task in waiting:
                with pytest.raises(NodeClosed):
                    await task
        assert not leaving.done()
        alice.abandon()
        with pytest.raises(Stranded):
            await leaving

    asyncio.run(story())


def test_a_large_payload_and_a_flush_do_not_outlive_the_node() -> None:
    async def story() -> None:
        alice = await lonely(send_limit=4)
        sending = asyncio.create_task(alice.send("bob", bytes(1_000_000)))
        flushing = asyncio.create_task(alice.flush())
        await asyncio.sleep(0.01)
        with pytest.raises(Stranded):
            await alice.close(timeout=0)
        async with asyncio.timeout(SECONDS):
            for task in (sending, flushing):
                with pytest.raises(NodeClosed):
                    await task

    asyncio.run(story())


def test_a_peer_that_was_killed_keeps_nobody_else_from_hearing_the_bye() -> None:
    async def story(alice: Node, bob: Node) -> None:
        reports: list[Report] = []
        bob.on_event(reports.append)
        await meet_and_kill(alice, "carol")
        await alice.send("bob", b"for bob")
        await alice.send("carol", b"for nobody")
        await bob.receive(SECONDS)
        with pytest.raises(Stranded, match="carol"):
            await alice.close(timeout=0.5)
        async with asyncio.timeout(SECONDS):
            await bob.close(timeout=600)
        assert PeerLeft(name="alice") in reports

    play(story)


def test_a_node_leaves_at_once_while_sends_wait_to_meet_their_targets() -> None:
    """Nothing was submitted: closing waits for nobody, and leaves nobody without."""

    async def story() -> None:
        alice = await antecede.open_node("alice", peers={"bob": None}, meet_within=600, linger=600)
        sending = asyncio.create_task(alice.send("bob", b"x"))
        meeting = asyncio.create_task(alice.meet("bob"))
        await asyncio.sleep(0)
        async with asyncio.timeout(SECONDS):
            await alice.flush()
            await alice.close()
            for task in (sending, meeting):
                with pytest.raises(NodeClosed):
                    await task

    asyncio.run(story())


def test_who_stops_at_once_and_then_closes_leaves_no_connection_behind() -> None:
    """A node that is expelled, or whose disk fails, stops by itself, and is closed later."""

    async def story() -> None:
        bind = "tcp://127.0.0.1:0"
        bob = await antecede.open_node("bob", bind=bind, accept_unknown="anybody")
        alice = await antecede.open_node("alice", bind=bind, peers={"bob": bob.address})
        await alice.send("bob", b"x")
        await bob.receive(SECONDS)
        for node in (alice, bob):
            node.abandon()
            await node.close()
            assert isinstance(node._carrier, TcpCarrier)
            assert not node._carrier._connections

    asyncio.run(story())


def test_a_cancelled_close_still_leaves() -> None:
    async def story() -> None:
        alice = await lonely()
        await alice.send("bob", b"x")
        leaving = asyncio.create_task(alice.close())
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert alice.closed

    asyncio.run(story())


def test_a_closed_node_still_knows_where_it_was() -> None:
    async def story() -> None:
        alice = await antecede.open_node("alice")
        address = alice.address
        await alice.close()
        assert alice.address == address

    asyncio.run(story())


def test_flush_waits_for_what_was_sent_before_it_not_for_what_comes_after() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice", linger=0)
            bob = await network.open_node("bob", linger=0)
            await network.open_node("carol", linger=0)
            await network.settle()
            network.cut("alice", "carol")
            await alice.send("bob", b"before")
            flushing = asyncio.create_task(alice.flush(SECONDS))
            await asyncio.sleep(0)
            await alice.send("carol", b"after")
            await flushing
            assert alice.stats().buffered == 1
            assert bob.receive_ready()

    asyncio.run(story())


def test_flush_waits_for_all_parts_of_a_large_payload() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice = await network.open_node("alice", send_limit=4)
            bob = await network.open_node("bob")
            await network.settle()
            sending = asyncio.create_task(alice.send("bob", bytes(100_000)))
            await asyncio.sleep(0)
            await alice.flush(SECONDS)
            assert [len(message.payload) for message in bob.receive_ready()] == [100_000]
            await sending

    asyncio.run(story())


def test_flush_tells_once_what_had_to_be_given_up() -> None:
    async def story(alice: Node, bob: Node) -> None:
        reports: list[Report] = []
        alice.on_event(reports.append)
        await meet_and_kill(alice, "carol")
        await meet_and_kill(alice, "dave")
        await alice.send(["bob", "carol", "dave"], b"x")
        await alice.send("carol", b"y")
        flushing = asyncio.create_task(alice.flush(SECONDS))
        await bob.receive(SECONDS)
        alice.remove_peer("carol")
        alice.remove_peer("dave")
        with pytest.raises(Undelivered, match="2 to 'carol', 1 to 'dave'") as raised:
            await flushing
        assert raised.value.counts == {"carol": 2, "dave": 1}
        assert Undeliverable(name="carol", sequences=(1, 2)) in reports
        await alice.flush(SECONDS)

    play(story)
