"""A comparison as tables of text: the paper's own with what was measured, and the figures."""

from dataclasses import dataclass
from typing import Final, final

from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.campaign import Campaign
from antecede.lab.comparison.claims import COLUMNS, TABLE
from antecede.lab.comparison.observations import observe
from antecede.lab.comparison.plan import FAMILY_OF, Entrant
from antecede.lab.comparison.readings import QUANTITIES, SHARE, Quantity, Reading, Readings
from antecede.lab.comparison.stationarity import is_unsettled
from antecede.lab.comparison.traffic import dense_situation
from antecede.lab.comparison.verdicts import CONFIRMED, QUALIFIED, REFUTED, Verdict, verdicts_on

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
class Judged:
    """A verdict, and the command that shows it."""

    verdict: Verdict
    command: str


def all_verdicts(campaign: Campaign) -> list[Judged]:
    """The verdicts on all entrants that the table speaks about."""
    return [
        Judged(verdict=verdict, command=campaign.command(entrant, FAMILY_OF[verdict.claim.aspect]))
        for entrant in campaign.entrants
        for verdict in verdicts_on(entrant.name, campaign.readings)
    ]


def paper_tables(campaign: Campaign) -> list[TextTable]:
    """The paper's table with what was measured, and below it the protocols it does not have."""
    ours = [one for one in campaign.entrants if one.name in COLUMNS]
    others = [one for one in campaign.entrants if one.name not in COLUMNS]
    tables: list[TextTable] = []
    if ours:
        tables.append(paper_table("The paper's Table 1, measured", ours, campaign.readings))
    if others:
        tables.append(paper_table("Others, in the same rows", others, campaign.readings))
    return tables


def paper_table(title: str, entrants: list[Entrant], readings: Readings) -> TextTable:
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


def cell_text(verdict: Verdict) -> str:
    """The claim, the mark, and the observation where that says something else."""
    text = f"{MARKS[verdict.outcome]} {verdict.claim.cell}"
    seen = verdict.observation.word
    return text if seen == verdict.claim.says else f"{text} → {seen}"


def cell_of(
    protocol: str, aspect: str, cells: dict[tuple[str, str], str], readings: Readings
) -> str:
    """A cell with a verdict, or one that only says what was seen."""
    cell = cells.get((protocol, aspect))
    if cell is not None:
        return cell
    observation = observe(aspect, protocol, readings)
    return NOT_MEASURED if observation is None else observation.word


def verdict_rows(judged: list[Judged]) -> list[tuple[str, ...]]:
    """Protocol, aspect, claim, what was seen, verdict, reason, figures, and the command."""
    return [
        (
            one.verdict.claim.protocol,
            one.verdict.claim.aspect,
            one.verdict.claim.cell,
            one.verdict.observation.word,
            one.verdict.outcome,
            one.verdict.reason,
            one.verdict.observation.detail,
            one.command,
        )
        for one in judged
    ]


def verdict_table(judged: list[Judged]) -> TextTable:
    """Every claim, its verdict, the figures, and the command that shows them."""
    rows = [
        (*cells, f"{reason}. {figures}" if reason else figures, run)
        for *cells, reason, figures, run in verdict_rows(judged)
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


def series_tables(readings: Readings) -> list[TextTable]:
    """One table for every quantity: a row per protocol and situation."""
    tables = [series_table(quantity, readings) for quantity in QUANTITIES]
    return [table for table in tables if table is not None]


def series_table(quantity: Quantity, readings: Readings) -> TextTable | None:
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


def figure_text(row: Reading, readings: Readings) -> str:
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


def omission_table(readings: Readings) -> TextTable | None:
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
