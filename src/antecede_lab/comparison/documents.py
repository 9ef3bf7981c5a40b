"""A comparison for people and programs: tables of text, and files (CSV, JSON, Markdown) of them."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, final

from antecede.eventlog.atomic_files import claim
from antecede.units import counted
from antecede_lab.build_mode import compiled
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.campaign import FAMILY_OF, Campaign, Entrant
from antecede_lab.comparison.claims import BESIDE, FOOTNOTES, IN_TABLE, TABLE
from antecede_lab.comparison.ks_experiment import KsRow
from antecede_lab.comparison.latency import is_unsettled
from antecede_lab.comparison.measurements import (
    QUANTITIES,
    SHARE,
    Measurement,
    Measurements,
    Quantity,
)
from antecede_lab.comparison.traffic import dense_situation
from antecede_lab.comparison.verdicts import (
    CONFIRMED,
    OUTCOMES,
    QUALIFIED,
    REFUTED,
    ClaimVerdict,
    observe,
    outcomes_of_table,
    verdicts_on,
)

COMPARISON_FILES: Final = ("readings.csv", "verdicts.csv", "comparison.json", "comparison.md")
KS_FILES: Final = ("ks.csv", "ks.json", "ks.md")

MARKS: Final = {CONFIRMED: "✓", QUALIFIED: "~", REFUTED: "✗"}
"""How an outcome is shown in a cell."""

NOT_MEASURED: Final = "·"

GROWS: Final = "grows"
"""In place of a figure that depends on how long the run was."""

UNSETTLING: Final = (
    measured.LATENCY,
    measured.LATE,
    measured.LATE_SENDER,
    measured.LATE_RECEIVER,
    measured.LATEST,
)
"""What means nothing where latency still grows."""

LEAST_SHOWN: Final = 0.005
"""Numbers nearer to nothing than this are shown as nothing, without a sign."""


@final
@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table, ready to be printed or written."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@final
@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A verdict, and the command that shows it."""

    verdict: ClaimVerdict
    command: str


def all_verdicts(campaign: Campaign) -> list[JudgedClaim]:
    """The verdicts on all entrants that the table speaks about."""
    return [
        JudgedClaim(
            verdict=verdict, command=campaign.command(entrant, FAMILY_OF[verdict.claim.aspect])
        )
        for entrant in campaign.entrants
        for verdict in verdicts_on(entrant.name, campaign.readings)
    ]


PAPER: Final = "The paper's Table 1, measured"
CONTRIBUTIONS: Final = "Beside it, judged by its last column"
OTHERS: Final = "Others, in the same rows"


def paper_tables(campaign: Campaign) -> list[TextTable]:
    """The paper's table with what was measured, and below it the protocols it does not have."""
    parts: dict[str, list[Entrant]] = {PAPER: [], CONTRIBUTIONS: [], OTHERS: []}
    for one in campaign.entrants:
        part = PAPER if one.name in IN_TABLE else CONTRIBUTIONS if one.name in BESIDE else OTHERS
        parts[part].append(one)
    outcomes = outcomes_of_table(campaign.readings)
    counts = ", ".join([f"{outcomes.count(outcome)} {outcome}" for outcome in OUTCOMES])
    tally = f": {counts} of {counted(len(outcomes), 'cell')}"
    return [
        paper_table(title + (tally if title == PAPER else ""), entrants, campaign.readings)
        for title, entrants in parts.items()
        if entrants
    ]


def paper_table(title: str, entrants: list[Entrant], readings: Measurements) -> TextTable:
    """One row per aspect, one column per protocol: what is claimed, what was seen."""
    cells = {
        (entrant.name, verdict.claim.aspect): cell_text(verdict)
        for entrant in entrants
        for verdict in verdicts_on(entrant.name, readings)
    }
    rows = [
        (aspect, *[cell_of(entrant.name, aspect, cells, readings) for entrant in entrants])
        for aspect in TABLE
    ]
    measured_rows = [row for row in rows if any(cell != NOT_MEASURED for cell in row[1:])]
    head = ("", *[entrant.name for entrant in entrants])
    return TextTable(title=title, head=head, rows=tuple(measured_rows))


def cell_text(verdict: ClaimVerdict) -> str:
    """The claim, the mark, and the observation where that says something else."""
    text = f"{MARKS[verdict.outcome]} {verdict.claim.cell}"
    seen = verdict.observation.word
    return text if seen == verdict.claim.says else f"{text} → {seen}"


