"""How large a demonstration is, and the folder it fills, never at the cost of others' files."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from antecede.core.catalogue import find_protocol
from antecede.core.errors import LocalError
from antecede.lab.comparison.effort import QUICK as LITTLE
from antecede.lab.comparison.effort import USUAL, Effort
from antecede.lab.comparison.plan import LATENCY, LIVENESS, NETWORK, SPACE, THROUGHPUT
from antecede.trace.atomic import blaming

WITH: Final = "hybrid"
WITHOUT: Final = "none"
"""The two runs of the shop: the product's own protocol, and the control that orders nothing."""

RUNS: Final = (WITHOUT, WITH)

assert find_protocol(WITH).ordering == "causal"
assert find_protocol(WITHOUT).ordering == "none"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a demonstration consists of."""

    orders: int
    """That customers place, in each run. The oracle can still judge what comes of 600."""
    per_second: float
    protocols: tuple[str, ...]
    """That are compared in the simulator."""
    families: tuple[str, ...]
    effort: Effort


FULL: Final = Plan(
    orders=600,
    per_second=30.0,
    protocols=("rst", "ks", "newtop", "mf", "cykas", "hybrid"),
    families=(NETWORK, SPACE, LATENCY, THROUGHPUT, LIVENESS),
    effort=USUAL,
)

QUICK: Final = Plan(
    orders=100,
    per_second=25.0,
    protocols=("rst", "ks", "mf", "cykas", "hybrid"),
    families=(SPACE, LATENCY, THROUGHPUT),
    effort=LITTLE,
)


@final
class Places:
    """Where a demonstration puts what."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.events: Final = folder / "events"
        """The event logs of both runs: a dataset."""
        self.audit: Final = folder / "audit"
        """What the audit on Spark found."""
        self.comparison: Final = folder / "comparison"
        """What `antecede compare` would have written."""
        self.report: Final = folder / "report.html"
        """The page that shows all of it."""
        self.figures: Final = folder / "demo.json"
        """The summary for programs; its presence says that the folder is ours."""


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
