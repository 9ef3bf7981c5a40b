"""`antecede lab data`: the public traces that the evaluation replays."""

from pathlib import Path
from typing import Final

import click

from antecede.units import counted
from antecede_lab.datasets.fetching import chosen_sets, fetch, is_right, known_sets

EPILOG: Final = """
\b
Examples:
  antecede lab data list
  antecede lab data fetch --out traces                      everything, by its address
  antecede lab data fetch email media --out traces          these two
  antecede lab data fetch --from /mnt/traces --out traces   where there is no network
  export ANTECEDE_DATA=$PWD/traces                          for `antecede lab evaluate`, and tests
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Get the public traces that the evaluation replays, and check that they are what they were."""


LIST_EPILOG: Final = """
\b
Examples:
  antecede lab data list
"""

FETCH_EPILOG: Final = """
\b
Examples:
  antecede lab data fetch --out traces
  antecede lab data fetch email --from /mnt/traces --out traces
"""

CHECK_EPILOG: Final = """
\b
Examples:
  antecede lab data check --out traces
"""


@command.command("list", epilog=LIST_EPILOG)
def list_sets() -> None:
    """Say which sets of traces there are, and under which licence."""
    for one in known_sets().values():
        click.echo(f"{one.name:12} {counted(len(one.files), 'file'):>9}  {one.about}")
        click.echo(f"{'':22} {one.licence}")


@command.command("fetch", short_help="Fetch sets of traces into a folder.", epilog=FETCH_EPILOG)
@click.argument("names", nargs=-1, metavar="[SET]...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder to put them into.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Copy the files from this folder instead of fetching them over the network.",
)
def fetch_sets(names: tuple[str, ...], out: Path, source: Path | None) -> None:
    """Fetch these sets of traces, or all, into a folder; what is there and right stays."""
    for one in chosen_sets(names, known_sets()):
        done = fetch(one, out, source, lambda text: click.echo(text, err=True))
        click.echo(f"{one.name}: {counted(done.files, 'file')}, {done.new} new, all as published")


@command.command(
    "check", short_help="Compare a folder with what was published.", epilog=CHECK_EPILOG
)
@click.argument("names", nargs=-1, metavar="[SET]...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    required=True,
    help="The folder that has the traces.",
)
def check_sets(names: tuple[str, ...], out: Path) -> None:
    """Say what of these sets is missing, or is not what was published; exits with 1 then."""
    wrong = 0
    for one in chosen_sets(names, known_sets()):
        bad = [name for name in one.files if not is_right(one, out, name)]
        wrong += len(bad)
        click.echo(f"{one.name}: {len(one.files) - len(bad)} of {len(one.files)} as published")
    if wrong:
        raise click.exceptions.Exit(1)
