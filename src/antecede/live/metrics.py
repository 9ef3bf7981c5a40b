"""A node's figures for Prometheus, and whether it is well.

`NodeCollector` reads `node.stats()` when somebody asks, so that messages cost nothing.
`serve_metrics` answers `/metrics` and `/healthz` over HTTP, in the loop of the node: a loop that
hangs does not answer, which is what a health check should find.

The conventions' histograms of durations are not offered: they would have to look at the clock twice
for every message. The event log has every latency, and more of it.
"""

import asyncio
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final, Self, TypeAlias

from antecede.live import figures
from antecede.live.addresses import Address
from antecede.live.errors import BadConfiguration, CannotBind
from antecede.live.exposition import CONTENT_TYPE, Watched, exposition
from antecede.live.figures import NodeFigure, PeerFigure
from antecede.live.stats import Health, Stats

PORT: Final = 9464
"""Where OpenTelemetry's exporter for Prometheus listens by default."""

REQUEST_BYTES_MAX: Final = 8192
REQUEST_SECONDS_MAX: Final = 10.0
CONNECTIONS_MOST: Final = 64
"""Connections that may ask at once, so that idle ones do not use up the node's descriptors."""

SCRAPE_SECONDS_MAX: Final = 10.0

MetricFamily: TypeAlias = Any
"""prometheus_client is loaded only when metrics are wanted, and may not be installed."""
Headers: TypeAlias = dict[str, str]

log = logging.getLogger(__name__)


def load(name: str) -> Any:  # noqa: ANN401 - a module that may not be installed
    """A module of prometheus_client, or an error that says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise BadConfiguration(
            "metrics need prometheus-client: pip install 'antecede[metrics]'"
        ) from error


class NodeCollector:
    """Tells a Prometheus registry how things stand; make it in the loop of the node.

    Any thread may collect: the figures are read in the node's own.
    """

    def __init__(self, node: Watched, *, per_peer: bool = True) -> None:
        self._node = node
        self._per_peer = per_peer
        self._loop = asyncio.get_running_loop()
        self._core = load("prometheus_client.core")

    def describe(self) -> Iterable[MetricFamily]:
        """Nothing beforehand: so the registry need not collect in order to know the names."""
        return []

    def collect(self) -> Iterator[MetricFamily]:
        """Every figure as it stands now."""
        stats, health = self._read()
        core = self._core
        for figure in figures.NODE_COUNTERS:
            yield self._of_node(core.CounterMetricFamily, figure, stats)
        for figure in figures.NODE_GAUGES:
            yield self._of_node(core.GaugeMetricFamily, figure, stats)
        well = NodeFigure(*figures.HEALTHY, lambda _: float(bool(health)))
        yield self._of_node(core.GaugeMetricFamily, well, stats)
        if self._per_peer:
            for peer_figure in figures.PEER_COUNTERS:
                yield self._of_peers(core.CounterMetricFamily, peer_figure, stats)
            for peer_figure in figures.PEER_GAUGES:
                yield self._of_peers(core.GaugeMetricFamily, peer_figure, stats)

    def _read(self) -> tuple[Stats, Health]:
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            return self._node.stats(), self._node.health()
        reading = asyncio.run_coroutine_threadsafe(self._read_inside(), self._loop)
        return reading.result(SCRAPE_SECONDS_MAX)

    async def _read_inside(self) -> tuple[Stats, Health]:
        return self._node.stats(), self._node.health()

    def _of_node(self, family: MetricFamily, figure: NodeFigure, stats: Stats) -> MetricFamily:
        labels = {"messaging_system": figures.SYSTEM, "messaging_client_id": stats.name}
        if figure.operation is not None:
            labels["messaging_operation_name"] = figure.operation
        metric = family(figure.name, figure.meaning, labels=list(labels))
        metric.add_metric(list(labels.values()), figure.read(stats))
        return metric

    def _of_peers(self, family: MetricFamily, figure: PeerFigure, stats: Stats) -> MetricFamily:
        names = ["messaging_system", "messaging_client_id", "peer"]
        metric = family(figure.name, figure.meaning, labels=names)
        for peer in stats.peers:
            metric.add_metric([figures.SYSTEM, stats.name, peer.name], float(figure.read(peer)))
        return metric


class MetricsServer:
    """Answers `/metrics` and `/healthz`; as a context it stops at the end."""

    def __init__(self, node: Watched, *, per_peer: bool) -> None:
        self._node = node
        self._per_peer = per_peer
        self._server: asyncio.Server | None = None
        self._asking: dict[asyncio.Task[object], asyncio.StreamWriter] = {}
        self._said = False

    @property
    def address(self) -> Address:
        """Where it listens."""
        assert self._server is not None, "it has been started"
        host, port, *_ = self._server.sockets[0].getsockname()
        return Address(host, port)

    async def start(self, host: str, port: int) -> None:
        """Begin to listen; `CannotBind` if that address cannot be had."""
        try:
            self._server = await asyncio.start_server(
                self._answer, host, port, limit=REQUEST_BYTES_MAX
            )
        except OSError as error:
            raise CannotBind(str(Address(host, port)), error.strerror or str(error)) from error

    async def close(self) -> None:
        """Listen no more, and let nobody finish a question who has begun to ask."""
        if self._server is not None:
            self._server.close()
            for writer in self._asking.values():
                writer.transport.abort()
            if self._asking:
                await asyncio.wait(list(self._asking))
            await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one response, and good-bye."""
        task = asyncio.current_task()
        assert task is not None, "a server answers in tasks"
        if len(self._asking) >= CONNECTIONS_MOST:
            self._drop_oldest()
        self._asking[task] = writer
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._response(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            log.debug("a request for metrics made no sense: %s", error)
        finally:
            writer.close()
            del self._asking[task]

    def _drop_oldest(self) -> None:
        """Whoever has been asking for longest makes room; most likely it never will ask."""
        self._asking[next(iter(self._asking))].transport.abort()
        if not self._said:
            self._said = True
            log.warning(
                "more than %d connections ask for metrics at once: the oldest are dropped",
                CONNECTIONS_MOST,
            )

    async def _response(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return response(405, "text/plain", b"only GET\n", {"Allow": "GET, HEAD"})
        if path == b"/metrics":
            answer = response(200, CONTENT_TYPE, await exposition(self._node, self._per_peer))
        elif path == b"/healthz":
            health = self._node.health(await self._node.stats_in_turns())
            answer = response(200 if health else 503, "application/json", health_body(health))
        else:
            answer = response(404, "text/plain", b"there are /metrics and /healthz\n")
        return answer if method == b"GET" else answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


async def serve_metrics(
    node: Watched, host: str = "127.0.0.1", port: int = PORT, *, per_peer: bool = True
) -> MetricsServer:
    """Serve the figures and the health of this node over HTTP, until the server is closed.

    `per_peer=False` leaves out what there is per peer, which with many of them is a lot.
    """
    server = MetricsServer(node, per_peer=per_peer)
    await server.start(host, port)
    return server


def health_body(health: Health) -> bytes:
    """What `/healthz` says."""
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
