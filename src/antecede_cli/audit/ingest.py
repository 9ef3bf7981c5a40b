"""`antecede ingest`: the traces of other systems as an event log and a workload."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypedDict

import click
from rich.markup import escape
from rich.table import Table

from antecede.units import counted, duration_text
from antecede_cli.console import Console, counts_table, figures_table, reasons_table, signed_text
from antecede_cli.options import option_with_default, parse_names
from antecede_cli.spark import check_writable, is_local, need_spark, spark_progress, spark_session

if TYPE_CHECKING:
    from antecede_audit.spans.summary import IngestSummary

FORMATS: Final = ("auto", "jaeger", "otlp", "zipkin", "nezha", "messages")
UNITS: Final = ("s", "ms", "us", "ns")

ROWS_SHOWN: Final = 12
"""Of reasons, clocks and pairs so many are printed; summary.json has them all."""

HOUR_NS: Final = 3_600_000_000_000
DAY_NS: Final = 24 * HOUR_NS

MEANINGS: Final = {
    "duplicate_spans": "spans were recorded twice: the first record counts",
    "missing_parents": "spans have a parent that is not there: what started them is not known",
    "unreceived_calls": "calls went to something that is not traced",
    "repeated_receptions": "times a process received a one-way message that it had already",
    "received_before_sent": "copies were received before they were sent, by the recorded clocks",
    "clamped": "copies still are, after the repair: they count as received when sent",
    "mutual_at_one_time": "copies went to and fro at one time: nobody acted on them at that time",
    "unknown_causes": "named causes had not reached the sender: not waited for",
    "causes_cut": "deliveries were too many for one message to wait for",
}

EPILOG: Final = """
\b
Examples:
  antecede ingest traces.json.gz --out trace          the format is recognised
  antecede ingest spans/ more.tar.xz --out trace      folders and archives
  antecede ingest mail.txt --format messages --time-unit s --out mail
  antecede ingest spans/ --no-repair --out raw        clocks as they were recorded
  antecede ingest tuesday/ --append --out trace       as if it had come with monday/
  antecede ingest s3a://bucket/traces --out s3a://bucket/ingested --master yarn

\b
Formats:
  jaeger     JSON of Jaeger: documents of traces, single traces, single spans
  otlp       requests of OpenTelemetry: JSON, or Protocol Buffers as collectors write them
  zipkin     JSON of Zipkin, version 2, with shared spans
  nezha      CSV of spans: TraceID, SpanID, ParentID, PodName, StartTimeUnixNano, EndTimeUnixNano
  messages   CSV, space separated or Parquet: sender, receivers, time[, receive time][, cause]

\b
DIR gets
  events/        the event log, by run       for: antecede audit DIR/events
  workload/      the messages, by run        for: antecede simulate -w replay, profile, grow
  processes/     their numbers and names
  spans/         what spans are called, and the attributes of them that --keep names
  lines/         what message tables say
  rejects/       what could not be read: source, position, reason, excerpt
  files/         what was read, for --append to pass over it
  summary.json   the counts and the clock offsets

What was in them before is replaced; with --append it becomes what an ingest of all files together
would have left, and files that were read before are skipped. Up to half a million spans or lines
on this machine are ingested at once, more on Spark, as is everything if --master is given; the
tables are the same.

