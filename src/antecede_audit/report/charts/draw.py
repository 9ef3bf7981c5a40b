"""Charts as SVG: no script is needed to see them, and one makes them answer the pointer.

A drawing is 400 units wide, which is about what a phone has, and stands in a grid that has several
columns where there is room. Colours are classes; the page's style gives them their value.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from antecede_audit.report.charts.scale import (
    Scale,
    Text,
    bounds,
    count_text,
    duration_marks,
    linear_marks,
    log_duration_marks,
    log_marks,
    number_text,
    percent_text,
    time_text,
)
from antecede_audit.report.charts.spec import (
    Axis,
    BarChart,
    Chart,
    DotChart,
    LineChart,
    Marker,
    Series,
    StackChart,
    Unit,
)
from antecede_audit.report.page.markup import Markup, element, joined

RADIUS: Final = 3.2

CURVE_GAP: Final = 90.0
"""Distance between the points that are put on a curve only to tell it from others."""

CURVE_SHIFT: Final = 23.0
"""The first of them is this much further along than on the curve before."""

SHAPES: Final[dict[Marker, str]] = {
    "square": "M-3 -3H3V3H-3Z",
    "triangle": "M0 -3.8L3.6 2.8H-3.6Z",
    "diamond": "M0 -4.2L3.8 0L0 4.2L-3.8 0Z",
    "wedge": "M0 3.8L3.6 -2.8H-3.6Z",
    "plus": "M-4 0H4M0 -4V4",
    "cross": "M-3.2 -3.2L3.2 3.2M-3.2 3.2L3.2 -3.2",
}
"""Outlines around the origin."""

OPEN: Final = ("plus", "cross", "ring")
"""Shapes that are drawn, not filled."""


def draw_marker(marker: Marker, x: float, y: float) -> Markup:
    """One point."""
    class_ = "marker open" if marker in OPEN else "marker"
    if marker in ("circle", "ring"):
        return element("circle", cx=x, cy=y, r=RADIUS, class_=class_)
    return element("path", d=SHAPES[marker], transform=f"translate({x:.1f} {y:.1f})", class_=class_)


def along_curve(places: Sequence[tuple[float, float]], number: int) -> list[tuple[float, float]]:
    """A few places of a curve, not the same as those of the curves before it."""
    chosen: list[tuple[float, float]] = []
    walked = 0.0
    wanted = CURVE_GAP / 4 + CURVE_SHIFT * (number % 4)
    for (x, y), (further_x, further_y) in pairwise(places):
        walked += abs(further_x - x) + abs(further_y - y)
        if walked >= wanted:
            chosen.append((further_x, further_y))
            wanted = walked + CURVE_GAP
    return chosen


ROW: Final = 11
"""Least distance between names."""

LETTER: Final = 7
"""How wide a letter is, about."""

LEADER: Final = 8
"""From the end of a line to its name."""

SHARE_MAX: Final = 0.3
"""More of a chart's width than this is not given to names."""


def room_for_names(chart: LineChart, width: int) -> int:
    """What the names take at the right of the lines; 0 if they are not to stand there."""
    if not chart.named:
        return 0
    longest = max((len(series.name) for series in chart.series), default=0)
    return min(LEADER + LETTER * longest, int(width * SHARE_MAX))


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


WIDTH: Final = 400
HEIGHT: Final = 272
LEFT: Final = 52
RIGHT: Final = 20
TOP: Final = 28
BOTTOM: Final = 44

MARK_ROOM: Final = 30
"""Least distance between marks whose places are those of measurements."""

DIGIT_ROOM: Final = 6.5
"""What a digit of a label is wide."""

SHARED_DASH: Final = 7
"""Lines that lie on each other take turns of this length."""

LABEL_ROOM: Final = 60
"""Labels of points nearer to each other than this stand above each other."""

BAR_TOP: Final = 10
BAR_HEIGHT: Final = 20
BAR_LABEL: Final = 112
BAR_TEXT: Final = 62

DOTS_WIDTH: Final = 640
DOTS_LEFT: Final = 184
DOTS_TOP: Final = 6
DOTS_ROW: Final = 40
"""A row is at least this high: room for a name of two lines."""
DOT: Final = 8
"""Points of a row are this far apart."""

TEXTS: Final[dict[Unit, Text]] = {
    "number": number_text,
    "count": count_text,
    "time": time_text,
    "share": percent_text,
}


