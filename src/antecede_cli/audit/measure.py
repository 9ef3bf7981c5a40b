"""`antecede measure`: what recorded runs cost, and what a workload is like."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import claim, write_whole
from antecede.units import counted, three_digits
from antecede_cli.console import Console, plain_table, signed_text, wide_console
from antecede_cli.options import COUNT, allow_only, is_given
from antecede_cli.spark import (
    check_readable,
    check_writable,
    need_spark,
    spark_progress,
    spark_session,
)

if TYPE_CHECKING:
    from antecede_audit.measure.profile import RunProfile

RUNS_SHOWN: Final = 40
WRITTEN: Final = ("metrics.parquet", "metrics.csv", "metrics.json")

PROFILES_SHOWN: Final = 6
"""Tables are printed and plots drawn of at most this many runs; the files are about all of them."""

SUMMARY: Final = "summary.json"
BESIDE: Final = (SUMMARY, "plots")
"""What is written beside the tables of a profile."""

FILE_WIDTH: Final = 120
"""Columns of a table that goes into a file, which has no width of its own."""

SHOWN: Final = ("mean", "p5", "p50", "p95", "p99", "max")
"""The figures of a profile that people see; the file has more."""

ONLY_OF_WORKLOADS: Final = ("run_id", "sample_above", "plots")
OF_WORKLOADS: Final = (*("paths", "workload", "out", *ONLY_OF_WORKLOADS, "as_json", "master"),)

EPILOG: Final = """
\b
Examples:
  antecede measure run.parquet
  antecede measure trace/events runs/events --out figures
  antecede measure live/ --no-non-causal --json
  antecede measure --workload trace              tables, and plots in trace/profile/plots
  antecede measure --workload trace --out shop   the same, tables and plots in shop/
  antecede measure --workload grown --no-plots   a grown workload, tables only

\b
PATH is an event log of live, simulated or ingested runs: a file (.parquet, .jsonl) or a dataset by
run. For each run: where the time of every copy went, packets and their metadata, how full buffers
were, and by how much deliveries were later than causal order demands. With --out the figures go to
OUT/metrics.parquet, .csv and .json.

\b
With --workload PATH is what `antecede ingest` or `antecede lab grow` has written: `workload/`, and
`events/` and `processes/` if there are any. With `events/` times are the recorded ones; without,
those of a network that takes no time. Tables go into OUT as Parquet, the figures as summary.json,
the plots as SVG.

