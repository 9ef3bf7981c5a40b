"""`antecede lab`: experiments with protocols, networks and workloads."""

from typing import Final

import click

from antecede_cli.lazy_group import LazyGroup, Subcommand

EXPERIMENTS: Final = {
    "compare": Subcommand("antecede_cli.lab.compare", "Measure the protocols side by side."),
    "evaluate": Subcommand(
        "antecede_cli.lab.evaluate", "Replay recorded traces under every protocol."
    ),
    "grow": Subcommand("antecede_cli.lab.grow", "Make a recorded workload larger."),
    "sweep": Subcommand("antecede_cli.lab.sweep", "Run a grid of simulations on Spark."),
    "chaos": Subcommand(
        "antecede_cli.lab.chaos", "Kill nodes, cut them off, and check what they delivered."
    ),
    "scenario": Subcommand("antecede_cli.lab.scenario", "Tell one instructive run step by step."),
    "data": Subcommand("antecede_cli.lab.data", "Download the public traces used by evaluate."),
}

EPILOG: Final = """
\b
Examples:
  antecede lab scenario triangle               a story, step by step
  antecede lab compare --quick                 every protocol, small, in seconds
  antecede lab chaos --seed 7 --faults 20      five real nodes and twenty faults
  antecede lab sweep examples/sweep.toml --out runs
"""


@click.group(
    cls=LazyGroup,
    table=EXPERIMENTS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """Run experiments: compare protocols, replay and grow workloads, inject faults."""
