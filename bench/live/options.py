"""What the commands `live` and `study` share: options, progress, and results as JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from antecede import compiled
from antecede_cli.console import Console
from antecede_cli.main import errors_in_one_sentence
from antecede_lab.child import Json
from bench.live.contest import Show

Result = TypeVar("Result")

INTERPRETED: Final = (
    "antecede is not compiled here, so its figures are those of plain Python: "
    "install it where there is a C compiler to see what it can do"
)


FILE: Final = click.Path(dir_okay=False, path_type=Path)


def in_a_folder(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Say before the measurements, not after them, that they cannot be written there."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    return path


class MeasuringCommand(click.Command):
    """Says in one sentence what is wrong with what was asked for."""

    def invoke(self, ctx: click.Context) -> object:
        with errors_in_one_sentence():
            return super().invoke(ctx)


def warn_if_interpreted() -> None:
    """Say so if the figures are those of plain Python."""
    if not compiled():
        click.echo(INTERPRETED, err=True)


def with_progress(work: Callable[[Show], Result]) -> Result:
    """Do the work while its own words say on standard error how far it has come."""
    console = Console(stderr=True)
    with console.status("starting") as status:
        return work(status.update)


def write(path: Path, document: dict[str, Json]) -> None:
    """Write the figures to a file."""
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    click.echo(f"All figures are in {path}.", err=True)