def cell_of(
    protocol: str, aspect: str, cells: dict[tuple[str, str], str], readings: Measurements
) -> str:
    """A cell with a verdict, or one that only says what was seen."""
    cell = cells.get((protocol, aspect))
    if cell is not None:
        return cell
    observation = observe(aspect, protocol, readings)
    return NOT_MEASURED if observation is None else observation.word


def verdict_table(judged: list[JudgedClaim]) -> TextTable:
    """Every claim, its verdict, the figures, and the command that shows them."""
    rows = [
        (*cells, f"{reason}. {figures}" if reason else figures, run)
        for *cells, reason, figures, run in rows_of(VERDICT_COLUMNS, judged)
    ]
    head = ("protocol", "aspect", "the paper", "seen here", "verdict", "figures", "run")
    return TextTable(title="Verdicts", head=head, rows=tuple(rows))


def metadata_table(campaign: Campaign) -> TextTable | None:
    """Integers and bytes per message against n, mean and greatest, everybody talking to all."""
    readings = campaign.readings
    sizes = [float(size) for size in campaign.effort.sizes]
    rows: list[tuple[str, ...]] = []
    for entrant in campaign.entrants:
        situation = dense_situation(entrant.info)
        for mean, most in (
            (measured.INTEGERS, measured.INTEGERS_MAX),
            (measured.BYTES, measured.BYTES_MAX),
        ):
            means = dict(readings.series(entrant.name, mean, situation))
            greatest = dict(readings.series(entrant.name, most, situation))
            if means:
                cells = [
                    f"{number(means[size])} ({number(greatest[size])})" if size in means else "-"
                    for size in sizes
                ]
                rows.append((entrant.name, mean.unit, *cells))
    if not rows:
        return None
    head = ("protocol", "unit", *[f"n = {size:,.0f}" for size in sizes])
    title = "Metadata per message, mean (most), everybody talking to everybody"
    return TextTable(title=title, head=head, rows=tuple(rows))


def series_tables(readings: Measurements) -> list[TextTable]:
    """One table for every quantity: a row per protocol and situation."""
    tables = [series_table(quantity, readings) for quantity in QUANTITIES]
    return [table for table in tables if table is not None]


def series_table(quantity: Quantity, readings: Measurements) -> TextTable | None:
    """All figures of a quantity; None if there are none."""
    figures: dict[tuple[str, str], dict[float, str]] = {}
    places: dict[float, bool] = {}
    for row in readings.rows:
        if row.quantity == quantity:
            text = figure_text(row, readings)
            figures.setdefault((row.protocol, row.situation), {})[row.at] = text
            places[row.at] = True
    if not figures:
        return None
    columns = sorted(places)
    rows = [
        (protocol, situation, *[cells.get(at, "-") for at in columns])
        for (protocol, situation), cells in figures.items()
    ]
    head = ("protocol", "situation", *[number(at) for at in columns])
    title = f"{quantity.name} ({quantity.unit}), against {quantity.against}"
    return TextTable(title=title, head=head, rows=tuple(rows))


def figure_text(row: Measurement, readings: Measurements) -> str:
    """A figure with its interval; a share of runs as a count, because runs either fail or not.

    A mean latency that still grew when the run ended is told as the rate at which it grew.
    """
    figure = row.figure
    if row.quantity in UNSETTLING and is_unsettled(row.protocol, row.at, readings):
        if row.quantity != measured.LATENCY:
            return GROWS
        growth = dict(readings.series(row.protocol, measured.GROWTH, row.situation))
        return f"{GROWS} by {number(growth[row.at])} a message"
    if row.quantity.unit == SHARE:
        return f"{round(figure.mean * figure.samples)} of {figure.samples}"
    if figure.half_width is None:
        return number(figure.mean)
    return f"{number(figure.mean)} ± {number(figure.half_width)}"


def omission_table(readings: Measurements) -> TextTable | None:
    """What was left out, and why; None if nothing was."""
    if not readings.omissions:
        return None
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in readings.omissions:
        reasons.setdefault((one.what, one.reason), []).append(one.protocol)
    rows = [(", ".join(names), what, reason) for (what, reason), names in reasons.items()]
    return TextTable(
        title="Left out, or measured with a reservation",
        head=("protocol", "what", "why"),
        rows=tuple(rows),
    )


