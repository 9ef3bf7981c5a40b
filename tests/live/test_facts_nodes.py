"""Nodes under `hybrid-facts`, on real sockets: order, options, and one that says nothing."""

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

import antecede
from antecede.audit import check_log, explain_verdict
from antecede.link.reports import Refused, Report
from antecede.live.node import Node
from antecede.testing import Faults, TestNetwork, Uniform
from antecede.tools.child import Child
from antecede.trace import read_events
from tests.live.processes.groups import free_address

SECONDS = 60.0
TURNS = 160
NAMES = ("ann", "bob", "cat", "dan", "eve")


async def opened(names: tuple[str, ...], **settings: object) -> dict[str, Node]:
    """Nodes that all know each other."""
    nodes: dict[str, Node] = {}
    for name in names:
        known = {other: str(node.address) for other, node in nodes.items()}
        nodes[name] = await antecede.open_node(
            name,
            bind="127.0.0.1:0",
            peers=known,
            **{"order": "hybrid-facts", **settings},  # type: ignore[arg-type] # any settings
        )
        for other in known:
            nodes[other].add_peer(name, nodes[name].address)
    return nodes


def play(story: Callable[[dict[str, Node]], Awaitable[None]], **settings: object) -> None:
    """Open five nodes, and let `story` use them."""

    async def stage() -> None:
        nodes = await opened(NAMES, **settings)
        try:
            await asyncio.wait_for(story(nodes), SECONDS)
        finally:
            await asyncio.gather(*(n.close(0.5) for n in nodes.values()), return_exceptions=True)

    asyncio.run(stage())


def test_five_nodes_that_answer_each_other_keep_the_order(tmp_path: Path) -> None:
    turns = 60

    async def talk(node: Node, random: Random) -> None:
        others = [name for name in NAMES if name != node.name]
        for turn in range(turns):
            await node.send(random.sample(others, random.choice([1, 1, 2, 4])), b"%d" % turn)
            while node.receive_ready():
                pass
            if turn % 5 == 0:
                await asyncio.sleep(0)

    async def story(nodes: dict[str, Node]) -> None:
        await asyncio.gather(*(talk(node, Random(node.name)) for node in nodes.values()))
        await asyncio.gather(*(node.flush(30) for node in nodes.values()))
        assert all(node.stats().malformed == 0 for node in nodes.values())

    play(story, trace=tmp_path, trace_format="jsonl")
    verdict = check_log(read_events(tmp_path), witnesses=False)
    assert verdict.ok, explain_verdict(verdict)


def test_a_node_that_is_expelled_stops_and_the_rest_goes_on() -> None:
    async def story(nodes: dict[str, Node]) -> None:
        for name in NAMES[1:]:
            await nodes["ann"].send(name, b"here")
            await nodes[name].receive(30)
        await nodes["ann"].expel("dan", "no longer wanted")
        await nodes["ann"].send(["bob", "cat"], b"on")
        assert [(await nodes[name].receive(30)).payload for name in ("bob", "cat")] == [b"on"] * 2
        await nodes["bob"].send("eve", b"and on")
        assert (await nodes["eve"].receive(30)).payload == b"and on"

    play(story)


def test_nodes_with_another_budget_refuse_each_other() -> None:
    async def stage() -> str:
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def hear(report: Report) -> None:
            if isinstance(report, Refused) and not refused.done():
                refused.set_result(report.reason)

        ann = await antecede.open_node("ann", order="hybrid-facts", facts=8, on_event=hear)
        bob = await antecede.open_node(
            "bob", order="hybrid-facts", facts=16, peers={"ann": str(ann.address)}
        )
        ann.add_peer("bob", bob.address)
        try:
            return await asyncio.wait_for(refused, 30)
        finally:
            await asyncio.gather(ann.close(0), bob.close(0), return_exceptions=True)

    reason = asyncio.run(stage())
    assert "16 facts" in reason
    assert "8 facts" in reason


