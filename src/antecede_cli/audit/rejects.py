"""`antecede rejects`: what an ingest could not read, where it stands, and why."""

import json
from collections import Counter
from pathlib import Path
from typing import Final

import click
from rich.markup import escape
from rich.table import Table

from antecede.core.errors import LocalError
from antecede.eventlog.layout import part_files
from antecede.eventlog.parquet import numbered_rows, read_table
from antecede_cli.console import Console, reasons_table
from antecede_cli.options import option_with_default
from antecede_cli.spark import check_readable

COLUMNS: Final = ("source", "position", "reason", "excerpt")

EPILOG: Final = """
\b
Examples:
  antecede rejects trace                       what `antecede ingest --out trace` set aside
  antecede rejects trace --reason "not JSON"   those of one reason
  antecede rejects trace --limit 0 --json      all of them, one JSON object on each line
"""


@click.command(epilog=EPILOG, short_help="Show what an ingest could not read.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--reason", metavar="TEXT", help="Only those whose reason has this in it.")
@option_with_default(
    "--limit", type=click.IntRange(0), default=20, metavar="N", help="Show so many; 0: all."
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON lines.")
def command(folder: Path, reason: str | None, limit: int, as_json: bool) -> None:
    """Show what `antecede ingest --out DIR` could not read: where it stands, and why.

    The place is the file (after `!` the file within an archive), and in it the line and column, the
    byte, or the path within a document.
    """
    found = [row for row in rejects_in(folder) if (reason or "") in row["reason"]]
    shown = found[: limit or None]
    if as_json:
        for row in shown:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    console = Console(highlight=False)
    if shown:
        console.print(places_table(shown))
        console.print(reasons_table(Counter(row["reason"] for row in found).most_common()))
    console.print(f"{len(found):,} rejected." if found else "Nothing was rejected.")


def rejects_in(folder: Path) -> list[dict[str, str]]:
    """The rejects of an ingest, file by file; `LocalError` if there was none."""
    check_readable(folder)
    table = folder / "rejects"
    if not table.is_dir():
        raise LocalError(f"{folder} is not what an ingest left: it has no rejects/")
    rows = numbered_rows(read_table(part_files(table), table, COLUMNS))
    return sorted(
        ({name: str(row[name] or "") for name in COLUMNS} for _, row in rows),
        key=lambda row: row["source"],
    )


def places_table(rows: list[dict[str, str]]) -> Table:
    """Every one of them."""
    table = Table("file", "place", "reason", "begins with")
    for row in rows:
        table.add_row(
            escape(row["source"].rpartition("/")[2]),
            escape(row["position"]),
            escape(row["reason"]),
            escape(row["excerpt"][:60].strip()),
        )
    return table
