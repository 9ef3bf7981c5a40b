"""Charts as an SVG file of their own: for documents, and beside tables in a folder."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from antecede.eventlog.atomic_files import write_whole
from antecede_audit.report.charts.draw import draw_marker, drawing_of, size_of
from antecede_audit.report.charts.spec import DotChart, LineChart, Look
from antecede_audit.report.page.document import COLOURS
from antecede_audit.report.page.markup import Markup, element, joined

MARGIN: Final = 14
GAP: Final = 22
"""Between charts."""
TITLE_LINE: Final = 21
CAPTION_LINE: Final = 17
LEGEND_LINE: Final = 20

TITLE_LETTER: Final = 9.4
CAPTION_LETTER: Final = 7.2
LEGEND_LETTER: Final = 7.0
"""How wide the letters of each are, about."""

SAMPLE: Final = 30
"""How wide the sample of a line is in the legend."""

STYLE: Final = """
svg { background: PAPER; }
text { font: 12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif; }
text { fill: MUTED; }
text.heading { font-size: 16px; font-weight: 600; fill: INK; }
text.caption { font-size: 13px; font-weight: 600; fill: INK; }
text.entry { fill: INK; }
.grid { stroke: GRID; }
.axis { stroke: LINE; stroke-width: 0.6; }
.line path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.line line { stroke: currentColor; stroke-width: 1.2; opacity: 0.7; }
.line .marker { fill: currentColor; stroke: none; }
.line .marker.open { fill: PAPER; stroke: currentColor; stroke-width: 1.6; }
.line .beyond { fill: currentColor; stroke: none; }
""".strip()
"""The part of the page's style that drawings need, on light paper."""

SheetChart: TypeAlias = LineChart | DotChart


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What one file shows: charts under a title that says what there is to see."""

    title: str
    charts: tuple[SheetChart, ...]
    columns: int = 1


def write_sheets(folder: Path, sheets: dict[str, Sheet]) -> list[Path]:
    """Each sheet as a file of its name; the files are returned."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, sheet in sheets.items():
        file = folder / f"{name}.svg"
        write_whole(file, sheet_text(sheet).encode())
        files.append(file)
    return files


def sheet_text(sheet: Sheet) -> str:
    """The SVG; equal charts give equal text."""
    cell = max(size_of(chart)[0] for chart in sheet.charts)
    columns = min(sheet.columns, len(sheet.charts))
    inner = cell * columns + GAP * (columns - 1)
    heading = list(lines_of(sheet.title, inner, TITLE_LETTER))
    pieces: list[Markup] = []
    y = float(MARGIN)
    for line in heading:
        y += TITLE_LINE
        pieces.append(element("text", line, class_="heading", x=MARGIN, y=y - 5))
    entries, height = legend_entries(sheet, inner, y + 8)
    pieces += entries
    y += height + 8
    for start in range(0, len(sheet.charts), columns):
        row = sheet.charts[start : start + columns]
        # A chart that stands alone has the title of the sheet.
        titles = [chart.title if len(sheet.charts) > 1 else "" for chart in row]
        captions = [list(lines_of(title, cell, CAPTION_LETTER)) for title in titles]
        notes = [list(lines_of(chart.note, cell, LEGEND_LETTER)) for chart in row]
        above = max(
            CAPTION_LINE * (len(caption) + len(note))
            for caption, note in zip(captions, notes, strict=True)
        )
        for place, chart in enumerate(row):
            x = MARGIN + place * (cell + GAP)
            for number, line in enumerate((*captions[place], *notes[place]), start=1):
                class_ = "caption" if number <= len(captions[place]) else None
                at = y + CAPTION_LINE * number - 4
                pieces.append(element("text", line, class_=class_, x=x, y=at))
            width, drawn = size_of(chart)
            drawing = drawing_of(chart, scripted=False)
            pieces.append(element("svg", drawing, x=x, y=y + above, width=width, height=drawn))
        y += above + max(size_of(chart)[1] for chart in row) + GAP
    whole = element(
        "svg",
        element("title", sheet.title),
        element("style", style()),
        *pieces,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {inner + 2 * MARGIN} {y - GAP + MARGIN:.0f}",
        width=inner + 2 * MARGIN,
        height=round(y - GAP + MARGIN),
    )
    return f"{whole}\n"


def style() -> Markup:
    """The style with the page's colours in it."""
    text = STYLE
    for name in ("paper", "muted", "ink", "grid", "line"):
        text = text.replace(name.upper(), COLOURS[name][0])
    colours = [f".c{number} {{ color: {COLOURS[f'c{number}'][0]}; }}" for number in range(1, 9)]
    return Markup("\n".join([text, *colours]))


def lines_of(text: str, width: int, letter: float) -> Iterator[str]:
    """The lines of a text that is to be no wider than this."""
    yield from textwrap.wrap(text, max(1, int(width / letter)))


def legend_entries(sheet: Sheet, width: int, top: float) -> tuple[list[Markup], float]:
    """Samples of all lines with their names, and how high they are; none for a single line."""
    looks = {line.name: line.look for chart in sheet.charts for line in chart.series if line.name}
    if len(looks) < 2:
        return [], 0.0
    lined = any(isinstance(chart, LineChart) for chart in sheet.charts)
    pieces: list[Markup] = []
    x, y = float(MARGIN), top + LEGEND_LINE / 2
    for name, look in looks.items():
        room = SAMPLE + 8 + LEGEND_LETTER * len(name) + 14
        if x > MARGIN and x + room > MARGIN + width:
            x, y = float(MARGIN), y + LEGEND_LINE
        pieces.append(entry(name, look, x, y, lined))
        x += room
    return pieces, y + LEGEND_LINE / 2 - top


def entry(name: str, look: Look, x: float, y: float, lined: bool) -> Markup:
    """One line of the legend."""
    line = element("path", d=f"M{x:.1f} {y:.1f}h{SAMPLE}", stroke_dasharray=look.dashes)
    sample = [line] if lined else []
    marker = draw_marker(look.marker, x + SAMPLE / 2, y)
    group = element("g", *sample, marker, class_=f"line c{look.colour}")
    return joined([group, element("text", name, class_="entry", x=x + SAMPLE + 6, y=y + 4)])
