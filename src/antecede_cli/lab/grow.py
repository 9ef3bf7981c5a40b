"""`antecede lab grow`: a recorded workload, larger."""

import json
from pathlib import Path
from typing import Any, Final, cast

import click

from antecede.units import counted, duration_text
from antecede_cli.console import Console
from antecede_cli.options import COUNT, NUMBER, option_with_default
from antecede_cli.spark import (
    check_readable,
    check_writable,
    need_spark,
    spark_progress,
    spark_session,
)

METHODS: Final = ("replicas", "overlay", "graph")

EPILOG: Final = """
\b
Examples:
  antecede lab grow trace --processes 5000 --out grown
  antecede lab grow trace --processes 5000 --messages 1M --out grown
  antecede lab grow mail --processes 4k --messages 1M --speed 86400 --out grown
  antecede lab grow trace --processes 5000 --method overlay --out grown
  antecede lab grow trace --processes 5000 --method graph --graph large.json --out grown
  antecede simulate -w replay --set file=grown/workload -p hybrid

\b
Methods (--method):
  replicas  every process becomes several; an errand, all that a process does for one request,
            runs at one of them
  overlay   whole copies of the recording beside each other, each on processes of its own
  graph     requests that call services as often as the graph says, and do at each of them
            what was recorded somewhere in DIR

A process sends as many messages a second as in the recording, unless --load says otherwise. OUT
gets `workload/`, `processes/` and `summary.json`, which says what is real and what is grown.
"""


@click.command(epilog=EPILOG, short_help="Make a recorded workload larger.")
@click.argument("folder", metavar="DIR")
@click.option(
    "-n", "--processes", type=COUNT, required=True, help="The number of processes of the result."
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False),
    help="Where the grown workload goes; what is there is replaced.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Explained below.  [default: replicas, or graph if there is one]",
)
@click.option(
    "--graph",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A service graph: JSON, a list of {parent, child, callCount}.",
)
@click.option(
    "-m",
    "--messages",
    type=COUNT,
    help="Messages in all.  [default: as many as recorded; with overlay, for each copy]",
)
@option_with_default(
    "--load",
    type=NUMBER,
    default=1.0,
    help="Messages a second of a process, as a multiple of those recorded.",
)
@option_with_default("--speed", type=NUMBER, default=1.0, help="Divide all durations by this.")
@option_with_default("--seed", type=COUNT, default=1)
@click.option("--run", "run_id", help="The run to grow, if there are several.")
@click.option("--name", help="What to call the grown run.  [default: RUN-METHOD-PROCESSES]")
@click.option(
    "--sample-above",
    type=COUNT,
    help="Grow a sample of a run with more messages, copies and causes.  [default: 12M]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    folder: str,
    processes: int,
    out: str,
    method: str | None,
    graph: Path | None,
    messages: int | None,
    load: float,
    speed: float,
    seed: int,
    run_id: str | None,
    name: str | None,
    sample_above: int | None,
    as_json: bool,
    master: str | None,
) -> None:
    """Grow a recorded workload to more processes, keeping its causality.

    In the result a message waits for every delivery that caused it, as in the recording, and the
    same seed gives the same result.
    """
    need_spark()
    from antecede_audit.jobs.outputs import REPLACED
    from antecede_audit.spark.sampling import ENTRIES_MAX
    from antecede_lab.grow.grow import grow
    from antecede_lab.grow.target_size import GrowthRequest, check_wanted

    wanted = GrowthRequest(
        processes=processes,
        method=method or ("replicas" if graph is None else "graph"),
        messages=messages,
        load=load,
        speed=speed,
        seed=seed,
    )
    check_wanted(wanted)
    check_readable(folder)
    check_writable(out, names=REPLACED)
    told = Console(stderr=True)
    with spark_progress() as progress, spark_session(context, master) as session:
        progress.watch(session)
        progress.tell(f"growing {folder}")
        summary = grow(
            session,
            folder,
            out,
            wanted,
            run_id=run_id,
            graph=graph,
            name=name,
            entries_max=sample_above or ENTRIES_MAX,
        )
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        click.echo("\n".join(summary_lines(summary)))
    told.print(f"The grown workload is in {out}.", highlight=False)


def summary_lines(summary: dict[str, object]) -> list[str]:
    """What came of it, for people."""
    figures = cast(dict[str, Any], summary)
    origin = figures["grown_from"]
    lasting = duration_text(figures["last_ns"] - figures["first_ns"])
    return [
        f"{figures['run_id']}: {counted(figures['messages'], 'message')} "
        f"({counted(figures['copies'], 'copy', 'copies')}) among "
        f"{counted(figures['processes'], 'process', 'processes')}, "
        f"{figures['active_processes']:,} of them "
        f"active, in {lasting} over a network that takes no time, with "
        f"{figures['load_measured']:.3g} times the recorded load",
        f"from {origin['run_id']}: {counted(origin['messages'], 'message')} among "
        f"{counted(origin['processes'], 'process', 'processes')} in "
        f"{duration_text(origin['span_ns'])}",
        *(f"real:  {line}" for line in figures["real"]),
        *(f"grown: {line}" for line in figures["grown"]),
    ]
