"""Figures and health of real nodes, as Prometheus and a health check see them."""

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module

import pytest

import antecede
from antecede.runtime.config.addresses import Address
from antecede.runtime.errors import BadConfiguration, CannotBind
from antecede.runtime.node import Node
from antecede.runtime.observe.explain import Explanation
from antecede.runtime.observe.http_listener import CONNECTIONS_MAX
from antecede.runtime.observe.http_server import ROUTES, serve_metrics
from antecede.runtime.observe.metric import figures_of
from antecede.runtime.observe.prometheus import LINES_PER_TURN, NodeCollector, exposition
from antecede.runtime.observe.recent_events import RecentEvent
from antecede.runtime.observe.stats import Health, JournalStats, PeerStats, Stats
from antecede.runtime.observe.stats_reader import PEERS_PER_TURN, health_of

prometheus = pytest.importorskip("prometheus_client", reason="metrics need prometheus-client")


def with_two_nodes(scenario: Callable[[Node, Node], Awaitable[None]]) -> None:
    """Run `scenario` with alice and bob, after alice has sent bob three messages."""

    async def play() -> None:
        async with (
            antecede.open_node("alice", accept_unknown=True) as alice,
            antecede.open_node("bob", peers={"alice": alice.address}) as bob,
        ):
            await bob.send("alice", b"hello")
            await alice.receive(30)
            for _ in range(3):
                await alice.send("bob", b"hello")
            for _ in range(3):
                await bob.receive(30)
            await alice.flush(60)
            await scenario(alice, bob)

    asyncio.run(play())


