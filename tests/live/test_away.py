"""Targets that have left: waited for, left out and reported, or refused, as the node is told."""

import asyncio

import pytest

import antecede
from antecede.link.reports import PeerLeft, PeerRestarted, Report, Undeliverable
from antecede.live.errors import PeerGone
from antecede.live.node import Node
from tests.free_ports import free_port

SECONDS = 60.0


async def opened(name: str, addresses: dict[str, str], **settings: object) -> Node:
    """A node that knows all the others."""
    peers = {peer: address for peer, address in addresses.items() if peer != name}
    return await antecede.open_node(name, bind=addresses[name], peers=peers, settings=settings)


def three() -> dict[str, str]:
    return {name: f"127.0.0.1:{free_port()}" for name in ("alice", "bob", "carol")}


async def seen(reports: list[Report], wanted: Report) -> None:
    """Wait until something was reported."""
    while wanted not in reports:
        await asyncio.sleep(0.01)


async def collect(node: Node, count: int) -> list[bytes]:
    return [(await node.receive(SECONDS)).payload for _ in range(count)]


def test_a_polite_restart_refuses_and_loses_nothing() -> None:
    """Multicasts go on through it, as the worker of the guide sends them."""

    async def story() -> None:
        addresses = three()
        alice = await opened("alice", addresses)
        reports: list[Report] = []
        alice.on_event(reports.append)
        bob = await opened("bob", addresses)
        carol = await opened("carol", addresses)
        await alice.send(["bob", "carol"], b"before")
        assert await collect(bob, 1) == [b"before"]
        await bob.close()
        await seen(reports, PeerLeft(name="bob"))
        for number in range(300):
            await alice.send(["bob", "carol"], b"%d" % number)
        told = [b"%d" % number for number in range(300)]
        assert await collect(carol, 301) == [b"before", *told]
        assert "bob has left and is not back; 300 messages wait for it" in str(alice.explain())
        assert "left and not back" in str(alice.health())
        bob = await opened("bob", addresses)
        assert await collect(bob, 300) == told
        await alice.flush(SECONDS)
        assert not [report for report in reports if isinstance(report, Undeliverable)]
        assert PeerRestarted(name="bob") in reports
        assert str(alice.health()) == "ok"
        await asyncio.gather(alice.close(), bob.close(), carol.close())

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("away", ["skip", "refuse"])
def test_targets_that_have_left_can_be_left_out_or_refused(away: str) -> None:
    async def story() -> None:
        addresses = three()
        alice = await opened("alice", addresses, away=away)
        reports: list[Report] = []
        alice.on_event(reports.append)
        bob = await opened("bob", addresses)
        carol = await opened("carol", addresses)
        await alice.send(["bob", "carol"], b"before")
        await collect(bob, 1)
        await bob.close()
        await seen(reports, PeerLeft(name="bob"))
        with pytest.raises(PeerGone):
            await alice.send("bob", b"to nobody else")
        if away == "skip":
            sequence = await alice.send(["bob", "carol"], b"without bob")
            assert Undeliverable(name="bob", sequences=(sequence,)) in reports
            assert await collect(carol, 2) == [b"before", b"without bob"]
        else:
            with pytest.raises(PeerGone):
                await alice.send(["bob", "carol"], b"to nobody")
        await asyncio.gather(alice.close(), carol.close())

    asyncio.run(asyncio.wait_for(story(), SECONDS))
