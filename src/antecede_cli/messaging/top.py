"""`antecede top`: a cluster in a terminal."""

import json
import sys
import time
from pathlib import Path
from typing import Final

import click

from antecede_cli.output import Failed
from antecede_cli.view.cluster import UNREACHABLE, Object, cluster_object, node_object
from antecede_cli.view.collector import Collector, look_twice
from antecede_cli.view.finding import WHERE, finding_options, make_collector

EXAMPLES = f"""\b
Examples:
  antecede top                                  the node at port 9464 of this machine, and its peers
  antecede top 10.0.0.2:9464                    ask one, and the peers that it names
  antecede top --nodes nodes.toml               the nodes of a file
  antecede top --once --json 10.0.0.2:9464      for scripts
  antecede top --once --node bob 10.0.0.2:9464  all about one node

{WHERE}
\b
Keys: s sort by the next column, r reverse, / filter by name or status, arrows (or j and k) choose,
Enter look into one node, Escape back, q quit.

With --once the exit status is 1 if a node is failing or blocked, or does not answer; else 0.
"""

TROUBLED: Final = ("failing", "blocked", UNREACHABLE)


@click.command("top", epilog=EXAMPLES)
@finding_options
@click.option("--once", is_flag=True, help="Print how things stand after two looks, and end.")
@click.option("--json", "as_json", is_flag=True, help="With --once: as JSON, on one line.")
@click.option("--node", metavar="NAME", default="", help="With --once: all about one node.")
def command(
    places: tuple[str, ...],
    file: Path | None,
    dns: str | None,
    follow: bool,
    once: bool,
    as_json: bool,
    node: str,
) -> None:
    """Show the nodes of a cluster: their peers, rates and queues, and who waits for whom.

    Every node is asked once a second; one that does not answer is shown as that.
    """
    collector = make_collector(places, file, dns, follow)
    if not once:
        watch(collector, as_json or bool(node))
        return
    look_twice(collector)
    if collector.source_failure:
        raise Failed(f"who there is is not known: {collector.source_failure}")
    cluster = cluster_object(collector, time.time())
    found = node_object(collector, node, time.time()) if node else None
    if node and found is None:
        raise Failed(f"nobody knows a node called {node!r}")
    if as_json:
        click.echo(json.dumps(found if node else cluster))
    else:
        from antecede_cli.view.terminal import print_once

        print_once(cluster, found, node)
    if is_troubled(cluster):
        click.get_current_context().exit(1)


def watch(collector: Collector, for_once: bool) -> None:
    """Show it until somebody presses q."""
    if for_once:
        raise click.UsageError("--json and --node go with --once")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("this is no terminal: give --once, and --json for scripts")
    from antecede_cli.view.terminal import watch_in_terminal

    watch_in_terminal(collector)


def is_troubled(cluster: Object) -> bool:
    """Whether something is as it should not be."""
    return any(cluster["counts"][status] for status in TROUBLED)
