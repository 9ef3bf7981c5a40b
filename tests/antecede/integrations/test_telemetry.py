"""Traces and metrics: what nodes do, what a collector's file says of it, and what the audit reads.

The circle: nodes -> spans in an OTLP file -> `antecede ingest` -> `antecede audit`.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from antecede.integrations.opentelemetry import MARK, NO_CONTEXT, Context, extract, inject
from antecede.runtime.observe.metric import metric_of
from antecede.runtime.observe.stats import Stats
from antecede.testing import Faults, SlowLink, TestNetwork
from antecede_cli.main import main

pytest.importorskip("opentelemetry.sdk", reason="the Python package opentelemetry-sdk is missing")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from antecede.integrations.opentelemetry import OtlpFile, TracedMessage, TracedNode

SLOW = Faults(slow_links=(SlowLink(source=0, target=2, extra_ns=50_000_000),))
NAMES = ("alice", "bob", "carol")


def provider_for(name: str, exporter: object) -> Any:  # noqa: ANN401 an extra, untyped here
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


async def triangle(order: str, exporter: object, handled: list[bytes]) -> None:
    """Alice asks Carol and tells Bob, who answers; Alice's way to Carol is slow."""
    async with TestNetwork(SLOW) as network:
        alice, bob, carol = [
            TracedNode(
                await network.open_node(name, settings={"order": order}),
                tracer_provider=provider_for(name, exporter),
            )
            for name in NAMES
        ]

        async def answer(message: TracedMessage) -> None:
            await bob.send("carol", b"answer to " + message.payload)

        def read(message: TracedMessage) -> None:
            handled.append(message.payload)

        bob.on_message(answer)
        carol.on_message(read)
        await alice.send("carol", b"question")
        await alice.send("bob", b"hint")
        while len(handled) < 2:
            await network.settle()


def spans_of(order: str = "hybrid") -> dict[str, Any]:
    """The spans of a run by name and service."""
    exporter = InMemorySpanExporter()
    handled: list[bytes] = []
    asyncio.run(triangle(order, exporter, handled))
    assert sorted(handled) == [b"answer to hint", b"question"]
    found: dict[str, Any] = {}
    for span in exporter.get_finished_spans():
        service = span.resource.attributes["service.name"]
        found[f"{service}: {span.name} {span.attributes['messaging.message.id']}"] = span
    return found


def test_a_delivery_is_the_child_of_its_send_and_the_parent_of_its_answer() -> None:
    spans = spans_of()
    assert sorted(spans) == [
        "alice: send bob alice/2",
        "alice: send carol alice/1",
        "bob: process bob alice/2",
        "bob: send carol bob/1",
        "carol: process carol alice/1",
        "carol: process carol bob/1",
    ]
    hint, heard = spans["alice: send bob alice/2"], spans["bob: process bob alice/2"]
    answer, read = spans["bob: send carol bob/1"], spans["carol: process carol bob/1"]
    assert heard.parent.span_id == hint.context.span_id
    assert answer.parent.span_id == heard.context.span_id
    assert read.parent.span_id == answer.context.span_id
    assert len({span.context.trace_id for span in (hint, heard, answer, read)}) == 1
    assert spans["alice: send carol alice/1"].context.trace_id != hint.context.trace_id


def test_spans_are_named_by_the_conventions() -> None:
    span = spans_of()["bob: process bob alice/2"]
    assert span.kind.name == "CONSUMER"
    assert dict(span.attributes) == {
        "messaging.system": "antecede",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "bob",
        "messaging.message.body.size": 4,
        "messaging.message.id": "alice/2",
        "messaging.client.id": "bob",
    }


