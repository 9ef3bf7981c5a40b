"""`python -m bench study NAME`: nodes alone: distance, many peers, event log, journal."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from antecede_cli.options import option_with_default
from antecede_lab.child import Json
from bench.live.contest import Show
from bench.live.options import (
    FILE,
    MeasuringCommand,
    in_a_folder,
    warn_if_interpreted,
    with_progress,
    write,
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

STUDIES: Final[dict[str, Callable[[int, Show], dict[str, Json]]]] = {
    "distance": lambda rounds, show: run_distance(DistancePlan(rounds=rounds), show),
    "crowd": lambda rounds, show: run_crowd(CrowdPlan(rounds=rounds), show),
    "journal": lambda rounds, show: run_journal(JournalPlan(rounds=rounds), show),
    "tracing": lambda rounds, show: run_tracing(TracingPlan(rounds=rounds), show),
}

EPILOG: Final = """
\b
Examples:
  python -m bench study distance               throughput over a long way
  python -m bench study crowd --rounds 5       what peers cost
  python -m bench study tracing --json t.json  what an event log costs
  python -m bench study journal                what a journal costs, on the disk of this folder
"""


@click.command(cls=MeasuringCommand, epilog=EPILOG)
@click.argument("name", type=click.Choice(list(STUDIES)))
@option_with_default("--rounds", type=click.IntRange(1), default=3)
@click.option("--json", "out", type=FILE, callback=in_a_folder, help="Write them here, too.")
def command(name: str, rounds: int, out: Path | None) -> None:
    """Measure antecede alone, and print the figures as JSON.

    `distance`: throughput through a proxy that makes the round trip 0 or 50 ms long. `crowd`: what
    a message costs a node with 2 to 500 peers, and the memory that a peer and a message take.
    `tracing`: throughput with an event log over that without one. `journal`: the same with a
    journal on both sides, in the folder where this runs.
    """
    warn_if_interpreted()
    document = with_progress(lambda show: STUDIES[name](rounds, show))
    click.echo(json.dumps(document, indent=2))
    if out is not None:
        write(out, document)


if __name__ == "__main__":
    command()
