"""Clocks that are set back between two lives of a node: the new life takes part all the same."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest

from antecede.events import NodeFenced, PeerMet, PeerRefused, PeerRestarted, Report
from antecede.runtime.node import Node
from antecede.runtime.opening import AHEAD_MOST_US, SecretTokens
from antecede.runtime.security.keys import SecretKey, new_secret
from antecede.testing import TestNetwork

HOUR_NS = 3_600_000_000_000
NOON_NS = 1_800_000_000_000_000_000
SHARED = SecretKey(bytes(range(32)))
NAMES = ["ann", "bob", "carol"]
KEYS = ("no keys", "a shared key", "keys of their own")


def run(story: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(story, 60)

    asyncio.run(bounded())


class Town:
    """Ann, Bob and Carol, and a clock that can be set."""

    def __init__(self, keys: str = "no keys") -> None:
        self.network = TestNetwork()
        self.now_ns = NOON_NS
        self.network.clock = lambda: self.now_ns
        self.told: dict[str, list[Report]] = {name: [] for name in NAMES}
        self._keys = keys
        self._secrets = {name: new_secret() for name in NAMES}

    async def open(self, name: str, **options: object) -> Node:
        """A node, by the clock as it is now."""
        others = [other for other in NAMES if other != name]
        if self._keys == "a shared key":
            options["cluster_key"] = SHARED
        elif self._keys == "keys of their own":
            options["key"] = self._secrets[name]
            options["peer_keys"] = {other: self._secrets[other].public for other in others}
        self.told[name] = []
        return await self.network.open_node(
            name, peers=others, on_event=self.told[name].append, settings=options
        )

    async def open_all(self) -> list[Node]:
        """All three, met."""
        nodes = [await self.open(name) for name in NAMES]
        await self.talk(nodes)
        return nodes

    async def talk(self, nodes: list[Node]) -> None:
        """Each in turn writes to all others, who read it; the first one may be new to them."""
        for node in nodes:
            others = [other for other in nodes if other is not node]
            await node.send([other.name for other in others], node.name.encode())
            for other in others:
                message = await other.receive(60)
                assert message.payload == node.name.encode()
                message.done()


def fenced(town: Town) -> list[Report]:
    return [event for told in town.told.values() for event in told if isinstance(event, NodeFenced)]


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("hours", [1, 24 * 365 * 20])
@pytest.mark.parametrize("how", ["killed", "closed", "expelled"])
def test_a_life_after_the_clock_was_set_back_takes_part(keys: str, hours: int, how: str) -> None:
    """Third nodes do not take it for an old one, and again after another step."""

    async def story() -> None:
        town = Town(keys)
        ann, bob, carol = await town.open_all()
        for _ in range(2):
            lived = bob.incarnation
            if how == "closed":
                await bob.close()
            else:
                town.network.kill("bob")
            if how == "expelled":
                await ann.expel("bob", "dead")
                await town.network.pass_time(1)
            town.now_ns -= hours * HOUR_NS
            bob = await town.open("bob")
            assert bob.incarnation < lived, "by the clock it is before the life before"
            await town.talk([bob, ann, carol])
            assert bob.incarnation > lived
        assert town.told["ann"].count(PeerRestarted(name="bob")) == 2
        assert town.told["carol"].count(PeerRestarted(name="bob")) == 2
        assert town.told["bob"].count(PeerMet(name="ann")) == 1
        assert fenced(town) == []
        await town.network.close()

    run(story())


@pytest.mark.parametrize("keys", KEYS)
def test_messages_that_waited_for_the_first_meeting_are_not_lost(keys: str) -> None:
    async def story() -> None:
        town = Town(keys)
        ann, bob, _ = await town.open_all()
        town.network.kill("bob")
        town.now_ns -= HOUR_NS
        bob = await town.open("bob")
        for number in range(20):
            await bob.send("ann", b"%d" % number)
        assert [(await ann.receive(60)).payload for _ in range(20)] == [
            b"%d" % number for number in range(20)
        ]
        await town.network.close()

    run(story())


@pytest.mark.parametrize("keys", KEYS)
def test_a_node_that_peers_have_to_find_is_found_after_its_clock_was_set_back(keys: str) -> None:
    """It says no hello by itself before it has heard one."""

    async def story() -> None:
        town = Town(keys)
        ann, bob, _ = await town.open_all()
        town.network.kill("bob")
        town.now_ns -= HOUR_NS
        town.network.finds_no_peers.add("bob")
        bob = await town.open("bob")
        await bob.send("ann", b"here")
        assert (await ann.receive(60)).payload == b"here"
        await ann.send("bob", b"there")
        assert (await bob.receive(60)).payload == b"there"
        await town.network.close()

    run(story())


def test_a_journal_counts_lives_on_whatever_the_clock_says(tmp_path: Path) -> None:
    async def story() -> None:
        town = Town()
        ann, carol = await town.open("ann"), await town.open("carol")
        lived = 0
        for _ in range(3):
            bob = await town.open("bob", journal=tmp_path)
            await town.talk([bob, ann, carol])
            assert bob.incarnation > lived
            lived = bob.incarnation
            await bob.close()
            town.now_ns -= HOUR_NS
        await town.network.close()
        assert fenced(town) == []

    run(story())


def test_a_new_journal_begins_above_the_life_before_and_keeps_that_number(tmp_path: Path) -> None:
    async def story() -> None:
        town = Town()
        ann, bob, carol = await town.open_all()
        lived = bob.incarnation
        town.network.kill("bob")
        town.now_ns -= HOUR_NS
        bob = await town.open("bob", journal=tmp_path)
        await town.talk([bob, ann, carol])
        number = bob.incarnation
        assert number > lived
        town.network.kill("bob")
        bob = await town.open("bob", journal=tmp_path)
        assert bob.incarnation == number
        await bob.send("ann", b"on")
        assert (await ann.receive(60)).payload == b"on"
        await town.network.close()

    run(story())


def test_who_has_met_somebody_cannot_begin_anew_and_says_so() -> None:
    """Carol has never heard of the life before, and is met first."""

    async def story() -> None:
        town = Town()
        ann, bob = await town.open("ann"), await town.open("bob")
        await bob.send("ann", b"before")
        assert (await ann.receive(60)).payload == b"before"
        town.network.kill("bob")
        town.now_ns -= HOUR_NS
        town.network.cut("ann", "bob")
        town.network.cut("ann", "carol")
        carol, bob = await town.open("carol"), await town.open("bob")
        await bob.send("carol", b"now")
        assert (await carol.receive(60)).payload == b"now"
        town.network.heal("ann", "bob")
        while not any(isinstance(event, PeerRefused) for event in town.told["bob"]):
            await town.network.pass_time(1)
        refused = [event for event in town.told["bob"] if isinstance(event, PeerRefused)]
        assert [event.name for event in refused] == ["ann"]
        assert "the clock here was set back" in refused[0].reason
        assert PeerRestarted(name="bob") not in town.told["ann"]
        for node in (ann, bob, carol):
            node.abandon()

    run(story())


def test_no_peer_can_push_the_numbers_of_lives_to_their_end() -> None:
    now_us = NOON_NS // 1_000
    tokens = SecretTokens(lambda: NOON_NS)
    assert tokens.above(now_us - 1) == now_us
    assert tokens.above(now_us + 5) == now_us + 6
    most = now_us + AHEAD_MOST_US
    assert tokens.above(most) == most + 1
    assert tokens.above(most + 1) == 0
    assert tokens.above((1 << 62) - 1) == 0
    # Who was pushed as far as that goes finds a number again a moment later.
    assert SecretTokens(lambda: NOON_NS + 1_000).above(most + 1) == most + 2