def draw(chart: Chart) -> Markup:
    """The chart as a figure with its title and its note."""
    note = element("span", chart.note) if chart.note else None
    caption = element("figcaption", element("strong", chart.title), note)
    return element("figure", caption, drawing_of(chart), class_="chart")


def drawing_of(chart: Chart, *, scripted: bool = True) -> Markup:
    """The chart without its title; `scripted` if scripts are there to read its values."""
    if isinstance(chart, LineChart):
        return draw_lines(chart, scripted=scripted)
    if isinstance(chart, BarChart):
        return draw_bars(chart)
    if isinstance(chart, DotChart):
        return draw_dots(chart)
    return draw_stack(chart)


def size_of(chart: Chart) -> tuple[int, int]:
    """How wide and how high the drawing is."""
    if isinstance(chart, BarChart):
        return WIDTH, bars_height(chart)
    if isinstance(chart, DotChart):
        return DOTS_WIDTH, row_edges(chart)[-1] + BOTTOM
    return WIDTH, HEIGHT


# Axes.


def scale_of(axis: Axis, values: Sequence[float], start: float, end: float) -> Scale | None:
    """The scale on which these values fit; None if there is nothing to show."""
    found = bounds(values, axis.log)
    if found is None:
        return None
    low, high = found
    if not axis.log and low > 0 and low < high / 2:
        low = 0.0
    return Scale(
        low=low if axis.low is None else axis.low,
        high=high if axis.high is None else axis.high,
        start=start,
        end=end,
        log=axis.log,
    )


def marks_of(axis: Axis, scale: Scale) -> list[float]:
    """The values that get a mark."""
    if axis.marks:
        inside = [mark for mark in axis.marks if scale.low <= mark <= scale.high]
        return apart(inside, scale, TEXTS[axis.unit])
    if axis.log and axis.unit == "time":
        return apart(log_duration_marks(scale.low, scale.high), scale, TEXTS[axis.unit])
    if axis.log:
        return log_marks(scale.low, scale.high)
    if axis.unit == "time":
        return duration_marks(scale.low, scale.high)
    return linear_marks(scale.low, scale.high)


def apart(marks: Sequence[float], scale: Scale, text: Text) -> list[float]:
    """Those marks whose labels do not run into each other, the last one in any case."""
    widest = max((len(text(mark)) for mark in marks), default=0)
    room = max(MARK_ROOM, (widest + 1) * DIGIT_ROOM)
    kept: list[float] = []
    for mark in reversed(marks):
        if not kept or abs(scale.place(kept[-1]) - scale.place(mark)) >= room:
            kept.append(mark)
    return kept[::-1]


def draw_axes(x: Axis, y: Axis, across: Scale, up: Scale) -> Markup:
    """Marks, lines behind the data, and the titles of both axes."""
    pieces: list[Markup] = []
    for mark in marks_of(y, up):
        at = up.place(mark)
        pieces.append(element("line", class_="grid", x1=LEFT, x2=across.end, y1=at, y2=at))
        label = TEXTS[y.unit](mark)
        pieces.append(element("text", label, x=LEFT - 6, y=at + 4, text_anchor="end"))
    floor = HEIGHT - BOTTOM
    for mark in marks_of(x, across):
        at = across.place(mark)
        pieces.append(element("line", class_="grid", x1=at, x2=at, y1=TOP, y2=floor))
        label = TEXTS[x.unit](mark)
        pieces.append(element("text", label, x=at, y=floor + 16, text_anchor="middle"))
    pieces.append(element("line", class_="axis", x1=LEFT, x2=across.end, y1=floor, y2=floor))
    middle = (LEFT + across.end) / 2
    title = titled(x)
    pieces.append(
        element("text", title, class_="title", x=middle, y=HEIGHT - 6, text_anchor="middle")
    )
    pieces.append(element("text", titled(y), class_="title", x=2, y=14))
    return joined(pieces)


def titled(axis: Axis) -> str:
    """The title of an axis, which says if equal steps are not equal differences."""
    return f"{axis.title} (log scale)" if axis.log else axis.title


def canvas(
    *children: Markup, width: int = WIDTH, height: int = HEIGHT, **attributes: str | None
) -> Markup:
    """The drawing around all of it."""
    return element("svg", *children, viewBox=f"0 0 {width} {height}", role="img", **attributes)


