"""`antecede demo`: real processes on a bad network, with and without causal order, judged."""

from pathlib import Path
from typing import Final

import click
from rich.markup import escape

from antecede.cli.console import Console
from antecede.cli.demonstration.acts import compare, measure, record
from antecede.cli.demonstration.judging import (
    ORACLE,
    SPARK,
    Judgement,
    judged_by_oracle,
    judged_by_spark,
    why_no_spark,
)
from antecede.cli.demonstration.plan import FULL, QUICK, Places, Plan, make_room, write_figures
from antecede.cli.demonstration.steps import Steps
from antecede.cli.demonstration.summary import Summary, comparison_line, summary_table
from antecede.cli.output import Failed
from antecede.core.errors import AntecedeError, LocalError
from antecede.report.assemble import Wanted, make_report
from antecede.report.page.document import open_report, write_report
from antecede.tools.shop import SERVICES

EPILOG: Final = """
\b
Examples:
  antecede demo                        a few minutes; everything goes to antecede-demo
  antecede demo --quick --open         less than a minute, then the browser
  antecede demo --out runs/demo        somewhere else
  ANTECEDE_JAVA=none antecede demo     as on a machine without Java

\b
DIR gets
  report.html    the page to look at: spacetime diagrams of both runs, the audit, the comparison
  events/        what happened to every message, as `antecede audit` and `report` read it
  audit/         what the audit on Spark found
  comparison/    what `antecede compare` writes
  demo.json      the summary

What an earlier demo left there is replaced; a folder with anything else in it is refused.
"""


@click.command(epilog=EPILOG, short_help="See it all at work, on a bad network.")
@click.option("--quick", is_flag=True, help="Smaller, in less than a minute.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("antecede-demo"),
    show_default=True,
    help="Where everything goes.",
)
@click.option("--open", "opened", is_flag=True, help="Open the report in the browser.")
def command(quick: bool, out: Path, opened: bool) -> None:
    """See causal order at work: real processes, a bad network, with it and without.

    Eight services of a web shop, each a process of its own, talk over UDP through a proxy that
    loses, doubles and reorders what they send: first without order, then in causal order (hybrid).
    Both event logs are audited on Spark, some protocols are compared in the simulator, and
    everything ends up in one report.
    """
    places = Places(out)
    make_room(places)
    try:
        summary = performed(QUICK if quick else FULL, places)
    except LocalError:
        raise
    except AntecedeError as error:
        raise Failed(failure_text(error)) from error
    write_figures(places, summary.as_object())
    console = Console(highlight=False)
    console.print(summary_table(summary))
    console.print(comparison_line(summary.compared), soft_wrap=True)
    ending = f"Judged by {summary.judge}. The report is in {escape(str(places.report))}"
    console.print(ending, soft_wrap=True)
    if opened and not open_report(places.report):
        click.echo("No browser could be opened.", err=True)
    if not summary.kept:
        raise Failed("causal order was promised and not kept: the report shows where")


def performed(plan: Plan, places: Places) -> Summary:
    """All steps, one after the other."""
    steps = Steps()
    rate = f"{plan.orders} orders at {plan.per_second:g} a second"
    with steps.step(f"a shop of {len(SERVICES)} processes on a bad network, {rate}, twice") as bar:
        outcomes = record(plan, places, bar.tell, bar.done)
    judge, judgements = judged(steps, places)
    with steps.step("comparing protocols in the simulator") as bar:
        compared = compare(plan, places, bar.show)
    with steps.step("writing the report") as bar:
        bar.tell("measuring")
        summary = Summary(
            judge=judge,
            outcomes=outcomes,
            judgements=judgements,
            costs=measure(places),
            compared=compared,
        )
        bar.tell("drawing")
        wanted = Wanted(title="antecede demo: a shop on a bad network")
        write_report(places.report, make_report([places.folder], wanted))
    return summary


def judged(steps: Steps, places: Places) -> tuple[str, dict[str, Judgement]]:
    """Who judged, and what was found by run; where Spark cannot, it is said how to get it."""
    reason = why_no_spark()
    with steps.step(f"auditing both runs with {SPARK if reason is None else ORACLE}") as bar:
        if reason is None:
            bar.tell("starting Spark")
            try:
                return SPARK, judged_by_spark(places, bar.tell, bar.watch)
            except LocalError as error:
                reason = f"Spark does not work here, so {ORACLE} has to do: {error}"
        steps.note(reason)
        return ORACLE, judged_by_oracle(places, bar.tell)


def failure_text(error: AntecedeError) -> str:
    """What went wrong, without the stack of a process that has failed."""
    lines = str(error).strip().splitlines()
    if len(lines) < 2:
        return str(error)
    return f"{lines[0]} {lines[-1]}"
