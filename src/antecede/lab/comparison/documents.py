"""A comparison as files: CSV for spreadsheets, JSON for programs, Markdown for people."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from antecede.build_mode import compiled
from antecede.lab.comparison.campaign import Campaign
from antecede.lab.comparison.claims import FOOTNOTES
from antecede.lab.comparison.ks_experiment import KsRow
from antecede.lab.comparison.readings import QUANTITIES, Readings
from antecede.lab.comparison.tabulation import (
    Judged,
    TextTable,
    all_verdicts,
    metadata_table,
    omission_table,
    paper_tables,
    series_tables,
    verdict_rows,
    verdict_table,
)

READING_COLUMNS: Final = (
    "protocol", "quantity", "unit", "situation", "against", "at", "mean", "half_width", "samples",
    "seed",
)  # fmt: skip
VERDICT_COLUMNS: Final = (
    "protocol", "aspect", "claim", "seen", "verdict", "reason", "figures", "run",
)  # fmt: skip
KS_COLUMNS: Final = ("processes", "rate", "share", "percent", "half_width", "seeds", "drift")

DRIFTING: Final = 0.1
"""A run whose halves differ by more than this share was too short for its mean to say much."""


def write_comparison(folder: Path, campaign: Campaign, command: str) -> list[Path]:
    """Write everything that was measured into `folder`; which files those are."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = all_verdicts(campaign)
    files = {
        "readings.csv": csv_text(READING_COLUMNS, reading_rows(campaign.readings)),
        "verdicts.csv": csv_text(VERDICT_COLUMNS, verdict_rows(judged)),
        "comparison.json": json.dumps(comparison_object(campaign, judged, command), indent=1),
        "comparison.md": comparison_markdown(campaign, judged, command),
    }
    return written(folder, files)


def write_ks(folder: Path, rows: list[KsRow], command: str) -> list[Path]:
    """Write the experiment with the Kshemkalyani-Singhal algorithm into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = [ks_row(row) for row in rows]
    objects = [dict(zip(KS_COLUMNS, row, strict=True)) for row in cells]
    files = {
        "ks.csv": csv_text(KS_COLUMNS, cells),
        "ks.json": json.dumps({"run": command, "compiled": compiled(), "rows": objects}, indent=1),
        "ks.md": "\n".join(
            ["# KS metadata as a share of n²", "", f"`{command}`", "", *table_lines(ks_table(rows))]
        ),
    }
    return written(folder, files)


def written(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write these files."""
    paths: list[Path] = []
    for name, text in files.items():
        path = folder / name
        path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        paths.append(path)
    return paths


# Rows.


def reading_rows(readings: Readings) -> list[tuple[object, ...]]:
    """The readings in the order of `READING_COLUMNS`."""
    return [
        (
            row.protocol,
            row.quantity.name,
            row.quantity.unit,
            row.situation,
            row.quantity.against,
            row.at,
            row.figure.mean,
            row.figure.half_width,
            row.figure.samples,
            row.seed,
        )
        for row in readings.rows
    ]


def ks_row(row: KsRow) -> tuple[object, ...]:
    """A point of the experiment in the order of `KS_COLUMNS`."""
    figure = row.percent
    return (
        row.processes,
        row.rate,
        row.share,
        figure.mean,
        figure.half_width,
        figure.samples,
        row.drift,
    )


def csv_text(columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    """Rows as comma-separated values under a heading; nothing stands for None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


# Objects.


def comparison_object(campaign: Campaign, judged: list[Judged], command: str) -> dict[str, object]:
    """Everything, for programs."""
    return {
        "run": command,
        "compiled": compiled(),
        "effort": campaign.effort.name,
        "seed": campaign.seed,
        "seeds": campaign.seeds,
        "protocols": [entrant.name for entrant in campaign.entrants],
        "readings": [
            dict(zip(READING_COLUMNS, row, strict=True)) for row in reading_rows(campaign.readings)
        ],
        "verdicts": [dict(zip(VERDICT_COLUMNS, row, strict=True)) for row in verdict_rows(judged)],
        "left_out": [
            {"protocol": one.protocol, "what": one.what, "why": one.reason}
            for one in campaign.readings.omissions
        ],
    }


# Markdown.


def comparison_markdown(campaign: Campaign, judged: list[Judged], command: str) -> str:
    """Everything, for people."""
    build = "compiled" if compiled() else "interpreted"
    lines = [
        "# The comparison table, measured",
        "",
        f"`{command}` ({build} build, seed {campaign.seed}, {campaign.seeds} seeds)",
        "",
        "✓ confirmed, ~ qualified, ✗ refuted; behind an arrow what was seen.",
        "",
    ]
    for table in paper_tables(campaign):
        lines += [f"## {table.title}", "", *table_lines(table), ""]
    lines += [f"{mark} {text}  " for mark, text in FOOTNOTES.items()] + [""]
    others = [metadata_table(campaign), verdict_table(judged), omission_table(campaign.readings)]
    for other in others:
        if other is not None and other.rows:
            lines += [f"## {other.title}", "", *table_lines(other), ""]
    lines += ["## All figures", "", "± is half of a 95 % interval (Student's t, over seeds).", ""]
    meanings = {quantity.name: quantity.meaning for quantity in QUANTITIES}
    for table in series_tables(campaign.readings):
        meaning = meanings[table.title.partition(" (")[0]]
        lines += [f"### {table.title}", "", f"{meaning}.", "", *table_lines(table), ""]
    return "\n".join(lines)


def table_lines(table: TextTable) -> list[str]:
    """A table in Markdown."""
    return [
        markdown_row(table.head),
        "|" + "---|" * len(table.head),
        *[markdown_row(row) for row in table.rows],
    ]


def markdown_row(cells: tuple[str, ...]) -> str:
    """A row in Markdown."""
    return "| " + " | ".join([cell.replace("|", "\\|") for cell in cells]) + " |"


def ks_table(rows: list[KsRow]) -> TextTable:
    """A row per size and rate, a column per share of multicasts."""
    shares = sorted(dict.fromkeys([row.share for row in rows]))
    found = {
        (row.processes, row.rate, row.share): row.percent.text()
        + (" (drifts)" if abs(row.drift - 1) > DRIFTING else "")
        for row in rows
    }
    places = list(dict.fromkeys([(row.processes, row.rate) for row in rows]))
    lines = [
        (str(size), f"{rate:g}", *[found.get((size, rate, share), "-") for share in shares])
        for size, rate in places
    ]
    head = ("n", "MTT/MIMT", *[f"multicasts {share:.0%}" for share in shares])
    return TextTable(
        title="KS metadata in % of n² integers (mean ± half of a 95 % interval)",
        head=head,
        rows=tuple(lines),
    )