@pytest.mark.parametrize("limit", [1, 2, 3, 8])
def test_a_small_buffer_is_waited_for(limit: int) -> None:
    """What others must be told takes room, too; large payloads go on when there is some again."""
    letters = [bytes(size) for size in (0, 1, 5_000, 1, 1, 1, 40_000, 1, 1, 1, 1, 1)] * 3
    sent: Counter[str] = Counter()

    async def talk(node: Node) -> None:
        others = [name for name in NAMES[:4] if name != node.name]
        for number, letter in enumerate(letters):
            targets = others if number % 4 == 3 else [others[number % 4]]
            await node.send(targets, letter)
            sent.update(targets)

    async def stage() -> dict[str, int]:
        network = TestNetwork(Faults(latency=Uniform(1_000, 100_000_000)))
        settings: dict[str, object] = {"order": "hybrid-facts", "send_limit": limit}
        async with network, asyncio.timeout(SECONDS):
            nodes = [await network.open_node(name, settings=settings) for name in NAMES[:4]]
            await asyncio.gather(*map(talk, nodes))
            await network.settle()
            return {node.name: len(node.receive_ready()) for node in nodes}

    assert asyncio.run(stage()) == sent


async def received_later(nodes: list[Node], missing: int, order: str) -> int:
    """What else comes: all that is missing, however long it takes, or what a short time brings."""
    got = 0
    until = asyncio.get_running_loop().time() + (60 if order == "hybrid-facts" else 0.3)
    while got < missing and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.01)
        got += sum(len(node.receive_ready()) for node in nodes)
    return got


async def delivered_beside_a_silent_one(order: str) -> tuple[int, int]:
    """What four nodes get of what they send each other, while a fifth is stopped in its tracks."""
    where = free_address()
    options = {"stalled_after": "200ms"} if order == "hybrid-facts" else {}
    nodes = await opened(NAMES[:4], order=order, **options)
    for node in nodes.values():
        node.add_peer("eve", where)
    peers = [f"--peer={name}={node.address}" for name, node in nodes.items()]
    command = ["node", "--name", "eve", "--bind", where, "--order", order, *peers]
    with Child.python("antecede", *command, name="eve") as eve:
        for node in nodes.values():
            await node.send([*[name for name in nodes if name != node.name], "eve"], b"here")
        await asyncio.gather(*(node.flush(30) for node in nodes.values()))
        for node in nodes.values():
            node.receive_ready()
        eve.signal(signal.SIGSTOP)
        got = 0
        for turn in range(TURNS):
            name = NAMES[turn % 4]
            other = NAMES[(turn + 1 + turn // 4 % 3) % 4]
            nodes[name].try_send("eve", b"are you there")
            nodes[name].try_send(other, b"on")
            await asyncio.sleep(0.005)
            got += sum(len(node.receive_ready()) for node in nodes.values())
        got += await received_later(list(nodes.values()), TURNS - got, order)
        eve.signal(signal.SIGKILL)
    await asyncio.gather(*(node.close(0) for node in nodes.values()), return_exceptions=True)
    return got, TURNS


@pytest.mark.parametrize("order", ["hybrid-facts", "hybrid"])
def test_a_silent_receiver_does_not_stall_the_rest(order: str) -> None:
    """Four go on in full beside a fifth that is silent; under `hybrid` they come to a halt."""
    got, sent = asyncio.run(delivered_beside_a_silent_one(order))
    if order == "hybrid":
        assert got < sent / 2
    else:
        assert got == sent


def test_what_waits_only_for_somebody_who_was_never_met_is_not_said_to_wait_for_permits() -> None:
    async def story() -> list[str]:
        ann = await antecede.open_node("ann", peers={"zoe": None}, order="hybrid-facts")
        await ann.send("zoe", b"hello")
        said = str(ann.explain()).splitlines()
        ann.abandon()
        return said[1:]

    assert asyncio.run(story()) == ["zoe has not been met yet; 1 message waits for it"]
