"""`antecede quality`: what traces are like, before any verdict."""

import json
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape
from rich.table import Table

from antecede.units import counted, duration_text
from antecede_cli.console import Console, counts_table, figures_table, signed_text
from antecede_cli.options import option_with_default
from antecede_cli.spark import need_spark, spark_progress

if TYPE_CHECKING:
    from antecede_audit.spans.quality import TraceQuality

FORMATS: Final = ("auto", "jaeger", "otlp", "zipkin", "nezha")
ROWS_SHOWN: Final = 20

EPILOG: Final = """
\b
Examples:
  antecede quality traces.json                 one page about these traces
  antecede quality spans/ --json > quality.json

Nothing is written, and no Spark is started; of very many spans the first million is looked at.
"""


@click.command(epilog=EPILOG, short_help="Say what traces are like, before any verdict.")
@click.argument("paths", metavar="TRACES...", nargs=-1, required=True)
@option_with_default("--format", "format_name", type=click.Choice(FORMATS), default="auto")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(paths: tuple[str, ...], format_name: str, as_json: bool) -> None:
    """Say how far traces can be believed: what is missing, what contradicts itself, which clocks.

    An audit works on clocks that were repaired. This page has the raw figures beside the repaired
    ones, and names the services between which no repair is possible.
    """
    need_spark()
    from antecede_audit.spans.quality import quality_of

    with spark_progress() as progress:
        progress.tell("reading traces")
        found = quality_of(paths, format_name=format_name)
    if as_json:
        click.echo(json.dumps(found.as_object(), indent=2))
    else:
        print_quality(Console(highlight=False), found)


def print_quality(console: Console, found: "TraceQuality") -> None:
    """One page."""
    console.print(traces_table(found))
    if found.services:
        console.print(services_table(found))
    if found.impossible:
        console.print(impossible_table(found))


def traces_table(found: "TraceQuality") -> Table:
    """What is there, and what is wrong with it."""
    rest = "" if found.complete else ", the first of more"
    table = counts_table("What the traces are like")
    table.add_row(f"{found.spans:,}", f"spans in {counted(found.traces, 'trace')}{rest}")
    for reason, count in found.rejects.items():
        table.add_row(f"{count:,}", f"rejected: {escape(reason)}")
    table.add_row(f"{found.missing_parents:,}", "have a parent that is not there")
    table.add_row(f"{found.duplicate_spans:,}", "are there twice")
    table.add_row(f"{found.before_parent:,}", "start before their parent, by the same clock")
    table.add_row(f"{found.unreceived_calls:,}", "calls that nobody is known to have received")
    table.add_section()
    table.add_row(f"{found.messages:,}", "messages that follow from them")
    table.add_row(f"{found.backwards:,}", "arrive before they are sent, as the clocks have it")
    table.add_row(f"{found.backwards_repaired:,}", "still do, after the clocks are repaired")
    return table


def services_table(found: "TraceQuality") -> Table:
    """How far the clock of each service can be believed."""
    figures = ("spans", "resolution", "moved by", "known to within")
    table = figures_table(("process",), figures, title="Clocks", title_justify="left")
    ranked = sorted(found.services, key=lambda one: (-abs(one.offset_ns), -one.spans, one.name))
    for one in ranked[:ROWS_SHOWN]:
        table.add_row(
            escape(one.name),
            f"{one.spans:,}",
            duration_text(one.resolution_ns),
            signed_text(one.offset_ns, "+") if one.offset_ns else "",
            "" if one.uncertain_ns is None else duration_text(one.uncertain_ns),
        )
    if len(ranked) > ROWS_SHOWN:
        table.add_row(f"and {len(ranked) - ROWS_SHOWN:,} more", "", "", "", "")
    return table


def impossible_table(found: "TraceQuality") -> Table:
    """Between which services no repair is possible."""
    title = "No clock offset puts all messages of these in order"
    figures = ("messages", "backwards", "worst")
    table = figures_table(("from", "to"), figures, title=title, title_justify="left")
    for pair in found.impossible[:ROWS_SHOWN]:
        table.add_row(
            escape(pair.sender),
            escape(pair.receiver),
            f"{pair.messages:,}",
            f"{pair.backwards:,}",
            signed_text(pair.worst_ns, "+") if pair.worst_ns else "",
        )
    return table
