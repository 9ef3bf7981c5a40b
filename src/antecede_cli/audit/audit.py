"""`antecede audit`: whether effects overtook causes in any event log, on Spark."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click
from rich.markup import escape
from rich.table import Table

from antecede.core.errors import LocalError
from antecede.units import counted
from antecede_audit.judging.explain import explain, name, time_text
from antecede_audit.judging.findings import Violation
from antecede_audit.judging.summary import GRADES, RECORDED
from antecede_cli.console import Console, figures_table, signed_text
from antecede_cli.options import RenamedOptions, option_with_default
from antecede_cli.spark import is_local, need_spark, spark_progress, spark_session

if TYPE_CHECKING:
    from antecede_audit.judging.definition import Order
    from antecede_audit.judging.summary import AuditResult, AuditSummary, ChannelCount


CHANNELS_SHOWN: Final = 8
RUNS_SHOWN: Final = 5

MEANINGS: Final[dict["Order", str]] = {
    "trace": "trace: only what the same request did before at a process counts as a cause.",
    "process": "process: all that a process did before counts, which causal messaging enforces.",
}

Names = Mapping[str, Mapping[int, str]]


def print_summary(console: Console, summary: "AuditSummary", names: Names, out: str) -> None:
    """What an operator wants to know: how much was looked at, and what is wrong with it."""
    runs = f" in {summary.runs:,} runs" if summary.runs != 1 else ""
    deliveries = counted(summary.deliveries, "delivery", "deliveries")
    console.print(
        f"{counted(summary.events, 'event')}{runs}: {counted(summary.messages, 'message')}, "
        f"{deliveries}, {counted(summary.processes, 'process', 'processes')}"
    )
    console.print(verdict_text(summary))
    for line in order_lines(summary):
        console.print(line)
    if summary.grades.get(RECORDED, 0) < summary.violation_count:
        told = [f"{summary.grades[grade]:,} {words}" for grade, words in GRADES.items()]
        console.print(f"Of these, {'; '.join(told)}.")
    others = faults_text(summary)
    if others:
        console.print(others)
    if summary.channels:
        console.print(channels_table(summary.channels, names))
    for line in [*cut_off_lines(summary, names), *method_lines(summary)]:
        console.print(escape(line))
    console.print(f"The tables are in {escape(out)}.")


def verdict_text(summary: "AuditSummary") -> str:
    """Whether effects overtook causes, and by how much."""
    if not summary.deliveries and summary.cut_off:
        return "[yellow]No delivery can be read, so nothing was judged.[/]"
    if not summary.deliveries:
        return "[yellow]Nothing was delivered, so nothing was judged:[/] is this the right log?"
    if summary.held_back_ns is None:
        return "[green]No message was delivered before one that caused it.[/]"
    held = summary.held_back_ns
    early = summary.violation_count
    share = early / max(1, summary.deliveries)
    were, them = ("message was", "it") if early == 1 else ("messages were", "them")
    return (
        f"[bold red]{early:,} {were} delivered before one that caused "
        f"{them}[/] ({share:.2%} of deliveries): {summary.violations['fifo']:,} before an earlier "
        f"one of the same sender, {summary.violations['transitive']:,} before one of another.\n"
        f"Causal order would have held {them} back for {signed_text(held['p50'])} (median), "
        f"{signed_text(held['p99'])} (99th percentile), {signed_text(held['max'])} at most."
    )


def order_lines(summary: "AuditSummary") -> list[str]:
    """How many there are by either order, and what that means; nothing if there are no traces."""
    if summary.order == "process" and len(set(summary.violations_by_order.values())) == 1:
        return []
    width = max(len(f"{count:,}") for count in summary.violations_by_order.values())
    return [
        f"{summary.violations_by_order[order]:>{width},} by {meaning}"
        for order, meaning in MEANINGS.items()
    ]


def faults_text(summary: "AuditSummary") -> str:
    """What else is wrong, if anything is."""
    counts = {
        "lost": summary.losses,
        "delivered more than once": summary.duplicates,
        "delivered where nobody sent them": summary.inventions,
        "their own cause, so that the log cannot be right": summary.self_caused,
    }
    found = [f"{count:,} {words}" for words, count in counts.items() if count]
    return f"Copies: {', '.join(found)}." if found else ""


def channels_table(channels: Sequence["ChannelCount"], names: Names) -> Table:
    """Where it happened most."""
    several = len({channel.run_id for channel in channels}) > 1
    table = figures_table(
        (*(["run"] if several else []), "at", "messages of", "came before those of"),
        ("times", "early by (median)", "at most"),
        box=None,
        header_style="bold",
        title="Channels most affected",
        title_justify="left",
    )
    for channel in channels[:CHANNELS_SHOWN]:
        people = names.get(channel.run_id, {})
        late = "themselves"
        if channel.late_sender != channel.early_sender:
            late = name(channel.late_sender, people)
        table.add_row(
            *([escape(channel.run_id)] if several else []),
            escape(name(channel.process, people)),
            escape(name(channel.early_sender, people)),
            escape(late),
            f"{channel.violations:,}",
            signed_text(channel.held_back_ns),
            signed_text(channel.held_back_ns_max),
        )
    return table


def cut_off_lines(summary: "AuditSummary", names: Names) -> list[str]:
    """Whose logs break off, and what is not known because of that."""
    lines = []
    for run_id, processes in summary.cut_off.items():
        people = names.get(run_id, {})
        for process, since_ns in processes.items():
            end = (
                "nothing of it can be read" if since_ns is None else f"after {time_text(since_ns)}"
            )
            lines.append(f"The log of {name(int(process), people)} in {run_id} breaks off: {end}.")
    unknown = summary.unknown
    if any(unknown.values()):
        lines.append(
            f"So it is not known whether {unknown['losses']:,} more messages reached them, nor "
            f"whether they sent {unknown['inventions']:,} that others delivered; nobody is blamed."
        )
    return lines


def method_lines(summary: "AuditSummary") -> list[str]:
    """What a reader should know about how runs were judged whose clocks cannot be trusted."""
    runs = list(summary.method.sequential.items())
    lines = [
        f"{run_id}: {'; '.join(reasons)}. {remedy(summary, run_id)}"
        for run_id, reasons in runs[:RUNS_SHOWN]
    ]
    if len(runs) > RUNS_SHOWN:
        lines.append(f"… and {len(runs) - RUNS_SHOWN:,} more runs, named in summary.json")
    return lines


def remedy(summary: "AuditSummary", run_id: str) -> str:
    """What was done about a clock that cannot be right."""
    moved = summary.method.clock_offsets_ns.get(run_id, {})
    share = summary.method.blurred.get(run_id)
    if share is None and not moved:
        return "It was judged by the order of its events alone."
    clocks = "No clock was moved"
    if moved:
        clock = "The clock of 1 process was" if len(moved) == 1 else "The clocks of {} were"
        clocks = clock.format(counted(len(moved), "process", "processes")) + " moved"
    if share is None:
        return f"{clocks}."
    return f"{clocks}, and for {share:.2%} of the time only the order of events was looked at."


def print_worst(
    console: Console, worst: Sequence[tuple[str, Violation]], names: Names, several: bool
) -> None:
    """The worst violations, each as a story."""
    for number, (run_id, violation) in enumerate(worst, start=1):
        where = f"In {run_id}: " if several else ""
        told = explain(violation, names.get(run_id))
        path = "" if violation.witness else " (Too much happened between them to show how.)"
        console.print(f"{number}. {where}{told}{path}", markup=False, soft_wrap=True)


EPILOG: Final = """
\b
Examples:
  antecede audit run.parquet --out found            one log: .parquet, .jsonl or .jsonl.gz
  antecede audit traces/ --out found --explain 5    what `antecede ingest --out traces` made
  antecede audit sweep/events more.jsonl --out found
  antecede audit live/ --out found --fail-on-violation && deploy
  antecede audit --from-table lake.traces.events --out s3a://bucket/found --table-format orc

