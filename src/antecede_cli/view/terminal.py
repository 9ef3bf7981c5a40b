"""A cluster in a terminal: a table of nodes, who waits for whom, what has happened; keys to move.

`Screen` knows what is looked at and how it is sorted, and answers with what is to be shown; it has
no terminal. `watch_in_terminal` joins it with one.
"""

import asyncio
import os
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from antecede.units import counted
from antecede_cli.console import Console
from antecede_cli.view.cluster import STATUSES, Object, cluster_object, node_object
from antecede_cli.view.collector import Collector
from antecede_cli.view.watched import FIGURES

BARS: Final = "▁▂▃▄▅▆▇█"
SIGNS: Final = {
    "failing": ("✗", "bold red"),
    "unreachable": ("✗", "bold red"),
    "blocked": ("■", "bold yellow"),
    "degraded": ("◐", "yellow"),
    "ok": ("●", "green"),
    "unknown": ("?", "dim"),
    "away": ("○", "dim"),
}
"""How a status is told apart, also without colours."""

COLUMNS: Final = (
    # What it is called, how it is headed, and from which width of a terminal on it is shown.
    ("name", "node", 0),
    ("status", "status", 0),
    ("since_s", "for", 60),
    ("sent", "sent/s", 70),
    ("delivered", "dlvd/s", 0),
    ("buffered", "unacked", 80),
    ("inbox", "unread", 90),
    ("held_back", "held", 0),
    ("round_trip", "rtt ms", 100),
    ("lost", "lost/s", 110),
    ("peers", "here/all", 76),
    ("rooms", "rooms", 120),
)
SORTS: Final = (
    "name",
    "status",
    "sent",
    "delivered",
    "buffered",
    "inbox",
    "held_back",
    "round_trip",
)
"""By what nodes can be sorted; `s` takes the next."""

STATUS_WIDTH: Final = 13
WAITS_WIDTH: Final = 12
NAME_WIDTH: Final = 40
"""A name has 40 columns at most, or what the others leave."""

WORDS: Final = ("name", "status")
PLAIN_WIDTH: Final = 140
WAITS_SHOWN: Final = 6
ROOMS_SHOWN: Final = 5
HELP: Final = "s sort  r reverse  / filter  ↑↓ select  ⏎ look into  esc back  q quit"

UP, DOWN, ENTER, ESCAPE, BACKSPACE = "up", "down", "enter", "escape", "backspace"
KEYS: Final = {
    "\x1b[A": UP,
    "\x1bOA": UP,
    "\x1b[B": DOWN,
    "\x1bOB": DOWN,
    "\x1b[C": ENTER,
    "\x1b[D": ESCAPE,
    "\r": ENTER,
    "\n": ENTER,
    "\x1b": ESCAPE,
    "\x7f": BACKSPACE,
    "\x08": BACKSPACE,
}
FILTER_MAX: Final = 64


