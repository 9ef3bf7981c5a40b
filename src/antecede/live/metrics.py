"""A node's figures for Prometheus, and whether it is well.

`NodeCollector` reads `node.stats()` when somebody asks, so that messages cost nothing. Where
OpenTelemetry's conventions for messaging have a name for a figure, it is used as Prometheus spells
it (dots become underscores, a counter ends in `_total`); all others begin with `antecede_`.
`serve_metrics` answers `/metrics` and `/healthz` over HTTP, in the loop of the node: a loop that
hangs does not answer, which is what a health check should find.

The conventions' histograms of durations are not offered: they would have to look at the clock twice
for every message. The event log has every latency, and more of it.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias

from antecede.live.addresses import Address
from antecede.live.errors import BadConfiguration, CannotBind
from antecede.live.stats import Health, PeerStats, Stats

SYSTEM: Final = "antecede"
PORT: Final = 9464
"""Where OpenTelemetry's exporter for Prometheus listens by default."""

REQUEST_BYTES_MAX: Final = 8192
REQUEST_SECONDS_MAX: Final = 10.0
SCRAPE_SECONDS_MAX: Final = 10.0

MetricFamily: TypeAlias = Any
"""prometheus_client is loaded only when metrics are wanted, and may not be installed."""
Headers: TypeAlias = dict[str, str]

log = logging.getLogger(__name__)


class Watched(Protocol):
    """What has figures and a state of health: a node."""

    def stats(self) -> Stats:
        """How things stand."""

    def health(self) -> Health:
        """Whether it can do its work."""


class NodeFigure(NamedTuple):
    """Something to tell about a node."""

    name: str
    meaning: str
    read: Callable[[Stats], float]
    operation: str | None = None
    """For names of OpenTelemetry's: which operation of the messaging client is counted."""


class PeerFigure(NamedTuple):
    """Something to tell about every peer of a node."""

    name: str
    meaning: str
    read: Callable[[PeerStats], float]


NODE_COUNTERS: Final = (
    NodeFigure(
        "messaging_client_sent_messages",
        "Messages the application has sent.",
        lambda stats: stats.messages_sent,
        "send",
    ),
    NodeFigure(
        "messaging_client_consumed_messages",
        "Messages delivered to the application.",
        lambda stats: stats.messages_received,
        "receive",
    ),
    NodeFigure(
        "antecede_copies_sent",
        "Copies of messages, one for each target.",
        lambda stats: stats.copies_sent,
    ),
    NodeFigure(
        "antecede_undeliverable",
        "Copies given up because their target is gone.",
        lambda stats: stats.undeliverable,
    ),
    NodeFigure(
        "antecede_payloads_too_large",
        "Payloads of peers beyond the limit, which were not handed over.",
        lambda stats: stats.too_large,
    ),
    NodeFigure(
        "antecede_datagrams_unsendable",
        "Datagrams that the operating system would not send.",
        lambda stats: stats.unsendable,
    ),
    NodeFigure(
        "antecede_datagrams_crowded_out",
        "Datagrams dropped unread: their sender sent more than its share.",
        lambda stats: stats.crowded_out,
    ),
    NodeFigure(
        "antecede_datagrams_malformed",
        "Datagrams that no correct peer sends.",
        lambda stats: stats.malformed,
    ),
    NodeFigure(
        "antecede_datagrams_stale",
        "Datagrams of, or for, an incarnation that is no more.",
        lambda stats: stats.stale,
    ),
    NodeFigure(
        "antecede_greetings_refused",
        "Greetings of nodes that may not, or cannot, take part.",
        lambda stats: stats.refused,
    ),
)

NODE_GAUGES: Final = (
    NodeFigure(
        "antecede_buffered_messages",
        "Messages accepted and not yet acknowledged by all targets.",
        lambda stats: stats.buffered,
    ),
    NodeFigure(
        "antecede_buffered_bytes",
        "Payload bytes accepted and not yet acknowledged by all targets.",
        lambda stats: stats.buffered_bytes,
    ),
    NodeFigure(
        "antecede_buffer_limit_messages",
        "Messages that may be buffered before send waits.",
        lambda stats: stats.buffer_limit,
    ),
    NodeFigure(
        "antecede_buffer_limit_bytes",
        "Payload bytes that may be buffered before send waits.",
        lambda stats: stats.buffer_limit_bytes,
    ),
    NodeFigure(
        "antecede_inbox_messages",
        "Messages delivered and not yet read by the application.",
        lambda stats: stats.inbox,
    ),
    NodeFigure("antecede_peers", "Peers known by name.", lambda stats: len(stats.peers)),
    NodeFigure("antecede_peers_met", "Peers that have answered.", lambda stats: stats.peers_met),
    NodeFigure(
        "antecede_peers_silent",
        "Peers not heard for longer than allowed.",
        lambda stats: len(stats.silent_peers),
    ),
)

