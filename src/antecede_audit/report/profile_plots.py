"""The plots of a profile: one figure per question, and its title is the answer.

Colours are ones that everybody can tell apart, and axes say their units. Figures are made without a
display and without pyplot, so nothing is shared between them, and equal profiles give equal files.
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

from antecede.units import three_digits
from antecede_audit.measure.distributions import Distribution
from antecede_audit.measure.quantities import (
    LONG_UNITS,
    SECOND_NS,
    long_duration_text,
    rate_period,
    rate_text,
)
from antecede_audit.measure.run_profile import RECORDED, RunProfile

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


BARS_MAX: Final = 127
"""Up to so many different whole numbers are drawn as bars: each has a bucket of its own."""

DURATIONS: Final = (
    ("think_ns", "think time: last cause to message"),
    ("submission_gap_ns", "gap between submissions, whole system"),
    ("sender_gap_ns", "gap between submissions, one process"),
    ("delivery_gap_ns", "gap between deliveries, one process"),
    ("flight_ns", "flight: submission to delivery"),
)

PLOT_FOLDER: Final = "plots"


def plot_profile(run: RunProfile, folder: Path) -> list[Path]:
    """Draw everything about a run into a folder, as PNG and SVG; the files are returned."""
    figures = {
        "degrees": degrees(run),
        "fan-out": fan_out(run),
        "depth": depth(run),
        "conversations": conversations(run),
        "activity": activity(run),
    }
    if any(is_known(run, measure) for measure, _ in DURATIONS):
        figures["times"] = times(run)
    if run.distributions["payload_bytes"].greatest > 0:
        figures["sizes"] = sizes(run)
    return save_figures(figures, folder)


def degrees(run: RunProfile) -> Figure:
    """How many others each process talks to."""
    sends, hears = run.distributions["out_degree"], run.distributions["in_degree"]
    figure, [axes] = panels(
        f"Half of the {run.processes:,} processes send to {sends.quantile(0.5):,} others or fewer, "
        f"the busiest to {sends.greatest:,}"
    )
    draw_shares(axes, [("sends to", sends), ("hears from", hears)], reverse=True)
    counting_axis(axes, max(sends.greatest, hears.greatest))
    axes.set(xlabel="other processes (at least)", ylabel="share of processes")
    return figure


def fan_out(run: RunProfile) -> Figure:
    """How wide messages are, how many effects deliveries have, how many causes are joined."""
    targets, effects = run.distributions["targets"], run.distributions["effects"]
    causes = run.distributions["causes"]
    figure, axes = panels(
        f"A delivery causes {three_digits(effects.mean)} messages on average and up to "
        f"{effects.greatest:,}; a message waits for up to {causes.greatest:,}",
        columns=3,
    )
    for place, (distribution, what, whose) in enumerate(
        (
            (targets, "targets of a message", "messages"),
            (effects, "messages that a delivery causes", "deliveries"),
            (causes, "deliveries that a message waits for", "messages"),
        )
    ):
        draw_whole_numbers(axes[place], distribution, COLOURS[place], what, whose)
    return figure


def depth(run: RunProfile) -> Figure:
    """How long the chains of causes are."""
    depths = run.distributions["depth"]
    figure, [axes] = panels(
        f"Chains of causes are up to {depths.greatest:,} messages long; half of all messages stand "
        f"at {depths.quantile(0.5):,} or less"
    )
    if depths.greatest > BARS_MAX:
        draw_shares(axes, [("", depths)])
        axes.set_ylabel("share of messages with at most so many")
    else:
        axes.bar(
            [bucket for bucket, _ in depths.buckets],
            [count / depths.count for _, count in depths.buckets],
            color=COLOURS[0],
        )
        percent_axis(axes)
        whole_axis(axes, depths)
        axes.set_ylabel("share of messages")
    axes.set_xlabel("causes on the longest chain before a message")
    return figure


def conversations(run: RunProfile) -> Figure:
    """How large conversations are, and how many processes take part."""
    messages = run.distributions["conversation_messages"]
    processes = run.distributions["conversation_processes"]
    half = messages.quantile(0.5)
    share = 100 * messages.greatest / run.messages
    figure, [axes] = panels(
        f"{run.conversations:,} conversations; half have {half:,} "
        f"message{'' if half == 1 else 's'}{' or fewer' if half > 1 else ''}, the largest "
        f"{messages.greatest:,} ({share:.3g} % of all)"
    )
    draw_shares(axes, [("messages", messages), ("processes", processes)], reverse=True)
    counting_axis(axes, max(messages.greatest, processes.greatest))
    # The few large ones are what matters.
    axes.set_yscale("log")
    axes.set_ylim(0.7 / run.conversations, 1.3)
    percent_axis(axes)
    axes.set(
        xlabel="messages or processes in a conversation (at least)",
        ylabel="share of conversations (logarithmic)",
    )
    return figure


def times(run: RunProfile) -> Figure:
    """Think times, gaps and flights on one axis."""
    named = [
        (label, run.distributions[measure])
        for measure, label in DURATIONS
        if is_known(run, measure)
    ]
    figure, [axes] = panels(times_title(run))
    draw_shares(axes, named)
    log_durations(axes, [distribution for _, distribution in named])
    axes.set(xlabel="duration (logarithmic)", ylabel="share that takes no longer")
    return figure


def is_known(run: RunProfile, measure: str) -> bool:
    """Whether there is such a distribution, and not of zeros alone: those were not recorded."""
    return measure in run.distributions and run.distributions[measure].greatest > 0


def times_title(run: RunProfile) -> str:
    """What the times come to."""
    parts = []
    if is_known(run, "think_ns"):
        think = long_duration_text(run.distributions["think_ns"].quantile(0.5))
        parts.append(f"Half of the effects leave within {think} of their last cause")
    if is_known(run, "flight_ns"):
        flight = long_duration_text(run.distributions["flight_ns"].quantile(0.5))
        parts.append(f"half of the copies take {flight} or less")
    return "; ".join(parts) or "Nothing here waits for anything"


def activity(run: RunProfile) -> Figure:
    """What goes on over time: messages per second, and copies under way."""
    unit, unit_ns = time_unit(run.last_ns - run.first_ns)
    starts = [(point.start_ns - run.first_ns) / unit_ns for point in run.timeline]
    period_ns, period = rate_period(run.messages, run.last_ns - run.first_ns)
    rates = [point.messages * period_ns / run.slice_ns for point in run.timeline]
    recorded = is_known(run, "flight_ns")
    title = (
        f"{rate_text(run.messages, run.last_ns - run.first_ns)} on average, "
        f"{three_digits(max(rates))} at most"
    )
    title = title.replace(" ", " messages ", 1)
    if recorded:
        most = run.distributions["in_flight"].greatest
        title += f"; up to {most:,} copies under way at once"
    figure, axes = panels(title, rows=2 if recorded else 1)
    width = run.slice_ns / unit_ns
    axes[0].bar(starts, rates, width=width, align="edge", color=COLOURS[0])
    axes[0].set_ylabel(f"messages submitted {period}")
    if recorded:
        heights = [point.in_flight_max for point in run.timeline]
        axes[1].bar(starts, heights, width=width, align="edge", color=COLOURS[1])
        axes[1].set_ylabel("copies under way (most)")
    clock = "" if run.times == RECORDED else ", over a network that takes no time"
    axes[-1].set_xlabel(f"time since the first submission ({unit}){clock}")
    return figure


def sizes(run: RunProfile) -> Figure:
    """How large messages are."""
    payloads = run.distributions["payload_bytes"]
    figure, [axes] = panels(
        f"Half of the messages have {payloads.quantile(0.5):,} bytes or fewer, "
        f"the largest {payloads.greatest:,}"
    )
    draw_shares(axes, [("", payloads)])
    counting_axis(axes, payloads.greatest)
    axes.set(xlabel="payload (bytes)", ylabel="share of messages that are no larger")
    return figure


def draw_whole_numbers(
    axes: Axes, distribution: Distribution, colour: str, what: str, whose: str
) -> None:
    """Bars if the numbers are small, and the shares of at least so many otherwise."""
    if distribution.greatest > BARS_MAX:
        draw_shares(axes, [("", distribution)], reverse=True)
        counting_axis(axes, distribution.greatest)
        axes.set_ylabel(f"share of {whose} (at least so many)")
    else:
        draw_counts(axes, distribution, colour)
        axes.set_ylabel(whose)
    axes.set_xlabel(what)


def time_unit(duration_ns: int) -> tuple[str, int]:
    """The unit in which this duration has a handy number."""
    for unit, unit_ns in (*LONG_UNITS, ("s", SECOND_NS), ("ms", 1_000_000), ("µs", 1_000)):
        if duration_ns >= 2 * unit_ns:
            return unit, unit_ns
    return "ns", 1
