"""One small HTTP server in the loop of a node; `ROUTES` says what it answers.

A loop that hangs does not answer, which is what a health check should find. The metrics of a node
with many peers are written 256 lines at a time, with turns of the loop between: how long the loop
is held up does not depend on the peers.
"""

import asyncio
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final, Self, TypeAlias
from urllib.parse import parse_qsl

from antecede.runtime.carriers.accepting import Callers, listen
from antecede.runtime.config.addresses import Address
from antecede.runtime.errors import CannotBind
from antecede.runtime.observe.prometheus import MetricsSource, exposition
from antecede.runtime.observe.stats import Health

PORT: Final = 9464
"""Port 9464 is where OpenTelemetry's exporter for Prometheus listens by default."""

REQUEST_BYTES_MAX: Final = 8192
"""The head of a request may have 8,192 bytes; its body is not read."""

REQUEST_SECONDS_MAX: Final = 10.0
"""A request that is not read and answered within 10 s is dropped."""

CONNECTIONS_MAX: Final = 64
"""64 connections may be open, so that idle ones do not use up the descriptors of the node; for
another one the oldest is closed."""

PROMETHEUS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
TEXT_TYPE: Final = "text/plain; charset=utf-8"
JSON_TYPE: Final = "application/json"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks for, and about whom."""

    node: MetricsSource
    per_peer: bool
    """Whether metrics have those of every peer."""
    query: str
    """What follows the question mark in the path."""
    accepted: str
    """The types of content that the client accepts, in small letters."""

    def wants_json(self) -> bool:
        """Whether JSON is wanted rather than text: by `?format=json`, or by what is accepted."""
        formats = [value for name, value in parse_qsl(self.query) if name == "format"]
        return formats[-1] == "json" if formats else JSON_TYPE in self.accepted


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered; the connection ends after it."""

    body: bytes
    content_type: str = TEXT_TYPE
    status: str = "200 OK"
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_bytes(self, *, with_body: bool = True) -> bytes:
        """The response as HTTP/1.1 writes it."""
        headers = {
            "Content-Type": self.content_type,
            "Content-Length": str(len(self.body)),
            "Connection": "close",
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status}", *(f"{name}: {headers[name]}" for name in headers)]
        return "\r\n".join([*lines, "", ""]).encode() + (self.body if with_body else b"")


# What it answers.


async def metrics(request: Request) -> Response:
    """The figures, for Prometheus."""
    return Response(await exposition(request.node, request.per_peer), PROMETHEUS_TYPE)


async def healthz(request: Request) -> Response:
    """Whether the node can do its work: for a liveness probe."""
    health = request.node.health(await request.node.stats_in_turns())
    return health_response(health, well=health.is_healthy)


async def readyz(request: Request) -> Response:
    """Whether it can do its work now: for a readiness probe."""
    health = request.node.health(await request.node.stats_in_turns())
    return health_response(health, well=health.is_ready)


async def explain(request: Request) -> Response:
    """Why something is waiting: as text for people, or as JSON."""
    explanation = request.node.explain()
    if request.wants_json():
        return json_response(explanation.as_dict())
    return Response(f"{explanation}\n".encode(errors="replace"))


Route: TypeAlias = Callable[[Request], Awaitable[Response]]

ROUTES: Final[Mapping[str, Route]] = {
    "/metrics": metrics,
    "/healthz": healthz,
    "/readyz": readyz,
    "/explain": explain,
}
"""Every path that is answered."""

PATHS: Final = " and ".join(", ".join(ROUTES).rsplit(", ", 1))


def health_response(health: Health, *, well: bool) -> Response:
    """What `/healthz` and `/readyz` say."""
    status = "200 OK" if well else "503 Service Unavailable"
    return json_response({"status": health.status, **asdict(health)}, status)


def json_response(content: object, status: str = "200 OK") -> Response:
    """A response in JSON, on one line."""
    return Response(json.dumps(content).encode() + b"\n", JSON_TYPE, status)