async def fetch(host: str, port: int, request: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer to this request line."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body


def samples(node: Node) -> dict[str, float]:
    """What a registry collects from this node; the value of every series."""
    registry = prometheus.CollectorRegistry()
    registry.register(NodeCollector(node))
    return {
        sample.name + ("/" + sample.labels["peer"] if "peer" in sample.labels else ""): sample.value
        for family in registry.collect()
        for sample in family.samples
    }


def test_messages_are_counted_under_the_names_of_opentelemetry() -> None:
    async def scenario(alice: Node, bob: Node) -> None:
        mine, theirs = samples(alice), samples(bob)
        assert mine["messaging_client_sent_messages_total"] == 3
        assert mine["messaging_client_consumed_messages_total"] == 1
        assert theirs["messaging_client_sent_messages_total"] == 1
        assert theirs["messaging_client_consumed_messages_total"] == 3

    with_two_nodes(scenario)


def test_every_figure_is_told_per_node_and_per_peer() -> None:
    async def scenario(alice: Node, bob: Node) -> None:
        found = samples(alice)
        stats = alice.stats()
        assert found["antecede_datagrams_sent_total/bob"] == stats.datagrams_sent > 0
        assert found["antecede_peer_round_trip_seconds/bob"] == stats.peers[0].round_trip_ns / 1e9
        assert found["antecede_peer_congestion_window_bytes/bob"] == stats.peers[0].window
        assert found["antecede_buffer_limit_parts"] == alice.settings.send_limit
        assert found["antecede_buffered_messages"] == 0
        assert (found["antecede_peers"], found["antecede_peers_met"]) == (1, 1)
        assert found["antecede_healthy"] == 1
        assert bob.name == "bob"

    with_two_nodes(scenario)


def test_a_server_tells_the_figures_and_the_health() -> None:
    async def scenario(alice: Node, _: Node) -> None:
        async with await serve_metrics(alice, port=0) as server:
            host, port = server.address
            status, headers, body = await fetch(host, port, "GET /metrics?x=1")
            assert (status, headers["Content-Length"]) == (200, str(len(body)))
            assert headers["Content-Type"].startswith("text/plain; version=")
            assert (
                b'messaging_client_sent_messages_total{messaging_client_id="alice",'
                b'messaging_operation_name="send",messaging_system="antecede"} 3.0\n'
            ) in body
            assert b"# TYPE messaging_client_sent_messages_total counter\n" in body

            status, headers, body = await fetch(host, port, "GET /healthz")
            assert (status, headers["Content-Type"]) == (200, "application/json")
            assert json.loads(body) == {
                "status": "ok",
                "problems": [],
                "blocked": [],
                "warnings": [],
            }

    with_two_nodes(scenario)


def test_a_server_tells_what_a_registry_collects() -> None:
    """The same families, labels and values as the client library would write."""

    async def scenario(alice: Node, _: Node) -> None:
        parse = import_module("prometheus_client.parser").text_string_to_metric_families
        registry = prometheus.CollectorRegistry()
        registry.register(NodeCollector(alice))
        written = (await exposition(alice, per_peer=True)).decode()
        expected = prometheus.generate_latest(registry).decode()
        moving = ("antecede_datagrams", "antecede_peer_round_trip", "antecede_peer_in_flight")
        found, wanted = (
            [
                (f.name, f.type, f.documentation, [s[:3] for s in f.samples])
                for f in parse(text)
                if not f.name.startswith(moving)
            ]
            for text in (written, expected)
        )
        assert found == wanted
        assert len(found) > 15

    with_two_nodes(scenario)


def test_idle_connections_use_up_no_descriptors(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(alice: Node, _: Node) -> None:
        async with await serve_metrics(alice, port=0) as server:
            idle = [
                await asyncio.open_connection(*server.address) for _ in range(3 * CONNECTIONS_MAX)
            ]
            status, _headers, _body = await fetch(*server.address, "GET /healthz")
            assert status == 200
            assert len(server._connections) <= CONNECTIONS_MAX
            for _reader, writer in idle:
                writer.transport.abort()

    with_two_nodes(scenario)
    assert sum("connections ask" in record.getMessage() for record in caplog.records) == 1


def test_how_long_the_figures_hold_up_the_loop_does_not_depend_on_the_peers() -> None:
    """Counted in lines that are written between two turns of the loop."""

    async def scenario(alice: Node, _: Node) -> None:
        for number in range(1_000):
            alice.add_peer(f"peer{number}")
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count_turns())
        text = await exposition(alice, per_peer=True)
        counting.cancel()
        assert text.count(b"\n") > 12_000
        assert turns > 1_000 / PEERS_PER_TURN + 12_000 / LINES_PER_TURN - 2

    with_two_nodes(scenario)


def test_every_number_is_a_metric_but_what_prometheus_computes_or_cannot_show() -> None:
    """What only programs read is named here: texts, states, and figures that others imply."""
    without = {
        (kind, item.name)
        for kind in (Stats, JournalStats, PeerStats)
        for item in fields(kind)
        if item.name not in {figure.attribute for figure in figures_of(kind)}
    }
    assert without == {
        *((Stats, name) for name in ("name", "last_malformed", "journal")),
        *((PeerStats, name) for name in ("name", "state", "left", "refusal", "http", "narrow")),
        *((PeerStats, name) for name in ("sends_waiting", "round_trip_least_ns", "datagram_size")),
    }


def test_a_server_is_not_upset_by_other_requests() -> None:
    async def scenario(alice: Node, _: Node) -> None:
        async with await serve_metrics(alice, port=0, per_peer=False) as server:
            host, port = server.address
            assert (await fetch(host, port, "GET /elsewhere"))[0] == 404
            status, headers, _body = await fetch(host, port, "POST /metrics")
            assert (status, headers["Allow"]) == (405, "GET, HEAD")
            status, headers, body = await fetch(host, port, "HEAD /metrics")
            assert (status, body) == (200, b"")
            assert int(headers["Content-Length"]) > 100
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"x" * 100_000)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            status, _headers, body = await fetch(host, port, "GET /metrics")
            assert status == 200
            assert b"antecede_datagrams_sent" not in body

    with_two_nodes(scenario)


class Silent:
    """Says nothing of itself."""

    name = "ann"
    incarnation = 1
    address = Address("127.0.0.1", 9000)
    closed = False
    rooms: Mapping[str, tuple[str, ...]] = {}

    def recent_events(self, since: int = 0) -> list[RecentEvent]:
        raise LookupError("no events", since)

    def stats(self) -> Stats:
        raise LookupError("no figures")

    async def stats_in_turns(self) -> Stats:
        return self.stats()

    def explain(self) -> Explanation:
        raise LookupError("no reasons")

    def health(self, stats: Stats | None = None) -> Health:
        raise LookupError("no health", stats)