\b
DIR gets
  violations/    each message delivered before one that caused it: both, when, and the
                 time for which causal order would have held it back
  duplicates/    messages delivered more than once at a process
  losses/        messages never delivered at a process they were sent to
  inventions/    messages delivered at a process that they were not sent to
  summary.json   the counts, the channels most affected, how it was judged

What an earlier audit left there is replaced; files of others are not, and the audit refuses.
The exit status is 0 whatever was found, unless --fail-on-violation is given: then it is 1 if
a message was delivered too early, and 3 if nothing was delivered, so that nothing was judged.
"""


@click.command(
    cls=RenamedOptions,
    former={"--table": "--from-table", "--format": "--table-format"},
    epilog=EPILOG,
    short_help="Judge causal order in event logs of any size.",
)
@click.argument("paths", metavar="EVENTS...", nargs=-1)
@click.option("--out", required=True, metavar="DIR", help="Where the tables go.")
@option_with_default(
    "--explain",
    "explained",
    type=click.IntRange(0),
    default=0,
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
    "--from-table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="Audit the table catalog.db.name, too.  Needs Spark.",
)
@option_with_default(
    "--table-format",
    "format_name",
    type=click.Choice(["parquet", "orc", "delta", "iceberg"]),
    default="parquet",
    help="How the tables are written; others than Parquet need Spark.",
)
@click.option(
    "--fail-on-violation",
    is_flag=True,
    help="Exit with 1 if there is a violation, with 3 if nothing could be judged.",
)
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

    Logs of up to a million events, in at most 256 MiB of files on this machine, are judged at once,
    larger ones on Spark, as is everything if --master is given; the verdict is the same.
    """
    if not paths and not tables:
        raise click.UsageError("Missing argument 'EVENTS...', or --from-table.")
    options: Options = {
        "order": order,
        "explain": explained,
        "tables": tables,
        "format_name": format_name,
    }
    found = audit_paths(context, paths, out, options, master)
    if as_json:
        click.echo(json.dumps(found.summary.as_object(), indent=2))
    else:
        print_summary(Console(highlight=False), found.summary, found.names, out)
    several = found.summary.runs > 1
    print_worst(Console(highlight=False, stderr=as_json), found.worst, found.names, several)
    if fail_on_violation and not found.summary.causal:
        context.exit(1)
    if fail_on_violation and not found.summary.deliveries:
        raise NothingJudged("nothing was delivered in these logs, so nothing was judged")


