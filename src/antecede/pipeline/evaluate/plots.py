"""The plots of an evaluation: what ordering adds, what is carried, and how latencies spread."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from antecede.link.notation import duration_text
from antecede.pipeline.evaluate.answer import Answer
from antecede.pipeline.evaluate.settings import Group, Setting, bucket_rows, by_setting
from antecede.pipeline.profile.drawing import DOTS_PER_INCH, FORMATS, LOOKS

COLOURS: Final = {
    "hybrid": "#0072B2",
    "hybrid-sps": "#003B5C",
    "hybrid-csps": "#56B4E9",
    "hybrid-facts": "#F0E442",
    "rst": "#D55E00",
    "ks": "#E69F00",
    "mf": "#009E73",
    "cykas": "#CC79A7",
    "fifo": "#777777",
    "none": "#000000",
}
"""From Okabe and Ito's palette, which is told apart with any kind of colour vision."""

OTHERS: Final = "#999999"
MARKERS: Final = "osD^vPX*"
SPREAD: Final = ("hybrid", "hybrid-sps", "hybrid-facts", "rst", "mf", "cykas", "none")
"""Protocols whose latencies are drawn; KS delivers when RST does."""

PANELS_MAX: Final = 9
LEAST_NS: Final = 1_000.0


def draw_all(folder: Path, found: Sequence[Answer], groups: Sequence[Group]) -> list[Path]:
    """Draw everything there is something to draw of; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with mpl.rc_context(LOOKS):
        files += saved(added_plot(found), folder, "added")
        files += saved(metadata_plot(found), folder, "metadata")
        for network in dict.fromkeys(one.setting.network for one in found):
            figure = spread_plot(groups, network)
            if figure is not None:
                files += saved(figure, folder, f"latency-{network}")
    return files


def saved(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure in every format, without the time at which that was."""
    files = [folder / f"{name}.{form}" for form in FORMATS]
    for file in files:
        date = {"Date": None} if file.suffix == ".svg" else {}
        figure.savefig(file, dpi=DOTS_PER_INCH, metadata=date)
    return files


def colour(protocol: str) -> str:
    """The colour of a protocol, everywhere the same."""
    return COLOURS.get(protocol, OTHERS)


def settings_of(found: Sequence[Answer]) -> list[Setting]:
    """The settings, in the order in which they come."""
    return list(dict.fromkeys(one.setting for one in found))


def setting_text(setting: Setting) -> str:
    """What a setting is called on an axis."""
    return f"{setting.scenario}\n{setting.network}, n = {setting.processes:,}"


def added_plot(found: Sequence[Answer]) -> Figure:
    """How much later than necessary messages are delivered, for every setting and protocol."""
    shown = [one for one in found if one.added_ns is not None and one.added_ns.mean > 0]
    settings = settings_of(shown)
    figure = Figure(figsize=(8.0, 1.4 + 0.42 * len(settings)), layout="constrained")
    axes = figure.subplots()
    for place, protocol in enumerate(dict.fromkeys(one.protocol for one in shown)):
        mark_less(
            axes, [one for one in shown if one.protocol == protocol and is_less(one)], settings
        )
        ours = [one for one in shown if one.protocol == protocol and not is_less(one)]
        means = [one.added_ns.mean for one in ours if one.added_ns is not None]
        widths = [one.added_ns.half_width or 0.0 for one in ours if one.added_ns is not None]
        axes.errorbar(
            means,
            [settings.index(one.setting) for one in ours],
            xerr=[[min(w, 0.9 * m) for m, w in zip(means, widths, strict=True)], widths],
            fmt=MARKERS[place % len(MARKERS)],
            color=colour(protocol),
            label=protocol,
            capsize=2,
            markersize=6,
            linestyle="none",
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(duration_label))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(settings)), [setting_text(one) for one in settings], fontsize=8)
    axes.invert_yaxis()
    less = f" (◂: less than {duration_label(LEAST_NS)})" if any(map(is_less, shown)) else ""
    axes.set_xlabel("added by ordering to the mean latency of a copy" + less)
    if shown:
        figure.legend(loc="outside right upper", frameon=False)
    return figure


def is_less(one: Answer) -> bool:
    """Whether something was added, but less than the axis goes down to."""
    return one.added_ns is not None and one.added_ns.mean < LEAST_NS


def mark_less(axes: Axes, tiny: Sequence[Answer], settings: Sequence[Setting]) -> None:
    """Arrows at the end of the axis: these lie beyond it, not there."""
    places = [settings.index(one.setting) for one in tiny]
    if tiny:
        axes.plot(
            [LEAST_NS] * len(tiny),
            places,
            "<",
            color=colour(tiny[0].protocol),
            label=f"{tiny[0].protocol}: less than {duration_label(LEAST_NS)}",
            markersize=7,
            markerfacecolor="none",
            linestyle="none",
        )


def metadata_plot(found: Sequence[Answer]) -> Figure:
    """What a message carries beside its payload, against the number of processes."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for place, protocol in enumerate(dict.fromkeys(one.protocol for one in found)):
        ours = [one for one in found if one.protocol == protocol]
        axes.plot(
            [one.setting.processes for one in ours],
            [one.metadata_bytes.mean for one in ours],
            MARKERS[place % len(MARKERS)],
            color=colour(protocol),
            label=protocol,
            markersize=6,
            alpha=0.8,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(count_label))
    axes.yaxis.set_major_formatter(FuncFormatter(count_label))
    axes.set_xlabel("processes")
    axes.set_ylabel("bytes of metadata per message")
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
            color=colour(group.protocol),
            label=group.protocol,
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


def count_label(count: float, _place: int | None = None) -> str:
    """What stands beside a mark on an axis of counts."""
    return f"{count:,.0f}"
