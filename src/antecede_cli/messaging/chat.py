"""`antecede chat`: causal order as people see it."""

import os
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import click
from rich.table import Table
from rich.text import Text

from antecede.network_model.faults import Faults
from antecede.network_model.latency import Latency
from antecede.runtime.config.settings import gather_settings
from antecede.runtime.errors import TraceFailed
from antecede_cli.console import Console
from antecede_cli.messaging.chat_session import (
    BAD_FAULTS,
    DEMO_FAULTS,
    PEOPLE,
    Line,
    Shown,
    run_chat,
    run_demo,
)
from antecede_cli.options import SHARE, HumanNumber, option_with_default
from antecede_cli.output import Failed
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.networks import NETWORKS, build_network, parse_latency

COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_cyan", "bright_green")
NETWORK_NAMES: Final = ("real", "bad", *NETWORKS)
TIME_COLUMNS: Final = 7
PAUSE_SECONDS_MAX: Final = 2.0
"""Longer pauses of the demonstration are cut short."""

EXAMPLES: Final = """\b
Examples:
  antecede chat --demo                       three people in one terminal, on a bad network
  antecede chat --demo --order none          the same people and network, without causal order
  antecede chat --name alice --bind 127.0.0.1:9001 --peer bob=127.0.0.1:9002
  antecede chat --name bob --bind 127.0.0.1:9002 --peer alice=127.0.0.1:9001 --network bad
"""


@click.command(epilog=EXAMPLES)
@click.option("--demo", is_flag=True, help="Watch three scripted people instead of taking part.")
@click.option("--name", help="What you are called.")
@click.option("--bind", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:0]")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="NAME=HOST:PORT",
    help="Somebody else, and where; may be repeated. Others may come by themselves.",
)
@click.option(
    "--cluster-key",
    metavar="FILE",
    help="One secret key for all (antecede key new FILE); required beyond this machine.",
)
@click.option("--insecure", is_flag=True, help="Chat beyond this machine without any key.")
@click.option(
    "--order",
    type=click.Choice(["causal", "hybrid", "hybrid-sps", "hybrid-csps", "fifo", "none"]),
    help="The protocol; all must use the same. Those called hybrid are causal, too, and hybrid is "
    "the same as causal.  [default: causal]",
)
@click.option(
    "--network",
    type=click.Choice(NETWORK_NAMES),
    help="What happens to what leaves here; real: nothing.  "
    "[default: real; with --demo: lossy, and slow from alice to carol]",
)
@click.option(
    "--latency",
    type=HumanNumber("latency", parse_latency),
    help="Another delay for it, such as uniform:10ms:3s.",
)
@click.option("--loss", type=SHARE, help="Another share of datagrams lost.")
@option_with_default("--seed", default=1, help="Chooses what the network does.")
@click.option("--trace", metavar="DIR", help="Write the event log there; not with --demo.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0),
    help="With --demo: how fast; 0 does not wait at all.  [default: 1 on a terminal, else 0]",
)
def command(
    demo: bool,
    name: str | None,
    bind: str | None,
    peers: tuple[str, ...],
    cluster_key: str | None,
    insecure: bool,
    order: str | None,
    network: str | None,
    latency: Latency | None,
    loss: float | None,
    seed: int,
    trace: str | None,
    speed: float | None,
) -> None:
    """Chat in a group: no answer ever appears before what it answers.

    Every line says which line its writer had seen last. One that comes before that is marked; in
    causal order there are none, however much the network delays, loses and repeats. `--order none`
    shows the same network without it.
    """
    console = Console(highlight=False)
    faults = chosen_faults(DEMO_FAULTS if demo else None, network, latency, loss)
    if demo:
        if name or bind or peers or trace:
            raise click.UsageError(
                "--demo brings its own people: no --name, --bind, --peer, --trace"
            )
        if speed is None:
            speed = 1.0 if console.is_terminal else 0.0
        shown_order = order or "causal"
        play(console, run_demo(shown_order, faults or Faults(), seed), shown_order, speed)
        return
    if name is None:
        raise click.UsageError("say who you are with --name, or watch with --demo")
    given = {"name": name, "bind": bind, "order": order, "trace": trace, "accept_unknown": True}
    given |= {"cluster_key": cluster_key, "insecure": insecure or None}
    settings = gather_settings(given | ({"peers": list(peers)} if peers else {}))
    if sys.stdin is None:
        raise click.UsageError("there is no input to read; watch with --demo")
    try:
        with keyboard() as descriptor:
            stranded = run_chat(settings, Terminal(console), descriptor, faults, seed)
    except TraceFailed as error:
        raise Failed(str(error)) from None
    if stranded:
        raise Failed(f"you left before {', '.join(stranded)} had everything")


