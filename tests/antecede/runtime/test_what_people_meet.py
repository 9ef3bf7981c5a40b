"""What somebody meets who is new here: slips that are answered with what to write."""

import asyncio
import copy
import dataclasses
from typing import get_args

import pytest

import antecede
from antecede import blocking
from antecede.events import Event, PeerExpelled, PeerMet, StrangerSeen
from antecede.runtime.node import Node
from antecede.testing import TestNetwork
from tests.antecede.runtime.killed_peers import meet_and_kill

PATIENCE = 60.0


def test_a_plain_with_says_to_write_async_with() -> None:
    with (
        pytest.raises(TypeError, match=r"`async with open_node.*blocking\.open_node"),
        antecede.open_node("alice") as _node,  # type: ignore[var-annotated] # what is tested
    ):
        pass


@pytest.mark.parametrize(
    "name", ["send", "try_send", "receive", "add_peer", "name", "on_message", "nonsense"]
)
def test_a_forgotten_await_says_to_write_it(name: str) -> None:
    opening = antecede.open_node("alice")
    with pytest.raises(AttributeError, match=f"not open yet and has no '{name}': write `async"):
        getattr(opening, name)
    assert not hasattr(opening, name)


def test_an_opening_can_be_looked_at_as_any_object_can() -> None:
    opening = antecede.open_node("alice")
    assert "Opening" in repr(opening)
    assert copy.copy(opening) is not opening
    assert dir(opening)


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: str(kind.__name__))
def test_every_event_can_be_matched_by_position(kind: type) -> None:
    names = tuple(field.name for field in dataclasses.fields(kind))
    assert kind.__match_args__ == names  # type: ignore[attr-defined] # dataclasses have it
    assert names[0] == "name"


def test_an_event_is_matched_by_position_and_by_name() -> None:
    def said(event: Event) -> str:
        match event:
            case PeerMet(name):
                return f"{name} is here"
            case PeerExpelled(name, by=who):
                return f"{name} is out, says {who}"
            case StrangerSeen(name, (host, port)):
                return f"{name} calls from {host}, port {port}"
        return "?"

    assert said(PeerMet(name="bob")) == "bob is here"
    assert said(StrangerSeen(name="eve", address=("10.0.0.9", 9000))) == (
        "eve calls from 10.0.0.9, port 9000"
    )
    out = PeerExpelled(
        name="bob", incarnation=1, by="ann", reason="silent", undelivered=(), unreceived=0
    )
    assert said(out) == "bob is out, says ann"
    assert PeerMet("bob") == PeerMet(name="bob")


def test_an_address_in_an_event_is_where_the_peer_listens() -> None:
    async def story() -> None:
        told: asyncio.Queue[Event] = asyncio.Queue()
        async with (
            antecede.open_node("alice", accept_unknown=True, on_event=told.put_nowait) as alice,
            antecede.open_node("bob", peers={"alice": alice.address}) as bob,
        ):
            while not isinstance(event := await told.get(), StrangerSeen):
                pass
            assert event == StrangerSeen("bob", (bob.address.host, bob.address.port))

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_a_node_shows_its_name_address_and_state() -> None:
    async def story() -> None:
        alice = await antecede.open_node("alice", bind="127.0.0.1:0")
        place = f"127.0.0.1:{alice.address.port}"
        assert repr(alice) == f"<Node 'alice' at {place}, open>"
        await meet_and_kill(alice, "bob")
        alice.try_send("bob", b"which nobody takes")
        leaving = asyncio.create_task(alice.close(0.05))
        await asyncio.sleep(0)
        assert repr(alice) == f"<Node 'alice' at {place}, closing>"
        await asyncio.wait({leaving})
        assert "bob" in str(leaving.exception())
        assert repr(alice) == f"<Node 'alice' at {place}, closed>"

    asyncio.run(asyncio.wait_for(story(), PATIENCE))
    with blocking.open_node("carol") as carol:
        assert repr(carol) == f"<BlockingNode 'carol' at {carol.address}, open>"
    assert repr(carol) == f"<BlockingNode 'carol' at {carol.address}, closed>"


def test_a_node_offers_what_is_for_applications_and_nothing_else() -> None:
    assert {name for name in dir(Node) if not name.startswith("_")} == {
        "abandon",
        "add_peer",
        "address",
        "close",
        "closed",
        "expel",
        "explain",
        "fenced",
        "flush",
        "health",
        "incarnation",
        "join",
        "journal",
        "leave_on_signals",
        "meet",
        "name",
        "on_event",
        "on_message",
        "online",
        "peers",
        "receive",
        "receive_ready",
        "recent_events",
        "reload",
        "remove_peer",
        "request",
        "rooms",
        "send",
        "send_buffered",
        "set_keys",
        "stats",
        "stats_in_turns",
        "try_send",
    }


@pytest.mark.parametrize("size", [0, 10, 100_000])
@pytest.mark.parametrize("targets", ["bob", ["bob", "alice"], "alice"])
def test_what_is_like_bytes_is_sent_as_it_was_when_it_was_sent(
    size: int, targets: str | list[str]
) -> None:
    async def story() -> None:
        content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        async with TestNetwork() as network:
            alice = await network.open_node("alice")
            bob = await network.open_node("bob")
            await network.settle()
            changing = bytearray(content)
            view = memoryview(changing)
            await alice.send(targets, changing)
            await alice.send(targets, view)
            alice.try_send(targets, changing)
            alice.try_send(targets, view)
            await alice.send_buffered(targets, view)
            changing[:] = bytes(len(changing))
            await network.settle()
            for node in (alice, bob):
                if node.name in targets:
                    received = [message.payload for message in node.receive_ready()]
                    assert received == [content] * 5
                    assert {type(payload) for payload in received} == {bytes}

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_a_blocking_node_sends_what_is_like_bytes() -> None:
    with blocking.open_node("alice") as alice:
        alice.send("alice", bytearray(b"one"))
        alice.try_send("alice", memoryview(b"two"))
        assert [alice.receive(PATIENCE).payload for _ in range(2)] == [b"one", b"two"]
