"""A node's figures for Prometheus.

Every figure stands here with its name and meaning. Where OpenTelemetry's conventions for messaging
have a name for one, it is used as Prometheus spells it (dots become underscores, a counter ends in
`_total`); all others begin with `antecede_`. `NodeCollector` reads `node.stats()` when somebody
asks, so that messages cost nothing.

The conventions' histograms of durations are not offered: they would have to look at the clock twice
for every message. The event log has every latency, and more of it.
"""

import asyncio
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from antecede.former_names import moved
from antecede.runtime.errors import MissingExtra
from antecede.runtime.notifier import yield_to_loop
from antecede.runtime.observe.explain import Explanation
from antecede.runtime.observe.stats import Health, PeerStats, Stats

SCRAPE_SECONDS_MAX: Final = 10.0
LINES_PER_TURN: Final = 256

MetricFamily: TypeAlias = Any
"""prometheus_client is loaded only when metrics are wanted, and may not be installed."""


class MetricsSource(Protocol):
    """What has figures and a state of health: a node."""

    def stats(self) -> Stats:
        """How things stand."""

    async def stats_in_turns(self) -> Stats:
        """The same, without holding up the loop."""

    def explain(self) -> Explanation:
        """Why is something waiting?"""

    def health(self, stats: Stats | None = None) -> Health:
        """Whether it can do its work, going by these figures if there are some."""


# The figures.

SYSTEM: Final = "antecede"
COUNTER: Final = "counter"
GAUGE: Final = "gauge"

OPERATIONS: Final = {
    "messaging_client_sent_messages": "send",
    "messaging_client_consumed_messages": "receive",
}
"""For names of OpenTelemetry's: which operation of the messaging client is counted."""


class Metric(NamedTuple):
    """Something to tell about a node, or about every peer of it."""

    kind: str
    name: str
    attribute: str
    """Where the statistics have it."""
    meaning: str

    @property
    def told(self) -> str:
        """Its name in the text format of Prometheus."""
        return f"{self.name}_total" if self.kind == COUNTER else self.name

    def read(self, of: Stats | PeerStats) -> float:
        """Its value; of several things their number, and times in seconds."""
        found = attrgetter(self.attribute)(of)
        if isinstance(found, tuple):
            return float(len(found))
        return found / 1e9 if self.attribute.endswith("_ns") else float(found)


def figures_of(kind: str, *rows: tuple[str, str, str]) -> tuple[Metric, ...]:
    """Figures of one kind: name, attribute, meaning."""
    return tuple(Metric(kind, *row) for row in rows)


NODE_COUNTERS: Final = figures_of(
    COUNTER,
    ("messaging_client_sent_messages", "messages_sent", "Messages the application has sent."),
    (
        "messaging_client_consumed_messages",
        "messages_received",
        "Messages delivered to the application.",
    ),
    (
        "antecede_copies_sent",
        "copies_sent",
        "Copies of messages, large ones by parts, one for each target.",
    ),
    ("antecede_undeliverable", "undeliverable", "Copies given up because their target is gone."),
    (
        "antecede_left_out",
        "left_out",
        "Copies of messages that were not sent, as their targets were away.",
    ),
    ("antecede_expulsions", "expulsions", "Peers that were expelled, by whomever."),
    (
        "antecede_payloads_too_large",
        "too_large",
        "Payloads of peers beyond the limit, which were not handed over.",
    ),
    ("antecede_handler_failures", "handler_failures", "Messages whose handler has raised."),
    (
        "antecede_callback_failures",
        "callback_failures",
        "Calls of other application code that have raised: listeners, policies, sources.",
    ),
    (
        "antecede_datagrams_unsendable",
        "unsendable",
        "Datagrams that the operating system would not send.",
    ),
    (
        "antecede_datagrams_crowded_out",
        "crowded_out",
        "Datagrams dropped unread: their sender sent more than its share.",
    ),
    ("antecede_datagrams_malformed", "malformed", "Datagrams that no correct peer sends."),
    ("antecede_datagrams_stale", "stale", "Datagrams of, or for, an incarnation that is no more."),
    (
        "antecede_greetings_refused",
        "refused",
        "Greetings of nodes that may not, or cannot, take part.",
    ),
    ("antecede_journal_commits", "journal.commits", "Writes to the journal."),
    ("antecede_journal_written_bytes", "journal.written_bytes", "Bytes written to the journal."),
    (
        "antecede_journal_write_seconds",
        "journal.write_seconds",
        "Time that writes to the journal took, synced if that is wanted.",
    ),
)

