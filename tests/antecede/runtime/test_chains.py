"""Who waits for whom: what the nodes of a chain say while its end does not answer."""

import asyncio
import json
import logging
import re
import sys
from collections.abc import Awaitable
from types import FrameType
from typing import Unpack

import pytest

import antecede
from antecede.runtime.config.options import Options
from antecede.runtime.node import Node
from antecede.runtime.observe.chains import Chain, chains
from antecede.runtime.observe.durations import Durations
from antecede.runtime.observe.explain import blocked_by, explain
from antecede.runtime.observe.http_server import PATHS, serve_metrics
from antecede.testing import TestNetwork
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, DAN, SECOND, Group, session_of, submit
from tests.antecede.runtime.test_metrics import fetch, samples

SECONDS = 60.0
NAMES = ("a", "b", "c", "d")
CHAIN = re.compile(r"b waits for a, who waits for c, silent for (\d+) s")


def run(story: Awaitable[None]) -> None:
    """Run a story, which must come to an end."""

    async def bounded() -> None:
        await asyncio.wait_for(story, SECONDS)

    asyncio.run(bounded())


async def four(network: TestNetwork, **options: Unpack[Options]) -> dict[str, Node]:
    """a, b, c and d, who have met."""
    nodes = {name: await network.open_node(name, **options) for name in NAMES}
    await network.settle()
    return nodes


async def chained(network: TestNetwork, nodes: dict[str, Node]) -> None:
    """a multicasts to b and c, which is killed; b, having read it, writes to d."""
    network.kill("c")
    await nodes["a"].send(["b", "c"], b"x")
    assert (await nodes["b"].receive(SECONDS)).payload == b"x"
    await nodes["b"].send("d", b"y")


def test_everybody_sees_who_waits_for_whom_and_the_remedy_helps() -> None:
    async def story() -> None:
        network = TestNetwork()
        nodes = await four(network, expel="manual")
        await chained(network, nodes)
        await network.pass_time(2)
        assert all(nodes[name].health().is_ready for name in "abd"), "nobody is silent yet"
        await network.pass_time(8)
        for name in "ab":
            found = CHAIN.search(str(nodes[name].explain()))
            assert found, str(nodes[name].explain())
            assert 8 <= int(found[1]) <= 10
            health = nodes[name].health()
            assert health.status == "blocked", str(health)
            assert bool(health), "a restart of this node would not help"
            assert not health.is_ready
            (reason,) = health.blocked
            assert CHAIN.search(reason)
            assert reason.endswith("; if it is gone for good: await node.expel('c')")
        assert re.match(
            r"1 message is held back for \d+ s: b waits", nodes["b"].health().blocked[0]
        )
        assert nodes["d"].health().is_ready, "it waits for nobody"
        stats = {peer.name: peer for peer in nodes["b"].stats().peers}
        assert (stats["c"].held_back, stats["a"].held_back) == (1, 0)
        assert stats["c"].held_back_ns >= 8 * SECOND
        await nodes["a"].expel("c", "so it was said")
        assert (await nodes["d"].receive(SECONDS)).payload == b"y"
        await network.settle()
        for name in "abd":
            assert nodes[name].health().is_ready
            assert str(nodes[name].explain()) == "nothing is waiting"
            assert nodes[name].stats().expulsions == 1
        await network.close()

    run(story())


def test_the_default_expels_by_a_majority_and_the_log_says_what_was_held_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        network = TestNetwork()
        nodes = await four(network)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "antecede.runtime.observe.stalls"):
            await chained(network, nodes)
            assert (await nodes["d"].receive(SECONDS)).payload == b"y"
            await network.pass_time(10)
        said = [record.getMessage() for record in caplog.records if "held back" in record.message]
        assert len(said) == 2, said
        assert re.fullmatch(
            r"b: 1 message is held back for \d+ s: b waits for a, who waits for c, silent for \d+ "
            r"s; if it is gone for good: await node.expel\('c'\)",
            said[0],
        )
        assert re.fullmatch(r"b: what was held back for a goes on, after \d+ s", said[1])
        await network.close()

    run(story())


