"""`antecede ingest`: the traces of other systems as an event log and a workload."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click

from antecede_cli.audit.ingest_tables import (
    damaged_text,
    print_quality,
    print_rejects,
    print_summary,
    rejects_in,
)
from antecede_cli.console import Console
from antecede_cli.options import (
    RenamedOptions,
    allow_only,
    is_given,
    option_with_default,
    parse_names,
)
from antecede_cli.spark import check_writable, is_local, need_spark, spark_progress, spark_session

if TYPE_CHECKING:
    from antecede_audit.spans.summary import IngestSummary

FORMATS: Final = ("auto", "jaeger", "otlp", "zipkin", "nezha", "messages")
UNITS: Final = ("s", "ms", "us", "ns")

OF_CHECK: Final = ("paths", "check", "format_name", "as_json")
OF_REJECTS: Final = ("paths", "show_rejects", "reason", "limit", "as_json")

EPILOG: Final = """
\b
Examples:
  antecede ingest traces.json.gz --out trace          the format is recognised
  antecede ingest spans/ more.tar.xz --out trace      folders and archives
  antecede ingest mail.txt --format messages --time-unit s --out mail
  antecede ingest --check traces.json.gz              can these traces be believed?
  antecede ingest --show-rejects trace                what could not be read, and why
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
  workload/      the messages, by run        for: simulate -w replay, measure, lab grow
  processes/     their numbers and names
  spans/         what spans are called, and the attributes of them that --keep names
  lines/         what message tables say
  rejects/       what could not be read: source, position, reason, excerpt
  files/         what was read, for --append to pass over it
  summary.json   the counts and the clock offsets

What was in them before is replaced; with --append it becomes what an ingest of all files together
would have left, and files that were read before are skipped. Up to a million spans or lines,
in at most 256 MiB of files on this machine, are ingested at once, more on Spark, as is everything
if --master is given; the tables are the same.

With --check nothing is written and no Spark is started: one page says what is missing in the
traces, what contradicts itself and which clocks disagree, the raw figures beside the repaired ones;
of very many spans the first million is looked at. With --show-rejects PATH is the DIR of an earlier
ingest. The place of a reject is the file (after `!` the file within an archive), and in it the line
and column, the byte, or the path within a document.

A file that cannot be read at all, of which nothing can be used, fails the ingest before anything is
written. One that is truncated or damaged further on is used up to there. The exit status is 1 if
there is such a file, or no message was found.
"""


@click.command(
    cls=RenamedOptions,
    former={"--table": "--to-table"},
    epilog=EPILOG,
    short_help="Read the traces of other systems.",
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--out", metavar="DIR", help="Where the tables go.")
@option_with_default(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    default="auto",
    help="What PATH holds.",
)
@click.option("--check", is_flag=True, help="Write nothing; say how good the traces are.")
@click.option(
    "--show-rejects", is_flag=True, help="Show what the ingest into PATH could not read, and why."
)
@click.option("--reason", metavar="TEXT", help="Show only rejects whose reason contains TEXT.")
@option_with_default(
    "--limit", type=click.IntRange(0), default=20, metavar="N", help="Show N rejects; 0: all."
)
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
    "--to-table",
    "table",
    metavar="NAME",
    help="Add the events to the table catalog.db.name, too.  Needs Spark.",
)
@option_with_default(
    "--table-format",
    type=click.Choice(["parquet", "orc", "delta", "iceberg"]),
    default="parquet",
    help="How that table is written.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    out: str | None,
    format_name: str,
    check: bool,
    show_rejects: bool,
    reason: str | None,
    limit: int,
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
    if show_rejects:
        allow_only(context, "--show-rejects", OF_REJECTS)
        if len(paths) != 1:
            raise click.UsageError("--show-rejects takes one PATH: the DIR of an ingest")
        tell_rejects(Path(paths[0]), reason or "", limit, as_json)
        return
    if any(is_given(context, name) for name in ("reason", "limit")):
        raise click.UsageError("--reason and --limit have no meaning without --show-rejects")
    if check:
        allow_only(context, "--check", OF_CHECK)
        tell_quality(paths, format_name, as_json)
        return
    if out is None:
        raise click.UsageError("Missing option '--out'.")
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


def tell_rejects(folder: Path, reason: str, limit: int, as_json: bool) -> None:
    """What an earlier ingest could not read."""
    found = [row for row in rejects_in(folder) if reason in row["reason"]]
    shown = found[: limit or None]
    if as_json:
        for row in shown:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    print_rejects(Console(highlight=False), shown, [row["reason"] for row in found])


def tell_quality(paths: tuple[str, ...], format_name: str, as_json: bool) -> None:
    """How far traces can be believed."""
    if format_name == "messages":
        raise click.UsageError("--check reads spans: message tables have none")
    need_spark()
    from antecede_audit.spans.quality import quality_of

    with spark_progress() as progress:
        progress.tell("reading traces")
        found = quality_of(paths, format_name=format_name)
    if as_json:
        click.echo(json.dumps(found.as_object(), indent=2))
    else:
        print_quality(Console(highlight=False), found)


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
