"""What share of the suite's time each folder takes, and whether one takes far too much.

`tests/budget.toml` says what each may take, in percent of the whole: shares, because machines
differ. With `ANTECEDE_BUDGET` naming a table of that file, a run ends with a table of all folders,
and a warning for each one that took more than three times its share, and something worth the
trouble in seconds. It never fails: other machines skip other tests, and a busy one waits elsewhere.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

BUDGET_FILE: Final = Path(__file__).parent / "budget.toml"

TOO_MUCH: Final = 3.0
"""How many times its share a folder may take: waits and work grow differently on a busy machine."""

WORTH_SECONDS: Final = 20.0
"""What is quicker than this is nobody's trouble, whatever its share."""


def folder_of(node_id: str) -> str:
    """The folder, or the file beside the folders, that a test is counted for; of the packages
    with folders, the folder in it."""
    parts = node_id.partition("::")[0].split("/")
    in_package = parts[1] in ("antecede", "antecede_audit", "antecede_lab")
    return "/".join(parts[: 3 if in_package else 2])


def read_budget(name: str) -> dict[str, float]:
    """The share of every folder in a run of this name, in percent."""
    tables = tomllib.loads(BUDGET_FILE.read_text())
    return {folder: float(percent) for folder, percent in tables[name].items()}


def overruns(seconds: Mapping[str, float], budget: Mapping[str, float]) -> list[str]:
    """A sentence for every folder that takes far more than its share."""
    total = sum(seconds.values())
    said: list[str] = []
    for folder, spent in sorted(seconds.items()):
        allowed = budget.get(folder, 1.0)
        share = 100 * spent / total if total else 0.0
        if spent > WORTH_SECONDS and share > TOO_MUCH * allowed:
            said.append(
                f"{folder} took {spent:.0f} of {total:.0f} s, {share:.0f} %: far more than its "
                f"{allowed:g} %. Make it quicker, mark what is a campaign as long, or change "
                f"{BUDGET_FILE.name} and say why"
            )
    return said


def table(seconds: Mapping[str, float], budget: Mapping[str, float]) -> list[str]:
    """Lines that show where the time went, most first."""
    total = sum(seconds.values()) or 1.0
    return [
        f"{spent:7.0f} s {100 * spent / total:5.1f} %  (budget {budget.get(folder, 1.0):4.1f} %)  "
        f"{folder}"
        for folder, spent in Counter(dict(seconds)).most_common()
    ]
