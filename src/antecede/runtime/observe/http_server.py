"""One small HTTP server in the loop of a node: /metrics, /healthz, /readyz and /explain.

A loop that hangs does not answer, which is what a health check should find. A node with a thousand
peers has fourteen thousand lines of metrics. They are written 256 at a time, with turns of the loop
between: how long the loop is held up does not depend on the peers.
"""

import asyncio
import json
import logging
import socket
from dataclasses import asdict
from functools import partial
from typing import Final, Self, TypeAlias
from urllib.parse import parse_qsl

from antecede.runtime.carriers.accepting import Callers, listen
from antecede.runtime.config.addresses import Address
from antecede.runtime.errors import CannotBind
from antecede.runtime.observe.prometheus import MetricsSource, exposition
from antecede.runtime.observe.stats import Health

PORT: Final = 9464
"""Where OpenTelemetry's exporter for Prometheus listens by default."""

REQUEST_BYTES_MAX: Final = 8192
REQUEST_SECONDS_MAX: Final = 10.0
CONNECTIONS_MAX: Final = 64
"""Connections that may ask at once, so that idle ones do not use up the node's descriptors."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
TEXT_TYPE: Final = "text/plain; charset=utf-8"
JSON_TYPE: Final = "application/json"
PATHS: Final = "/metrics, /healthz, /readyz and /explain"

Headers: TypeAlias = dict[str, str]

log = logging.getLogger(__name__)


class NodeHttpServer:
    """Answers requests over HTTP about one node; as a context it stops at the end."""

    def __init__(self, node: MetricsSource, *, per_peer: bool) -> None:
        self._node = node
        self._per_peer = per_peer
        self._callers: Callers | None = None
        self._asking: dict[asyncio.Task[None], None] = {}
        # Whose tasks have not begun: one that is cancelled before never does.
        self._entering: set[socket.socket] = set()
        self._said = False

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
        self._callers = Callers(listening, self._on_caller, lambda _: self._drop_oldest())
        self._callers.start()

    async def close(self) -> None:
        """Listen no more, and let nobody finish a question who has begun to ask."""
        if self._callers is not None:
            self._callers.close()
            for task in self._asking:
                task.cancel()
            if self._asking:
                await asyncio.wait(list(self._asking))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _on_caller(self, caller: socket.socket, _: Address) -> None:
        if len(self._asking) >= CONNECTIONS_MAX:
            self._drop_oldest()
        task = asyncio.get_running_loop().create_task(self._answer(caller))
        self._asking[task] = None
        self._entering.add(caller)
        task.add_done_callback(partial(self._on_answered, caller))

    def _on_answered(self, caller: socket.socket, task: asyncio.Task[None]) -> None:
        self._asking.pop(task, None)
        if caller in self._entering:
            self._entering.discard(caller)
            caller.close()

    async def _answer(self, caller: socket.socket) -> None:
        """One request, one response, and good-bye."""
        self._entering.discard(caller)
        try:
            reader, writer = await asyncio.open_connection(sock=caller, limit=REQUEST_BYTES_MAX)
        except OSError:
            caller.close()
            return
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._response(request))
                await writer.drain()
            writer.close()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            log.debug("a request for metrics made no sense: %s", error)
            writer.close()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise

    def _drop_oldest(self) -> bool:
        """Whoever has been asking for longest makes room; most likely it never will ask.

        False if nobody is asking.
        """
        if not self._asking:
            return False
        oldest = next(iter(self._asking))
        del self._asking[oldest]
        oldest.cancel()
        if not self._said:
            self._said = True
            log.warning(
                "more connections ask for metrics than there is room for: the oldest are dropped"
            )
        return True

    async def _response(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
        path, _, query = rest.partition(b" ")[0].partition(b"?")
        if method not in (b"GET", b"HEAD"):
            return response(405, TEXT_TYPE, b"only GET\n", {"Allow": "GET, HEAD"})
        if path == b"/metrics":
            answer = response(200, CONTENT_TYPE, await exposition(self._node, self._per_peer))
        elif path in (b"/healthz", b"/readyz"):
            health = self._node.health(await self._node.stats_in_turns())
            well = bool(health) if path == b"/healthz" else health.is_ready
            answer = response(200 if well else 503, JSON_TYPE, health_body(health))
        elif path == b"/explain":
            answer = self._explanation(wants_json(query, request))
        else:
            answer = response(404, TEXT_TYPE, f"there are {PATHS}\n".encode())
        return answer if method == b"GET" else answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    def _explanation(self, as_json: bool) -> bytes:
        explanation = self._node.explain()
        if as_json:
            body = json.dumps(explanation.as_dict()).encode() + b"\n"
            return response(200, JSON_TYPE, body)
        return response(200, TEXT_TYPE, f"{explanation}\n".encode(errors="replace"))


async def serve_metrics(
    node: MetricsSource, host: str = "127.0.0.1", port: int = PORT, *, per_peer: bool = True
) -> NodeHttpServer:
    """Serve the figures and the health of this node over HTTP, until the server is closed.

    `per_peer=False` leaves out what there is per peer, which with many of them is a lot.
    """
    server = NodeHttpServer(node, per_peer=per_peer)
    await server.start(host, port)
    return server


def wants_json(query: bytes, request: bytes) -> bool:
    """Whether a request wants JSON rather than text: by `?format=json`, or by what it accepts."""
    formats = [value for name, value in parse_qsl(query.decode("latin-1")) if name == "format"]
    if formats:
        return formats[-1] == "json"
    for line in request.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"accept" and JSON_TYPE.encode() in value.lower():
            return True
    return False


def health_body(health: Health) -> bytes:
    """What `/healthz` and `/readyz` say."""
    return json.dumps({"status": health.status, **asdict(health)}).encode() + b"\n"


REASONS: Final = {
    200: "OK",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}


def response(status: int, content_type: str, body: bytes, extra: Headers | None = None) -> bytes:
    """An HTTP response after which the connection ends."""
    headers = {
        "Content-Type": content_type,
        "Content-Length": str(len(body)),
        "Connection": "close",
        **(extra or {}),
    }
    lines = [f"HTTP/1.1 {status} {REASONS[status]}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