A file that cannot be read at all, of which nothing can be used, fails the ingest before anything is
written. One that is truncated or damaged further on is used up to there. The exit status is 1 if
there is such a file, or no message was found.
"""


@click.command(epilog=EPILOG, short_help="Read the traces of other systems.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="Where the tables go.")
@option_with_default("--format", "format_name", type=click.Choice(FORMATS), default="auto")
@click.option("--no-repair", is_flag=True, help="Leave clocks alone, however wrong they are.")
@click.option("--run-id", help="What the run is called.  [default: after the first PATH]")
@click.option(
    "--time-unit",
    type=click.Choice(UNITS),
    help="Of times in message tables whose columns do not say.  [default: s, or what fits 1970]",
)
@click.option(
    "--keep",
    metavar="NAME,NAME",
    default="",
    help="Attributes of spans that come along into spans/, and with them into findings.",
)
@click.option("--append", is_flag=True, help="Add to the run that is in DIR.")
@click.option(
    "--table",
    metavar="NAME",
    help="Add the events to the table catalog.db.name, too.  Needs Spark.",
)
@option_with_default(
    "--table-format",
    type=click.Choice(["parquet", "orc", "delta", "iceberg"]),
    default="parquet",
    help="Of that table.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    out: str,
    format_name: str,
    no_repair: bool,
    run_id: str | None,
    time_unit: str | None,
    keep: str,
    append: bool,
    table: str | None,
    table_format: str,
    as_json: bool,
    master: str | None,
) -> None:
    """Read the traces of other systems: files, folders, archives of them, compressed or not.

    Spans become messages: a span whose parent is in another process received a request, and its end
    is a reply; producers and consumers exchange one-way messages. Clocks that disagree are repaired
    as far as possible. What cannot be read is set aside with the reason.
    """
    told = Console(stderr=True)
    options: Options = {
        "format_name": format_name,
        "repair": not no_repair,
        "run_id": run_id,
        "unit": time_unit,
        "keep": parse_names(keep),
        "append": append,
    }
    summary = ingest_paths(context, paths, out, options, (table, table_format), master)
    if as_json:
        click.echo(json.dumps(summary.as_object(), indent=2))
    else:
        print_summary(Console(highlight=False), summary, out)
    if summary.damaged:
        told.print(damaged_text(summary), style="red", soft_wrap=True)
    if not summary.messages:
        told.print("No message was found.", style="red")
    if summary.damaged or not summary.messages:
        context.exit(1)


class Options(TypedDict):
    """How to read."""

    format_name: str
    repair: bool
    run_id: str | None
    unit: str | None
    keep: list[str]
    append: bool


def ingest_paths(
    context: click.Context,
    paths: tuple[str, ...],
    out: str,
    options: Options,
    table: tuple[str | None, str],
    master: str | None,
) -> "IngestSummary":
    """Ingest: what fits into this process right here, all else on Spark."""
    name, format_name = table
    need_spark()
    from antecede_audit.jobs.ingest import ingest_here
    from antecede_audit.spans.trace_files import find_files
    from antecede_audit.spark.ingest import ingest
    from antecede_audit.spark.storage import is_local_path

    for path in filter(is_local, paths):
        find_files([path])  # a mistake in a path need not wait for Spark to start
    check_writable(out)
    with spark_progress() as progress:
        if master is None and name is None and all(map(is_local_path, (*paths, out))):
            summary = ingest_here(paths, out, **options, tell=progress.tell)
            if summary is not None:
                return summary
        progress.tell("starting Spark")
        with spark_session(context, master) as session:
            progress.watch(session)
            tell = progress.tell
            return ingest(
                session, paths, out, **options, table_name=name, table_format=format_name, tell=tell
            )


def print_summary(console: Console, summary: "IngestSummary", out: str) -> None:
    """What an operator wants to know: what was read, what was not, and how far to trust it."""
    console.print(result_table(summary))
    if summary.rejects:
        console.print(rejects_table(summary))
        console.print(f"Each with its place and an excerpt: antecede rejects {escape(out)}")
        if any("from 1970 in " in reason for reason in summary.rejects_by_reason):
            console.print(
                "Times of message tables count from 1970, in seconds unless something says another "
                "unit. If they count in another, say so (--time-unit); if from another year, "
                "subtract it."
            )
    notes = notes_table(summary.counts)
    if notes.row_count:
        console.print(notes)
    if summary.repaired and summary.counts["received_before_sent"]:
        print_clocks(console, summary)
    elif summary.counts["received_before_sent"]:
        console.print("Clocks were not repaired (--no-repair).")
    if summary.damaged:
        console.print(damaged_table(summary))
    if summary.changed:
        files = files_were(len(summary.changed))
        console.print(
            f"{files} read before with other content: both contents count, and spans that are in "
            "both as they were at first. To have the new content alone, ingest all files without "
            "--append."
        )
    if summary.skipped:
        console.print(f"{files_were(len(summary.skipped))} there already, and skipped.")
    if summary.passed_over:
        passed_over = files_were(len(summary.passed_over), "other file")
        console.print(f"{passed_over} passed over in the folders.")
    console.print(f"The tables are in {escape(out)}.")


def files_were(count: int, one: str = "file") -> str:
    """How many files were something."""
    return f"{counted(count, one)} {'was' if count == 1 else 'were'}"


def result_table(summary: "IngestSummary") -> Table:
    """What was read, and what it came to."""
    table = counts_table(escape(summary.run_id))
    for entry in summary.read:
        table.add_row(
            f"{entry.records:,}", f"records in {counted(entry.files, 'file')}: {entry.format}"
        )
    table.add_section()
    table.add_row(f"{summary.messages:,}", "messages")
    table.add_row(f"{summary.copies:,}", "copies (messages x destinations)")
    table.add_row(f"{summary.processes:,}", "processes")
    if summary.first_ns is not None and summary.last_ns is not None:
        table.add_row(period_text(summary.last_ns - summary.first_ns), "from first to last event")
    table.add_row(f"{summary.rejects:,}", "rejected")
    return table


def rejects_table(summary: "IngestSummary") -> Table:
    """Why records were rejected."""
    shown = list(summary.rejects_by_reason.items())
    table = reasons_table(shown[:ROWS_SHOWN])
    if len(shown) > ROWS_SHOWN:
        table.add_row(f"{sum(count for _, count in shown[ROWS_SHOWN:]):,}", "other reasons")
    return table


def damaged_table(summary: "IngestSummary") -> Table:
    """Which files are truncated or damaged, and how much of them was read."""
    title = "Truncated or damaged: used up to there"
    table = figures_table(("file", "what"), ("records",), title=title, title_justify="left")
    for file in summary.damaged[:ROWS_SHOWN]:
        table.add_row(escape(file.source), escape(file.reason), f"{file.records:,}")
    if len(summary.damaged) > ROWS_SHOWN:
        rest = summary.damaged[ROWS_SHOWN:]
        count = sum(file.records for file in rest)
        table.add_row(f"and {len(rest):,} more", "", f"{count:,}")
    return table


def damaged_text(summary: "IngestSummary") -> str:
    """That files are damaged, in a line for whoever reads the logs of scheduled runs."""
    first = summary.damaged[0]
    files = f"{len(summary.damaged):,} files are" if len(summary.damaged) > 1 else "1 file is"
    return escape(
        f"{files} truncated or damaged, and used up to there: {first.source}: {first.reason}, "
        f"{counted(first.records, 'record')} before."
    )


def notes_table(counts: Mapping[str, int]) -> Table:
    """What was met and dealt with."""
    table = counts_table("Met and dealt with")
    for name, meaning in MEANINGS.items():
        if counts.get(name):
            table.add_row(f"{counts[name]:,}", meaning)
    return table


def print_clocks(console: Console, summary: "IngestSummary") -> None:
    """Which clocks were moved, and where no moving helps."""
    moved = [(name, offset) for name, offset in summary.clock_offsets_ns.items() if offset]
    moved.sort(key=lambda entry: (-abs(entry[1]), entry[0]))
    if moved:
        title = "Clocks that were moved"
        table = figures_table(("process",), ("by",), title=title, title_justify="left")
        for name, offset in moved[:ROWS_SHOWN]:
            table.add_row(escape(name), signed_text(offset, "+"))
        if len(moved) > ROWS_SHOWN:
            table.add_row(f"and {len(moved) - ROWS_SHOWN:,} more, less far", "")
        console.print(table)
    if summary.contradictions:
        console.print(contradictions_table(summary))
        console.print("Spans that close late, or truncated times, look like this.")


def contradictions_table(summary: "IngestSummary") -> Table:
    """The pairs of processes between which no clock offset puts everything in order."""
    pairs = summary.contradictions
    title = "No clock offset puts all messages of these in order"
    figures = ("copies", "backwards", "worst", "median")
    table = figures_table(("from", "to"), figures, title=title, title_justify="left")
    for pair in pairs[:ROWS_SHOWN]:
        table.add_row(
            escape(pair.sender),
            escape(pair.receiver),
            f"{pair.copies:,}",
            f"{pair.backwards:,}",
            signed_text(pair.smallest_ns, "+"),
            signed_text(pair.median_ns, "+"),
        )
    if len(pairs) > ROWS_SHOWN:
        rest = pairs[ROWS_SHOWN:]
        backwards = sum(pair.backwards for pair in rest)
        copies = sum(pair.copies for pair in rest)
        table.add_row(f"and {len(rest):,} more", "", f"{copies:,}", f"{backwards:,}", "", "")
    return table


def period_text(duration_ns: int) -> str:
    """A duration, in days or hours if it is long."""
    if duration_ns >= 2 * DAY_NS:
        return f"{duration_ns / DAY_NS:,.1f} days"
    if duration_ns >= 2 * HOUR_NS:
        return f"{duration_ns / HOUR_NS:.1f} hours"
    return duration_text(duration_ns)