NODE_GAUGES: Final = figures_of(
    GAUGE,
    (
        "antecede_buffered_messages",
        "buffered",
        "Messages accepted and not yet acknowledged by all targets.",
    ),
    (
        "antecede_buffered_parts",
        "buffered_parts",
        "The same, but a large message counts as its parts.",
    ),
    (
        "antecede_buffered_bytes",
        "buffered_bytes",
        "Payload bytes accepted and not yet acknowledged by all targets.",
    ),
    (
        "antecede_buffer_limit_parts",
        "buffer_limit",
        "Parts that may be buffered before send waits; a message that is not large is one.",
    ),
    (
        "antecede_buffer_limit_bytes",
        "buffer_limit_bytes",
        "Payload bytes that may be buffered before send waits.",
    ),
    (
        "antecede_held_back_messages",
        "held_back",
        "Messages held back because a permit is missing.",
    ),
    (
        "antecede_held_back_oldest_seconds",
        "held_back_ns",
        "How long ago the oldest message that is held back was sent.",
    ),
    ("antecede_inbox_messages", "inbox", "Messages delivered and not yet read by the application."),
    ("antecede_peers", "peers", "Peers known by name."),
    ("antecede_peers_met", "peers_met", "Peers that have answered."),
    ("antecede_peers_silent", "silent_peers", "Peers not heard for longer than allowed."),
    ("antecede_journal_bytes", "journal.size_bytes", "Bytes of the journal on disk."),
    ("antecede_journal_files", "journal.files", "Files that the journal has begun so far."),
    (
        "antecede_journal_waiting",
        "journal.waiting",
        "Groups of changes that are being written, or wait for that.",
    ),
    (
        "antecede_journal_unconfirmed_messages",
        "journal.unconfirmed",
        "Deliveries that would come again after a crash.",
    ),
    (
        "antecede_journal_accepting",
        "journal.accepting",
        "1 if there is room for more, or no journal.",
    ),
)

PEER_COUNTERS: Final = figures_of(
    COUNTER,
    ("antecede_datagrams_sent", "datagrams_sent", "Datagrams sent."),
    ("antecede_datagrams_received", "datagrams_received", "Datagrams received."),
    ("antecede_datagrams_duplicated", "duplicates", "Datagrams that came more than once."),
    ("antecede_datagrams_lost", "lost", "Datagrams declared lost."),
    ("antecede_datagrams_lost_spuriously", "spurious", "Datagrams declared lost that had arrived."),
    ("antecede_copies_retransmitted", "retransmitted", "Copies of messages transmitted again."),
)

PEER_GAUGES: Final = figures_of(
    GAUGE,
    (
        "antecede_peer_undelivered_messages",
        "undelivered",
        "Messages for the peer that it has not acknowledged.",
    ),
    (
        "antecede_peer_held_back_messages",
        "held_back",
        "Messages held back until the peer answers: this node, or whoever waits for it.",
    ),
    (
        "antecede_peer_held_back_oldest_seconds",
        "held_back_ns",
        "How long ago the oldest message that is held back because of the peer was sent.",
    ),
    (
        "antecede_peer_round_trip_seconds",
        "round_trip_ns",
        "The smoothed time to the peer and back.",
    ),
    (
        "antecede_peer_congestion_window_bytes",
        "window",
        "Bytes that may be on the way to the peer.",
    ),
    ("antecede_peer_in_flight_bytes", "in_flight", "Bytes on the way to the peer."),
    ("antecede_peer_met", "met", "1 if the peer has answered."),
    ("antecede_peer_silent", "silent", "1 if the peer is silent."),
)

HEALTHY: Final = Metric(GAUGE, "antecede_healthy", "", "1 if the node can do its work.")
READY: Final = Metric(
    GAUGE, "antecede_ready", "", "1 if besides nothing is blocked: nothing waits for who is silent."
)
PEERS_BY_STATE: Final = Metric(
    GAUGE, "antecede_peers_by_state", "", "Peers that are new, here, silent or away."
)