# The server.


class NodeHttpServer:
    """Answers requests over HTTP about one node; as a context it stops at the end."""

    def __init__(self, node: MetricsSource, *, per_peer: bool) -> None:
        self._node: Final = node
        self._per_peer: Final = per_peer
        self._callers: Callers | None = None
        # The oldest first.
        self._connections: dict[asyncio.Task[None], None] = {}
        # Whose tasks have not begun: one that is cancelled before never does.
        self._not_begun: set[socket.socket] = set()
        self._has_warned = False

    @property
    def address(self) -> Address:
        """Where it listens."""
        assert self._callers is not None, "it has been started"
        return self._callers.address

    async def start(self, host: str, port: int) -> None:
        """Begin to listen; `CannotBind` if that address cannot be had."""
        try:
            listening = await listen(Address(host, port))
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CannotBind(str(Address(host, port)), reason) from error
        self._callers = Callers(listening, self._on_connection, lambda _: self._close_oldest())
        self._callers.start()

    async def close(self) -> None:
        """Listen no more, and close all connections; requests under way are not answered."""
        if self._callers is not None:
            self._callers.close()
            for task in self._connections:
                task.cancel()
            if self._connections:
                await asyncio.wait(list(self._connections))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _on_connection(self, connection: socket.socket, _: Address) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            self._close_oldest()
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._connections[task] = None
        self._not_begun.add(connection)
        task.add_done_callback(partial(self._on_served, connection))

    def _on_served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._connections.pop(task, None)
        if connection in self._not_begun:
            self._not_begun.discard(connection)
            connection.close()

    def _close_oldest(self) -> bool:
        """Close the connection that has been open for longest; False if there is none."""
        if not self._connections:
            return False
        oldest = next(iter(self._connections))
        del self._connections[oldest]
        oldest.cancel()
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "more than %d connections ask for metrics: the oldest are closed", CONNECTIONS_MAX
            )
        return True

    async def _serve(self, connection: socket.socket) -> None:
        """Read one request, answer it, and close the connection."""
        self._not_begun.discard(connection)
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=REQUEST_BYTES_MAX)
        except OSError:
            connection.close()
            return
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._answer(head.decode("latin-1")))
                await writer.drain()
            writer.close()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            log.debug("a request for metrics made no sense: %s", error)
            writer.close()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise

    async def _answer(self, head: str) -> bytes:
        """The response to a request with this head."""
        request_line, *lines = head.split("\r\n")
        method, _, rest = request_line.partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        fields = [line.partition(":") for line in lines]
        headers = {name.strip().lower(): value.lower() for name, _, value in fields}
        if method not in ("GET", "HEAD"):
            refused = Response(b"only GET\n", status="405 Method Not Allowed", headers=ALLOWED)
            return refused.as_bytes()
        route = ROUTES.get(path)
        if route is None:
            response = Response(f"there are {PATHS}\n".encode(), status="404 Not Found")
        else:
            accepted = headers.get("accept", "")
            try:
                response = await route(Request(self._node, self._per_peer, query, accepted))
            except Exception:  # Or the client would wait, and its connection stay open.
                log.exception("%s cannot be answered", path)
                response = Response(b"see the log of the node\n", status=FAILED)
        return response.as_bytes(with_body=method == "GET")


ALLOWED: Final = {"Allow": "GET, HEAD"}
FAILED: Final = "500 Internal Server Error"


async def serve_metrics(
    node: MetricsSource, host: str = "127.0.0.1", port: int = PORT, *, per_peer: bool = True
) -> NodeHttpServer:
    """Serve the figures and the health of this node over HTTP, until the server is closed.

    `per_peer=False` leaves out the metrics of every peer, which with many peers are many lines.
    """
    server = NodeHttpServer(node, per_peer=per_peer)
    await server.start(host, port)
    return server
