"""`antecede bench`: how fast the live runtime is on this machine, and how fast others are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click
from rich.table import Table

from antecede import compiled
from antecede_cli.console import Console, wide_console
from antecede_cli.options import option_with_default
from antecede_lab.child import Json
from bench.live.catalogue import ENCRYPTED, PEERS, PLAIN
from bench.live.contest import (
    P50,
    P99,
    ContestPlan,
    Results,
    Show,
    effort_of,
    run_contest,
    throughput_of,
)
from bench.live.studies import (
    CrowdPlan,
    DistancePlan,
    JournalPlan,
    TracingPlan,
    run_crowd,
    run_distance,
    run_journal,
    run_tracing,
)

Result = TypeVar("Result")

INTERPRETED: Final = (
    "antecede is not compiled here, so its figures are those of plain Python: "
    "install it where there is a C compiler to see what it can do"
)

EPILOG: Final = """
\b
Examples:
  antecede bench live                            everybody who is installed
  antecede bench live --peer antecede --peer zmq only these two
  antecede bench live --secure                   those that encrypt, too
  antecede bench live --list                     who could be measured, and who can be here
  antecede bench live --rounds 9 --json speed.json

What else can be measured: antecede bench study --help

To have all of them: pip install eclipse-zenoh nats-py pyzmq uvloop, and the program nats-server.
"""


GROUP_EPILOG: Final = """
\b
Examples:
  antecede bench live                  against every messaging library that is installed
  antecede bench live --list           who could be measured, and who can be here
  antecede bench study --help          what else can be measured
"""


JSON_FILE: Final = click.Path(dir_okay=False, path_type=Path)


def in_a_folder(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Say before the measurements, not after them, that they cannot be written there."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    return path


@click.group(epilog=GROUP_EPILOG)
def command() -> None:
    """Measure this machine: messages per second, round trips, and against whom."""


@command.command(epilog=EPILOG)
@click.option("--peer", "keys", multiple=True, help="Only this one; may be repeated.")
@option_with_default(
    "--size",
    "sizes",
    type=click.IntRange(1, 1 << 20),
    multiple=True,
    default=(64, 1024),
    help="Bytes in a message; may be repeated.",
)
@option_with_default("--rounds", type=click.IntRange(1), default=5)
@option_with_default(
    "--seconds",
    type=click.FloatRange(0.05, 20),
    default=1.5,
    help="How long one throughput is measured.",
)
@click.option("--secure", is_flag=True, help="Those that encrypt, too.")
@click.option("--json", "out", type=JSON_FILE, callback=in_a_folder, help="Write all figures here.")
@click.option("--list", "listing", is_flag=True, help="List the libraries and stop.")
def live(
    keys: tuple[str, ...],
    sizes: tuple[int, ...],
    rounds: int,
    seconds: float,
    secure: bool,
    out: Path | None,
    listing: bool,
) -> None:
    """Compare antecede with other messaging libraries, two processes on loopback.

    Every library that is installed is measured in every round, one after the other; medians are
    shown. Throughput is one way; a round trip is one message there and back, nothing else going on.
    Processor time is what a message takes of both processes together.
    """
    if listing:
        for key, peer in PEERS.items():
            click.echo(f"{key:20} {peer.name:32} {peer.objection() or 'ready'}")
        return
    if not compiled():
        click.echo(INTERPRETED, err=True)
    chosen = (*PLAIN, *ENCRYPTED) if secure else PLAIN
    plan = ContestPlan(keys=keys or chosen, sizes=sizes, rounds=rounds, seconds=seconds)
    results = with_progress(lambda show: run_contest(plan, show))
    tell(results)
    if out is not None:
        write(out, results.document())


STUDIES: Final[dict[str, Callable[[int, Show], dict[str, Json]]]] = {
    "distance": lambda rounds, show: run_distance(DistancePlan(rounds=rounds), show),
    "crowd": lambda rounds, show: run_crowd(CrowdPlan(rounds=rounds), show),
    "journal": lambda rounds, show: run_journal(JournalPlan(rounds=rounds), show),
    "tracing": lambda rounds, show: run_tracing(TracingPlan(rounds=rounds), show),
}
"""What else there is to measure of antecede alone."""


STUDY_EPILOG: Final = """
\b
Examples:
  antecede bench study distance               throughput over a long way
  antecede bench study crowd --rounds 5       what peers cost
  antecede bench study tracing --json t.json  what an event log costs
  antecede bench study journal                what a journal costs, on the disk of this folder
