"""How plots of a profile look: colours everybody can tell apart, axes that say their units.

Figures are made without a display and without pyplot, so nothing is shared between them, and equal
profiles give equal files.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    NullLocator,
)

from antecede.pipeline.metrics.distributions import Distribution
from antecede.pipeline.profile.measures import SECOND_NS, long_duration_text

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
"""From Okabe and Ito's palette, which is told apart with any kind of colour vision."""

DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
"""So that lines can be told apart without colours too."""

SHORTEST: Final = 0.005
"""So small a share of durations may lie outside a logarithmic axis, at its left."""

MARKS_LEVEL: Final = 9
"""More marks than this have no room for their words beside each other."""

TITLE_COLUMNS: Final = 68
"""Characters of a title that fit above one panel."""

LEGEND_LINES: Final = 2
"""A panel with more lines than this has its legend below it."""

COUNT_MARKS: Final = (0, *(base * 10**power for power in range(12) for base in (1, 2, 5)))

FORMATS: Final = ("png", "svg")
DOTS_PER_INCH: Final = 144

LOOKS: Final[dict[Any, Any]] = {
    "font.size": 10.0,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "antecede",
}

NAMED_DURATIONS: Final = {
    60 * SECOND_NS: "1 min",
    3600 * SECOND_NS: "1 h",
    24 * 3600 * SECOND_NS: "1 d",
    7 * 24 * 3600 * SECOND_NS: "1 week",
    70 * 24 * 3600 * SECOND_NS: "10 weeks",
    700 * 24 * 3600 * SECOND_NS: "100 weeks",
}

DURATIONS_NS: Final = sorted(
    [
        *(10**power for power in range(11)),
        600 * SECOND_NS,
        6 * 3600 * SECOND_NS,
        *NAMED_DURATIONS,
    ]
)
"""Where an axis of durations has its marks."""


def panels(title: str, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with this title and so many empty panels."""
    with mpl.rc_context(LOOKS):
        figure = Figure(figsize=(4.2 + 2.6 * columns, 2.2 + 2.2 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharex=rows > 1)
        wrapped = textwrap.fill(title, TITLE_COLUMNS + (columns - 1) * TITLE_COLUMNS // 2)
        figure.suptitle(wrapped, x=0.01, ha="left", fontsize=12)
    return figure, list(axes.flat)


def draw_shares(
    axes: Axes, named: Sequence[tuple[str, Distribution]], *, reverse: bool = False
) -> None:
    """Cumulative lines: the share of values up to x, or in reverse of at least x."""
    for number, (name, distribution) in enumerate(named):
        values, shares = share_points(distribution, reverse=reverse)
        axes.plot(
            values,
            shares,
            label=name,
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            drawstyle="steps-pre" if reverse else "steps-post",
        )
    axes.set_ylim(0, 1.02)
    percent_axis(axes)
    if len(named) > LEGEND_LINES and isinstance(axes.figure, Figure):
        axes.figure.legend(loc="outside lower center", ncols=2, frameon=False)
    elif len(named) > 1:
        axes.legend(loc="best", frameon=False)


def share_points(distribution: Distribution, *, reverse: bool) -> tuple[list[int], list[float]]:
    """The points of a cumulative line."""
    steps = distribution.steps()
    count = distribution.count
    if not reverse:
        values = [distribution.least, *(value for value, _ in steps)]
        return values, [0.0, *(passed / count for _, passed in steps)]
    before = [0, 0, *(passed for _, passed in steps[:-1])]
    return [0, *(value for value, _ in steps)], [(count - passed) / count for passed in before]


def log_durations(axes: Axes, shown: Sequence[Distribution]) -> None:
    """Make x a logarithmic axis of durations that holds these distributions.

    Those that take no time, and the shortest few others, lie outside on the left.
    """
    low = max(1, min(shortest(one) for one in shown))
    high = max(2 * low, *(one.greatest for one in shown))
    inside = [mark for mark in DURATIONS_NS if low <= 2 * mark and mark <= 2 * high]
    axes.set_xscale("log")
    axes.set_xlim(0.6 * low, 1.6 * high)
    axes.xaxis.set_major_locator(FixedLocator([float(mark) for mark in inside]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(duration_label))
    axes.tick_params(axis="x", labelrotation=45 if len(inside) > MARKS_LEVEL else 0)


def shortest(distribution: Distribution) -> int:
    """A duration that all take but for those that take no time, and a few others."""
    count = distribution.count
    none = distribution.buckets[0][1] if distribution.least == 0 else 0
    return distribution.quantile(min(1.0, (none + SHORTEST * (count - none) + 1) / count))


def percent_axis(axes: Axes) -> None:
    """Make y an axis of shares."""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))


def counting_axis(axes: Axes, greatest: int) -> None:
    """Make x an axis of counts, logarithmic above 1 if they go far."""
    if greatest > MARKS_LEVEL:
        axes.set_xscale("symlog", linthresh=1, linscale=0.4)
        inside = [mark for mark in COUNT_MARKS if mark <= greatest]
        shown = inside if len(inside) <= MARKS_LEVEL + 3 else [0, *inside[1::3]]
        axes.xaxis.set_major_locator(FixedLocator([float(mark) for mark in shown]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(count_label))
    axes.set_xlim(left=0)


def duration_label(duration_ns: float, _place: int | None = None) -> str:
    """What stands beside a mark on an axis of durations."""
    if duration_ns in NAMED_DURATIONS:
        return NAMED_DURATIONS[int(duration_ns)]
    number, _, unit = long_duration_text(duration_ns).partition(" ")
    return f"{float(number.replace(',', '')):g} {unit}".strip()


def draw_counts(axes: Axes, distribution: Distribution, colour: str) -> None:
    """Bars for small whole numbers; logarithmic upwards, since the rare ones matter."""
    values = [bucket for bucket, _ in distribution.buckets]
    axes.bar(values, [count for _, count in distribution.buckets], width=0.8, color=colour)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter(FuncFormatter(count_label))
    whole_axis(axes, distribution)


def whole_axis(axes: Axes, distribution: Distribution) -> None:
    """Make x an axis of whole numbers, wide enough for a single bar to look like one."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlim(min(distribution.least, 0) - 0.6, max(distribution.greatest, 3) + 0.6)


def count_label(count: float, _place: int | None = None) -> str:
    """What stands beside a mark on an axis of counts."""
    return f"{count:,.0f}"


def save_figures(figures: dict[str, Figure], folder: Path) -> list[Path]:
    """Write every figure in every format; the files are returned."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, figure in figures.items():
        for suffix in FORMATS:
            file = folder / f"{name}.{suffix}"
            with mpl.rc_context(LOOKS):
                figure.savefig(
                    file, dpi=DOTS_PER_INCH, metadata={"Date": None} if suffix == "svg" else None
                )
            files.append(file)
    return files