class Screen:
    """What of a cluster is looked at."""

    def __init__(self) -> None:
        self.sort = "name"
        self.reverse = False
        self.filter = ""
        self.typing = False
        """Whether keys go into the filter."""
        self.selected = ""
        """The name of the node that is chosen."""
        self.node = ""
        """The node that is looked into; empty: all are looked at."""

    def on_key(self, key: str, names: Sequence[str]) -> bool:
        """A key was pressed, while these were listed; False if that is the end."""
        if self.typing:
            self._type(key)
        elif key == "q":
            return False
        elif key in (ESCAPE, BACKSPACE):
            self._back()
        elif key == ENTER:
            self.node = self.node or self.chosen(names)
        elif key in (UP, "k", DOWN, "j"):
            self._move(-1 if key in (UP, "k") else 1, names)
        elif key == "s":
            self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        elif key == "r":
            self.reverse = not self.reverse
        elif key == "/":
            self.typing, self.node = True, ""
        return True

    def _type(self, key: str) -> None:
        if key in (ENTER, ESCAPE):
            self.typing = False
            self.filter = self.filter if key == ENTER else ""
        elif key == BACKSPACE:
            self.filter = self.filter[:-1]
        elif len(key) == 1 and key.isprintable():
            self.filter = (self.filter + key)[:FILTER_MAX]

    def _back(self) -> None:
        """Out of the node, or else out of the filter."""
        if self.node:
            self.node = ""
        else:
            self.filter = ""

    def _move(self, by: int, names: Sequence[str]) -> None:
        if names:
            at = names.index(self.chosen(names)) + by
            self.selected = names[min(max(at, 0), len(names) - 1)]
            if self.node:
                self.node = self.selected

    def chosen(self, names: Sequence[str]) -> str:
        """Who is chosen of these."""
        return self.selected if self.selected in names else names[0] if names else ""

    def lines_of(self, cluster: Object) -> list[Object]:
        """The nodes that pass the filter, in order."""
        wanted = self.filter.lower()
        found = [
            one
            for one in cluster["nodes"]
            if wanted in one["name"].lower() or (wanted and one["status"].startswith(wanted))
        ]
        if self.sort == "status":
            found.sort(key=lambda one: STATUSES.index(one["status"]))
        elif self.sort not in WORDS:
            found.sort(key=lambda one: -one[self.sort])
        return found[::-1] if self.reverse else found

    # What is shown.

    def render(self, cluster: Object, detail: Object | None, width: int, height: int) -> Group:
        """The whole screen."""
        text = Text(HELP, style="dim", no_wrap=True, overflow="ellipsis")
        if self.typing:
            text = Text(f"/{self.filter}▏", style="bold")
        parts: list[RenderableType] = [self._title(cluster), text]
        if self.node:
            parts += node_parts(self.node, detail)
        else:
            parts += self._overview(cluster, width, height)
        return Group(*parts)

    def _title(self, cluster: Object) -> Text:
        """How many there are of each status."""
        text = Text("antecede ", style="bold", no_wrap=True, overflow="ellipsis")
        for status, count in cluster["counts"].items():
            if count:
                text.append(f" {SIGNS[status][0]} {count} {status} ", style=SIGNS[status][1])
        delivered = cluster["total"]["delivered"]
        text.append(f"  {figure_text(last(delivered))} delivered/s ", style="default")
        text.append(sparkline(delivered[-30:]), style="cyan")
        if self.filter and not self.typing:
            text.append(f"  filter {self.filter!r}", style="bold")
        text.append(f"  by {self.sort}{' reversed' if self.reverse else ''}", style="dim")
        return text

    def _overview(self, cluster: Object, width: int, height: int) -> list[RenderableType]:
        """All nodes, who waits, and what has happened, as far as there is room."""
        nodes = self.lines_of(cluster)
        waits = wait_lines(cluster)[: WAITS_SHOWN + 1]
        waits += room_lines(cluster["rooms"])[:ROOMS_SHOWN]
        lately = happening_lines(cluster["happenings"])
        parts: list[RenderableType] = []
        if cluster["source_failure"]:
            parts.append(
                Text(f"who there is is not known: {cluster['source_failure']}", "bold red")
            )
        room = height - 4 - len(parts) - len(waits)
        shown = max(3, min(len(nodes), room - min(len(lately), 6) - 1))
        names = [one["name"] for one in nodes]
        at = names.index(self.chosen(names)) if names else 0
        first = max(0, min(at - shown // 2, len(nodes) - shown))
        parts.append(nodes_table(nodes[first : first + shown], width, self.chosen(names)))
        if shown < len(nodes):
            parts.append(Text(f"{first + 1} to {first + shown} of {len(nodes)}", style="dim"))
            room -= 1
        if waits:
            parts += waits
        left = room - shown - 2
        if lately and left > 0:
            parts += [Text("lately", style="bold underline"), *lately[:left]]
        return parts


def nodes_table(nodes: Sequence[Object], width: int, chosen: str = "") -> Table:
    """A line for each node."""
    table = Table(box=None, header_style="bold", expand=False, pad_edge=False)
    columns = [(name, head) for name, head, least in COLUMNS if width >= least]
    others = sum(
        2 + max(len(head), STATUS_WIDTH if name == "status" else 5) for name, head in columns
    )
    widest = min(max(width - others - WAITS_WIDTH, 8), NAME_WIDTH)
    for name, head in columns:
        left = name in WORDS
        table.add_column(
            head,
            justify="left" if left else "right",
            no_wrap=True,
            overflow="ellipsis",
            max_width=widest if name == "name" else None,
        )
    table.add_column("waits for", no_wrap=True, overflow="ellipsis")
    for one in nodes:
        cells = [cell_of(one, name) for name, _ in columns]
        waits = Text(", ".join(one["waits_for"]), style="yellow")
        table.add_row(*cells, waits, style="reverse" if one["name"] == chosen else "")
    return table


def cell_of(one: Object, column: str) -> Text:
    """What stands in one column of a node."""
    sign, style = SIGNS[one["status"]]
    if column == "name":
        return Text(one["name"])
    if column == "status":
        return Text(f"{sign} {one['status']}", style=style)
    if column == "since_s":
        return Text(span_text(one["since_s"]))
    if column == "peers":
        counts = one["peers"]
        known = sum(counts.values())
        return Text(f"{counts['here']}/{known}" if known else "")
    if one["status"] in ("unreachable", "unknown", "away"):
        return Text("")
    bad = column == "held_back" and one[column]
    return Text(figure_text(one[column]), style="bold yellow" if bad else "")


def wait_lines(cluster: Object) -> list[Text]:
    """Who waits for whom, those first who do not answer."""
    waits = sorted(cluster["waits"], key=lambda one: (not one["why"], -one["messages"]))
    lines = [Text("who waits for whom", style="bold underline")] if waits else []
    for one in waits:
        text = Text("  ", no_wrap=True, overflow="ellipsis")
        text.append(one["from"], style="yellow")
        text.append(" → ")
        text.append(one["to"], style="bold red" if one["why"] else "yellow")
        if one["why"]:
            text.append(f" ({one['why']})", style="red")
        if one["messages"]:
            text.append(f"  {counted(one['messages'], 'message')} held back", style="dim")
        lines.append(text)
    return lines


def room_lines(rooms: Sequence[Object]) -> list[Text]:
    """The rooms, and who is in them."""
    lines = [Text("rooms", style="bold underline")] if rooms else []
    for one in rooms:
        text = Text(f"  {one['name']}", no_wrap=True, overflow="ellipsis")
        text.append(f"  {counted(len(one['members']), 'member')}: ", style="dim")
        text.append(", ".join(one["members"]))
        lines.append(text)
    return lines


def happening_lines(happenings: Sequence[Object]) -> list[Text]:
    """What has happened, and who has seen it."""
    lines = []
    for one in happenings:
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{span_text(one['ago_s']):>6} ago  ", style="dim")
        text.append(one["text"])
        seen = [name for name in one["nodes"] if name != one["peer"]]
        if seen:
            more = f" and {len(seen) - 2} more" if len(seen) > 2 else ""
            text.append(f"  ({', '.join(seen[:2])}{more})", style="dim")
        lines.append(text)
    return lines


def node_parts(name: str, detail: Object | None) -> list[RenderableType]:
    """Everything about one node."""
    if detail is None:
        return [Text(f"nobody knows {name} any more")]
    sign, style = SIGNS[detail["status"]]
    head = Text(no_wrap=True, overflow="ellipsis")
    head.append(name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…", style="bold")
    head.append(f"  {sign} {detail['status']} for {span_text(detail['since_s'])}", style=style)
    head.append(f"  {detail['place']}  version {detail['version'] or 'unknown'}", style="dim")
    parts: list[RenderableType] = [head, *(Text(f"  {one}") for one in detail["reasons"])]
    said = ", ".join(f"{who}: {state}" for who, state in detail["seen_by"].items())
    if said:
        parts.append(Text(f"  seen by {said}", style="dim", no_wrap=True, overflow="ellipsis"))
    figures = Table(box=None, show_header=False, pad_edge=False)
    for figure, values in detail.get("history", {}).items():
        title, unit = FIGURES[figure].title, FIGURES[figure].unit
        figures.add_row(
            f"  {title}",
            Text(figure_text(last(values)), justify="right"),
            Text(unit, style="dim"),
            Text(sparkline(values[-40:]), style="cyan"),
        )
    parts.append(figures)
    if detail.get("rooms"):
        parts.append(Text(f"  in the rooms {', '.join(detail['rooms'])}"))
    parts += [Text(f"  {line}") for line in detail.get("text", [])[:10]]
    if detail.get("peer_list"):
        parts.append(peers_table(detail["peer_list"]))
    parts += happening_lines(detail["happenings"])[:8]
    return parts


def peers_table(peers: Sequence[Object]) -> Table:
    """A line for each peer of a node."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("  peer", no_wrap=True, overflow="ellipsis")
    table.add_column("state")
    for head in ("unacked", "held", "rtt ms", "sent", "received", "lost"):
        table.add_column(head, justify="right")
    for one in sorted(peers, key=lambda one: (one["state"] == "here", one["name"]))[:20]:
        style = {"here": "green", "silent": "bold red", "new": "yellow"}.get(one["state"], "dim")
        keys = ("undelivered", "held_back", "round_trip", "sent", "received", "lost")
        cells = [figure_text(one[key]) for key in keys]
        table.add_row(Text(f"  {one['name']}"), Text(one["state"], style=style), *cells)
    return table


# Words and numbers.


def last(values: Sequence[float]) -> float:
    """The last of them."""
    return values[-1] if values else 0.0


def figure_text(value: float) -> str:
    """A number in a column."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"


def span_text(seconds: float) -> str:
    """A span of time, short."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def sparkline(values: Sequence[float]) -> str:
    """Numbers as bars."""
    most = max(values, default=0)
    if most <= 0:
        return BARS[0] * len(values)
    return "".join(BARS[min(7, int(value / most * 7.99))] for value in values)


# The terminal.


@contextmanager
def keys_at_once(descriptor: int) -> Iterator[None]:
    """Let keys be read one by one, unseen."""
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(typed: str) -> list[str]:
    """The keys in what has come from a terminal."""
    keys: list[str] = []
    while typed:
        code = next(
            (code for code in sorted(KEYS, key=len, reverse=True) if typed.startswith(code)), ""
        )
        keys.append(KEYS[code] if code else typed[0])
        typed = typed[len(code) or 1 :]
    return keys


def watch_in_terminal(collector: Collector) -> None:
    """Show the cluster until somebody presses q."""
    asyncio.run(keep_showing(collector))


async def keep_showing(collector: Collector) -> None:
    """The same, in a loop that runs."""
    loop = asyncio.get_running_loop()
    console, screen, ended = Console(), Screen(), asyncio.Event()
    descriptor = sys.stdin.fileno()

    def cluster() -> Object:
        return cluster_object(collector, time.time())

    with keys_at_once(descriptor), Live(console=console, screen=True, auto_refresh=False) as live:

        def draw() -> None:
            detail = node_object(collector, screen.node, time.time()) if screen.node else None
            size = console.size
            live.update(screen.render(cluster(), detail, size.width, size.height), refresh=True)

        def on_typed() -> None:
            for key in read_keys(os.read(descriptor, 1024).decode(errors="ignore")):
                names = [one["name"] for one in screen.lines_of(cluster())]
                if not screen.on_key(key, names):
                    ended.set()
            draw()

        loop.add_reader(descriptor, on_typed)
        loop.add_signal_handler(signal.SIGWINCH, draw)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        watching = loop.create_task(collector.run(draw))
        ending = loop.create_task(ended.wait())
        try:
            await asyncio.wait([watching, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(descriptor)
            watching.cancel()
            ending.cancel()
        if watching.done() and not watching.cancelled():
            watching.result()


def print_once(cluster: Object, node: Object | None, name: str) -> None:
    """What is to be seen now, as plain lines."""
    console: Any = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH)
    if name:
        console.print(*node_parts(name, node), sep="\n")
        return
    screen = Screen()
    console.print(screen._title(cluster), nodes_table(cluster["nodes"], console.width), sep="\n")
    for line in [
        *wait_lines(cluster),
        *room_lines(cluster["rooms"]),
        *happening_lines(cluster["happenings"])[:20],
    ]:
        console.print(line)
