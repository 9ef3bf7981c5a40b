"""`antecede lab sweep`: many simulations on Spark, from a grid to a table of runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from antecede.core.errors import LocalError
from antecede.units import duration_text, three_digits
from antecede_cli.console import plain_table, progress_bar, signed_text, wide_console
from antecede_cli.spark import check_writable, need_spark, spark_session

if TYPE_CHECKING:
    from antecede_lab.sweep.sweep import Report, SweepProgress, SweepResult

FAILURES_SHOWN: Final = 5

EPILOG: Final = """
\b
Examples:
  antecede lab sweep examples/sweep.toml --out runs
  antecede lab sweep grid.toml --out runs --events        the event log of every run as well
  antecede lab sweep grid.toml --out runs --retry-failed  the same again, what failed included
  antecede lab sweep grid.toml --out /shared/runs --master spark://host:7077

\b
A grid:
  protocols = ["hybrid", "rst"]
  networks = ["lan", "wan"]
  processes = [8, 32]
  seeds = 3
  [scenario.chatter]
  workload = "poisson"
  messages = "2k"
  [scenario.shop]
  replay = "ingested/workload"

docs/pipeline/sweep.md has all that a grid can say, and all columns of the result.
"""


@click.command(epilog=EPILOG, short_help="Run many simulations on Spark.")
@click.argument("grid", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the runs go; those that are there already are not run again.",
)
@click.option("--events", is_flag=True, help="Keep the event log of every run, in OUT/events.")
@click.option("--retry-failed", is_flag=True, help="Run again what has failed before.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    grid: Path,
    out: Path,
    events: bool,
    retry_failed: bool,
    master: str | None,
) -> None:
    """Run every combination of protocol, scenario, network, number of processes and seed.

    Each run is a task of its own and depends on nothing but its row of the grid. A run that fails
    is recorded with its reason and seed, and the others go on.
    """
    need_spark()
    from antecede_lab.sweep.grid import read_grid
    from antecede_lab.sweep.sweep import WRITTEN, is_sweep, run_sweep

    planned = read_grid(grid)
    names = () if is_sweep(out) else WRITTEN if events else WRITTEN[:-1]
    check_writable(out, names=names)
    with simulating() as report, spark_session(context, master) as session:
        result = run_sweep(
            session, planned, out, events=events, retry_failed=retry_failed, report=report
        )
    console = wide_console()
    console.print(runs_table(result))
    for line in closing_lines(result):
        console.print(line, markup=False)
    check_none_lost(result.by_status)


@contextmanager
def simulating() -> Iterator["Report | None"]:
    """A bar on standard error if that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeRemainingColumn(),
    )
    with progress_bar(*columns) as bar:
        task = bar.add_task("simulating", total=None, runs="")

        def show(progress: "SweepProgress") -> None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            bar.update(
                task,
                total=progress.cost,
                completed=progress.cost_done,
                runs=f"{progress.runs_done} of {progress.runs} runs{failed}, left:",
            )

        yield None if bar.disable else show


def runs_table(result: "SweepResult") -> Table:
    """The runs of the sweep, averaged over their seeds."""
    table = plain_table(
        ("scenario", "network", "n", "protocol", "runs"),
        ("latency", "p99", "added", "metadata", "control"),
    )
    for key, rows in grouped(result).items():
        scenario, network, processes, protocol = key
        table.add_row(
            scenario,
            network,
            str(processes),
            protocol,
            str(len(rows)),
            duration_text(mean(rows, "latency_mean_ns")),
            duration_text(mean(rows, "latency_p99_ns")),
            signed_text(mean(rows, "non_causal_mean_ns")),
            f"{three_digits(mean(rows, 'metadata_bytes_per_message'))} B",
            three_digits(mean(rows, "control_per_message")),
        )
    return table


def grouped(result: "SweepResult") -> dict[tuple[str, str, int, str], list[dict[str, float]]]:
    """The rows of runs that took place, by everything but the seed."""
    columns = ["scenario", "network", "processes", "protocol"]
    figures = [
        "latency_mean_ns",
        "latency_p99_ns",
        "non_causal_mean_ns",
        "metadata_bytes_per_message",
        "control_per_message",
    ]
    groups: dict[tuple[str, str, int, str], list[dict[str, float]]] = {}
    for row in result.read().select([*columns, *figures]).to_pylist():
        if row["latency_mean_ns"] is not None:
            scenario, network, processes, protocol = (row[column] for column in columns)
            groups.setdefault((scenario, network, processes, protocol), []).append(row)
    return dict(sorted(groups.items()))


def mean(rows: list[dict[str, float]], name: str) -> float:
    """The mean of a figure over the seeds; 0 where it was not measured."""
    return sum(row[name] or 0.0 for row in rows) / len(rows)


def tried_again(retried: int) -> str:
    """How many runs that had come to nothing were run again, if there were any."""
    return f", {retried} that had been lost or had failed were tried again" if retried else ""


def check_none_lost(by_status: Mapping[str, int]) -> None:
    """`LocalError` if runs are missing on account of the machine that ran them."""
    if lost := by_status.get("lost", 0):
        runs = "1 run was" if lost == 1 else f"{lost} runs were"
        raise LocalError(f"{runs} lost with their workers: the same command tries them again")


def closing_lines(result: "SweepResult") -> list[str]:
    """How the runs ended, why some did not take place, and where everything is."""
    counts = ", ".join(f"{count} {status}" for status, count in result.by_status.items())
    lines = [
        "",
        "Means over the seeds; added: delivered later than causal order demands (if negative: "
        "too early); metadata and control packets: per message.",
        f"{counts}; {result.resumed} of them were there before{tried_again(result.retried)}.",
    ]
    table = result.read().select(["run_id", "seed", "status", "reason"]).to_pylist()
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in table:
        if row["status"] != "finished":
            reasons.setdefault((row["status"], row["reason"]), []).append(row["run_id"])
    for (status, reason), run_ids in list(reasons.items())[:FAILURES_SHOWN]:
        more = f" and {len(run_ids) - 1} more" if len(run_ids) > 1 else ""
        lines.append(f"{status}: {run_ids[0]}{more}: {reason}")
    lines.append(f"The runs are in {result.folder / 'runs'}.")
    return lines
