"""`antecede bench`: runs the benchmarks where the repository is, for one more release."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

import antecede
from antecede.core.errors import LocalError

WHERE: Final = (
    "benchmarks are not part of the package: get the repository, and run `python -m bench` there"
)

EPILOG: Final = """
\b
Examples:
  antecede bench                     as python -m bench: list the benchmarks
  antecede bench live --rounds 3     as python -m bench live --rounds 3
"""


def find_repository() -> Path | None:
    """The repository that we are in, or that this package is installed from as it stands."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(antecede.__file__).parents[2]):
        if (folder / "bench" / "__main__.py").is_file() and (folder / "src" / "antecede").is_dir():
            return folder
    return None


@click.command(
    epilog=EPILOG, context_settings={"ignore_unknown_options": True}, add_help_option=False
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Run the benchmarks of the repository: a former name of `python -m bench`."""
    if words in (("--help",), ("-h",)):
        click.echo(context.get_help())
        return
    repository = find_repository()
    if repository is None:
        raise LocalError(WHERE)
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(repository)]))
    ran = subprocess.run(
        [sys.executable, "-m", "bench", *words],
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    context.exit(ran.returncode)
