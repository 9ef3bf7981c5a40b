"""What a node says of itself over HTTP to whoever looks at the whole."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

import antecede
from antecede import events
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration, CannotBind
from antecede.runtime.node import Node
from antecede.runtime.observe.recent_events import RECENT_MAX, RecentEvents
from antecede.testing import TestNetwork
from tests.antecede.runtime.test_chains import chained, four
from tests.antecede.runtime.test_metrics import fetch

SECONDS = 60.0


async def state_at(place: str, query: str = "") -> dict[str, Any]:
    """What `/state` answers there."""
    host, _, port = place.rpartition(":")
    status, headers, body = await fetch(host, int(port), f"GET /state{query}")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


async def met(stack: AsyncExitStack, *names: str) -> list[Node]:
    """Nodes that serve HTTP, tell each other, and have met."""
    nodes: list[Node] = []
    for name in names:
        peers = {other.name: other.address for other in nodes}
        opening = antecede.open_node(name, peers=peers, accept_unknown=True, http="127.0.0.1:0")
        nodes.append(await stack.enter_async_context(opening))
    for node in nodes:
        await node.meet(timeout=SECONDS)
    return nodes


def test_nodes_tell_their_peers_where_they_serve_http_if_they_are_told_to() -> None:
    async def story() -> None:
        async with AsyncExitStack() as stack:
            ann, bob = await met(stack, "ann", "bob")
            quiet = antecede.open_node("quiet", peers={"ann": ann.address})
            silent = await stack.enter_async_context(quiet)
            await silent.meet(timeout=SECONDS)
            assert ann.address.port > 0

            [at_bob] = [one.http for one in ann.stats().peers if one.name == "bob"]
            state = await state_at(at_bob)
            assert state["name"] == bob.name
            assert state["incarnation"] == bob.incarnation
            assert (state["status"], state["waits"], state["rooms"]) == ("ok", [], [])
            told = {one["name"]: one["http"] for one in (await state_at(at_bob))["peers"]}
            assert (await state_at(told["ann"]))["name"] == "ann"
            assert [one.http for one in ann.stats().peers if one.name == "quiet"] == [""]

    asyncio.run(story())


def test_who_serves_at_every_interface_is_found_where_its_datagrams_come_from() -> None:
    async def story() -> None:
        async with (
            antecede.open_node("ann", http="0.0.0.0:0", accept_unknown=True) as ann,
            antecede.open_node("bob", peers={"ann": ann.address}) as bob,
        ):
            await bob.meet(timeout=SECONDS)
            [place] = [one.http for one in bob.stats().peers]
            assert place.startswith("127.0.0.1:")
            assert (await state_at(place))["name"] == "ann"

    asyncio.run(story())


def test_a_node_that_is_closed_serves_no_more_and_its_port_is_free() -> None:
    async def story() -> None:
        node = await antecede.open_node("ann", http="127.0.0.1:0")
        async with antecede.open_node("bob", peers={"ann": node.address}) as bob:
            node.add_peer("bob", bob.address)
            await bob.meet(timeout=SECONDS)
            [place] = [one.http for one in bob.stats().peers]
            await node.close()
            assert [one.http for one in bob.stats().peers] == [""]
        async with antecede.open_node("ann", http=place):
            assert (await state_at(place))["name"] == "ann"

    asyncio.run(story())


def test_an_address_that_is_taken_leaves_nothing_open() -> None:
    async def story() -> None:
        async with antecede.open_node("ann", accept_unknown=True, http="127.0.0.1:0") as ann:
            async with antecede.open_node("bob", peers={"ann": ann.address}) as bob:
                await bob.meet(timeout=SECONDS)
                [place] = [one.http for one in bob.stats().peers]
            with pytest.raises(CannotBind, match=place):
                await antecede.open_node("cat", http=place)

    asyncio.run(story())


def test_http_is_served_at_a_host_and_a_port() -> None:
    assert Settings(name="ann").http is None
    assert Settings(name="ann", http="").http is None
    with pytest.raises(BadConfiguration, match=r"'http': .* where datagrams go, not HTTP"):
        Settings(name="ann", http="tcp://10.0.0.1:80")


def test_only_events_that_were_not_told_before_are_told_again() -> None:
    async def story() -> None:
        async with AsyncExitStack() as stack:
            ann, _ = await met(stack, "ann", "bob")
            place = str((await met(stack, "cat"))[0].address)
            assert place
            [at_ann] = [one.http for one in _.stats().peers if one.name == "ann"]
            found = (await state_at(at_ann))["events"]
            assert [(one["kind"], one["peer"]) for one in found] == [
                ("stranger", "bob"),
                ("met", "bob"),
            ]
            assert all(0 <= one["ago_s"] < SECONDS for one in found)
            last = found[-1]["number"]
            assert (await state_at(at_ann, f"?since={last}"))["events"] == []
            await ann.expel("bob", "its disk died")
            [gone] = (await state_at(at_ann, f"?since={last}"))["events"]
            assert gone["text"] == "bob was expelled by ann: its disk died"

    asyncio.run(story())


def test_rooms_are_told_with_their_members() -> None:
    async def story() -> None:
        async with AsyncExitStack() as stack:
            ann, bob = await met(stack, "ann", "bob")
            assert ann.rooms == {}
            lobby = await ann.join("lobby")
            await bob.join("lobby", via="ann")
            while len(lobby.members) < 2:
                await asyncio.sleep(0.01)
            [at_ann] = [one.http for one in bob.stats().peers if one.name == "ann"]
            state = await state_at(at_ann)
            assert state["rooms"] == [
                {"name": "lobby", "members": ["ann", "bob"], "state": "joined"}
            ]
            assert state["figures"]["rooms"] == 1
            assert "bob is in the room 'lobby'" in [one["text"] for one in state["events"]]
            assert sorted(bob.rooms["lobby"]) == ["ann", "bob"]

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_who_waits_for_whom_is_told_with_what_is_held_back_and_when_it_goes_on() -> None:
    async def story() -> None:
        network = TestNetwork()
        nodes = await four(network, expel="manual")
        await chained(network, nodes)
        await network.pass_time(12)
        said = [event.text for event in nodes["b"].recent_events() if event.kind == "held_back"]
        assert len(said) == 1
        assert "b waits for a, who waits for c, silent for " in said[0]
        await nodes["a"].expel("c")
        await network.settle()
        await network.pass_time(5)
        assert "goes_on" in [event.kind for event in nodes["b"].recent_events()]
        await network.close()

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_events_that_come_with_every_message_are_one_that_counts() -> None:
    now = [5.0]
    recent = RecentEvents(lambda: now[0])
    recent.note_report(events.PeerLeft("bob"))
    for sequence in range(1000):
        now[0] += 1
        recent.note_report(events.Undeliverable("bob", (sequence,), why=events.LEFT_OUT))
    [left, out] = recent.since(0)
    assert (left.kind, left.text) == ("left", "bob has left")
    assert (out.count, out.at_s, out.number) == (1000, 1005.0, 1001)
    assert out.text == "1,000 messages left out bob, which was away"
    assert recent.since(1000) == [out]


def test_of_a_state_that_comes_only_the_last_word_is_known() -> None:
    recent = RecentEvents()
    for received in range(100):
        recent.note_report(events.SnapshotProgress("bob", "lobby", received, 99))
    [last] = recent.since(0)
    assert last.text == "the state of the room 'lobby' comes from bob: 99 of 99 bytes"


def test_the_oldest_events_are_forgotten() -> None:
    recent = RecentEvents()
    for _ in range(2 * RECENT_MAX):
        recent.note_report(events.PeerMet("bob"))
    assert [event.number for event in recent.since(0)] == [
        *range(RECENT_MAX + 1, 2 * RECENT_MAX + 1)
    ]


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (events.PeerSilent("bob", 6_000_000_000), "bob is silent"),
        (events.NodeFenced("ann", "bob", "", "cat"), "ann was expelled by bob"),
        (events.TooLarge("bob", 1, 2000, 1000), "a message of bob was too large: 2,000 bytes"),
        (events.PeerRefused("bob", "x", "other keys"), "no talk with bob: other keys"),
        (events.Undeliverable("bob", (1,)), "1 message can no longer be delivered to bob"),
        (events.Split("bob"), "bob and this node have expelled each other"),
        (
            events.PathNarrow("bob", 492),
            "the way to bob is too narrow for datagrams of 1,200 bytes",
        ),
    ],
)
def test_events_are_told_in_words(report: events.Event, text: str) -> None:
    recent = RecentEvents()
    recent.note_report(report)
    assert recent.since(0)[0].text == text
