"""The points of a line, in shapes that are told apart without colours."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from antecede.report.charts.spec import Marker
from antecede.report.page.markup import Markup, element

RADIUS: Final = 3.2

CURVE_GAP: Final = 90.0
"""So far apart are the points that are put on a curve only to tell it from others."""

CURVE_SHIFT: Final = 23.0
"""By so much later than on the curve before the first of them comes."""

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