Up to a million events, or messages, in at most 256 MiB of files on this machine are measured at
once, all else on Spark, as is everything if --master is given; the figures are the same.
"""


@click.command(epilog=EPILOG, short_help="Say what runs cost, or what a workload is like.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--workload", is_flag=True, help="Measure the workload in PATH, not its runs.")
@click.option(
    "--out", metavar="DIR", help="Where tables go.  [default, with --workload: PATH/profile]"
)
@click.option(
    "--non-causal/--no-non-causal",
    default=True,
    help="Compare every delivery with the earliest possible one.  [default: yes]",
)
@click.option("--run", "run_id", help="With --workload: only the run of this name.")
@click.option(
    "--sample-above",
    type=COUNT,
    help="Estimate the structure of workloads with more messages, copies and causes.  "
    "[default: 12M]",
)
@click.option(
    "--plots/--no-plots", default=True, help="Draw the plots of a workload.  [default: yes]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    workload: bool,
    out: str | None,
    non_causal: bool,
    run_id: str | None,
    sample_above: int | None,
    plots: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """Say what recorded runs cost: delays and where they came from, packets, buffers, throughput.

    Works on logs of any origin; figures that a log has no events for, such as packets of an
    ingested trace, are left empty. With --workload, say what the traffic itself is like instead:
    degrees, fan-out, depth, concurrency, times and sizes.
    """
    if workload:
        allow_only(context, "--workload", OF_WORKLOADS)
        if len(paths) != 1:
            raise click.UsageError("--workload takes one PATH")
        measure_workload(context, paths[0], out, run_id, sample_above, plots, as_json, master)
        return
    if any(is_given(context, name) for name in ONLY_OF_WORKLOADS):
        raise click.UsageError("--run, --sample-above and --plots need --workload")
    measure_runs(context, paths, out, non_causal, as_json, master)


def measure_runs(
    context: click.Context,
    events: tuple[str, ...],
    out: str | None,
    non_causal: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """What recorded runs cost."""
    need_spark()
    from antecede_audit.jobs.measure import measure_here
    from antecede_audit.spark.measure import measure_logs
    from antecede_audit.spark.storage import Storage, is_local_path
    from antecede_lab.evaluate.outputs import write_rows

    check_readable(*events)
    check_writable(out, names=WRITTEN)
    with spark_progress() as progress:
        runs = None
        if master is None and all(map(is_local_path, (*events, *([out] if out else ())))):
            runs = measure_here(events, non_causal=non_causal)
        if runs is not None and out is not None:
            claim(Path(out), WRITTEN)
            write_rows(Path(out), "metrics", runs)
        if runs is None:
            progress.tell("starting Spark")
            with spark_session(context, master) as session:
                progress.watch(session)
                progress.tell("measuring")
                runs = measure_logs(session, events, non_causal=non_causal)
                if out is not None:
                    with Storage(session) as places, places.sending(out, WRITTEN) as folder:
                        write_rows(folder, "metrics", runs)
    if as_json:
        click.echo(json.dumps(runs, indent=2))
        return
    console = wide_console()
    console.print(runs_table(runs))
    if len(runs) > RUNS_SHOWN:
        console.print(f"and {len(runs) - RUNS_SHOWN:,} more")
    for line in sample_lines(runs[:RUNS_SHOWN]):
        console.print(line, markup=False)
    if out is not None:
        console.print(f"The figures are in {out}/metrics.csv and beside it.", markup=False)


def measure_workload(
    context: click.Context,
    folder: str,
    out: str | None,
    run_id: str | None,
    sample_above: int | None,
    plots: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """What a workload is like."""
    need_spark()
    from antecede_audit.jobs.profile import profile_here
    from antecede_audit.measure.profile import TABLES, summary_object
    from antecede_audit.spark.measure import profile
    from antecede_audit.spark.sampling import ENTRIES_MAX
    from antecede_audit.spark.storage import is_local_path

    target = Path(folder) / "profile" if out is None else Path(out)
    if target.absolute() == Path(folder).absolute():
        raise LocalError(f"{folder} holds the workload: its profile needs a folder of its own")
    check_readable(folder)
    check_writable(target, names=(*TABLES, *BESIDE))
    notes = Console(stderr=True)
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
    write_whole(target / SUMMARY, f"{json.dumps(summary, indent=2)}\n".encode())
    if plots:
        draw(runs[:PROFILES_SHOWN], target)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    console = wide_console(FILE_WIDTH)
    for run in runs[:PROFILES_SHOWN]:
        console.print(profile_table(run))
    if len(runs) > PROFILES_SHOWN:
        console.print(f"There are {len(runs) - PROFILES_SHOWN} more runs in {target}/summary.json.")
    notes.print(f"Tables{' and plots' if plots else ''} are in {target}.", highlight=False)


def runs_table(runs: list[dict[str, Any]]) -> Table:
    """The most telling figures."""
    waits = ("at sender", "channel", "at receiver", "added")
    table = plain_table(("run",), ("messages", "latency", "p99", *waits, "metadata", "control"))
    for run in runs[:RUNS_SHOWN]:
        table.add_row(
            run["run_id"],
            f"{run['messages']:,}",
            duration(run["latency_mean_ns"]),
            duration(run["latency_p99_ns"]),
            duration(run["sender_wait_mean_ns"]),
            duration(run["channel_mean_ns"]),
            duration(run["receiver_wait_mean_ns"]),
            duration(run["non_causal_mean_ns"]),
            "" if run["metadata_bytes"] is None else f"{per_message(run, 'metadata_bytes')} B",
            "" if run["packets"] is None else per_message(run, "control_packets"),
        )
    return table


def sample_lines(runs: list[dict[str, Any]]) -> list[str]:
    """Which figures are estimates, a line for each run that has some."""
    return [
        f"{run['run_id']}: what ordering added is estimated from a sample of "
        f"{run['non_causal_copies']:,} of {run['delivered']:,} copies."
        for run in runs
        if run["non_causal_copies"] is not None and run["non_causal_copies"] < run["delivered"]
    ]


def duration(value_ns: float | None) -> str:
    """A duration for people; nothing where it is not known."""
    return "" if value_ns is None else signed_text(value_ns)


def per_message(run: dict[str, Any], name: str) -> str:
    """A count divided by the number of messages."""
    return three_digits(run[name] / run["messages"])


def draw(runs: list["RunProfile"], target: Path) -> None:
    """The plots of each run; several runs have a folder each."""
    from antecede.eventlog.layout import partition_folder
    from antecede_audit.report.profile_page import PLOT_FOLDER, write_profile_charts

    for run in runs:
        folder = target / PLOT_FOLDER
        place = folder if len(runs) == 1 else partition_folder(folder, run.run_id)
        write_profile_charts(run, place)


def profile_table(run: "RunProfile") -> Table:
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
    from antecede_audit.measure.profile import RECORDED

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
