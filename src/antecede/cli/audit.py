"""`antecede audit`: whether effects overtook causes in any event log, on Spark."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click

from antecede.cli.audit_summary import print_summary, print_worst
from antecede.cli.console import Console
from antecede.cli.spark_progress import spark_progress
from antecede.cli.spark_session import need_spark, spark_session
from antecede.core.errors import LocalError

if TYPE_CHECKING:
    from antecede.audit.history import Order
    from antecede.audit.summary import Audit

EPILOG: Final = """
\b
Examples:
  antecede audit run.parquet --out found            one log: .parquet, .jsonl or .jsonl.gz
  antecede audit traces/ --out found --explain 5    what `antecede ingest --out traces` made
  antecede audit sweep/events more.jsonl --out found
  antecede audit live/ --out found --fail-on-violation && deploy
  antecede audit --table lake.traces.events --out s3a://bucket/found --format orc

\b
DIR gets
  violations/    each message delivered before one that caused it: both, when, and the
                 time for which causal order would have held it back
  duplicates/    messages delivered more than once at a process
  losses/        messages never delivered at a process they were sent to
  inventions/    messages delivered at a process that they were not sent to
  summary.json   the counts, the channels most affected, how it was judged

What was in them before is replaced. The exit status is 0 whatever was found, unless
--fail-on-violation is given: then it is 1 if a message was delivered too early.
"""


@click.command(epilog=EPILOG, short_help="Judge causal order in event logs of any size.")
@click.argument("paths", metavar="EVENTS...", nargs=-1)
@click.option("--out", required=True, metavar="DIR", help="Where the tables go.")
@click.option(
    "--explain",
    "explained",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Tell the worst N violations in words: how the late message caused the early one.",
)
@click.option(
    "--order",
    type=click.Choice(["process", "trace"]),
    help="What counts as a cause: all that a process did before, or what it did before in the "
    "same trace.  [default: trace if the log has traces]",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="Audit the table catalog.db.name, too.  Needs Spark.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["parquet", "orc", "delta", "iceberg"]),
    default="parquet",
    show_default=True,
    help="How the tables are written; others than Parquet need Spark.",
)
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 if there is a violation.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    out: str,
    explained: int,
    order: "Order | None",
    tables: tuple[str, ...],
    format_name: str,
    fail_on_violation: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """Find out whether effects overtook causes in event logs, of whatever origin and size.

    A log is judged by definition: if one message happened before another, it must be delivered
    first wherever both are delivered. Between two events of one process "before" means what --order
    says; the summary has the figures for both. Logs may come from live runs, simulations or
    ingested traces, and need not have been written by a protocol that promises any order.

    Logs of up to a million events on this machine are judged at once, larger ones on Spark, as is
    everything if --master is given; the verdict is the same.
    """
    if not paths and not tables:
        raise click.UsageError("Missing argument 'EVENTS...', or --table.")
    options: Options = {
        "order": order,
        "explain": explained,
        "tables": tables,
        "format_name": format_name,
    }
    found = carried_out(context, paths, out, options, master)
    if as_json:
        click.echo(json.dumps(found.summary.as_object(), indent=2))
    else:
        print_summary(Console(highlight=False), found.summary, found.names, out)
    several = found.summary.runs > 1
    print_worst(Console(highlight=False, stderr=as_json), found.worst, found.names, several)
    if fail_on_violation and not found.summary.causal:
        context.exit(1)


class Options(TypedDict):
    """How to judge, and what else."""

    order: "Order | None"
    explain: int
    tables: tuple[str, ...]
    format_name: str


def carried_out(
    context: click.Context,
    paths: tuple[str, ...],
    out: str,
    options: Options,
    master: str | None,
) -> "Audit":
    """Audit: logs of up to a million events right here, all else on Spark."""
    check_kinds(paths)
    order, explain = options["order"], options["explain"]
    is_simple = master is None and not options["tables"] and options["format_name"] == "parquet"
    if is_simple and not has_lab():
        from antecede.audit.plain import audit_plain

        return audit_plain(paths, out, order=order, explain=explain)
    need_spark()
    from antecede.pipeline.audit.job import audit
    from antecede.pipeline.audit.small_job import audit_small

    with spark_progress() as progress:
        if is_simple:
            found = audit_small(paths, out, order=order, explain=explain, tell=progress.tell)
            if found is not None:
                return found
        progress.tell("starting Spark")
        with spark_session(context, master) as session:
            progress.watch(session)
            return audit(session, paths, out, **options, tell=progress.tell)


def has_lab() -> bool:
    """Whether what large audits need is installed; short ones do without."""
    return all(find_spec(name) is not None for name in ("numpy", "pyarrow", "pyspark"))


def check_kinds(paths: tuple[str, ...]) -> None:
    """`LocalError` if a path is one of traces, which have to be ingested first."""
    for path in paths:
        file = Path(path)
        if not file.is_file():
            continue
        named = file.name.removesuffix(".gz")
        if named.endswith((".json", ".csv", ".zip", ".tar", ".tgz", ".txt")):
            folder = file.name.lstrip(".").partition(".")[0] or "traces"
            raise LocalError(
                f"{path} is no event log; if it is a trace, make one of it first: "
                f"antecede ingest {path} --out {folder} && antecede audit {folder} --out found"
            )
