"""The plots of a profile: one figure per question, and its title is the answer."""

from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from antecede.link.notation import three_digits
from antecede.pipeline.metrics.distributions import Distribution
from antecede.pipeline.profile.drawing import (
    COLOURS,
    counting_axis,
    draw_counts,
    draw_shares,
    log_durations,
    panels,
    percent_axis,
    save_figures,
    whole_axis,
)
from antecede.pipeline.profile.job import RECORDED, RunProfile
from antecede.pipeline.profile.measures import (
    LONG_UNITS,
    SECOND_NS,
    long_duration_text,
    rate_period,
    rate_text,
)

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
