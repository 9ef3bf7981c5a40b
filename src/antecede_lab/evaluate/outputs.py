"""Writes what an evaluation found, so that it can be read without Spark: Parquet, CSV and JSON."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from antecede.eventlog.atomic_files import os_errors_as_local, write_atomically
from antecede.eventlog.parquet import load_pyarrow

Row: TypeAlias = Mapping[str, Any]

PARQUET: Final = ".parquet"
CSV: Final = ".csv"
JSON: Final = ".json"
ALL: Final = (PARQUET, CSV, JSON)


def write_rows(folder: Path, name: str, rows: Sequence[Row], kinds: Sequence[str] = ALL) -> None:
    """A table in several formats, each in a file of its own; nothing if there are no rows.

    Files of these names that an earlier evaluation left are gone afterwards in any case.
    """
    with os_errors_as_local(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        file = folder / f"{name}{kind}"
        if not rows:
            file.unlink(missing_ok=True)
            continue
        with write_atomically(file) as partial, os_errors_as_local(file, "write"):
            WRITERS[kind](partial, rows)


def write_parquet(file: Path, rows: Sequence[Row]) -> None:
    """A table with whatever types the values have."""
    pa = load_pyarrow("pyarrow")
    pq = load_pyarrow("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), file, compression="zstd")


def write_csv(file: Path, rows: Sequence[Row]) -> None:
    """A line for each row; nothing stands for a null, JSON for what is not a single value."""
    with file.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: plain(value) for name, value in row.items()})


def plain(value: object) -> object:
    """What a cell of a CSV file can hold."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def write_json(file: Path, rows: object) -> None:
    """An object or a list, readable by people too."""
    file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


WRITERS: Final = {PARQUET: write_parquet, CSV: write_csv, JSON: write_json}


def write_object(file: Path, content: Mapping[str, Any]) -> None:
    """A JSON file, complete or not there."""
    with write_atomically(file) as partial, os_errors_as_local(file, "write"):
        write_json(partial, content)
