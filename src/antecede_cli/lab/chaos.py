"""`antecede lab chaos`: kill, stop, cut off and expel nodes, and judge what is left."""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from antecede.units import counted
from antecede_cli.console import progress_bar
from antecede_cli.options import COUNT, DURATION, NUMBER, option_with_default
from antecede_lab.chaos.cluster import PERIOD_S, Cluster, outcome_object, outcome_text, schedule_of
from antecede_lab.chaos.simulated import fault_plan, run_plan
from antecede_lab.simulator.nodes.departures import POWER_FAILED

FAULTS: Final = 20
SECOND_NS: Final = 1_000_000_000
COLUMNS: Final = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)
"""Of the bar that says how far a run is."""

EPILOG: Final = """
\b
Examples:
  antecede lab chaos                              five processes, 20 faults, about 20 seconds
  antecede lab chaos --seed 7 --nodes 8 --time 10m
  antecede lab chaos --faults 1000 --json > report.json
  antecede lab chaos --journal                    who is killed goes on as the same incarnation
  antecede lab chaos --list --seed 7              what would happen, and when
  antecede lab chaos --simulated 1000             a thousand simulated clusters instead
  antecede lab chaos --simulated 1000 --journal   the same; power fails in the middle of writes

\b
What happens, as the seed says: a process is killed (SIGKILL), and comes back as a
new incarnation or is expelled by another; one is stopped (SIGSTOP) and goes on later;
one is cut off from all others; datagrams are lost and delayed; one that lives is
expelled, is told so, ends, and comes back. All the while the nodes write to each other.

\b
What is judged, by the definition and by what went through the pipes: no effect
before its cause, nothing twice, nothing invented; between nodes that are not gone
nothing is missing; what one that is gone may have missed was reported to its sender;
nothing of an expelled node is delivered after the news. What was left out because its
target was away must not come there, and who was met and lives must not be left out.
Nodes have the policy manual: who is expelled follows from the seed. The exit status is 1 if
anything of that is not so. The schedule of a seed is always the same; what the
machine does in between is not, so a finding of real processes may need several tries.
"""


@click.command(epilog=EPILOG, short_help="Kill nodes, cut them off, and judge what is left.")
@option_with_default("--seed", type=COUNT, default=1)
@option_with_default("--nodes", type=click.IntRange(3, 50), default=5)
@click.option("--time", "duration", type=DURATION, help="Draw faults for this long.")
@click.option("--faults", type=COUNT, help=f"Or: draw this many faults.  [default: {FAULTS}]")
@option_with_default("--rate", type=NUMBER, default=60.0, help="Messages a second, of all nodes.")
@click.option(
    "--journal",
    is_flag=True,
    help="Nodes have journals: one that is killed goes on and loses nothing.",
)
@click.option("--simulated", type=COUNT, help="Judge this many simulated clusters instead.")
@option_with_default("--protocol", default="hybrid", help="The protocol, with --simulated.")
@click.option("--list", "listing", is_flag=True, help="Show the schedule and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this file, too.",
)
def command(
    seed: int,
    nodes: int,
    duration: int | None,
    faults: int | None,
    rate: float,
    journal: bool,
    simulated: int | None,
    protocol: str,
    listing: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run a cluster of real nodes through faults drawn from one seed, and judge it.

    Every node is a process of its own, and talks UDP through a proxy that loses, delays and cuts.
    No process is left behind, also after Ctrl-C.
    """
    if simulated is not None:
        run_simulated(protocol, seed, simulated, journal, as_json, out)
        return
    if duration is not None and faults is None:
        faults = max(1, round(duration / SECOND_NS / PERIOD_S))
    schedule = schedule_of(seed, nodes, FAULTS if faults is None else faults)
    if listing:
        for fault in schedule:
            click.echo(str(fault))
        return
    options = f"--seed {seed} --nodes {nodes} --faults {len(schedule)} --rate {rate:g}"
    again = f"antecede lab chaos {options}{' --journal' if journal else ''}"
    with Cluster(nodes, seed, rate, journal) as cluster, progress_bar(*COLUMNS) as bar:
        task = bar.add_task("faults", total=len(schedule))
        outcome = cluster.undergo(schedule, lambda done, _: bar.update(task, completed=done))
    report = outcome_object(outcome, schedule, again)
    tell(report, outcome_text(outcome, again), as_json, out)


def run_simulated(
    protocol: str, seed: int, runs: int, journal: bool, as_json: bool, out: Path | None
) -> None:
    """Judge this many simulated clusters, from this seed on."""
    totals: Counter[str] = Counter()
    wrong: dict[int, dict[str, int]] = {}
    with progress_bar(*COLUMNS) as bar:
        task = bar.add_task("clusters", total=runs)
        for number in range(seed, seed + runs):
            outcome = run_plan(protocol, fault_plan(number, journal=journal))
            totals["messages"] += outcome.result.messages
            totals["deliveries"] += outcome.result.deliveries
            totals["datagrams"] += outcome.result.datagrams
            totals["gone"] += len(outcome.result.departures.gone)
            totals["fences"] += len(outcome.result.departures.fences)
            totals["power"] += outcome.result.reports.get(POWER_FAILED, 0)
            totals["faults"] += len(outcome.ordeal.node_faults)
            if outcome.findings():
                wrong[number] = outcome.findings()
            bar.advance(task)
    lines = [
        f"{counted(runs, 'simulated cluster')} of {protocol}: "
        f"{counted(totals['messages'], 'message')}, "
        f"{counted(totals['deliveries'], 'delivery', 'deliveries')}, "
        f"{counted(totals['datagrams'], 'datagram')}; {counted(totals['gone'], 'node')} gone, "
        f"{counted(totals['fences'], 'expulsion')} told, "
        f"{counted(totals['power'], 'crash', 'crashes')} at a write of a journal",
        *(
            f"WRONG: {found}: {fault_plan(number, journal=journal).command(protocol)}"
            for number, found in wrong.items()
        ),
    ]
    if not wrong:
        lines.append("All is well in each of them.")
    report = {"ok": not wrong, "runs": runs, "totals": dict(totals), "wrong": wrong}
    tell(report, "\n".join(lines), as_json, out)


def tell(report: dict[str, object], text: str, as_json: bool, out: Path | None) -> None:
    """Show the report, keep it if wanted, and exit with 1 if something was wrong."""
    if out is not None:
        out.write_text(json.dumps(report, indent=2) + os.linesep, encoding="utf-8")
    click.echo(json.dumps(report, indent=2) if as_json else text)
    if not report["ok"]:
        sys.exit(1)
