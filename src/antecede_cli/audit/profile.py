"""`antecede profile`: what a workload is like, as tables and plots."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.table import Table

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import claim
from antecede.units import counted
from antecede_cli.console import Console, wide_console
from antecede_cli.options import COUNT
from antecede_cli.spark import (
    check_readable,
    check_writable,
    need_spark,
    spark_progress,
    spark_session,
)

if TYPE_CHECKING:
    from antecede_audit.measure.run_profile import RunProfile

RUNS_SHOWN: Final = 6
"""Of so many runs the tables are printed and the plots drawn; the files are about all of them."""

SUMMARY: Final = "summary.json"
BESIDE: Final = (SUMMARY, "plots")
"""What is written beside the tables."""

FILE_WIDTH: Final = 120
"""Columns of a table that goes into a file, which has no width of its own."""

SHOWN: Final = ("mean", "p5", "p50", "p95", "p99", "max")
"""The figures that people see; the file has more."""

EPILOG: Final = """
\b
Examples:
  antecede profile trace                   tables, and plots in trace/profile/plots
  antecede profile trace --out told        the same elsewhere
  antecede profile grown --no-plots        a grown workload, tables only
  antecede profile trace --json            the figures for programs

DIR is what `antecede ingest` or `antecede lab grow` has written: `workload/`, and `events/` and
`processes/` if there are any. With `events/` times are the recorded ones; without, those of a
network that takes no time.
"""


@click.command(epilog=EPILOG, short_help="Say what a workload is like.")
@click.argument("folder", metavar="DIR")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where tables and plots go.  [default: DIR/profile]",
)
@click.option("--run", "run_id", help="Only the run of this name.")
@click.option(
    "--sample-above",
    type=COUNT,
    help="Estimate the structure of runs with more messages, copies and causes.  [default: 12M]",
)
@click.option("--plots/--no-plots", default=True, help="Draw the plots.  [default: yes]")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    folder: str,
    out: Path | None,
    run_id: str | None,
    sample_above: int | None,
    plots: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """Say what a workload is like: degrees, fan-out, depth, concurrency, times and sizes.

    Tables go into DIR/profile as Parquet, the figures as summary.json, the plots as SVG.
    Up to 100,000 messages on this machine are profiled at once, more on Spark, as is everything if
    --master is given; the figures are the same.
    """
    need_spark()
    from antecede_audit.jobs.profile import profile_here
    from antecede_audit.spark.profile import TABLES, profile, summary_object, write_json
    from antecede_audit.spark.sampling import ENTRIES_MAX
    from antecede_audit.spark.storage import is_local_path

    target = Path(folder) / "profile" if out is None else out
    if target.absolute() == Path(folder).absolute():
        raise LocalError(f"{folder} holds the workload: its profile needs a folder of its own")
    check_readable(folder)
    check_writable(target, names=(*TABLES, *BESIDE))
    told = Console(stderr=True)
    with spark_progress() as progress:
        progress.tell(f"profiling {folder}")
        is_simple = master is None and sample_above is None
        is_simple = is_simple and is_local_path(folder) and is_local_path(str(target))
        runs = profile_here(folder, str(target), run_id=run_id) if is_simple else None
        if runs is None:
            progress.tell("starting Spark")
            with spark_session(context, master) as session:
                progress.watch(session)
                progress.tell(f"profiling {folder}")
                limit = sample_above or ENTRIES_MAX
                runs = profile(session, folder, str(target), run_id=run_id, entries_max=limit)
    summary = summary_object(folder, runs)
    claim(target, BESIDE)
    write_json(target / SUMMARY, summary)
    if plots:
        draw(runs[:RUNS_SHOWN], target)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    console = wide_console(FILE_WIDTH)
    for run in runs[:RUNS_SHOWN]:
        console.print(run_table(run))
    if len(runs) > RUNS_SHOWN:
        console.print(f"There are {len(runs) - RUNS_SHOWN} more runs in {target}/summary.json.")
    told.print(f"Tables{' and plots' if plots else ''} are in {target}.", highlight=False)


def draw(runs: list["RunProfile"], target: Path) -> None:
    """The plots of each run; several runs have a folder each."""
    from antecede.eventlog.layout import partition_folder
    from antecede_audit.report.profile_page import PLOT_FOLDER, write_profile_charts

    for run in runs:
        folder = target / PLOT_FOLDER
        place = folder if len(runs) == 1 else partition_folder(folder, run.run_id)
        write_profile_charts(run, place)


def run_table(run: "RunProfile") -> Table:
    """What one run is like, for people."""
    from antecede_audit.measure.quantities import MEASURES, value_text

    table = Table(title=heading(run), caption=caption(run), title_justify="left")
    table.add_column("", no_wrap=True)
    for name in SHOWN:
        table.add_column(name, justify="right")
    for name, measure in MEASURES.items():
        if name in run.distributions:
            figures = run.distributions[name].figures()
            cells = [value_text(figures[shown], measure.unit) for shown in SHOWN]
            table.add_row(measure.title, *cells)
    return table


def heading(run: "RunProfile") -> str:
    """The counts of a run as a sentence."""
    from antecede_audit.measure.quantities import long_duration_text, rate_text

    lasts_ns = run.last_ns - run.first_ns
    rate = f", {rate_text(run.messages, lasts_ns)}" if lasts_ns else ""
    return (
        f"{run.run_id}: {counted(run.messages, 'message')} "
        f"({counted(run.copies, 'copy', 'copies')}) among "
        f"{counted(run.processes, 'process', 'processes')} over "
        f"{counted(run.channels, 'channel')}, in "
        f"{counted(run.conversations, 'conversation')}, during "
        f"{long_duration_text(lasts_ns)}{rate}"
    )


def caption(run: "RunProfile") -> str:
    """What to know about the figures."""
    from antecede_audit.measure.run_profile import RECORDED

    be = "is" if run.spontaneous == 1 else "are"
    parts = [f"{counted(run.spontaneous, 'message')} {be} spontaneous."]
    if run.stuck:
        parts.append(
            f"{run.stuck:,} can never leave: a cause is missing, or they wait for themselves."
        )
    if run.sampled is not None:
        parts.append(
            f"What follows from chains of causes is estimated from a sample of {run.sampled:,} of "
            f"{run.messages:,} messages."
        )
    if run.times != RECORDED:
        parts.append("There is no event log: gaps are those of a network that takes no time.")
    return " ".join(parts)