def chosen_faults(
    base: Faults | None, network: str | None, latency: Latency | None, loss: float | None
) -> Faults | None:
    """What the network does: the named one, or else `base`, changed as asked; None: nothing."""
    if network == "bad":
        base = BAD_FAULTS
    elif network == "real":
        base = None
    elif network is not None:
        base = build_network(network)
    if latency is not None:
        base = replace(base or Faults(), latency=latency)
    if loss is not None:
        base = replace(base or Faults(), loss=loss)
    return base


class Palette:
    """Writes lines in colours, one for each person in the order of appearance."""

    def __init__(self) -> None:
        self._colours: dict[str, str] = {}

    def written(self, line: Line) -> Text:
        """A line as it stands on a screen, with what is wrong about it."""
        free = COLOURS[len(self._colours) % len(COLOURS)]
        colour = self._colours.setdefault(line.sender, free)
        text = Text.assemble((f"{plain(line.sender)}:", f"bold {colour}"), f" {plain(line.text)}")
        if line.missing is not None:
            missing = plain(line.missing[0])
            text.append(f" (too early: {missing}'s line is missing)", "bold red")
        return text


def plain(text: str) -> str:
    """What somebody else wrote as one line that has no power over the terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def play(console: Console, shown: Sequence[Shown], order: str, speed: float) -> None:
    """Show the screens of all three side by side, line by line."""
    palette = Palette()
    console.print(row(["", *(f"[bold underline]{person}'s screen[/]" for person in PEOPLE)]))
    before_ns = 0
    for event in shown:
        if speed > 0:
            pause = (event.time_ns - before_ns) / 1e9 / speed
            time.sleep(min(pause, PAUSE_SECONDS_MAX))
            before_ns = event.time_ns
        text = palette.written(event.line)
        cells = [text if event.screen == person else "" for person in PEOPLE]
        console.print(row([f"[dim]{event.time_ns / 1e9:.2f} s[/]", *cells]))
    console.print(verdict(shown, order))


def row(cells: Sequence[str | Text]) -> Table:
    """A row whose columns are as wide as those of all others."""
    table = Table.grid(expand=True, padding=(0, 2))
    table.add_column(width=TIME_COLUMNS, justify="right", no_wrap=True)
    for _ in PEOPLE:
        table.add_column(ratio=1)
    table.add_row(*cells)
    return table


def verdict(shown: Sequence[Shown], order: str) -> str:
    """What is to be seen in the demonstration."""
    early = sum(event.line.missing is not None for event in shown)
    lines = sum(event.screen != event.line.sender for event in shown)
    if early:
        answered = "it answers" if early == 1 else "they answer"
        return (
            f"[bold red]{early} of {lines} lines came before what {answered}.[/] "
            "The same people on the same network, in causal order: --order causal"
        )
    if find_protocol(order).ordering == "causal":
        return (
            f"[bold green]None of {lines} lines came before what it answers.[/] "
            "The same people on the same network, without causal order: --order none"
        )
    return f"None of {lines} lines came before what it answers, by luck: try another --seed"


class Terminal:
    """A screen of text, the line being typed at its bottom."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._palette = Palette()
        self._typed = ""

    def line(self, line: Line) -> None:
        """Show something that was said."""
        self._print(self._palette.written(line))

    def note(self, text: str) -> None:
        """Show something about the chat itself."""
        self._print(Text("\n".join(map(plain, text.split("\n"))), "dim"))

    def typing(self, text: str) -> None:
        """Show the line that is being typed."""
        self._typed = text
        self._draw()

    def _print(self, text: Text) -> None:
        self._clear()
        self._console.print(text)
        self._draw()

    def _clear(self) -> None:
        if self._console.is_terminal:
            self._console.file.write("\r\x1b[K")

    def _draw(self) -> None:
        if self._console.is_terminal:
            shown = self._typed[-(self._console.width - 3) :]
            self._console.file.write(f"\r\x1b[K> {shown}")
            self._console.file.flush()


@contextmanager
def keyboard() -> Iterator[int]:
    """Standard input, every key at once if it is a terminal."""
    descriptor = sys.stdin.fileno()
    if not os.isatty(descriptor):
        yield descriptor
        return
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)  # What was typed before is kept.
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
