"""The plots of an evaluation: what ordering adds, what is carried, and how latencies spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from antecede.units import duration_text
from antecede_audit.report.profile_plots import LOOKS, count_label, save_figures
from antecede_lab.evaluate.answer import Answer, Group, Setting, bucket_rows, by_setting


@dataclass(frozen=True, slots=True)
class Look:
    """How a protocol is drawn, everywhere the same."""

    colour: str
    """From Okabe and Ito's palette, which is told apart with any kind of colour vision."""
    shape: str
    """Its point, so that colours are not needed to tell protocols apart."""
    dashes: str | tuple[int, tuple[int, ...]] = "-"


PROTOCOLS: Final = {
    "hybrid": Look("#0072B2", "o"),
    "hybrid-sps": Look("#003B5C", "v", (0, (5, 1))),
    "hybrid-csps": Look("#56B4E9", "^"),
    "hybrid-facts": Look("#F0E442", "D", (0, (1, 1))),
    "rst": Look("#D55E00", "s", "--"),
    "ks": Look("#E69F00", "P"),
    "mf": Look("#009E73", "X", "-."),
    "cykas": Look("#CC79A7", "h", (0, (5, 1, 1, 1, 1, 1))),
    "fifo": Look("#777777", "<"),
    "none": Look("#000000", "*", ":"),
}
OTHERS: Final = "#999999"
OTHER_SHAPES: Final = ("d", "p", ">", "8")
EDGE: Final = "#333333"
"""Around points: pale ones are seen on white, and those that touch are told apart."""

ROOM: Final = 0.72
"""Of the room between two settings, how much protocols are spread over: equal ones stay visible."""

SPREAD: Final = ("hybrid", "hybrid-sps", "hybrid-facts", "rst", "mf", "cykas", "none")
"""Protocols whose latencies are drawn; KS delivers when RST does."""

PANELS_MAX: Final = 9
LEAST_NS: Final = 1_000.0
LESS_NS: Final = 400.0
"""The least that an axis of added latency shows, and where what is less than that stands."""

FEW_COPIES: Final = 200
"""The shares of so few copies are drawn as steps, which they are."""


def draw_all(folder: Path, found: Sequence[Answer], groups: Sequence[Group]) -> list[Path]:
    """Draw everything there is something to draw of; the files."""
    with mpl.rc_context(LOOKS):
        figures = {"added": added_plot(found), "metadata": metadata_plot(found)}
        for network in dict.fromkeys(one.setting.network for one in found):
            figure = spread_plot(groups, network)
            if figure is not None:
                figures[f"latency-{network}"] = figure
    return save_figures(figures, folder)


def settings_of(found: Sequence[Answer]) -> list[Setting]:
    """The settings, in the order in which they come."""
    return list(dict.fromkeys(one.setting for one in found))


def setting_text(setting: Setting) -> str:
    """What a setting is called on an axis."""
    return f"{setting.scenario}\n{setting.network}, n = {setting.processes:,}"


def look_of(protocol: str, among: Sequence[str] = ()) -> Look:
    """How a protocol is drawn; one that is not known by its number `among` the strangers."""
    strangers = [name for name in (*among, protocol) if name not in PROTOCOLS]
    known = PROTOCOLS.get(protocol)
    return known or Look(OTHERS, OTHER_SHAPES[strangers.index(protocol) % len(OTHER_SHAPES)])


def aside(one: Answer, shown: Sequence[Answer]) -> float:
    """How far from the middle of its setting a protocol stands, beside the others there."""
    there = [other.protocol for other in shown if other.setting == one.setting]
    return spread_over(there.index(one.protocol), len(there))


def spread_over(place: int, count: int) -> float:
    """Where the one at `place` of so many stands, closer together if they are few."""
    room = ROOM * min(1.0, count / 6)
    return 0.0 if count < 2 else room * (place / (count - 1) - 0.5)


