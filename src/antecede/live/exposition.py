"""A node's figures as Prometheus reads them, written without holding up the node.

A node with a thousand peers has twelve thousand lines to tell. They are written some at a time,
with turns of the loop between: how long the loop is held up does not depend on the peers.
"""

from typing import Final, Protocol

from antecede.live import figures
from antecede.live.figures import NodeFigure, PeerFigure
from antecede.live.stats import Health, Stats
from antecede.live.waiting import one_turn

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
LINES_PER_TURN: Final = 256


class Watched(Protocol):
    """What has figures and a state of health: a node."""

    def stats(self) -> Stats:
        """How things stand."""

    async def stats_in_turns(self) -> Stats:
        """The same, without holding up the loop."""

    def health(self, stats: Stats | None = None) -> Health:
        """Whether it can do its work, going by these figures if there are some."""


async def exposition(node: Watched, per_peer: bool) -> bytes:
    """Everything that there is to tell, in the text format of Prometheus."""
    stats = await node.stats_in_turns()
    health = node.health(stats)
    lines: list[str] = []
    for figure in figures.NODE_COUNTERS:
        lines += node_lines(figure, f"{figure.name}_total", "counter", stats)
    for figure in figures.NODE_GAUGES:
        lines += node_lines(figure, figure.name, "gauge", stats)
    well = NodeFigure(*figures.HEALTHY, lambda _: float(bool(health)))
    lines += node_lines(well, well.name, "gauge", stats)
    if per_peer:
        for peer_figure in figures.PEER_COUNTERS:
            await add_peer_lines(lines, peer_figure, f"{peer_figure.name}_total", "counter", stats)
        for peer_figure in figures.PEER_GAUGES:
            await add_peer_lines(lines, peer_figure, peer_figure.name, "gauge", stats)
    return ("\n".join(lines) + "\n").encode()


def node_lines(figure: NodeFigure, name: str, kind: str, stats: Stats) -> list[str]:
    """One figure of the node: what it is, and how it stands."""
    operation = figure.operation
    said = "" if operation is None else f'messaging_operation_name="{operation}",'
    labels = (
        f'messaging_client_id="{escaped(stats.name)}",{said}messaging_system="{figures.SYSTEM}"'
    )
    return [
        *heading(figure.meaning, name, kind),
        f"{name}{{{labels}}} {float(figure.read(stats))!r}",
    ]


async def add_peer_lines(
    lines: list[str], figure: PeerFigure, name: str, kind: str, stats: Stats
) -> None:
    """Append one figure of every peer."""
    lines += heading(figure.meaning, name, kind)
    labels = f'messaging_client_id="{escaped(stats.name)}",messaging_system="{figures.SYSTEM}"'
    for start in range(0, len(stats.peers), LINES_PER_TURN):
        for peer in stats.peers[start : start + LINES_PER_TURN]:
            value = float(figure.read(peer))
            lines.append(f'{name}{{{labels},peer="{escaped(peer.name)}"}} {value!r}')
        await one_turn()


def heading(meaning: str, name: str, kind: str) -> list[str]:
    """What stands before the values of a figure."""
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def escaped(text: str) -> str:
    """The value of a label."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