def number(value: float) -> str:
    """A number as people read it: whole if it is large, else with a few digits."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < LEAST_SHOWN:
        return "0.00"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


READING_COLUMNS: Final = {
    "protocol": "protocol", "quantity": "quantity.name", "unit": "quantity.unit",
    "situation": "situation", "against": "quantity.against", "at": "at", "mean": "figure.mean",
    "half_width": "figure.half_width", "samples": "figure.samples", "seed": "seed",
}  # fmt: skip
VERDICT_COLUMNS: Final = {
    "protocol": "verdict.claim.protocol", "aspect": "verdict.claim.aspect",
    "claim": "verdict.claim.cell", "seen": "verdict.observation.word",
    "verdict": "verdict.outcome", "reason": "verdict.reason",
    "figures": "verdict.observation.detail", "run": "command",
}  # fmt: skip
KS_COLUMNS: Final = {
    "processes": "processes", "rate": "rate", "share": "share", "percent": "percent.mean",
    "half_width": "percent.half_width", "seeds": "percent.samples", "drift": "drift",
}  # fmt: skip
"""The columns of files, and where a row has them."""

DRIFTING: Final = 0.1
"""A run whose halves differ by more than this share was too short for its mean to say much."""


def write_comparison(folder: Path, campaign: Campaign, command: str) -> list[Path]:
    """Write everything that was measured into `folder`; which files those are."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = all_verdicts(campaign)
    texts = (
        csv_text(READING_COLUMNS, campaign.readings.rows),
        csv_text(VERDICT_COLUMNS, judged),
        json.dumps(comparison_object(campaign, judged, command), indent=1),
        comparison_markdown(campaign, judged, command),
    )
    files = dict(zip(COMPARISON_FILES, texts, strict=True))
    return written(folder, files)


def write_ks(folder: Path, rows: list[KsRow], command: str) -> list[Path]:
    """Write the experiment with the Kshemkalyani-Singhal algorithm into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = objects_of(KS_COLUMNS, rows)
    texts = (
        csv_text(KS_COLUMNS, rows),
        json.dumps({"run": command, "compiled": compiled(), "rows": objects}, indent=1),
        "\n".join(
            ["# KS metadata as a share of n²", "", f"`{command}`", "", *table_lines(ks_table(rows))]
        ),
    )
    files = dict(zip(KS_FILES, texts, strict=True))
    return written(folder, files)


def written(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write these files; `LocalError` if somebody else has some of the same names there."""
    claim(folder, list(files))
    paths: list[Path] = []
    for name, text in files.items():
        path = folder / name
        path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        paths.append(path)
    return paths


# Rows.


def rows_of(columns: dict[str, str], things: Sequence[object]) -> list[tuple[Any, ...]]:
    """A row for each of these things."""
    return [attrgetter(*columns.values())(thing) for thing in things]


def objects_of(columns: dict[str, str], things: Sequence[object]) -> list[dict[str, object]]:
    """The same as objects with names."""
    return [dict(zip(columns, row, strict=True)) for row in rows_of(columns, things)]


def csv_text(columns: dict[str, str], things: Sequence[object]) -> str:
    """Comma-separated values under a heading; nothing stands for None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows_of(columns, things))
    return text.getvalue()


# Objects.


def comparison_object(
    campaign: Campaign, judged: list[JudgedClaim], command: str
) -> dict[str, object]:
    """Everything, for programs."""
    return {
        "run": command,
        "compiled": compiled(),
        "effort": campaign.effort.name,
        "seed": campaign.seed,
        "seeds": campaign.seeds,
        "protocols": [entrant.name for entrant in campaign.entrants],
        "readings": objects_of(READING_COLUMNS, campaign.readings.rows),
        "verdicts": objects_of(VERDICT_COLUMNS, judged),
        "left_out": [
            {"protocol": one.protocol, "what": one.what, "why": one.reason}
            for one in campaign.readings.omissions
        ],
    }


# Markdown.


def comparison_markdown(campaign: Campaign, judged: list[JudgedClaim], command: str) -> str:
    """Everything, for people."""
    build = "compiled" if compiled() else "interpreted"
    lines = [
        "# The comparison table, measured",
        "",
        f"`{command}` ({build} build, seed {campaign.seed}, {counted(campaign.seeds, 'seed')})",
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