def added_plot(found: Sequence[Answer]) -> Figure:
    """How much later than necessary messages are delivered, for every setting and protocol."""
    shown = [one for one in found if one.added_ns is not None and one.added_ns.mean > 0]
    settings = settings_of(shown)
    names = list(dict.fromkeys(one.protocol for one in shown))
    figure = Figure(figsize=(8.0, 1.4 + 0.5 * len(settings)), layout="constrained")
    axes = figure.subplots()
    for row in range(len(settings) - 1):
        axes.axhline(row + 0.5, color="#eeeeee", linewidth=0.6, zorder=0)
    for protocol in names:
        ours = [one for one in shown if one.protocol == protocol]
        rows = [settings.index(one.setting) + aside(one, shown) for one in ours]
        draw_added(axes, ours, rows, look_of(protocol, names))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(duration_label))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(settings)), [setting_text(one) for one in settings], fontsize=8)
    axes.set_ylim(len(settings) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    if any(map(is_less, shown)):
        mark_less(axes)
    axes.set_xlabel("added by ordering to the mean latency of a copy (nothing: not shown)")
    if shown:
        figure.legend(loc="outside right upper", frameon=False)
    return figure


def draw_added(axes: Axes, ours: Sequence[Answer], rows: Sequence[float], look: Look) -> None:
    """The points of one protocol; what is less than the axis shows stands before its beginning."""
    means = [LESS_NS if is_less(one) else one.added_ns.mean for one in ours if one.added_ns]
    widths = [
        0.0 if is_less(one) else one.added_ns.half_width or 0.0 for one in ours if one.added_ns
    ]
    axes.errorbar(
        means,
        rows,
        xerr=[[min(w, 0.9 * m) for m, w in zip(means, widths, strict=True)], widths],
        fmt=look.shape,
        color=look.colour,
        label=ours[0].protocol,
        capsize=2,
        markersize=5.5,
        markeredgecolor=EDGE,
        markeredgewidth=0.6,
        linestyle="none",
    )


def is_less(one: Answer) -> bool:
    """Whether something was added, but less than the axis goes down to."""
    return one.added_ns is not None and one.added_ns.mean < LEAST_NS


def mark_less(axes: Axes) -> None:
    """A strip before the beginning of the axis, whose points are below it, however far."""
    beginning = LESS_NS**2 / LEAST_NS
    axes.set_xlim(left=beginning)
    axes.axvspan(beginning, LEAST_NS, color="#f2f2f2", zorder=0)
    marks = [mark for mark in axes.get_xticks() if mark > LEAST_NS]
    axes.set_xticks([LESS_NS, *marks])
    axes.xaxis.set_major_formatter(FuncFormatter(less_or_duration_label))


def less_or_duration_label(duration_ns: float, place: int | None = None) -> str:
    """The same as `duration_label`, and words for the strip before the beginning."""
    if duration_ns < LEAST_NS:
        return f"< {duration_label(LEAST_NS)}"
    return duration_label(duration_ns, place)


def metadata_plot(found: Sequence[Answer]) -> Figure:
    """What a message carries beside its payload, against the number of processes."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(one.protocol for one in found))
    sizes = sorted({one.setting.processes for one in found})
    run = {(one.protocol, one.setting.processes) for one in found}
    for protocol in names:
        ours = [one for one in found if one.protocol == protocol]
        columns = []
        for size in (one.setting.processes for one in ours):
            beside = [name for name in names if (name, size) in run]
            place = spread_over(beside.index(protocol), len(beside))
            columns.append(sizes.index(size) + place)
        look = look_of(protocol, names)
        axes.plot(
            columns,
            [one.metadata_bytes.mean for one in ours],
            look.shape,
            color=look.colour,
            label=protocol,
            markersize=6,
            markeredgecolor=EDGE,
            markeredgewidth=0.6,
        )
    axes.set_yscale("log")
    axes.set_xticks(range(len(sizes)), [count_label(size) for size in sizes])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.grid(visible=False, axis="x")
    for column in range(len(sizes) - 1):
        axes.axvline(column + 0.5, color="#eeeeee", linewidth=0.6, zorder=0)
    axes.yaxis.set_major_formatter(FuncFormatter(count_label))
    axes.set_xlabel("processes")
    axes.set_ylabel("bytes of metadata per message (logarithmic)")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def spread_plot(groups: Sequence[Group], network: str) -> Figure | None:
    """The latencies of each scenario over one network, as shares of copies."""
    settings = [one for one in by_setting(groups) if one.network == network][:PANELS_MAX]
    if not settings:
        return None
    columns = min(3, len(settings))
    rows = -(-len(settings) // columns)
    figure = Figure(figsize=(3.4 * columns, 0.5 + 2.7 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes, setting in zip(panels.flat, settings, strict=False):
        draw_spread(axes, [group for group in groups if group.setting == setting])
        axes.set_title(f"{setting.scenario}, n = {setting.processes:,}", fontsize=10)
    for axes in list(panels.flat)[len(settings) :]:
        axes.set_visible(False)
    if panels[0][0].has_data():
        panels[0][0].legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def draw_spread(axes: Axes, groups: Sequence[Group]) -> None:
    """One line for each protocol: the share of copies delivered within a time."""
    for group in groups:
        if group.protocol not in SPREAD:
            continue
        buckets = [row for row in bucket_rows([group]) if row["delay"] == "latency"]
        total = sum(row["copies"] for row in buckets)
        passed = 0
        points: list[tuple[float, float]] = []
        for row in buckets:
            passed += row["copies"]
            points.append((max(LEAST_NS, float(row["high_ns"])), passed / total))
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=PROTOCOLS[group.protocol].colour,
            label=group.protocol,
            linestyle=PROTOCOLS[group.protocol].dashes,
            drawstyle="steps-post" if total < FEW_COPIES else "default",
            linewidth=1.5,
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_formatter(FuncFormatter(duration_label))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=8)


def duration_label(duration_ns: float, _place: int | None = None) -> str:
    """What stands beside a mark on an axis of durations."""
    number, _, unit = duration_text(duration_ns).partition(" ")
    return f"{float(number.replace(',', '')):g} {unit}".strip()
