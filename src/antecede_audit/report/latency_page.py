"""Where the time goes: latencies as distributions, and what they consist of."""

from collections.abc import Sequence
from typing import Final

from antecede_audit.report.charts.scale import time_text
from antecede_audit.report.charts.spec import (
    WAIT_CLASSES,
    WAITS,
    Axis,
    Bar,
    BarChart,
    Chart,
    LineChart,
    Look,
    Series,
    StackChart,
    look_of,
)
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, chart_grid, folded, legend, waits_legend
from antecede_audit.report.recordings import NamedRecording
from antecede_audit.report.spacetime.times import cdf_of, latencies_ns, parts_of
from antecede_lab.comparison import measurements as measured
from antecede_lab.report.comparison_results import Comparison
from antecede_lab.report.growth_page import charts_of_all, protocols_legend
from antecede_lab.report.sweep_results import SeedGroup, Setting, SweepResults, thinned

SETTINGS_OPEN: Final = 6
"""So many settings of a sweep are shown at once; the others are folded away."""

SHARE_AXIS: Final = Axis(title="share of messages", unit="share", low=0.0, high=1.0)
LATENCY_AXIS: Final = Axis(title="from submission to delivery", unit="time", log=True)

QUICKEST: Final = 0.001
"""So small a share of messages may lie left of a logarithmic axis."""

FEW: Final = 200
"""With so few messages a smooth line would promise more than is known: steps are drawn."""

LOADED: Final = (
    (measured.LATENCY, "Mean latency", "one-way delays"),
    (measured.LATE, "Mean latency beyond what causal order asks", "round trips"),
    (measured.REPORTED, "Longest wait, two talk and report", "round trips"),
)
PARTS: Final = ("sender_wait_mean_ns", "channel_mean_ns", "receiver_wait_mean_ns")


def latency_section(
    recordings: Sequence[NamedRecording],
    sweeps: Sequence[SweepResults],
    comparisons: Sequence[Comparison],
) -> Section | None:
    """Distributions of recorded runs and of sweeps, and latency against load."""
    pieces = [
        *recorded_latencies(recordings),
        *[swept_latencies(sweep) for sweep in sweeps if sweep.groups],
        *[loaded_latencies(comparison) for comparison in comparisons],
    ]
    body = joined([piece for piece in pieces if piece])
    if not body:
        return None
    return Section(
        identity="latency",
        title="Latency",
        lead="From submission to delivery: in the send buffer, on the way, in the receive buffer. "
        "Causal order is paid for in one of the two buffers.",
        body=body,
    )


# Recorded runs.