def node_figures(stats: Stats, health: Health) -> Iterator[tuple[Metric, dict[str, str], float]]:
    """Every figure of a node with its labels, as it stands."""
    common = {"messaging_client_id": stats.name, "messaging_system": SYSTEM}
    for figure in (*NODE_COUNTERS, *NODE_GAUGES):
        labels = common
        if figure.name in OPERATIONS:
            labels = common | {"messaging_operation_name": OPERATIONS[figure.name]}
        yield figure, labels, figure.read(stats)
    yield HEALTHY, common, float(bool(health))
    yield READY, common, float(health.is_ready)
    for state, count in stats.peers_by_state.items():
        yield PEERS_BY_STATE, common | {"state": state}, float(count)


# As text.


async def exposition(node: MetricsSource, per_peer: bool) -> bytes:
    """Everything that there is to tell, in the text format of Prometheus."""
    stats = await node.stats_in_turns()
    lines: list[str] = []
    for figure, found in groupby(node_figures(stats, node.health(stats)), itemgetter(0)):
        lines += heading(figure)
        lines += [f"{figure.told}{{{written(labels)}}} {value!r}" for _, labels, value in found]
    for figure in (*PEER_COUNTERS, *PEER_GAUGES) if per_peer else ():
        await add_peer_lines(lines, figure, stats)
    return ("\n".join(lines) + "\n").encode()


async def add_peer_lines(lines: list[str], figure: Metric, stats: Stats) -> None:
    """Append one figure of every peer."""
    lines += heading(figure)
    labels = written({"messaging_client_id": stats.name, "messaging_system": SYSTEM})
    for start in range(0, len(stats.peers), LINES_PER_TURN):
        for peer in stats.peers[start : start + LINES_PER_TURN]:
            series = f'{figure.told}{{{labels},peer="{escaped(peer.name)}"}}'
            lines.append(f"{series} {figure.read(peer)!r}")
        await yield_to_loop()


def heading(figure: Metric) -> list[str]:
    """What stands before the values of a figure."""
    return [f"# HELP {figure.told} {figure.meaning}", f"# TYPE {figure.told} {figure.kind}"]


def written(labels: dict[str, str]) -> str:
    """Labels and their values."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in sorted(labels.items()))


def escaped(text: str) -> str:
    """The value of a label."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


# For a registry.


class NodeCollector:
    """Tells a Prometheus registry how things stand; make it in the loop of the node.

    Any thread may collect: the figures are read in the node's own.
    """

    def __init__(self, node: MetricsSource, *, per_peer: bool = True) -> None:
        self._node = node
        self._per_peer = per_peer
        self._loop = asyncio.get_running_loop()
        try:
            core: Any = import_module("prometheus_client.core")
        except ImportError as error:
            raise MissingExtra("prometheus_client") from error
        self._families = {COUNTER: core.CounterMetricFamily, GAUGE: core.GaugeMetricFamily}

    def describe(self) -> Iterable[MetricFamily]:
        """Nothing beforehand: so the registry need not collect in order to know the names."""
        return []

    def collect(self) -> Iterator[MetricFamily]:
        """Every figure as it stands now."""
        stats, health = self._read()
        for figure, found in groupby(node_figures(stats, health), itemgetter(0)):
            values = list(found)
            named = list(values[0][1])
            metric = self._families[figure.kind](figure.name, figure.meaning, labels=named)
            for _, labels, value in values:
                metric.add_metric(list(labels.values()), value)
            yield metric
        names = ["messaging_system", "messaging_client_id", "peer"]
        for figure in (*PEER_COUNTERS, *PEER_GAUGES) if self._per_peer else ():
            metric = self._families[figure.kind](figure.name, figure.meaning, labels=names)
            for peer in stats.peers:
                metric.add_metric([SYSTEM, stats.name, peer.name], figure.read(peer))
            yield metric

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


# What stood here, for one release.

HOMES: Final = {
    "NodeHttpServer": "antecede.runtime.observe.http_server",
    "serve_metrics": "antecede.runtime.observe.http_server",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    return moved(__name__, HOMES, name)