NOTHING: Final = element("p", "Nothing was measured here.", class_="quiet")


# Lines.


def draw_lines(chart: LineChart, *, scripted: bool = True) -> Markup:
    """Lines, their intervals, and what a script needs to read values off them."""
    points = [point for series in chart.series for point in series.points]
    right = WIDTH - max(RIGHT, room_for_names(chart, WIDTH))
    across = scale_of(chart.x, [point[0] for point in points], LEFT, right)
    up = scale_of(chart.y, reached(chart), HEIGHT - BOTTOM, TOP)
    if across is None or up is None:
        return NOTHING
    turns = shared_turns(chart, across, up)
    lines = [
        draw_series(series, chart, across, up, number, turns[number])
        for number, series in enumerate(chart.series)
    ]
    data = json.dumps(readable(chart, across), ensure_ascii=False, separators=(",", ":"))
    return canvas(
        draw_axes(chart.x, chart.y, across, up),
        *lines,
        *point_labels(chart, across, up),
        *line_names(chart, across, up),
        aria_label=chart.title,
        data_chart=data if scripted else None,
    )


def reached(chart: LineChart) -> list[float]:
    """All heights that must be visible, ends of intervals included."""
    heights: list[float] = []
    for series in chart.series:
        spread = series.spread or (0.0,) * len(series.points)
        for (_, height), half in zip(series.points, spread, strict=True):
            heights += [height, height + half]
            if height - half > 0 or not chart.y.log:
                heights.append(height - half)
    return heights


def shared_turns(chart: LineChart, across: Scale, up: Scale) -> list[tuple[int, int]]:
    """For each line: how many lie exactly where it does, and its number among them."""
    drawn = [tuple(places_of(series, chart, across, up)) for series in chart.series]
    return [
        (drawn.count(places), drawn[:number].count(places)) for number, places in enumerate(drawn)
    ]


def places_of(
    series: Series, chart: LineChart, across: Scale, up: Scale
) -> list[tuple[float, float]]:
    """Where the points of a line go, to a tenth of a unit."""
    shown = [point for point in series.points if point[1] > 0 or not chart.y.log]
    return [(round(across.place(x), 1), round(up.place(y), 1)) for x, y in shown]


def dashes_of(series: Series, turn: tuple[int, int]) -> dict[str, str]:
    """Its own dashes, or its turns where it shares its place with others."""
    sharing, number = turn
    if sharing == 1:
        return {"stroke_dasharray": series.look.dashes}
    gap = SHARED_DASH * (sharing - 1)
    return {
        "stroke_dasharray": f"{SHARED_DASH} {gap}",
        "stroke_dashoffset": f"{-SHARED_DASH * number}",
    }


def draw_series(
    series: Series,
    chart: LineChart,
    across: Scale,
    up: Scale,
    number: int,
    turn: tuple[int, int],
) -> Markup:
    """One line with its points and intervals."""
    places = places_of(series, chart, across, up)
    pieces = [element("path", d=path_of(places, chart.stairs), **dashes_of(series, turn))]
    for (x, y), half in zip(series.points, series.spread, strict=False):
        low = max(y - half, up.low)
        at = across.place(x)
        if half > 0 and (y > 0 or not chart.y.log):
            pieces.append(element("line", x1=at, x2=at, y1=up.place(low), y2=up.place(y + half)))
    # A curve without a name is alone: nothing has to be told from it.
    on_curve = along_curve(places, number) if series.name else []
    marked = places if series.dots else on_curve
    pieces += [draw_marker(series.look.marker, x, y) for x, y in marked]
    pieces += beyond(series, across, up)
    classes = f"line c{series.look.colour}"
    return element("g", *pieces, class_=classes, data_series=series.name)


def beyond(series: Series, across: Scale, up: Scale) -> list[Markup]:
    """Arrows at points that lie beyond an end of the axis: they are not where they seem to be."""
    arrows: list[Markup] = []
    for x, y in series.points:
        if up.low <= y <= up.high:
            continue
        at, end = across.place(x), up.place(y)
        tip = 9 if y < up.low else -9
        why = (
            "0 is not on a logarithmic axis" if y == 0 and up.log else "beyond the end of the axis"
        )
        title = element("title", f"{series.name}: {why}")
        outline = f"M{at - 4:.1f} {end:.1f}L{at:.1f} {end + tip:.1f}L{at + 4:.1f} {end:.1f}"
        arrows.append(element("path", title, d=outline, class_="beyond"))
    return arrows


