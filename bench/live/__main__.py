"""`python -m bench live`: how fast nodes are on this machine, and how fast other libraries are."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from antecede_cli.console import wide_console
from antecede_cli.options import option_with_default
from antecede_lab.child import Json
from bench.live.catalogue import MULTICASTERS, PEERS, PLAIN, SERVICES
from bench.live.contest import (
    P50,
    P99,
    ContestPlan,
    Readings,
    Results,
    effort_of,
    rounded,
    run_contest,
    throughput_of,
)
from bench.live.multicast_contest import MulticastPlan, run_multicast_contest
from bench.live.options import (
    FILE,
    MeasuringCommand,
    in_a_folder,
    warn_if_interpreted,
    with_progress,
    write,
)
from bench.live.request_contest import LoadResults, RequestPlan, run_request_contest
from bench.results import write_table

EPILOG: Final = """
\b
Examples:
  python -m bench live                            everybody who is installed
  python -m bench live --peer antecede --peer zmq only these two
  python -m bench live --secure                   those that encrypt, too
  python -m bench live --list                     who could be measured, and who can be here
  python -m bench live --rounds 9 --json speed.json
  python -m bench live --requests                 requests and replies, alone and many under way
  python -m bench live --multicast                one message to 1, 8 and 32 receivers

What else can be measured: python -m bench study --help

To have all of them: pip install eclipse-zenoh grpcio nats-py pyzmq uvloop,
and the program nats-server.
"""

PLAIN_OF: Final = {
    "antecede-1400-sealed": "antecede-1400",
    "antecede-handler-1400-sealed": "antecede-handler-1400",
    "antecede-sealed": "antecede",
    "zmq-curve": "zmq",
    "tls-20": "tcp-20",
}
"""Those that encrypt, and what each is like in plaintext."""

SECURE: Final = tuple(key for pair in PLAIN_OF.items() for key in reversed(pair))


@click.command(cls=MeasuringCommand, epilog=EPILOG)
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
@click.option("--secure", is_flag=True, help="Those that encrypt, and the same in plaintext.")
@click.option("--requests", is_flag=True, help="Instead: requests and replies.")
@option_with_default(
    "--under-way",
    type=click.IntRange(1, 16_384),
    multiple=True,
    default=(1, 64, 1024),
    help="With --requests: how many requests wait for replies at a time; may be repeated.",
)
@click.option("--multicast", is_flag=True, help="Instead: one message to many receivers.")
@option_with_default(
    "--receivers",
    type=click.IntRange(1, 64),
    multiple=True,
    default=(1, 8, 32),
    help="With --multicast: how many, each a process; may be repeated.",
)
@click.option("--csv", "table", type=FILE, callback=in_a_folder, help="Medians and ratios here.")
@click.option("--json", "out", type=FILE, callback=in_a_folder, help="Write all figures here.")
@click.option("--list", "listing", is_flag=True, help="List the libraries and stop.")
def command(
    keys: tuple[str, ...],
    sizes: tuple[int, ...],
    rounds: int,
    seconds: float,
    secure: bool,
    requests: bool,
    under_way: tuple[int, ...],
    multicast: bool,
    receivers: tuple[int, ...],
    table: Path | None,
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
    warn_if_interpreted()
    if requests:
        plan_of_requests = RequestPlan(
            keys=keys or tuple(SERVICES),
            size=sizes[0],
            under_way=under_way,
            rounds=rounds,
            seconds=seconds,
        )
        requested = with_progress(lambda show: run_request_contest(plan_of_requests, show))
        show_loads(requested, table, out)
        return
    if multicast:
        plan_of_multicast = MulticastPlan(
            keys=keys or tuple(MULTICASTERS),
            size=sizes[0],
            receivers=receivers,
            rounds=rounds,
            seconds=seconds,
        )
        spread = with_progress(lambda show: run_multicast_contest(plan_of_multicast, show))
        show_loads(spread, table, out)
        return
    plan = ContestPlan(
        keys=keys or (SECURE if secure else PLAIN), sizes=sizes, rounds=rounds, seconds=seconds
    )
    results = with_progress(lambda show: run_contest(plan, show))
    show_results(results)
    if table is not None:
        write_table(table, [*(encryption_ratios if secure else ratios)(results)])
    if out is not None:
        write(out, results.document())


def show_loads(results: LoadResults, table: Path | None, out: Path | None) -> None:
    """Requests and replies, or multicast."""
    console = wide_console()
    console.print(results.table())
    show_failures(console, results.readings.values())
    if table is not None:
        write_table(table, list(results.rows()))
    if out is not None:
        write(out, results.document())


def ratios(results: Results) -> Iterator[dict[str, Json]]:
    """The medians, and those of antecede with `async for` over them, by rounds."""
    for key, measure, median in figures(results):
        ours = key.startswith("antecede")
        known = not ours and "antecede" in results.readings
        ratio = rounded(results.ratio(measure, "antecede", key)) if known else ""
        yield {"peer": key, "measure": measure, "median": median, "ratio": ratio}


def encryption_ratios(results: Results) -> Iterator[dict[str, Json]]:
    """The medians; of those that encrypt, over plaintext and over pyzmq's two, by rounds."""
    for key, measure, median in figures(results):
        over = {"plain": PLAIN_OF.get(key), "zmq": "zmq", "curve": "zmq-curve"}
        over_others = {
            f"over_{name}": rounded(results.ratio(measure, key, other))
            if other in results.readings and key in PLAIN_OF
            else ""
            for name, other in over.items()
        }
        yield {"peer": key, "measure": measure, "median": median, **over_others}


def figures(results: Results) -> Iterator[tuple[str, str, float | None]]:
    """Who, what, and the median of it; p99 of one second on a shared machine is chance."""
    for key, readings in results.readings.items():
        for measure in results.measures():
            if measure != P99:
                yield key, measure, rounded(readings.median(measure))


def show_results(results: Results) -> None:
    """Show the tables, and what went wrong."""
    console = wide_console()
    console.print(speed_table(results))
    own = [key for key in results.readings if key.startswith("antecede")]
    if own and len(own) < len(results.readings):
        console.print(ratio_table(results, own[0]))
    show_failures(console, results.readings.values())


def show_failures(console: Console, readings: Iterable[Readings]) -> None:
    """Show what went wrong."""
    for of_one in readings:
        for failure in of_one.failures:
            console.print(f"{of_one.name}: {failure}", markup=False, style="red")


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
        found: list[float | None] = []
        for size in plan.sizes:
            found.append(results.ratio(throughput_of(size), own, key))
            found.append(results.ratio(effort_of(size), key, own))
        found.append(results.ratio(P50, key, own))
        table.add_row(readings.name, *("" if ratio is None else f"{ratio:.2f}" for ratio in found))
    return table


if __name__ == "__main__":
    command()