PEER_COUNTERS: Final = (
    PeerFigure("antecede_datagrams_sent", "Datagrams sent.", lambda peer: peer.datagrams_sent),
    PeerFigure(
        "antecede_datagrams_received", "Datagrams received.", lambda peer: peer.datagrams_received
    ),
    PeerFigure(
        "antecede_datagrams_duplicated",
        "Datagrams that came more than once.",
        lambda peer: peer.duplicates,
    ),
    PeerFigure("antecede_datagrams_lost", "Datagrams declared lost.", lambda peer: peer.lost),
    PeerFigure(
        "antecede_datagrams_lost_spuriously",
        "Datagrams declared lost that had arrived.",
        lambda peer: peer.spurious,
    ),
    PeerFigure(
        "antecede_copies_retransmitted",
        "Copies of messages transmitted again.",
        lambda peer: peer.retransmitted,
    ),
)

PEER_GAUGES: Final = (
    PeerFigure(
        "antecede_peer_undelivered_messages",
        "Messages for the peer that it has not acknowledged.",
        lambda peer: peer.undelivered,
    ),
    PeerFigure(
        "antecede_peer_round_trip_seconds",
        "The smoothed time to the peer and back.",
        lambda peer: peer.round_trip_ns / 1e9,
    ),
    PeerFigure(
        "antecede_peer_congestion_window_bytes",
        "Bytes that may be on the way to the peer.",
        lambda peer: peer.window,
    ),
    PeerFigure(
        "antecede_peer_in_flight_bytes",
        "Bytes on the way to the peer.",
        lambda peer: peer.in_flight,
    ),
    PeerFigure("antecede_peer_met", "1 if the peer has answered.", lambda peer: peer.met),
    PeerFigure("antecede_peer_silent", "1 if the peer is silent.", lambda peer: peer.silent),
)


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
        for figure in NODE_COUNTERS:
            yield self._of_node(core.CounterMetricFamily, figure, stats)
        for figure in NODE_GAUGES:
            yield self._of_node(core.GaugeMetricFamily, figure, stats)
        well = NodeFigure(
            "antecede_healthy", "1 if the node can do its work.", lambda _: float(bool(health))
        )
        yield self._of_node(core.GaugeMetricFamily, well, stats)
        if self._per_peer:
            for peer_figure in PEER_COUNTERS:
                yield self._of_peers(core.CounterMetricFamily, peer_figure, stats)
            for peer_figure in PEER_GAUGES:
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
        labels = {"messaging_system": SYSTEM, "messaging_client_id": stats.name}
        if figure.operation is not None:
            labels["messaging_operation_name"] = figure.operation
        metric = family(figure.name, figure.meaning, labels=list(labels))
        metric.add_metric(list(labels.values()), figure.read(stats))
        return metric

    def _of_peers(self, family: MetricFamily, figure: PeerFigure, stats: Stats) -> MetricFamily:
        names = ["messaging_system", "messaging_client_id", "peer"]
        metric = family(figure.name, figure.meaning, labels=names)
        for peer in stats.peers:
            metric.add_metric([SYSTEM, stats.name, peer.name], float(figure.read(peer)))
        return metric


class MetricsServer:
    """Answers `/metrics` and `/healthz`; as a context it stops at the end."""

    def __init__(self, node: Watched, *, per_peer: bool) -> None:
        self._node = node
        self._client = load("prometheus_client")
        self._registry = self._client.CollectorRegistry()
        self._registry.register(NodeCollector(node, per_peer=per_peer))
        self._server: asyncio.Server | None = None
        self._asking: dict[asyncio.Task[object], asyncio.StreamWriter] = {}

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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one response, and good-bye."""
        task = asyncio.current_task()
        assert task is not None, "a server answers in tasks"
        self._asking[task] = writer
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            log.debug("a request for metrics made no sense: %s", error)
        finally:
            writer.close()
            del self._asking[task]

    def _response(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return response(405, "text/plain", b"only GET\n", {"Allow": "GET, HEAD"})
        if path == b"/metrics":
            body = self._client.generate_latest(self._registry)
            answer = response(200, self._client.CONTENT_TYPE_LATEST, body)
        elif path == b"/healthz":
            health = self._node.health()
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
    said = {"status": health.status, "problems": health.problems, "warnings": health.warnings}
    return json.dumps(said).encode() + b"\n"


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
