"""Who may become a peer of a node, and where."""

import asyncio
import logging
import socket

import pytest

import antecede
from antecede.core.errors import LocalError
from antecede.events import Report, StrangerSeen
from antecede.runtime.config.addresses import parse_address
from antecede.runtime.errors import BadConfiguration
from antecede.wire.handshake import HELLO, Greeting, write_greeting


def hello(name: str, target: str) -> bytes:
    """The greeting of a node of that name."""
    made = Greeting(name, target, 4711, 815)
    made.order = "hybrid"
    made.window = made.payload_limit = made.socket_bytes = 1 << 20
    return write_greeting(HELLO, made)


def test_strangers_may_say_hello_twice_or_have_names_that_nobody_can_have(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """All that comes in one turn of the loop; the honest one at the end is let in all the same."""
    caplog.set_level(logging.INFO)

    async def story() -> None:
        reports: list[Report] = []
        alice = await antecede.open_node("alice", accept_unknown=True, on_event=reports.append)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for name in ("bob", "bob", "alice", "\x1b[31m\n", "a=b", "", "carol"):
                stranger.sendto(hello(name, "alice"), parse_address(alice.address))
            async with asyncio.timeout(30):
                while "carol" not in alice.peers:
                    await asyncio.sleep(0.001)
        assert alice.peers == {"bob": "new", "carol": "new"}
        assert [report.name for report in reports if isinstance(report, StrangerSeen)] == [
            "bob",
            "carol",
        ]
        await alice.close(timeout=0)

    asyncio.run(story())
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "a stranger cannot be let in: 'a=b' has spaces" in caplog.text
    assert "no talk with alice: it has this node's own name" in caplog.text


def test_made_up_names_that_are_let_in_are_reported_a_thousand_times_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An honest stranger gets in all the same."""
    caplog.set_level(logging.INFO)

    async def story() -> None:
        reports: list[Report] = []
        alice = await antecede.open_node("alice", accept_unknown=True, on_event=reports.append)
        address = parse_address(alice.address)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            async with asyncio.timeout(60):
                for number in range(0, 1_500, 10):
                    names = [f"n{number + more}" for more in range(10)]
                    # Until the last one is in: what a busy machine lost is said again.
                    while names[-1] not in alice.peers:
                        for name in names:
                            for made_up in (name, f"a={name}"):
                                stranger.sendto(hello(made_up, "alice"), address)
                        await asyncio.sleep(0.001)
        told = [report.name for report in reports if isinstance(report, StrangerSeen)]
        told += [
            record.message for record in caplog.records if "cannot be let in" in record.message
        ]
        assert 900 < len(told) <= 1_000
        assert len(alice.peers) <= 64
        peers = {"alice": alice.address}
        async with antecede.open_node("bob", peers=peers) as bob:
            await bob.send("alice", b"honest")
            assert (await alice.receive(30)).payload == b"honest"
        await alice.close(timeout=0)

    asyncio.run(story())


@pytest.mark.parametrize("name", ["", "b ob", "a=b", "x" * 65, 7])
def test_a_peer_that_is_added_later_needs_a_proper_name_too(name: str) -> None:
    async def story() -> None:
        async with antecede.open_node("alice") as alice:
            with pytest.raises(LocalError, match=r"name|spaces|longer"):
                alice.add_peer(name, "127.0.0.1:9")
            assert alice.peers == {}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("127.0.0.1:0", "nobody can be reached at port 0"),
        ("[::1]:9000", "the kind that this node is bound to, IPv4"),
    ],
)
def test_an_address_that_cannot_be_reached_is_refused(address: str, complaint: str) -> None:
    async def story() -> None:
        async with antecede.open_node("alice") as alice:
            with pytest.raises(BadConfiguration, match=complaint):
                alice.add_peer("bob", address)
            assert alice.peers == {}

    asyncio.run(story())
