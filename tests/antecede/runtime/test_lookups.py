"""Peers that are named by host: looked up by the loop, tried in turn, and found again."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import antecede
from antecede.errors import CannotBind, Stranded, TimedOut
from antecede.events import Event, PeerMet, PeerRestarted, PeerSilent
from antecede.runtime.carriers import dns as lookups
from antecede.runtime.carriers.dns import in_turn
from antecede.runtime.config.addresses import is_name
from tests.free_ports import free_port

PATIENCE = 60.0


class NamingLoop(asyncio.SelectorEventLoop):
    """A loop that asks this table instead of a name server."""

    def __init__(self) -> None:
        super().__init__()
        self.table: dict[str, list[str]] = {}
        self.asked: list[str] = []

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:  # noqa: ANN401 - asyncio's
        self.asked.append(str(host))
        if host not in self.table:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        kind = (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP, "")
        return [(*kind, (ip, port)) for ip in self.table[str(host)]]


Story = Callable[[NamingLoop], Coroutine[Any, Any, None]]


def play(story: Story) -> NamingLoop:
    """Run it on a loop with names."""
    loop = NamingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(asyncio.wait_for(story(loop), PATIENCE))
    return loop


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "TRY_SECONDS", 0.3)
    monkeypatch.setattr(lookups, "RETRY_SECONDS", 0.02)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_what_must_be_looked_up() -> None:
    assert [is_name(host) for host in ("10.0.0.2", "::1", "fe80::1%eth0")] == [False] * 3
    assert [is_name(host) for host in ("localhost", "bob.example", "10.0.0")] == [True] * 3


def test_the_address_in_use_is_tried_first() -> None:
    a, b, c = ("a", 1), ("b", 1), ("c", 1)
    assert in_turn([a, b, c], b) == [b, c, a]
    assert in_turn([a, b], c) == in_turn([a, b], None) == [a, b]


def test_a_peer_is_met_by_its_name_and_not_looked_for_any_more() -> None:
    async def story(loop: NamingLoop) -> None:
        loop.table["bob.example"] = ["127.0.0.1"]
        async with antecede.open_node("bob", peers={"alice": None}) as bob:
            there = f"bob.example:{bob.address.port}"
            async with antecede.open_node("alice", peers={"bob": there}) as alice:
                await alice.send("bob", b"hello")
                assert (await bob.receive()).payload == b"hello"
                await bob.send("alice", b"hello yourself")
                assert (await alice.receive()).payload == b"hello yourself"
                asked = len(loop.asked)
                await asyncio.sleep(0.5)
                assert len(loop.asked) == asked

    play(story)


def test_a_name_that_nobody_knows_yet_is_no_reason_not_to_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(loop: NamingLoop) -> None:
        async with antecede.open_node("bob", peers={"alice": None}) as bob:
            there = f"bob.example:{bob.address.port}"
            async with antecede.open_node("alice", peers={"bob": there}) as alice:
                sending = asyncio.create_task(alice.send("bob", b"hello"))
                await until(lambda: loop.asked.count("bob.example") > 2)
                with pytest.raises(TimedOut, match=r"cannot look up bob\.example: Name or service"):
                    await alice.send("bob", b"too late", timeout=0.01)
                with pytest.raises(TimedOut, match=r"cannot look up bob\.example: Name or service"):
                    await alice.receive(0.01)
                loop.table["bob.example"] = ["127.0.0.1"]
                assert (await bob.receive()).payload == b"hello"
                assert await sending == 1

    caplog.set_level(logging.WARNING)
    play(story)
    assert caplog.text.count("cannot look up bob.example") == 1


def test_every_address_of_a_name_is_tried() -> None:
    async def story(loop: NamingLoop) -> None:
        loop.table["bob.example"] = ["127.0.0.3", "127.0.0.2", "127.0.0.1"]
        async with antecede.open_node("bob", peers={"alice": None}) as bob:
            there = f"bob.example:{bob.address.port}"
            async with antecede.open_node(
                "alice", bind="0.0.0.0:0", insecure=True, peers={"bob": there}
            ) as alice:
                for number in range(3):
                    await alice.send("bob", b"%d" % number)
                    assert (await bob.receive()).payload == b"%d" % number

    play(story)


def test_a_peer_that_is_started_again_elsewhere_is_found_again() -> None:
    """As a container that was moved to another machine; its name leads there from then on."""

    async def story(loop: NamingLoop) -> None:
        port = free_port()
        events: list[Event] = []
        loop.table["bob.example"] = ["127.0.0.1"]
        alice = await antecede.open_node(
            "alice",
            bind="0.0.0.0:0",
            insecure=True,
            peers={"bob": f"bob.example:{port}"},
            heartbeat=0.05,
            silent_after=0.2,
            on_event=events.append,
        )
        bob = await antecede.open_node("bob", bind=("127.0.0.1", port), peers={"alice": None})
        await until(lambda: PeerMet(name="bob") in events)
        bob.abandon()
        bob = await antecede.open_node("bob", bind=("127.0.0.2", port), peers={"alice": None})
        await until(lambda: any(isinstance(event, PeerSilent) for event in events))
        loop.table["bob.example"] = ["127.0.0.2"]
        await until(lambda: PeerRestarted(name="bob") in events)
        await alice.send("bob", b"there you are")
        assert (await bob.receive()).payload == b"there you are"
        await alice.close()
        await bob.close()

    play(story)


def test_a_node_that_leaves_names_who_could_not_be_looked_up() -> None:
    """One that was met, has fallen silent, and has lost its name since."""

    async def story(loop: NamingLoop) -> None:
        loop.table["bob.example"] = ["127.0.0.1"]
        bob = await antecede.open_node("bob", peers={"alice": None})
        there = f"bob.example:{bob.address.port}"
        alice = await antecede.open_node(
            "alice", peers={"bob": there}, heartbeat=0.05, silent_after=0.2
        )
        await alice.meet("bob")
        bob.abandon()
        del loop.table["bob.example"]
        await alice.send("bob", b"x")
        await until(lambda: alice.peers == {"bob": "silent"})
        asked = len(loop.asked)
        await until(lambda: len(loop.asked) > asked)
        with pytest.raises(Stranded, match=r"bob: cannot look up bob\.example: Name or service"):
            await alice.close(timeout=0.2)

    play(story)


def test_a_removed_peer_is_not_looked_for() -> None:
    async def story(loop: NamingLoop) -> None:
        async with antecede.open_node("alice", peers={"bob": "bob.example:9000"}) as alice:
            await until(lambda: len(loop.asked) > 1)
            alice.remove_peer("bob")
            await asyncio.sleep(0)
            asked = len(loop.asked)
            await asyncio.sleep(0.2)
            assert len(loop.asked) == asked

    play(story)


def test_a_node_listens_at_a_name_or_says_why_not() -> None:
    async def story(loop: NamingLoop) -> None:
        loop.table["here.example"] = ["127.0.0.1"]
        async with antecede.open_node("alice", bind="here.example:0") as alice:
            assert alice.address.host == "127.0.0.1"
        with pytest.raises(CannotBind, match=r"there\.example:0: Name or service not known"):
            await antecede.open_node("alice", bind="there.example:0")

    play(story)