def point_labels(chart: LineChart, across: Scale, up: Scale) -> list[Markup]:
    """Texts beside the last points of lines that have one, above each other where they are near."""
    labels: list[Markup] = []
    taken: list[tuple[float, float]] = []
    for series in chart.series:
        if not series.label or not series.points:
            continue
        x, y = across.place(series.points[-1][0]), up.place(series.points[-1][1]) - 5
        while any(abs(x - other) < LABEL_ROOM and abs(y - near) < 12 for other, near in taken):
            y -= 12
        taken.append((x, y))
        left = x > WIDTH - RIGHT - 7 * len(series.label) - 8
        anchor, at = ("end", x - 7) if left else ("start", x + 7)
        classes = f"label c{series.look.colour}"
        labels.append(element("text", series.label, class_=classes, x=at, y=y, text_anchor=anchor))
    return labels


def path_of(places: Sequence[tuple[float, float]], stairs: bool) -> str:
    """The line through these places."""
    if not places:
        return ""
    (x, y), *rest = places
    steps = [f"M{x:.1f} {y:.1f}"]
    for x, y in rest:
        steps.append(f"H{x:.1f}V{y:.1f}" if stairs else f"L{x:.1f} {y:.1f}")
    return "".join(steps)


def readable(chart: LineChart, across: Scale) -> dict[str, object]:
    """What a script needs to say which values are under the pointer."""
    return {
        "x": [across.low, across.high, across.start, across.end, across.log],
        "units": [chart.x.unit, chart.y.unit],
        "title": chart.x.title,
        "stairs": chart.stairs,
        "series": [
            [series.name, series.look.colour, [[rounded(x), rounded(y)] for x, y in series.points]]
            for series in chart.series
        ],
    }


def rounded(value: float) -> float:
    """A value with as many digits as anybody reads."""
    return float(f"{value:.5g}")


# Bars.


def draw_bars(chart: BarChart) -> Markup:
    """Horizontal bars below each other, with a text at the end of each."""
    start, end = BAR_LABEL, WIDTH - BAR_TEXT
    most = max((sum(bar.parts) for bar in chart.bars), default=0.0)
    if most <= 0:
        return NOTHING
    scale = Scale(low=0.0, high=most, start=start, end=end)
    height = bars_height(chart)
    floor = height - 22
    pieces: list[Markup] = []
    for mark in marks_of(chart.x, scale):
        at = scale.place(mark)
        pieces.append(element("line", class_="grid", x1=at, x2=at, y1=BAR_TOP - 6, y2=floor))
        label = TEXTS[chart.x.unit](mark)
        pieces.append(element("text", label, x=at, y=floor + 15, text_anchor="middle"))
    for number, bar in enumerate(chart.bars):
        y = BAR_TOP + number * (BAR_HEIGHT + 6)
        middle = y + BAR_HEIGHT / 2 + 4
        pieces.append(element("text", bar.name, x=start - 8, y=middle, text_anchor="end"))
        edges = [scale.place(sum(bar.parts[:part])) for part in range(len(bar.parts) + 1)]
        for class_, part, (left, right) in zip(
            chart.classes, chart.parts, pairwise(edges), strict=True
        ):
            if right > left:
                size = {"x": left, "y": y, "width": right - left, "height": BAR_HEIGHT}
                title = element("title", f"{bar.name}, {part}")
                pieces.append(element("rect", title, class_=class_, **size))
        pieces.append(element("text", bar.text, class_="value", x=edges[-1] + 6, y=middle))
    return canvas(*pieces, height=height, aria_label=chart.title)


def bars_height(chart: BarChart) -> int:
    """How high a chart of bars is."""
    return BAR_TOP + len(chart.bars) * (BAR_HEIGHT + 6) + 26


# Points in rows.


