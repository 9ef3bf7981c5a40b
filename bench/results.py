"""The one file of results, `bench/results.toml`: for each claim, the figures that documents quote.

Each is a table in CSV, so that `git diff` shows well which figure has changed.
"""

import csv
import io
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parent / "results.toml"
HEAD: Final = "# `python -m bench reproduce CLAIM --accept` writes this file.\n"

Row = dict[str, str]


@cache
def read_results(path: Path = RESULTS) -> dict[str, list[Row]]:
    """The rows of every claim, in the order of its name."""
    tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: list(csv.DictReader(io.StringIO(text))) for name, text in tables.items()}


def record(name: str, rows: Sequence[Row], path: Path = RESULTS) -> None:
    """Put these rows into the file in place of those that the claim had."""
    results = read_results(path) | {name: list(rows)}
    parts = [f"\n{key} = '''\n{csv_text(results[key])}'''\n" for key in sorted(results)]
    path.write_text(HEAD + "".join(parts), encoding="utf-8")
    read_results.cache_clear()


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows that all have the columns of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(rows), encoding="utf-8")


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows that all have the columns of the first, as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