@pytest.mark.parametrize(("order", "too_early"), [("hybrid", 0), ("none", 1)])
def test_what_nodes_report_the_audit_reads(tmp_path: Path, order: str, too_early: int) -> None:
    """The circle. Two traces of one process: only by process does the first cause the second."""
    handled: list[bytes] = []
    spans = tmp_path / "spans.jsonl"
    file = OtlpFile(spans)
    asyncio.run(triangle(order, file, handled))
    file.shutdown()
    run("ingest", str(spans), "--out", str(tmp_path / "log"))
    run("audit", str(tmp_path / "log"), "--out", str(tmp_path / "found"), "--order", "process")
    summary = json.loads((tmp_path / "found" / "summary.json").read_text(encoding="utf-8"))
    assert summary["deliveries"] == 3
    assert sum(summary["violations"].values()) == too_early


def run(*arguments: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def test_metrics_have_the_names_of_the_conventions() -> None:
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader])

    async def story() -> None:
        async with TestNetwork() as network:
            alice, bob = [
                TracedNode(await network.open_node(name), meter_provider=meters)
                for name in ("alice", "bob")
            ]
            done = asyncio.Event()
            bob.on_message(lambda _: done.set())
            await alice.send("bob", b"one")
            await done.wait()

    asyncio.run(story())
    [resource] = reader.get_metrics_data().resource_metrics
    metrics = [metric for scope in resource.scope_metrics for metric in scope.metrics]
    counted = {metric.name: metric.data.data_points[0] for metric in metrics}
    described = {metric.name: metric.description for metric in metrics}
    assert sorted(counted) == [
        "messaging.client.consumed.messages",
        "messaging.client.operation.duration",
        "messaging.client.sent.messages",
        "messaging.process.duration",
    ]
    assert counted["messaging.client.sent.messages"].value == 1
    assert counted["messaging.process.duration"].count == 1
    for attribute in ("messages_sent", "messages_received"):
        same = metric_of(Stats, attribute)
        assert described[same.dotted_name] == same.meaning


def test_who_receives_by_hand_can_go_on_in_the_trace() -> None:
    exporter = InMemorySpanExporter()

    async def story() -> None:
        async with TestNetwork() as network:
            alice, bob = [
                TracedNode(
                    await network.open_node(name), tracer_provider=provider_for(name, exporter)
                )
                for name in ("alice", "bob")
            ]
            await alice.send("bob", b"question")
            message = await bob.receive()
            assert message.payload == b"question"
            with message.resume():
                await bob.send("alice", b"answer")
            async for answer in alice:
                assert answer.payload == b"answer"
                break

    asyncio.run(story())
    spans = exporter.get_finished_spans()
    names = [span.name for span in spans]
    assert names == ["send bob", "receive bob", "send alice", "receive alice"]
    assert len({span.context.trace_id for span in spans}) == 1


def test_without_a_trace_nothing_is_added_to_a_message() -> None:
    async def story() -> bytes:
        async with TestNetwork() as network:
            alice = TracedNode(await network.open_node("alice"))  # No SDK: spans record nothing.
            plain = await network.open_node("bob")
            await alice.send("bob", b"as it is")
            return (await plain.receive()).payload

    assert asyncio.run(story()) == b"as it is"


def test_who_does_not_use_it_does_not_load_it() -> None:
    script = (
        "import sys, antecede; antecede.open_node; antecede.testing; "
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


CONTEXTS = st.builds(
    Context,
    trace_id=st.integers(0, (1 << 128) - 1),
    span_id=st.integers(0, (1 << 64) - 1),
    flags=st.integers(0, 255),
    state=st.text("abc=,1", max_size=40),
)
PAYLOADS = st.binary(max_size=60) | st.binary(max_size=40).map(lambda rest: MARK + rest)


@given(context=CONTEXTS, payload=PAYLOADS)
def test_an_envelope_gives_back_what_was_inject(context: Context, payload: bytes) -> None:
    expected = context if context.is_valid else NO_CONTEXT
    assert extract(inject(context, payload)) == (expected, payload)


@given(data=st.binary(max_size=80) | st.binary(max_size=80).map(lambda rest: MARK + rest))
def test_any_bytes_can_be_taken_out(data: bytes) -> None:
    """Also those of a peer that lies; at worst they are a payload."""
    context, payload = extract(data)
    assert payload == data or data.endswith(payload)
    assert context == NO_CONTEXT or context.trace_id or not context.is_valid
