"""Policies that expel: who is out after how much silence, and who may decide it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from antecede.link.reports import NodeFenced, PeerExpelled, Report, Split
from antecede.live.errors import BadConfiguration
from antecede.live.expelling import (
    MANUAL,
    After,
    ExpulsionPolicy,
    Manual,
    Quorum,
    SilentPeer,
    read_policy,
)
from antecede.live.node import Node
from antecede.live.settings import Settings
from antecede.testing import TestNetwork

NAMES = ("ann", "bob", "cat", "dan", "eve")
SECONDS = 60.0

Told = dict[str, list[Report]]
Story = Callable[[TestNetwork, dict[str, Node], Told], Awaitable[None]]


def play(story: Story, expel: object, names: Sequence[str] = NAMES) -> None:
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


def test_by_default_nobody_is_expelled_however_silent() -> None:
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


def test_a_quorum_expels_the_dead() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await network.pass_time(60)
        survivors = ("ann", "cat", "dan", "eve")
        assert [expelled(told[name]) for name in survivors] == [{"bob"}] * 4
        (out,) = [report for report in told["ann"] if isinstance(report, PeerExpelled)]
        assert "of 5 suspect it" in out.reason
        await nodes["ann"].send(["cat", "dan"], b"on we go")
        assert (await nodes["cat"].receive(30)).payload == b"on we go"

    play(story, "quorum:20s")


def test_one_node_alone_expels_nobody_by_quorum() -> None:
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

    play(story, "quorum:20s")


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

    play(story, "quorum:20s")


def test_a_pair_has_no_majority() -> None:
    async def story(network: TestNetwork, nodes: dict[str, Node], told: Told) -> None:
        network.kill("bob")
        await nodes["ann"].send("bob", b"x")
        await network.pass_time(300)
        assert expelled(told["ann"]) == set()

    play(story, "quorum:20s", NAMES[:2])


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


def test_who_is_heard_again_is_not_suspected_any_more() -> None:
    """Two of five suspect it, then hear it; later two others do: that is no majority."""

    async def story(network: TestNetwork, _: dict[str, Node], told: Told) -> None:
        for early, late in ((("ann", "bob"), ("cat", "dan")), (("cat", "dan"), ("ann", "bob"))):
            for name in early:
                network.cut(name, "eve")
            for name in late:
                network.heal(name, "eve")
            await network.pass_time(60)
        assert not any(expelled(reports) for reports in told.values())

    play(story, "quorum:20s")


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


@pytest.mark.parametrize(
    ("text", "policy"),
    [("manual", MANUAL), ("after:30s", After(30.0)), ("quorum:1min", Quorum(60.0))],
)
def test_policies_have_names(text: str, policy: ExpulsionPolicy) -> None:
    assert read_policy(text) == policy
    assert read_policy(str(policy)) == policy
    assert Settings(name="ann", expel=policy).expel is policy


@pytest.mark.parametrize("text", ["", "after", "after:", "after:x", "after:-3s", "never:3s", 30])
def test_names_that_are_no_policy_are_refused(text: object) -> None:
    with pytest.raises(BadConfiguration, match="'expel'"):
        Settings(name="ann", expel=text)  # type: ignore[arg-type] # what a file may say


def test_a_policy_does_not_take_the_idle_for_dead() -> None:
    with pytest.raises(BadConfiguration, match="twice heartbeat"):
        Settings(name="ann", expel=After(8.0))
    assert Settings(name="ann", expel=Manual()).expel == MANUAL


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_orders_that_cannot_expel_take_no_policy(order: Literal["fifo", "none"]) -> None:
    """Without fences one that is suspected wrongly would be lost to all, and never told."""
    with pytest.raises(BadConfiguration, match="cannot expel"):
        Settings(name="ann", order=order, expel=After(30.0))
    assert Settings(name="ann", order=order).expel == MANUAL
