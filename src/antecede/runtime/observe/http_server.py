"""What a node answers over HTTP; `ROUTES` says on which paths.

The server runs in the loop of the node. A loop that hangs does not answer, which is what a health
check should find. The metrics of a node with many peers are written 256 lines at a time, with turns
of the loop between: how long the loop is held up does not depend on the peers.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Final, TypeAlias

from antecede.runtime.observe.http_listener import HttpServer, Request, Response, json_response
from antecede.runtime.observe.prometheus import exposition
from antecede.runtime.observe.state import StateSource, state_of
from antecede.runtime.observe.stats import Health

PORT: Final = 9464
"""Port 9464 is where OpenTelemetry's exporter for Prometheus listens by default."""

PROMETHEUS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


NodeHttpServer: TypeAlias = HttpServer
"""What `serve_metrics` returns."""


class NodePages:
    """What is answered about one node."""

    def __init__(self, node: StateSource, *, per_peer: bool = True) -> None:
        self.node: Final = node
        self.per_peer: Final = per_peer
        """Whether metrics have those of every peer."""

    async def answer(self, request: Request) -> Response:
        """The response to a request."""
        route = ROUTES.get(request.path)
        if route is None:
            return Response(f"there are {PATHS}\n".encode(), status="404 Not Found")
        return await route(self, request)


async def metrics(pages: NodePages, _: Request) -> Response:
    """The figures, for Prometheus."""
    return Response(await exposition(pages.node, pages.per_peer), PROMETHEUS_TYPE)


async def healthz(pages: NodePages, _: Request) -> Response:
    """Whether the node can do its work: for a liveness probe."""
    health = pages.node.health(await pages.node.stats_in_turns())
    return health_response(health, well=health.is_healthy)


async def readyz(pages: NodePages, _: Request) -> Response:
    """Whether it can do its work now: for a readiness probe."""
    health = pages.node.health(await pages.node.stats_in_turns())
    return health_response(health, well=health.is_ready)


async def explain(pages: NodePages, request: Request) -> Response:
    """Why something is waiting: as text for people, or as JSON."""
    explanation = pages.node.explain()
    if request.wants_json():
        return json_response(explanation.as_dict())
    return Response(f"{explanation}\n".encode(errors="replace"))


async def state(pages: NodePages, request: Request) -> Response:
    """How everything stands, and what has happened since the event number `since`: for a view."""
    since = request.query.get("since", "")
    return json_response(await state_of(pages.node, int(since) if since.isdecimal() else 0))


Route: TypeAlias = Callable[[NodePages, Request], Awaitable[Response]]

ROUTES: Final[Mapping[str, Route]] = {
    "/metrics": metrics,
    "/healthz": healthz,
    "/readyz": readyz,
    "/explain": explain,
    "/state": state,
}
"""Every path that is answered."""

PATHS: Final = " and ".join(", ".join(ROUTES).rsplit(", ", 1))


def health_response(health: Health, *, well: bool) -> Response:
    """What `/healthz` and `/readyz` say."""
    status = "200 OK" if well else "503 Service Unavailable"
    return json_response({"status": health.status, **asdict(health)}, status)


async def serve_metrics(
    node: StateSource, host: str = "127.0.0.1", port: int = PORT, *, per_peer: bool = True
) -> NodeHttpServer:
    """Serve the figures and the health of this node over HTTP, until the server is closed.

    `per_peer=False` leaves out the metrics of every peer, which with many peers are many lines.
    """
    server = NodeHttpServer(NodePages(node, per_peer=per_peer).answer)
    await server.start(host, port)
    return server