def test_a_server_answers_although_its_node_does_not(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with await serve_metrics(Silent(), port=0) as server:
            for path in ROUTES:
                assert (await fetch(*server.address, f"GET {path}"))[0] == 500
            assert not server._connections

    asyncio.run(asyncio.wait_for(scenario(), 60))
    assert "no reasons" in caplog.text


def test_a_server_that_is_closed_does_not_wait_for_who_never_finishes_a_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(alice: Node, _: Node) -> None:
        server = await serve_metrics(alice, port=0)
        reader, writer = await asyncio.open_connection(*server.address)
        writer.write(b"GET /met")
        # Connections are taken in order: when this is answered, the other one is known.
        await fetch(*server.address, "GET /healthz")
        await server.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()

    with_two_nodes(scenario)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_another_thread_may_collect() -> None:
    async def scenario(alice: Node, _: Node) -> None:
        registry = prometheus.CollectorRegistry()
        registry.register(NodeCollector(alice))
        found: list[tuple[bytes, int]] = []

        def scrape() -> None:
            found.append((prometheus.generate_latest(registry), threading.get_ident()))

        await asyncio.to_thread(scrape)
        assert b"messaging_client_sent_messages_total" in found[0][0]
        assert found[0][1] != threading.get_ident()

    with_two_nodes(scenario)


def test_a_port_in_use_is_explained() -> None:
    async def scenario(alice: Node, bob: Node) -> None:
        async with await serve_metrics(alice, port=0) as server:
            host, port = server.address
            with pytest.raises(CannotBind, match=f"cannot listen at {host}:{port}: "):
                await serve_metrics(bob, host, port)

    with_two_nodes(scenario)


def test_a_closed_node_fails_its_health_check() -> None:
    async def play() -> None:
        node = await antecede.open_node("alice")
        async with await serve_metrics(node, port=0) as server:
            await node.close()
            status, _, body = await fetch(*server.address, "GET /healthz")
            assert status == 503
            assert json.loads(body)["problems"] == ["the node is closed"]

    asyncio.run(play())


def test_without_the_client_library_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)

    async def play() -> None:
        async with antecede.open_node("alice") as node:
            with pytest.raises(BadConfiguration, match=r"pip install '\.\[metrics\]'"):
                NodeCollector(node)

    asyncio.run(play())


def figures() -> Stats:
    """The figures of a real node that has met bob and not carol."""
    found: list[Stats] = []

    async def scenario(alice: Node, _: Node) -> None:
        alice.add_peer("carol")
        found.append(alice.stats())

    with_two_nodes(scenario)
    return found[0]


def test_health_has_reasons() -> None:
    stats = figures()
    bob, carol = stats.peers

    assert (
        str(health_of(stats, closed=False, trace_failure=None)) == "degraded; not met yet: 'carol'"
    )
    quiet = replace(stats, peers=(replace(bob, silent=True), replace(carol, met=True)))
    assert health_of(quiet, closed=False, trace_failure=None) == Health(warnings=("silent: 'bob'",))
    well = replace(stats, peers=(bob,))
    assert health_of(well, closed=False, trace_failure=None) == Health()
    deaf = health_of(well, closed=False, trace_failure=None, takes_no_news=True)
    assert str(deaf).startswith("failing; 65,536 incarnations are expelled")
    failing = health_of(well, closed=False, trace_failure="disk full")
    assert (bool(failing), failing.status) == (False, "failing")
    assert failing.problems == ("the event log stopped: disk full",)


def test_a_buffer_that_is_nearly_full_is_worth_a_word() -> None:
    stats = figures()
    full = replace(stats, peers=(), buffered=60_000, buffered_parts=60_000)

    assert health_of(full, closed=False, trace_failure=None).warnings == (
        "60,000 messages are not delivered yet: send() waits for room",
    )
    assert replace(stats, buffered_bytes=stats.buffer_limit_bytes).is_crowded
    assert not stats.is_crowded