def run_look(number: int) -> Look:
    """How the runs of a report are drawn, by their number."""
    return Look(colour=(1, 2, 5, 3, 6, 7)[number % 6], dash=number // 6)


def recorded_latencies(recordings: Sequence[NamedRecording]) -> list[Markup]:
    """The latencies of all recorded runs in one chart, and what they consist of in one each."""
    all_latencies = [latencies_ns(recording.run) for recording in recordings]
    lines = tuple(
        Series(name=recording.run.name, points=cdf_of(values), look=run_look(number), dots=False)
        for number, (recording, values) in enumerate(zip(recordings, all_latencies, strict=True))
        if values
    )
    if not lines:
        return []
    slowest_ns = max(values[-1] for values in all_latencies if values)
    stacks = [
        stack
        for recording, values in zip(recordings, all_latencies, strict=True)
        if (stack := stack_of(recording, values, slowest_ns)) is not None
    ]
    chart = LineChart(
        title="Recorded runs",
        note="share of messages delivered after at most so long",
        x=LATENCY_AXIS,
        y=SHARE_AXIS,
        series=lines,
        stairs=any(0 < len(values) < FEW for values in all_latencies),
    )
    pieces = [element("h3", "Recorded runs"), legend((line.name, line.look) for line in lines)]
    if stacks:
        pieces.append(waits_legend())
    return [*pieces, chart_grid([chart, *stacks])]


def stack_of(
    recording: NamedRecording, own_ns: Sequence[int], slowest_ns: int
) -> StackChart | None:
    """Messages from the quickest to the slowest: what their time consisted of.

    The axis goes to the slowest of all runs, so that runs can be compared by looking; a run that
    is much quicker than another lies flat on it, so its own slowest message is told in words.
    """
    parts = parts_of(recording.run)
    if parts is None:
        return None
    return StackChart(
        title=recording.run.name,
        note="messages from the quickest to the slowest: where each spent its time; "
        f"the slowest took {time_text(own_ns[-1])}",
        x=SHARE_AXIS,
        y=Axis(title="latency", unit="time", high=float(slowest_ns)),
        places=parts.shares,
        parts=WAITS,
        classes=WAIT_CLASSES,
        layers=(parts.sender_wait_ns, parts.channel_ns, parts.receiver_wait_ns),
    )


# Sweeps.


def swept_latencies(sweep: SweepResults) -> Markup:
    """For each setting the distributions of all protocols, and the means in their parts."""
    settings = [setting for setting in sweep.settings() if sweep.of_setting(setting)]
    shown = [setting_charts(sweep, setting) for setting in settings]
    first = [chart for charts in shown[:SETTINGS_OPEN] for chart in charts]
    rest = [chart for charts in shown[SETTINGS_OPEN:] for chart in charts]
    lines = [chart for charts in shown for chart in charts if isinstance(chart, LineChart)]
    pieces = [
        element("h3", "Protocols and scenarios"),
        protocols_legend(sweep.protocols(), lines),
        waits_legend(),
        chart_grid(first),
    ]
    if rest:
        count = len(settings) - SETTINGS_OPEN
        pieces.append(folded(f"{count} more settings", chart_grid(rest)))
    return joined(pieces)


def setting_charts(sweep: SweepResults, setting: Setting) -> list[Chart]:
    """Two charts about one setting: distributions, and means in their parts."""
    groups = sweep.of_setting(setting)
    title = f"{setting.scenario}, {setting.network}, n = {setting.processes:,}"
    lines = tuple(
        Series(
            name=group.protocol,
            points=tuple(thinned(visible(group.cdf("latency")))),
            look=look_of(group.protocol, number),
            dots=False,
        )
        for number, group in enumerate(groups)
        if group.cdf("latency")
    )
    charts: list[Chart] = []
    if lines:
        note = "share of messages delivered after at most so long"
        charts.append(LineChart(title=title, note=note, x=LATENCY_AXIS, y=SHARE_AXIS, series=lines))
    bars = tuple(bar for group in groups if (bar := bar_of(group)) is not None)
    if bars:
        note = "mean latency, and where it is spent"
        axis = Axis(title="mean latency", unit="time")
        charts.append(
            BarChart(title=title, note=note, x=axis, parts=WAITS, classes=WAIT_CLASSES, bars=bars)
        )
    return charts


def visible(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without the very quickest, which would need a logarithmic axis of their own."""
    return [point for point in points if point[1] >= QUICKEST and point[0] > 0]


def bar_of(group: SeedGroup) -> Bar | None:
    """The mean latency of a protocol in its parts, which add up to it."""
    parts = [group.figure(name) for name in PARTS]
    latency = group.figure("latency_mean_ns")
    if latency is None:
        return None
    means = tuple(0.0 if part is None else part.mean for part in parts)
    return Bar(name=group.protocol, parts=means, text=time_text(latency.mean))


# Comparisons.


def loaded_latencies(comparison: Comparison) -> Markup:
    """Latency against load, and how much of it causal order does not ask for."""
    charts = charts_of_all([comparison], LOADED)
    if not charts:
        return Markup()
    return joined(
        [
            element("h3", "Latency against load"),
            protocols_legend(comparison.protocols, charts),
            chart_grid(charts),
        ]
    )
