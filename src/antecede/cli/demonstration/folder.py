"""Makes room for a demonstration, and never at the cost of somebody else's files."""

import json
import shutil
from collections.abc import Mapping

from antecede.cli.demonstration.plan import Places
from antecede.core.errors import LocalError
from antecede.trace.atomic import blaming


def make_room(places: Places) -> None:
    """An empty folder; what an earlier demonstration left in it is replaced.

    `LocalError` if there is anything else in it.
    """
    folder = places.folder
    if folder.is_dir() and any(folder.iterdir()) and not places.figures.is_file():
        raise LocalError(
            f"{folder} is not empty, and not from an earlier demo: choose another place with --out"
        )
    if folder.exists() and not folder.is_dir():
        raise LocalError(f"{folder} is a file: choose another place with --out")
    with blaming(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
        write_figures(places, {"finished": False})
        for made in (places.events, places.audit, places.comparison):
            shutil.rmtree(made, ignore_errors=True)
        places.report.unlink(missing_ok=True)


def write_figures(places: Places, figures: Mapping[str, object]) -> None:
    """The summary for programs."""
    places.figures.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
