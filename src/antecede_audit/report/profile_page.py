"""A profile as charts: one sheet per question, and its title is the answer."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from antecede.units import three_digits
from antecede_audit.measure.distributions import Distribution
from antecede_audit.measure.profile import RECORDED, RunProfile
from antecede_audit.measure.quantities import long_duration_text, rate_period, rate_text
from antecede_audit.report.charts.spec import Axis, LineChart, Look, Series
from antecede_audit.report.charts.svg_file import Sheet, write_sheets

LOOKS: Final = tuple(Look(colour=colour, dash=dash) for dash, colour in enumerate((1, 2, 5, 6, 8)))

SHORTEST: Final = 0.005
"""At most this share of durations lies left of a logarithmic axis."""

LINEAR_MAX: Final = 9
"""Counts that go further are drawn on a logarithmic axis."""

LEAST_MAX: Final = 3
"""An axis of counts goes at least this far, so that a single value is not all of it."""

DURATIONS: Final = (
    ("think_ns", "think time: last cause to message"),
    ("submission_gap_ns", "gap between submissions, whole system"),
    ("sender_gap_ns", "gap between submissions, one process"),
    ("delivery_gap_ns", "gap between deliveries, one process"),
    ("flight_ns", "flight: submission to delivery"),
)

PLOT_FOLDER: Final = "plots"

Named = Sequence[tuple[str, Distribution]]


def write_profile_charts(run: RunProfile, folder: Path) -> list[Path]:
    """Draw everything about a run into a folder, as SVG; the files are returned."""
    return write_sheets(folder, profile_sheets(run))


def profile_sheets(run: RunProfile) -> dict[str, Sheet]:
    """The sheets that there is something to draw on, by name."""
    sheets = {
        "degrees": degrees(run),
        "fan-out": fan_out(run),
        "depth": depth(run),
        "conversations": conversations(run),
        "activity": activity(run),
    }
    if any(is_known(run, measure) for measure, _ in DURATIONS):
        sheets["times"] = times(run)
    if run.distributions["payload_bytes"].greatest > 0:
        sheets["sizes"] = sizes(run)
    return sheets


# Lines.


def at_least(title: str, x: str, y: Axis, named: Named) -> LineChart:
    """For each value the share that is no smaller."""
    axis = count_axis(x, [distribution for _, distribution in named])
    lines = [(name, tuple(points_at_least(one, 1 if axis.log else 0))) for name, one in named]
    return LineChart(title=title, x=axis, y=y, series=series_of(lines), stairs=True)


def points_at_least(distribution: Distribution, first: int) -> Iterator[tuple[float, float]]:
    """The points of the line from `first` on: a share holds until the next whole number."""
    begins, passed_before = first, 0
    for value, passed in distribution.steps():
        share = (distribution.count - passed_before) / distribution.count
        passed_before = passed
        if value >= first:
            yield float(begins), share
            begins = value + 1
    yield float(begins), share


def at_most(title: str, x: Axis, y: Axis, named: Named) -> LineChart:
    """For each value the share that is no greater."""
    lines = [(name, tuple(points_at_most(distribution))) for name, distribution in named]
    return LineChart(title=title, x=x, y=y, series=series_of(lines), stairs=True)


def points_at_most(distribution: Distribution) -> Iterator[tuple[float, float]]:
    """The points of the line: a share holds from the value that it is of."""
    if distribution.least > 0:
        yield float(distribution.least), 0.0
    for value, passed in distribution.steps():
        yield float(value), passed / distribution.count


def series_of(lines: Sequence[tuple[str, tuple[tuple[float, float], ...]]]) -> tuple[Series, ...]:
    """These lines, each with a look of its own."""
    return tuple(
        Series(name=name, points=points, look=LOOKS[number % len(LOOKS)], dots=False)
        for number, (name, points) in enumerate(lines)
    )


def count_axis(title: str, shown: Sequence[Distribution]) -> Axis:
    """An axis of counts, logarithmic from 1 on if they go far."""
    greatest = max(distribution.greatest for distribution in shown)
    if greatest > LINEAR_MAX:
        return Axis(title=title, unit="count", log=True, low=1.0, high=float(greatest + 1))
    return Axis(title=title, low=0.0, high=float(max(greatest, LEAST_MAX) + 1))


def duration_axis(title: str, shown: Sequence[Distribution]) -> Axis:
    """A logarithmic axis of durations that holds these distributions.

    Those that take no time, and the shortest few others, lie outside on the left.
    """
    low = max(1, min(shortest(one) for one in shown))
    high = max(2 * low, *(one.greatest for one in shown))
    return Axis(title=title, unit="time", log=True, low=float(low), high=float(high))


def shortest(distribution: Distribution) -> int:
    """The duration that 99.5 % of those reach that take any time."""
    count = distribution.count
    none = distribution.buckets[0][1] if distribution.least == 0 else 0
    return distribution.quantile(min(1.0, (none + SHORTEST * (count - none) + 1) / count))


def share_axis(title: str, *, log: bool = False) -> Axis:
    """An axis of shares up to all; a logarithmic one shows what is rare."""
    return Axis(title=title, unit="share", log=log, low=None if log else 0.0, high=1.0)


# Sheets.


def degrees(run: RunProfile) -> Sheet:
    """How many others each process talks to."""
    sends, hears = run.distributions["out_degree"], run.distributions["in_degree"]
    chart = at_least(
        "Degrees",
        "other processes (at least)",
        share_axis("share of processes"),
        [("sends to", sends), ("hears from", hears)],
    )
    return Sheet(
        title=f"Half of the {run.processes:,} processes send to {sends.quantile(0.5):,} others or "
        f"fewer, the busiest to {sends.greatest:,}",
        charts=(chart,),
    )


def fan_out(run: RunProfile) -> Sheet:
    """How wide messages are, how many effects deliveries have, how many causes are joined."""
    effects, causes = run.distributions["effects"], run.distributions["causes"]
    shown = (
        ("targets", "Targets of a message", "messages"),
        ("effects", "Messages that a delivery causes", "deliveries"),
        ("causes", "Deliveries that a message waits for", "messages"),
    )
    charts = tuple(
        at_least(
            title,
            "at least",
            share_axis(f"share of {whose}", log=True),
            [("", run.distributions[measure])],
        )
        for measure, title, whose in shown
    )
    return Sheet(
        title=f"A delivery causes {three_digits(effects.mean)} messages on average and up to "
        f"{effects.greatest:,}; a message waits for up to {causes.greatest:,}",
        charts=charts,
        columns=3,
    )


def depth(run: RunProfile) -> Sheet:
    """How long the chains of causes are."""
    depths = run.distributions["depth"]
    chart = at_least(
        "Depth",
        "causes on the longest chain (at least)",
        share_axis("share of messages"),
        [("", depths)],
    )
    return Sheet(
        title=f"Chains of causes are up to {depths.greatest:,} messages long; half of all messages "
        f"stand at {depths.quantile(0.5):,} or less",
        charts=(chart,),
    )


def conversations(run: RunProfile) -> Sheet:
    """How large conversations are, and how many processes take part."""
    messages = run.distributions["conversation_messages"]
    processes = run.distributions["conversation_processes"]
    half = messages.quantile(0.5)
    share = 100 * messages.greatest / run.messages
    # The few large ones are what matters.
    chart = at_least(
        "Conversations",
        "messages or processes (at least)",
        share_axis("share of conversations", log=True),
        [("messages", messages), ("processes", processes)],
    )
    return Sheet(
        title=f"{run.conversations:,} conversations; half have {half:,} "
        f"message{'' if half == 1 else 's'}{' or fewer' if half > 1 else ''}, the largest "
        f"{messages.greatest:,} ({share:.3g} % of all)",
        charts=(chart,),
    )


def times(run: RunProfile) -> Sheet:
    """Think times, gaps and flights on one axis."""
    named = [
        (label, run.distributions[measure])
        for measure, label in DURATIONS
        if is_known(run, measure)
    ]
    axis = duration_axis("duration", [distribution for _, distribution in named])
    chart = at_most("Times", axis, share_axis("share that takes no longer"), named)
    return Sheet(title=times_title(run), charts=(chart,))


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


def activity(run: RunProfile) -> Sheet:
    """What goes on over time: messages per second, and copies under way."""
    lasts_ns = run.last_ns - run.first_ns
    period_ns, period = rate_period(run.messages, lasts_ns)
    rates = [point.messages * period_ns / run.slice_ns for point in run.timeline]
    title = f"{rate_text(run.messages, lasts_ns)} on average, {three_digits(max(rates))} at most"
    title = title.replace(" ", " messages ", 1)
    charts = [over_time(run, "Messages submitted", f"messages {period}", rates)]
    if is_known(run, "flight_ns"):
        most = run.distributions["in_flight"].greatest
        title += f"; up to {most:,} copies under way at once"
        heights = [float(point.in_flight_max) for point in run.timeline]
        charts.append(over_time(run, "Copies under way", "copies (most)", heights, colour=2))
    return Sheet(title=title, charts=tuple(charts), columns=2)


def over_time(
    run: RunProfile, title: str, unit: str, heights: Sequence[float], colour: int = 1
) -> LineChart:
    """A height for each slice of time."""
    points: list[tuple[float, float]] = []
    for point, height in zip(run.timeline, heights, strict=True):
        start = float(point.start_ns - run.first_ns)
        if points and start > points[-1][0]:
            # Slices in which nothing happened are not in the timeline.
            points.append((start, 0.0))
        points += [(start, height), (start + run.slice_ns, 0.0)]
    return LineChart(
        title=title,
        note="" if run.times == RECORDED else "over a network that takes no time",
        x=Axis(title="time since the first submission", unit="time", low=0.0, high=points[-1][0]),
        y=Axis(title=unit, low=0.0),
        series=(
            Series(
                name="",
                points=tuple(points),
                look=Look(colour=colour),
                dots=False,
            ),
        ),
        stairs=True,
    )


def sizes(run: RunProfile) -> Sheet:
    """How large messages are."""
    payloads = run.distributions["payload_bytes"]
    chart = at_most(
        "Sizes",
        count_axis("payload, bytes", [payloads]),
        share_axis("share of messages that are no larger"),
        [("", payloads)],
    )
    return Sheet(
        title=f"Half of the messages have {payloads.quantile(0.5):,} bytes or fewer, "
        f"the largest {payloads.greatest:,}",
        charts=(chart,),
    )