class NothingJudged(click.ClickException):
    """There is no verdict: neither good nor bad."""

    exit_code = 3


class Options(TypedDict):
    """How to judge, and what else."""

    order: "Order | None"
    explain: int
    tables: tuple[str, ...]
    format_name: str


def audit_paths(
    context: click.Context,
    paths: tuple[str, ...],
    out: str,
    options: Options,
    master: str | None,
) -> "AuditResult":
    """Audit: logs of up to a million events right here, all else on Spark."""
    check_kinds(paths)
    order, explain = options["order"], options["explain"]
    is_simple = master is None and not options["tables"] and options["format_name"] == "parquet"
    need_spark()
    from antecede_audit.jobs.audit import audit_here
    from antecede_audit.spark.audit import audit_logs
    from antecede_audit.spark.pieces import session_settings
    from antecede_audit.spark.storage import is_local_path

    with spark_progress() as progress:
        if is_simple and all(map(is_local_path, (*paths, out))):
            found = audit_here(paths, out, order=order, explain=explain, tell=progress.tell)
            if found is not None:
                return found
        progress.tell("starting Spark")
        is_here = is_simple and all(map(is_local, paths))
        settings = session_settings(paths) if is_here else {}
        with spark_session(context, master, settings) as session:
            progress.watch(session)
            return audit_logs(session, paths, out, **options, tell=progress.tell)


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
