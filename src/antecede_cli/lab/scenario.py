"""`antecede lab scenario`: short runs told in words."""

from pathlib import Path

import click
from rich.table import Table

from antecede.units import counted
from antecede_cli.console import Console
from antecede_lab.scenarios.catalogue import SCENARIOS, Act, Scenario, find_scenario
from antecede_lab.scenarios.player import Performance, tell, verdict_lines

LINES_MAX = 60
"""Longer acts are told by the messages that the story is about, unless --all asks for more."""

OPENED = ""
"""What `--html` means without a file: a file of the story's name, and the browser."""


@click.command(
    epilog="""\b
Examples:
  antecede lab scenario --list
  antecede lab scenario triangle
  antecede lab scenario figure --act cykas
  antecede lab scenario starvation --all | less
  antecede lab scenario figure --html              the story as spacetime diagrams, in the browser
  antecede lab scenario figure --html=figure.html  the same, into this file
"""
)
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="Show what there is and stop.")
@click.option("--act", "label", help="Play only the act whose label begins like this.")
@click.option("--all", "everything", is_flag=True, help="Tell every step, however many there are.")
@click.option(
    "--html",
    metavar="FILE",
    is_flag=False,
    flag_value=OPENED,
    help="Write the story as spacetime diagrams into FILE; without a FILE, show it in the browser.",
)
def command(
    name: str | None, listing: bool, label: str | None, everything: bool, html: str | None
) -> None:
    """Play a short run with several protocols and tell what happens, step by step.

    Times are in units of the usual one-way delay. Every act ends with the verdict of the oracle.
    """
    console = Console(highlight=False, soft_wrap=True)
    if name is None and html is not None:
        raise click.UsageError("name a scenario before --html: antecede lab scenario NAME --html")
    if listing or name is None:
        for line in overview():
            console.print(line)
        return
    scenario = find_scenario(name)
    chosen = [act for act in scenario.acts if label is None or act.label.startswith(label)]
    if not chosen:
        labels = ", ".join(act.label for act in scenario.acts)
        raise click.UsageError(f"no act begins with {label!r}; there are: {labels}")
    console.print(f"[bold]{scenario.title}[/bold]\n")
    performances = [play(act, scenario, everything, console) for act in chosen]
    console.print(summary(scenario, chosen, performances))
    console.print(f"\n{scenario.lesson}")
    if html is not None:
        show_as_page(scenario, chosen, performances, html)


def show_as_page(
    scenario: Scenario, acts: list[Act], performances: list[Performance], html: str
) -> None:
    """Write the story as a page; open it if no file was named, or say where it is."""
    from antecede_audit.report.page.document import open_report, write_report
    from antecede_lab.report.scenario_page import story_report

    file = Path(f"{scenario.name}.html" if html == OPENED else html)
    write_report(file, story_report(scenario, acts, performances))
    if html != OPENED or not open_report(file):
        click.echo(f"The story is in {file}.", err=True)


def overview() -> list[str]:
    """The scenarios, a line each."""
    width = max(len(name) for name in SCENARIOS)
    lines: list[str] = []
    for scenario in SCENARIOS.values():
        players = dict.fromkeys(act.info.name for act in scenario.acts)
        lines.append(f"{scenario.name:{width}}  {scenario.title} ({', '.join(players)})")
    return lines


def play(act: Act, scenario: Scenario, everything: bool, console: Console) -> Performance:
    """Perform an act, and tell it."""
    performance = act.play()
    lines = tell(performance)
    if len(lines) > LINES_MAX and not everything:
        left_out = len(lines)
        lines = tell(performance, only=scenario.watched)
        left_out -= len(lines)
        lines.append(f"          ({counted(left_out, 'step')} left out; --all tells all)")
    console.print(f"[bold]{act.label}[/bold]")
    for line in lines:
        console.print(line, markup=False)
    for line in verdict_lines(performance)[:5]:
        console.print(f"  => {line}", markup=False)
    console.print()
    return performance


def summary(scenario: Scenario, acts: list[Act], performances: list[Performance]) -> Table:
    """When the watched messages left and were delivered, act by act."""
    table = Table("act", "message", "wanted", "left", "delivered", "causal", box=None)
    for act, performance in zip(acts, performances, strict=True):
        kept = "no" if performance.verdict.violations else "yes"
        for message in scenario.watched:
            wanted = performance.when("submitted", message)
            if wanted:
                left = performance.when("transmitted", message)
                delivered = performance.when("delivered", message)
                table.add_row(
                    act.label, message, moments(wanted[:1]), moments(left), moments(delivered), kept
                )
    return table


def moments(times: list[float]) -> str:
    """A few times, or a dash."""
    distinct = list(dict.fromkeys(times))
    shown = ", ".join(f"{time:.2f}" for time in distinct[:3])
    return (shown or "never") + (", ..." if len(distinct) > 3 else "")
