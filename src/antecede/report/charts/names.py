"""The names of lines, beside their right ends: nobody has to look up a dash in a legend."""

from collections.abc import Sequence
from typing import Final

from antecede.report.charts.scale import Scale
from antecede.report.charts.spec import LineChart, Series
from antecede.report.page.markup import Markup, element

ROW: Final = 11
"""Names are so far apart at least."""

LETTER: Final = 7
"""How wide a letter is, about."""

LEADER: Final = 8
"""From the end of a line to its name."""

SHARE_MOST: Final = 0.3
"""More of a chart's width than this is not given to names."""


def room_for_names(chart: LineChart, width: int) -> int:
    """What the names take at the right of the lines; 0 if they are not to stand there."""
    if not chart.named:
        return 0
    longest = max((len(series.name) for series in chart.series), default=0)
    return min(LEADER + LETTER * longest, int(width * SHARE_MOST))


def line_names(chart: LineChart, across: Scale, up: Scale) -> list[Markup]:
    """The name of every line, and what leads from its last point to it."""
    if not chart.named:
        return []
    ends = [(end_of(series, chart, across, up), series) for series in chart.series]
    shown = sorted(
        [(end, series) for end, series in ends if end is not None], key=lambda found: found[0][1]
    )
    rows = moved_apart([y for (_, y), _ in shown], up.end, up.start)
    return [
        name_at(series, end, (across.end, row))
        for (end, series), row in zip(shown, rows, strict=True)
    ]


def end_of(
    series: Series, chart: LineChart, across: Scale, up: Scale
) -> tuple[float, float] | None:
    """Where a line ends; None if it is not to be seen."""
    shown = [(x, y) for x, y in series.points if y > 0 or not chart.y.log]
    if not shown:
        return None
    x, y = shown[-1]
    return across.place(x), up.place(y)


def moved_apart(places: Sequence[float], top: float, bottom: float) -> list[float]:
    """Places from above to below, moved as little down as keeps them apart, and up at the end."""
    rows: list[float] = []
    for place in places:
        rows.append(max(place, rows[-1] + ROW if rows else top))
    limit = bottom
    for number in reversed(range(len(rows))):
        rows[number] = min(rows[number], limit)
        limit = rows[number] - ROW
    return rows


def name_at(series: Series, end: tuple[float, float], place: tuple[float, float]) -> Markup:
    """A name, and a thin line to it from where its own line ends."""
    (x, y), (right, row) = end, place
    leader = element("line", class_="leader", x1=x, y1=y, x2=right + LEADER - 2, y2=row)
    text = element("text", series.name, class_="label", x=right + LEADER, y=row + 3.5)
    return element("g", leader, text, class_=f"name c{series.look.colour}")
