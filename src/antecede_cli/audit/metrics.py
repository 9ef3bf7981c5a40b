"""`antecede metrics`: what runs cost, from their event logs, whatever made them."""

import json
from pathlib import Path
from typing import Any, Final

import click
from rich.table import Table

from antecede.eventlog.atomic_files import claim
from antecede.units import three_digits
from antecede_cli.console import plain_table, signed_text, wide_console
from antecede_cli.spark import (
    check_readable,
    check_writable,
    need_spark,
    spark_progress,
    spark_session,
)

RUNS_SHOWN: Final = 40
WRITTEN: Final = ("metrics.parquet", "metrics.csv", "metrics.json")

EPILOG: Final = """
\b
Examples:
  antecede metrics run.parquet
  antecede metrics trace/events runs/events --out figures
  antecede metrics live/ --no-non-causal --json

\b
EVENTS are event logs of live, simulated or ingested runs: files (.parquet, .jsonl) or datasets by
run. For each run: where the time of every copy went, packets and their metadata, how full buffers
were, and by how much deliveries were later than causal order demands. With --out the figures go to
OUT/metrics.parquet, .csv and .json.
"""


@click.command(epilog=EPILOG, short_help="Say what recorded runs cost.")
@click.argument("events", metavar="EVENTS...", nargs=-1, required=True)
@click.option("--out", metavar="DIR", help="Where tables go.")
@click.option(
    "--non-causal/--no-non-causal",
    default=True,
    help="Compare every delivery with the earliest possible one.  [default: yes]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    events: tuple[str, ...],
    out: str | None,
    non_causal: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """Say what recorded runs cost: delays and where they came from, packets, buffers, throughput.

    Works on logs of any origin; what a log does not tell, such as the packets of an ingested trace,
    is left open. Logs of up to 200,000 events on this machine are measured at once, larger ones on
    Spark, as is everything if --master is given; the figures are the same.
    """
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