"""


@command.command(epilog=STUDY_EPILOG)
@click.argument("name", type=click.Choice(list(STUDIES)))
@option_with_default("--rounds", type=click.IntRange(1), default=3)
@click.option("--json", "out", type=JSON_FILE, callback=in_a_folder, help="Write them here, too.")
def study(name: str, rounds: int, out: Path | None) -> None:
    """Measure antecede alone, and print the figures as JSON.

    `distance`: throughput through a proxy that makes the round trip 0 or 50 ms long. `crowd`: what
    a message costs a node with 2 to 500 peers, and the memory that a peer and a message take.
    `tracing`: throughput with an event log over that without one. `journal`: the same with a
    journal on both sides, in the folder where this runs.
    """
    if not compiled():
        click.echo(INTERPRETED, err=True)
    document = with_progress(lambda show: STUDIES[name](rounds, show))
    click.echo(json.dumps(document, indent=2))
    if out is not None:
        write(out, document)


def tell(results: Results) -> None:
    """Show the tables, and what went wrong."""
    console = wide_console()
    console.print(speed_table(results))
    own = [key for key in results.readings if key.startswith("antecede")]
    if own and len(own) < len(results.readings):
        console.print(ratio_table(results, own[0]))
    for readings in results.readings.values():
        for failure in readings.failures:
            console.print(f"{readings.name}: {failure}", markup=False, style="red")


def with_progress(work: Callable[[Show], Result]) -> Result:
    """Do the work while its own words say on standard error how far it has come."""
    console = Console(stderr=True)
    with console.status("starting") as status:
        return work(status.update)


def write(path: Path, document: dict[str, Json]) -> None:
    """Write the figures to a file."""
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    click.echo(f"All figures are in {path}.", err=True)


def speed_table(results: Results) -> Table:
    """What each library reached, and the processor time a message took of both its ends."""
    plan = results.plan
    table = Table(title="Two processes, one way and there and back")
    table.add_column("library", no_wrap=True)
    for size in plan.sizes:
        table.add_column(f"{size} B, messages/s", justify="right", overflow="fold")
        table.add_column("processor", justify="right")
    table.add_column("round trip p50", justify="right")
    table.add_column("p99", justify="right")
    for readings in results.readings.values():
        cells: list[str] = []
        for size in plan.sizes:
            cells.append(cell(readings.median(throughput_of(size)), ",.0f"))
            cells.append(cell(readings.median(effort_of(size)), ".2f", " µs"))
        cells.extend(cell(readings.median(measure), ",.0f", " µs") for measure in (P50, P99))
        table.add_row(readings.name, *cells)
    for key, reason in results.skipped.items():
        table.add_row(f"[dim]{key}: {reason}[/]")
    return table


def cell(figure: float | None, form: str, unit: str = "") -> str:
    """One figure, or that there is none."""
    return "failed" if figure is None else f"{figure:{form}}{unit}"


def ratio_table(results: Results, own: str) -> Table:
    """How many times as fast one of ours is as each of the others."""
    plan = results.plan
    table = Table(title=f"{results.readings[own].name} against the others: times as fast")
    table.add_column("library", no_wrap=True)
    for size in plan.sizes:
        table.add_column(f"{size} B", justify="right")
        table.add_column("processor", justify="right")
    table.add_column("round trip p50", justify="right")
    for key, readings in results.readings.items():
        if key.startswith("antecede"):
            continue
        ratios: list[float | None] = []
        for size in plan.sizes:
            ratios.append(results.ratio(throughput_of(size), own, key))
            ratios.append(results.ratio(effort_of(size), key, own))
        ratios.append(results.ratio(P50, key, own))
        table.add_row(readings.name, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios))
    return table
