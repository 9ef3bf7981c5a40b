"""`antecede lab evaluate`: from traces to the answer, in one command."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from antecede.units import duration_text
from antecede_cli.console import plain_table, progress_bar, wide_console
from antecede_cli.lab.sweep import check_none_lost, tried_again
from antecede_cli.options import parse_names
from antecede_cli.spark import check_writable, need_spark, spark_session

if TYPE_CHECKING:
    from antecede_lab.evaluate.evaluate import EvaluationOutcome, Tell
    from antecede_lab.sweep.sweep import Report
    from antecede_lab.sweep.sweep import SweepProgress as SweepProgress


EPILOG: Final = """
\b
Examples:
  export ANTECEDE_DATA=traces
  antecede lab evaluate examples/evaluation/evaluation.toml --out evaluation
  antecede lab evaluate examples/evaluation/evaluation.toml --out small --quick
  antecede lab evaluate examples/evaluation/evaluation.toml --out one --only trainticket
  antecede lab evaluate my.toml --data /shared/traces --out /shared/out --master spark://host:7077

\b
OUT gets
  EVALUATION.md    the answer: a table for each setting, with intervals over the seeds
  tables/          answers, figures, runs, delays, packets, audit, logs, traces: Parquet, CSV, JSON
  plots/           added latency, metadata, spread of latencies: SVG
  evaluation.json  how long what took, and how well logs and simulator agree
  traces/ profiles/ cut/ grown/ sweep/ audit/   what the steps left; they are not done twice

docs/EVALUATION.md explains the method and tells what came of it.
"""


@click.command(epilog=EPILOG, short_help="From traces to the answer.")
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where everything goes; what is there already is not done again.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the traces.  [default: $ANTECEDE_DATA]",
)
@click.option("--quick", is_flag=True, help="Less of everything, as the configuration says.")
@click.option("--only", default="", help="Only these scenarios, separated by commas.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    config: Path,
    out: Path,
    data: Path | None,
    quick: bool,
    only: str,
    master: str | None,
) -> None:
    """Ingest, profile and grow traces, simulate protocols on them, audit, measure, and answer.

    What does causal order cost in latency and in metadata, protocol by protocol, on this traffic?
    """
    need_spark()
    from antecede_lab.evaluate.config import read_evaluation
    from antecede_lab.evaluate.evaluate import WRITTEN, adopt, evaluate

    evaluation = read_evaluation(config, data=data, quick=quick, only=parse_names(only))
    adopt(out)
    check_writable(out, names=WRITTEN)
    with told() as (tell, report), spark_session(context, master) as session:
        outcome = evaluate(session, evaluation, out, command=as_typed(), tell=tell, report=report)
    console = wide_console()
    console.print(answers_table(outcome))
    for line in closing_lines(outcome):
        console.print(line, markup=False)
    check_none_lost(outcome.by_status)


def as_typed() -> str:
    """The command as it was given, for whoever wants to repeat it."""
    return shlex.join(["antecede", *sys.argv[1:]])


@contextmanager
def told() -> Iterator[tuple["Tell", "Report | None"]]:
    """What is being done, on standard error; with a bar if that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with progress_bar(*columns) as bar:
        if bar.disable:
            yield (lambda doing: click.echo(doing, err=True)), None
            return
        task = bar.add_task("starting Spark", total=None, runs="")

        def tell(doing: str) -> None:
            bar.update(task, description=escape(doing), total=None, completed=0, runs="")

        def report(progress: "SweepProgress") -> None:
            runs = f"{progress.runs_done} of {progress.runs} runs"
            bar.update(task, total=progress.cost, completed=progress.cost_done, runs=runs)

        yield tell, report


def answers_table(outcome: "EvaluationOutcome") -> Table:
    """The answer in short."""
    from antecede_lab.evaluate.answer import duration_cell, number_cell, share_cell

    table = plain_table(
        ("scenario", "network", "n", "protocol"),
        ("latency", "added by ordering", "share", "metadata B/msg", "control/msg"),
    )
    for one in outcome.answers:
        table.add_row(
            one.setting.scenario,
            one.setting.network,
            f"{one.setting.processes:,}",
            one.protocol,
            duration_cell(one.latency_ns),
            duration_cell(one.added_ns),
            share_cell(one.added_share),
            number_cell(one.metadata_bytes),
            number_cell(one.control_packets),
        )
    return table


def closing_lines(outcome: "EvaluationOutcome") -> list[str]:
    """How it went, and where everything is."""
    counts = ", ".join(f"{count} {status}" for status, count in outcome.by_status.items())
    steps = ", ".join(
        f"{name} {duration_text(1e9 * seconds)}" for name, seconds in outcome.seconds.items()
    )
    early = sum(one.fifo + one.transitive > 0 for one in outcome.judged)
    return [
        "",
        f"Runs: {counts}{tried_again(outcome.retried)}. Time: {steps}.",
        f"Audited: {len(outcome.judged)} logs, {early} of them with messages before their causes.",
        f"Logs and simulator differ by {outcome.difference:.2g} of a figure at most.",
        f"The answer is in {outcome.folder / 'EVALUATION.md'}.",
    ]