def test_where_there_is_no_majority_health_says_so() -> None:
    async def story() -> None:
        network = TestNetwork()
        nodes = await four(network)
        network.kill("d")
        await chained(network, nodes)
        await network.pass_time(40)
        blocked = nodes["a"].health().blocked
        assert (
            "no majority (2 of 4): nobody is expelled; if you know who is gone for good: "
            "await node.expel(NAME)"
        ) in blocked
        assert "no majority (2 of 4)" in str(nodes["a"].explain())
        await nodes["a"].expel("c", "gone")
        await nodes["a"].expel("d", "gone")
        await network.settle()
        assert nodes["a"].health().is_ready
        await network.close()

    run(story())


def test_an_application_that_does_not_read_is_named_along_the_chain() -> None:
    """c is heard, and takes nothing more: its application is asleep."""

    async def story() -> None:
        network = TestNetwork()
        nodes = {
            name: await network.open_node(name, receive_window="64KiB", payload_limit=60_000)
            for name in NAMES
        }
        await network.settle()
        a, b, c = nodes["a"], nodes["b"], nodes["c"]
        sending = asyncio.create_task(fill(a, c))
        await network.pass_time(5)
        await a.send(["b", "c"], b"x")
        assert (await b.receive(SECONDS)).payload == b"x"
        await b.send("d", b"y")
        await network.pass_time(40)
        lives = "c lives, its application does not read"
        assert f"b waits for a, who waits for c: {lives}" in str(b.explain())
        (reason,) = b.health().blocked
        assert reason.endswith(f"{lives}; let it read, or go on without it: await node.expel('c')")
        assert any(lives in why for why in a.health().blocked)
        assert lives in str(a.explain())
        (own,) = c.health().blocked
        assert own.startswith("the application has read nothing for ")
        assert nodes["d"].health().is_ready
        sending.cancel()
        while a.stats().buffered:
            c.receive_ready()
            await network.pass_time(1)
        await network.pass_time(40)
        assert all(node.health().is_ready for node in nodes.values())
        await network.close()

    run(story())


async def fill(source: Node, target: Node) -> None:
    """Send more than a target that does not read takes."""
    for _ in range(200):
        await source.send(target.name, bytes(1_000))


def test_what_waits_is_served_over_http_and_counted() -> None:
    async def story() -> None:
        network = TestNetwork()
        nodes = await four(network, expel="manual")
        b = nodes["b"]
        async with await serve_metrics(b, port=0) as server:
            host, port = server.address
            for path in ("healthz", "readyz"):
                assert (await fetch(host, port, f"GET /{path}"))[0] == 200
            assert (await fetch(host, port, "GET /explain"))[2] == b"nothing is waiting\n"
            await chained(network, nodes)
            await network.pass_time(10)
            status, _, body = await fetch(host, port, "GET /healthz")
            assert (status, json.loads(body)["status"]) == (200, "blocked")
            status, headers, body = await fetch(host, port, "GET /readyz")
            assert (status, headers["Content-Type"]) == (503, "application/json")
            assert CHAIN.search(json.loads(body)["blocked"][0])
            status, headers, body = await fetch(host, port, "GET /explain")
            assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
            assert CHAIN.search(body.decode())
            as_json = "GET /explain HTTP/1.1\r\nAccept: application/json\r\nX: y"
            for request in ("GET /explain?format=json", as_json):
                status, headers, body = await fetch(host, port, request)
                assert (status, headers["Content-Type"]) == (200, "application/json")
                told = json.loads(body)
                assert told["name"] == "b"
                (chain,) = told["chains"]
                assert (chain["names"], chain["messages"]) == (["a", "c"], 1)
                assert CHAIN.fullmatch(chain["text"])
                assert any(CHAIN.search(line) for line in told["text"])
            refused = "GET /explain?format=text HTTP/1.1\r\nAccept: application/json\r\nX: y"
            assert CHAIN.search((await fetch(host, port, refused))[2].decode())
            found = samples(b)
            assert found["antecede_peer_held_back_messages/c"] == 1
            assert found["antecede_peer_held_back_oldest_seconds/c"] > 7
            assert found["antecede_held_back_messages"] == 1
            assert (found["antecede_ready"], found["antecede_healthy"]) == (0, 1)
            assert b.stats().peers_by_state == {"new": 0, "here": 2, "silent": 1, "away": 0}
            metrics = (await fetch(host, port, "GET /metrics"))[2].decode()
            assert metrics.count("# TYPE antecede_peers_by_state gauge") == 1
            assert 'antecede_peers_by_state{messaging_client_id="b"' in metrics
            assert 'state="away"} 0.0' in metrics
            await nodes["a"].expel("c", "gone")
            await network.settle()
            assert (await fetch(host, port, "GET /readyz"))[0] == 200
            found = samples(b)
            assert (found["antecede_expulsions_total"], found["antecede_ready"]) == (1, 1)
            await b.send(["c", "d"], b"left out")
            assert samples(b)["antecede_left_out_total"] == 1
        await network.close()

    run(story())