def draw_dots(chart: DotChart) -> Markup:
    """Rows of points, those of one row below each other so that equal ones can be seen."""
    reached = [
        end
        for series in chart.series
        for (value, _), half in zip(series.points, spread_of(series), strict=True)
        for end in (value, value + half)
    ]
    across = scale_of(chart.x, reached, DOTS_LEFT, DOTS_WIDTH - RIGHT)
    if across is None:
        return NOTHING
    edges = row_edges(chart)
    floor = edges[-1]
    pieces: list[Markup] = []
    for mark in marks_of(chart.x, across):
        at = across.place(mark)
        pieces.append(element("line", class_="grid", x1=at, x2=at, y1=edges[0], y2=floor))
        label = TEXTS[chart.x.unit](mark)
        pieces.append(element("text", label, x=at, y=floor + 16, text_anchor="middle"))
    for name, (top, bottom) in zip(chart.rows, pairwise(edges), strict=True):
        pieces.append(element("line", class_="axis", x1=0, x2=across.end, y1=bottom, y2=bottom))
        lines = name.split("\n")
        first = (top + bottom) / 2 + 4 - 7 * (len(lines) - 1)
        pieces += [
            element("text", line, x=DOTS_LEFT - 20, y=first + 14 * number, text_anchor="end")
            for number, line in enumerate(lines)
        ]
    pieces += [draw_row_points(series, chart, across, edges) for series in chart.series]
    middle = (DOTS_LEFT + across.end) / 2
    title = element(
        "text", titled(chart.x), class_="title", x=middle, y=floor + 38, text_anchor="middle"
    )
    width, height = size_of(chart)
    return canvas(*pieces, title, width=width, height=height, aria_label=chart.title)


def spread_of(series: Series) -> tuple[float, ...]:
    """Half the width of each point's interval; 0 if it has none."""
    return series.spread or (0.0,) * len(series.points)


def in_row(chart: DotChart, row: int) -> list[str]:
    """The names of those that have a point in this row."""
    return [one.name for one in chart.series if any(place == row for _, place in one.points)]


def row_edges(chart: DotChart) -> list[int]:
    """Where the rows begin, and where the last one ends."""
    edges = [DOTS_TOP]
    for row in range(len(chart.rows)):
        edges.append(edges[-1] + max(DOTS_ROW, DOT * len(in_row(chart, row)) + DOT))
    return edges


def draw_row_points(series: Series, chart: DotChart, across: Scale, edges: Sequence[int]) -> Markup:
    """The points of one series, each at its height in its row."""
    pieces: list[Markup] = []
    for (value, place), half in zip(series.points, spread_of(series), strict=True):
        row = int(place)
        names = in_row(chart, row)
        y = (edges[row] + edges[row + 1]) / 2 + DOT * (
            names.index(series.name) - (len(names) - 1) / 2
        )
        x = across.place(value)
        if value < across.low:
            # What is less than the axis shows stands at its beginning, and points beyond it.
            title = element("title", f"{series.name}: less than the axis shows")
            outline = f"M{x - 5:.1f} {y - 4:.1f}L{x - 13:.1f} {y:.1f}L{x - 5:.1f} {y + 4:.1f}"
            pieces.append(element("path", title, d=outline, class_="beyond"))
        elif half > 0:
            left, right = across.place(max(value - half, across.low)), across.place(value + half)
            pieces.append(element("line", x1=left, x2=right, y1=y, y2=y))
        pieces.append(draw_marker(series.look.marker, x, y))
    classes = f"line c{series.look.colour}"
    return element("g", *pieces, class_=classes, data_series=series.name)


# Layers.


def draw_stack(chart: StackChart) -> Markup:
    """Layers on top of each other."""
    totals = [sum(column) for column in zip(*chart.layers, strict=True)]
    across = scale_of(chart.x, chart.places, LEFT, WIDTH - RIGHT)
    up = scale_of(chart.y, [0.0, *totals], HEIGHT - BOTTOM, TOP)
    if across is None or up is None:
        return NOTHING
    below = [0.0] * len(chart.places)
    pieces: list[Markup] = []
    for class_, part, layer in zip(chart.classes, chart.parts, chart.layers, strict=True):
        above = [base + height for base, height in zip(below, layer, strict=True)]
        upper = zip(chart.places, above, strict=True)
        lower = zip(reversed(chart.places), reversed(below), strict=True)
        edge = [(across.place(x), up.place(y)) for x, y in (*upper, *lower)]
        outline = path_of(edge, stairs=False) + "Z"
        pieces.append(element("path", element("title", part), class_=f"layer {class_}", d=outline))
        below = above
    return canvas(
        *pieces, draw_axes(chart.x, chart.y, across, up), aria_label=chart.title, class_="stack"
    )
