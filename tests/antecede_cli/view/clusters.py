"""Real nodes that serve HTTP, and others that answer whatever a test wants."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import antecede
from antecede.runtime.config.addresses import Address
from antecede.runtime.node import Node
from antecede.runtime.observe.http_listener import HttpServer, Request, Response
from antecede_cli.view.cluster import Object, cluster_object
from antecede_cli.view.collector import Collector

SECONDS: Final = 60.0


def run(story: Coroutine[Any, Any, None]) -> None:
    """Run a story, which must come to an end."""
    asyncio.run(asyncio.wait_for(story, 2 * SECONDS))


def http_of(node: Node) -> Address:
    """Where a node serves HTTP."""
    assert node._http is not None, "it was asked to"
    return node._http.address


async def open_nodes(*names: str, **options: Any) -> dict[str, Node]:  # noqa: ANN401 - as `open_node` has them
    """Nodes that serve HTTP and have met."""
    nodes: dict[str, Node] = {}
    for name in names:
        peers = {other.name: other.address for other in nodes.values()}
        nodes[name] = await antecede.open_node(
            name, peers=peers, accept_unknown=True, http="127.0.0.1:0", settings=options
        )
    for node in nodes.values():
        while len(node.online) < len(names) - 1:
            await asyncio.sleep(0.01)
    return nodes


async def close(*nodes: Node) -> None:
    """Let these nodes leave."""
    for node in nodes:
        node.abandon()
    await asyncio.sleep(0)


def listing(*places: Address) -> Callable[[], list[tuple[str, Address]]]:
    """A source that always names these."""
    return lambda: [("", place) for place in places]


def shown(collector: Collector) -> Object:
    """The whole, as it is shown."""
    return cluster_object(collector, time.time())


def by_name(collector: Collector) -> dict[str, Object]:
    """The lines of all nodes."""
    return {line["name"]: line for line in shown(collector)["nodes"]}


@asynccontextmanager
async def answering(content: object | bytes) -> AsyncIterator[tuple[Address, list[Request]]]:
    """Something that answers every question with this; where it is, and what it was asked."""
    asked: list[Request] = []
    body = content if isinstance(content, bytes) else json.dumps(content).encode()

    async def answer(request: Request) -> Response:
        asked.append(request)
        return Response(body)

    async with HttpServer(answer) as server:
        await server.start("127.0.0.1", 0)
        yield server.address, asked
