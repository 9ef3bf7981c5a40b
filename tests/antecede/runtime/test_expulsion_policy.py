"""Policies that expel: who is out after how much silence, and who may decide it."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import pytest

import antecede
from antecede.core.errors import BufferFull
from antecede.events import NodeFenced, PeerExpelled, Report, Split
from antecede.runtime.config.expulsion_policy import (
    MANUAL,
    After,
    ExpulsionPolicy,
    Majority,
    Manual,
    SilentPeer,
    read_policy,
    usual_policy,
)
from antecede.runtime.config.settings import Settings, gather_settings
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.node import Node
from antecede.testing import TestNetwork

NAMES = ("ann", "bob", "cat", "dan", "eve")
SECONDS = 60.0

Told = dict[str, list[Report]]
Story = Callable[[TestNetwork, dict[str, Node], Told], Awaitable[None]]


def play(story: Story, expel: object = "auto", names: Sequence[str] = NAMES) -> None:
    """Open nodes that have all met, and let `story` use them."""

    async def stage() -> None:
        network = TestNetwork()
        told: Told = {name: [] for name in names}
        settings = {"expel": expel}
        nodes = {
            name: await network.open_node(name, on_event=told[name].append, settings=settings)
            for name in names
        }
        await network.settle()
        await story(network, nodes, told)
        for node in nodes.values():
            node.abandon()

    asyncio.run(asyncio.wait_for(stage(), SECONDS))


def split(network: TestNetwork, island: Sequence[str], names: Sequence[str] = NAMES) -> None:
    """Let nothing pass between these and the others."""
    for one in island:
        for other in names:
            if other not in island:
                network.cut(one, other)


def heal(network: TestNetwork, names: Sequence[str] = NAMES) -> None:
    for one in names:
        for other in names:
            if one != other:
                network.heal(one, other)


def expelled(reports: list[Report]) -> set[str]:
    return {report.name for report in reports if isinstance(report, PeerExpelled)}


def reasons(reports: list[Report]) -> list[str]:
    return [report.reason for report in reports if isinstance(report, PeerExpelled)]


def test_with_the_policy_manual_nobody_is_expelled_however_silent() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await nodes["ann"].send("bob", b"x")
        await network.pass_time(600)
        assert not any(expelled(reports) for reports in told.values())

    play(story, "manual")


def test_whoever_is_silent_for_too_long_is_expelled_by_any_one() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await nodes["ann"].send("bob", b"x")
        await network.pass_time(25)
        assert not expelled(told["ann"])
        await network.pass_time(20)
        assert [expelled(told[name]) for name in ("ann", "cat", "dan", "eve")] == [{"bob"}] * 4
        (out,) = [report for report in told["ann"] if isinstance(report, PeerExpelled)]
        assert "silent for 3" in out.reason
        assert nodes["ann"].stats().buffered == 0

    play(story, "after:30s")


def test_by_default_a_majority_expels_who_is_silent_while_somebody_waits() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await nodes["ann"].send("bob", b"x")
        await network.pass_time(9)
        assert not expelled(told["ann"])
        await network.pass_time(7)
        survivors = ("ann", "cat", "dan", "eve")
        assert [expelled(told[name]) for name in survivors] == [{"bob"}] * 4
        (reason,) = reasons(told["ann"])
        assert re.fullmatch(r"silent for 1\d(\.\d)? s; [345] of 5 have answered meanwhile", reason)
        await nodes["ann"].send(["cat", "dan"], b"on we go")
        await network.settle()
        assert [message.payload for message in nodes["cat"].receive_ready()] == [b"on we go"]
        assert nodes["ann"].stats().buffered == 0

    play(story)


def test_a_silent_peer_for_which_nobody_waits_is_given_more_time() -> None:
    async def story(network: TestNetwork, _: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await network.pass_time(28)
        assert not any(expelled(reports) for reports in told.values())
        await network.pass_time(10)
        assert [expelled(told[name]) for name in NAMES if name != "bob"] == [{"bob"}] * 4

    play(story)


def test_one_node_alone_expels_nobody() -> None:
    """It cannot hear the others, who hear each other: it is the one that goes."""

    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        split(network, ["eve"])
        await network.pass_time(120)
        assert expelled(told["eve"]) == set()
        assert expelled(told["ann"]) == {"eve"}
        heal(network)
        await network.pass_time(60)
        assert any(isinstance(report, NodeFenced) for report in told["eve"])
        assert nodes["eve"].closed

    play(story)


def test_when_a_network_splits_only_the_side_with_a_majority_goes_on() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        split(network, ["dan", "eve"])
        await network.pass_time(120)
        assert [expelled(told[name]) for name in NAMES] == [
            *[{"dan", "eve"}] * 3,
            set(),
            set(),
        ]
        heal(network)
        await network.pass_time(60)
        assert [node.closed for node in nodes.values()] == [False, False, False, True, True]

    play(story, "majority:20s")


def test_when_a_network_splits_in_halves_nobody_is_expelled_and_all_go_on_when_it_heals() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        names = NAMES[:4]
        split(network, names[:2], names)
        await nodes["ann"].send(["bob", "cat"], b"across")
        await network.pass_time(300)
        assert not any(expelled(reports) for reports in told.values())
        heal(network, names)
        await network.settle()
        assert [message.payload for message in nodes["cat"].receive_ready()] == [b"across"]
        assert not any(expelled(reports) for reports in told.values())

    play(story, names=NAMES[:4])


def test_a_pair_has_no_majority() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await nodes["ann"].send("bob", b"x")
        await network.pass_time(300)
        assert expelled(told["ann"]) == set()

    play(story, names=NAMES[:2])


def test_pauses_that_are_shorter_than_the_silence_cost_nobody_its_place() -> None:
    """Silence begins when something came last, up to a heartbeat before the pause; and it ends as
    soon as anything comes."""

    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        for name in ("eve", "dan", "eve", "eve"):
            split(network, [name])
            await nodes["ann"].send(["dan", "eve"], b"x")
            await network.pass_time(7)
            heal(network)
            await network.pass_time(8)
        assert not any(expelled(reports) for reports in told.values())
        assert len(nodes["eve"].receive_ready()) == 4

    play(story)


def test_nodes_that_have_all_slept_expel_nobody() -> None:
    """As a laptop that was closed, or a machine that was suspended: time passes, no timer rings."""

    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        await nodes["ann"].send(["dan", "eve"], b"before")
        network._post.now_ns += 3_600_000_000_000
        await network.pass_time(60)
        assert not any(expelled(reports) for reports in told.values())
        assert len(nodes["eve"].receive_ready()) == 1

    play(story)


def test_who_lives_and_does_not_read_is_not_expelled() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        count = 0
        with suppress(BufferFull):
            while True:
                nodes["ann"].try_send("bob", bytes(60_000))
                count += 1
        await network.pass_time(120)
        assert not any(expelled(reports) for reports in told.values())
        assert nodes["ann"].stats().buffered > 0
        received = 0
        while received < count:
            received += len(nodes["bob"].receive_ready())
            await asyncio.sleep(0)

    play(story)


def test_halves_that_expel_each_other_both_go_on_and_stay_apart() -> None:
    """Also when they hear each other again: neither stops, and neither takes anything."""

    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        names = NAMES[:4]
        split(network, ["ann", "bob"], names)
        await network.pass_time(60)
        assert [expelled(told[name]) for name in names] == [
            *[{"cat", "dan"}] * 2,
            *[{"ann", "bob"}] * 2,
        ]
        heal(network, names)
        await nodes["ann"].send(["bob", "cat"], b"north")
        await nodes["cat"].send(["ann", "dan"], b"south")
        assert (await nodes["bob"].receive(30)).payload == b"north"
        assert (await nodes["dan"].receive(30)).payload == b"south"
        await network.pass_time(30)
        assert not any(node.closed for node in nodes.values())
        assert nodes["ann"].receive_ready() == nodes["cat"].receive_ready() == []
        for name in names:
            across = {"cat", "dan"} if name in ("ann", "bob") else {"ann", "bob"}
            splits = [report.name for report in told[name] if isinstance(report, Split)]
            assert (sorted(splits), set(splits)) == (sorted(across), across), "told once each"
            health = nodes[name].health()
            assert health.status == "degraded"
            assert "split from" in str(health)
            assert "Restart one of the two" in str(health)

    play(story, "after:20s", NAMES[:4])


def test_a_policy_can_be_ones_own() -> None:
    @dataclass(frozen=True)
    class Known(ExpulsionPolicy):
        """Only those that are known to be expendable."""

        silence: float = 15.0

        def verdict(self, peer: SilentPeer) -> str:
            return "expendable" if peer.name == "eve" else ""

    async def story(network: TestNetwork, _: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        network.kill("eve")
        await network.pass_time(60)
        assert expelled(told["ann"]) == {"eve"}

    play(story, Known())


def test_a_majority_is_more_than_half_and_gives_more_time_to_some() -> None:
    policy = Majority(10.0)
    dead = SilentPeer(
        name="bob", silent_seconds=10.0, owes=True, answered=3, members=5, its_members=5
    )
    assert policy.verdict(dead) == "silent for 10 s; 3 of 5 have answered meanwhile"
    assert not policy.verdict(replace(dead, silent_seconds=9.9))
    assert not policy.verdict(replace(dead, answered=2)), "no majority"
    assert not policy.verdict(replace(dead, members=6)), "a half is no majority"
    assert policy.verdict(replace(dead, its_members=0)), "it never said how many it knows"
    idle = replace(dead, owes=False)
    assert not policy.verdict(replace(idle, silent_seconds=29.9))
    assert policy.verdict(replace(idle, silent_seconds=30.0))
    assert policy.verdict(replace(idle, silent_seconds=30.0, its_members=9)), "both: the longer"
    assert Majority(4.0).verdict(replace(idle, silent_seconds=12.0)), "three times, if that is less"
    better_connected = replace(dead, its_members=6)
    assert not policy.verdict(replace(better_connected, silent_seconds=19.9))
    assert policy.verdict(replace(better_connected, silent_seconds=20.0))
    assert Majority(60.0).verdict(replace(idle, silent_seconds=60.0))
    assert not Majority(60.0).verdict(replace(idle, silent_seconds=59.0))


@pytest.mark.parametrize(
    ("text", "policy", "written"),
    [
        ("manual", MANUAL, "manual"),
        ("after:30s", After(30.0), "after:30s"),
        ("majority:1min", Majority(60.0), "majority:60s"),
        ("quorum:1min", Majority(60.0), "majority:60s"),
    ],
)
def test_policies_have_names(text: str, policy: ExpulsionPolicy, written: str) -> None:
    """`quorum` is the former name of `majority`."""
    assert read_policy(text) == policy
    assert str(policy) == written
    assert read_policy(written) == policy
    assert Settings(name="ann", expel=policy).policy is policy
    assert gather_settings({"name": "ann", "expel": text}, environment={}).policy == policy


@pytest.mark.parametrize(
    "text", ["", "after", "after:", "after:x", "after:-3s", "majority", "never:3s", 30]
)
def test_names_that_are_no_policy_are_refused(text: object) -> None:
    with pytest.raises(BadConfiguration, match="'expel'"):
        Settings(name="ann", expel=text)  # type: ignore[arg-type] # what a file may say


def test_a_policy_does_not_take_the_idle_for_dead() -> None:
    with pytest.raises(BadConfiguration, match="twice heartbeat"):
        Settings(name="ann", expel=After(4.0))
    with pytest.raises(BadConfiguration, match="twice heartbeat"):
        Settings(name="ann", expel=Majority(10.0), heartbeat=6.0)
    assert Settings(name="ann", expel=Manual(), heartbeat=6.0).policy == MANUAL


def test_the_usual_policy_suits_the_heartbeat_and_the_order() -> None:
    """Whoever sets nothing but these gets a node, not an error."""
    assert str(Settings(name="ann").policy) == "majority:10s"
    assert str(Settings(name="ann", heartbeat=6.0).policy) == "majority:12s"
    assert usual_policy("causal", 0.1) == Majority(10.0)


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_orders_that_cannot_expel_take_no_policy(order: Literal["fifo", "none"]) -> None:
    """Without fences one that is suspected wrongly would be lost to all, and never told."""
    for policy in (After(30.0), Majority(30.0)):
        with pytest.raises(BadConfiguration, match="cannot expel"):
            Settings(name="ann", order=order, expel=policy)
    for heartbeat in (2.5, 6.0):
        assert Settings(name="ann", order=order, heartbeat=heartbeat).policy == MANUAL


def test_a_timer_that_rings_late_makes_nobody_silent() -> None:
    """The process was stopped, or its loop was blocked: others may have spoken meanwhile."""

    async def story() -> None:
        async with antecede.open_node("alice") as alice, antecede.open_node("bob") as bob:
            alice.add_peer("bob", bob.address)
            bob.add_peer("alice", alice.address)
            await alice.meet()
            session = alice._endpoint.session_of("bob")
            assert session is not None
            now_ns = alice._now()
            session.lifecycle.heard_ns = now_ns - 9_000_000_000
            alice._turn._wake_ns = now_ns - 8_000_000_000
            alice._turn.on_time(now_ns)
            assert session.lifecycle.heard_ns >= now_ns - 1_000_000_000
            session.lifecycle.heard_ns = now_ns - 9_000_000_000
            alice._turn._wake_ns = now_ns - 500_000_000
            alice._turn.on_time(now_ns)
            assert session.lifecycle.heard_ns == now_ns - 9_000_000_000, "on time, but for a little"
            alice.abandon()
            bob.abandon()

    asyncio.run(story())