def test_a_closed_node_is_neither_well_nor_ready() -> None:
    async def story() -> None:
        node = await antecede.open_node("alice")
        async with await serve_metrics(node, port=0) as server:
            await node.close()
            for path in ("healthz", "readyz"):
                assert (await fetch(*server.address, f"GET /{path}"))[0] == 503
            status, _, body = await fetch(*server.address, "GET /")
            assert (status, body) == (404, f"there are {PATHS}\n".encode())

    run(story())


def test_what_is_said_costs_steps_with_the_peers_not_with_the_messages() -> None:
    """With 8,192 messages held back it takes as many calls as with one, but for bisections."""
    counts = []
    for many in (1, 8_192):
        group = Group([ANN, BOB, CAT, DAN], log=False)
        group.run_for(SECOND)
        group.kill(CAT)
        group.send(ANN, [BOB, CAT], b"x")
        while group.payloads(BOB) != [b"x"]:
            group.step()
        for _ in range(many):
            submit(group.nodes[BOB], [DAN], b"y", group.now_ns)
        group.run_for(10 * SECOND)
        bob, now_ns = group.nodes[BOB], group.now_ns
        durations = Durations(bob, lambda: 0)
        calls = 0

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            durations.look(now_ns)
            explanation = explain(bob, now_ns, 0, durations)
            blocked = blocked_by(bob, now_ns, durations)
            str(explanation)
        finally:
            sys.setprofile(None)
        (chain,) = explanation.chains
        assert (chain.messages, chain.names) == (many, (ANN, CAT))
        assert chain.silent_ns >= 9 * SECOND
        assert len(blocked) == 1
        counts.append(calls)
    assert counts[1] < counts[0] + 300


def test_a_chain_in_words() -> None:
    silent = Chain(waiting="b", names=("a", "c"), silent_ns=6 * SECOND)
    assert str(silent) == "b waits for a, who waits for c, silent for 6 s"
    assert Chain(waiting="b", names=("a",)).remedy == ""
    assert str(Chain(waiting="b", names=("a",), gone=True)) == "b waits for a, which has ended"
    some = Chain(waiting="b", names=("a",), messages=2, oldest_ns=3 * SECOND)
    assert some.held_back() == "2 messages are held back for 3 s: b waits for a"


def test_who_asks_this_node_is_named_with_whom_it_waits_for() -> None:
    group = Group([ANN, BOB, CAT, DAN])
    group.run_for(SECOND)
    group.kill(CAT)
    group.send(ANN, [BOB, CAT], b"x")
    group.run_until(lambda: group.payloads(BOB) == [b"x"])
    group.send(BOB, [DAN], b"y")
    group.run_for(10 * SECOND)
    (chain,) = chains(group.nodes[ANN], group.now_ns)
    assert (chain.waiting, chain.names, chain.messages) == (BOB, (ANN, CAT), 0)
    session_of(group.nodes[ANN], BOB).waits.asked = 0
    assert chains(group.nodes[ANN], group.now_ns) == []
