"""Figures as CSV, in a form that shows well what has changed."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows that all have the columns of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
