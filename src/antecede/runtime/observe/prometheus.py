"""A node's figures for Prometheus.

The fields of `Stats`, `PeerStats`, `JournalStats` and `Health` say which metrics there are. They
are read when somebody asks, so that messages cost nothing.

The histograms of durations in OpenTelemetry's conventions are not offered: they would have to look
at the clock twice for every message. The event log has every latency, and more of it.
"""

import asyncio
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Protocol, TypeAlias

from antecede.former_names import moved
from antecede.runtime.errors import MissingExtra
from antecede.runtime.notifier import yield_to_loop
from antecede.runtime.observe.explain import Explanation
from antecede.runtime.observe.metric import Figure, Metric, figures_of
from antecede.runtime.observe.stats import Health, JournalStats, PeerStats, Stats

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


SYSTEM: Final = "antecede"

NODE_FIGURES: Final = figures_of(Stats)
JOURNAL_FIGURES: Final = figures_of(JournalStats)
HEALTH_FIGURES: Final = figures_of(Health)
PEER_FIGURES: Final = figures_of(PeerStats)

Sample: TypeAlias = tuple[Metric, dict[str, str], float]


def node_samples(stats: Stats, health: Health) -> Iterator[Sample]:
    """Every metric of a node with its labels and its value, as things stand."""
    common = {"messaging_client_id": stats.name, "messaging_system": SYSTEM}
    for figures, source in (
        (NODE_FIGURES, stats),
        (JOURNAL_FIGURES, stats.journal),
        (HEALTH_FIGURES, health),
    ):
        for figure in figures:
            metric = figure.metric
            for word, value in figure.values(source):
                further = {metric.label: word} if metric.label else {}
                if metric.operation:
                    further["messaging_operation_name"] = metric.operation
                yield metric, common | further, value


# As text.


async def exposition(node: MetricsSource, per_peer: bool) -> bytes:
    """Everything that there is to tell, in the text format of Prometheus."""
    stats = await node.stats_in_turns()
    lines: list[str] = []
    for metric, found in groupby(node_samples(stats, node.health(stats)), itemgetter(0)):
        lines += heading(metric)
        name = metric.written_name
        lines += [f"{name}{{{written(labels)}}} {value!r}" for _, labels, value in found]
    for figure in PEER_FIGURES if per_peer else ():
        await add_peer_lines(lines, figure, stats)
    return ("\n".join(lines) + "\n").encode()


async def add_peer_lines(lines: list[str], figure: Figure, stats: Stats) -> None:
    """Append one metric of every peer."""
    lines += heading(figure.metric)
    name = figure.metric.written_name
    labels = written({"messaging_client_id": stats.name, "messaging_system": SYSTEM})
    for start in range(0, len(stats.peers), LINES_PER_TURN):
        for peer in stats.peers[start : start + LINES_PER_TURN]:
            series = f'{name}{{{labels},peer="{escaped(peer.name)}"}}'
            lines.append(f"{series} {figure.value(peer)!r}")
        await yield_to_loop()


def heading(metric: Metric) -> list[str]:
    """What stands before the values of a metric."""
    name = metric.written_name
    return [f"# HELP {name} {metric.meaning}", f"# TYPE {name} {metric.kind}"]


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
        self._families = {"counter": core.CounterMetricFamily, "gauge": core.GaugeMetricFamily}

    def describe(self) -> Iterable[MetricFamily]:
        """Nothing beforehand: so the registry need not collect in order to know the names."""
        return []

    def collect(self) -> Iterator[MetricFamily]:
        """Every figure as it stands now."""
        stats, health = self._read()
        for metric, found in groupby(node_samples(stats, health), itemgetter(0)):
            samples = list(found)
            family = self._family(metric, list(samples[0][1]))
            for _, labels, value in samples:
                family.add_metric(list(labels.values()), value)
            yield family
        names = ["messaging_system", "messaging_client_id", "peer"]
        for figure in PEER_FIGURES if self._per_peer else ():
            family = self._family(figure.metric, names)
            for peer in stats.peers:
                family.add_metric([SYSTEM, stats.name, peer.name], figure.value(peer))
            yield family

    def _family(self, metric: Metric, labels: list[str]) -> MetricFamily:
        return self._families[metric.kind](metric.name, metric.meaning, labels=labels)

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
